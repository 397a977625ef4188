"""The legs of recall: how well each unit answers a query, in features that mean the same for every query and store.

Turns are scored with what was said around them: an answer rarely repeats its question's words, the turns beside it do.
A gate keeps long turns out of that: min(1, 80 / words of the longest of the turns in between) squared. Notes lend
their similarity, times their weight, to the turns they stand on; warm pages lend theirs, mixed with their heat.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memstrata.index.columns import UNSET
from memstrata.index.flags import PROPER, QUESTION, TIME
from memstrata.index.owner import OwnerIndex
from memstrata.index.turns import TurnOrder, days_of, months_of, shift
from memstrata.recall.query import Query
from memstrata.store.kinds import NOTE, TURN
from memstrata.store.rows import to_us

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
AROUND_DECAY = 0.8
AROUND_LEAPS = (1, 2, 4, 1)  # every way of up to 8 steps is a sum of some of them


@dataclass(slots=True)
class Legs:
    """What the legs found, one entry a unit; `features` has one entry a turn, in the order of `turns`; `shares` is the
    share of each of the query's terms in its idf."""

    coverage: Floats
    cosine: Floats
    page: Floats
    turns: TurnOrder
    features: dict[str, Floats]
    shares: Sequence[float]


def find(index: OwnerIndex, query: Query, vector: Floats, weight: Floats, page: Floats) -> Legs:
    """Score every unit of an owner.

    `weight` is the forgetting weight of each unit (1 but for notes; 0 for what may not lend anything), `page` the tier
    score of each warm page's unit. The index's lock must be held.
    """
    turns = index.turn_order()
    own = turns.units
    cosine, best_row = _best(index, index.chunks.similarities(vector))
    terms = term_rows(index, query.terms)
    shares = [share for _, share in terms]
    coverage, held = _coverage(index, terms, turns)
    lent_coverage, lent_cosine = _lend(index, coverage, cosine, weight)
    flags = index.flags[best_row[own]]
    features = _turn_features(
        turns,
        np.maximum(coverage[own], lent_coverage[own]),
        np.maximum(cosine[own], lent_cosine[own]),
        held,
        shares,
        asks=(flags & QUESTION) > 0,
    )
    features["time_word"] = turns.brevity * ((flags & TIME) > 0) * query.asks_when
    features["proper_noun"] = turns.brevity * ((flags & PROPER) > 0) * query.asks_name
    features["speaker"] = _speaker(index, turns, query)
    features.update(_dates(index, turns, query))
    pages = index.meta["page"][own]
    by_page = np.zeros(int(pages.max(initial=0)) + 1, dtype=np.float32)
    for unit in np.flatnonzero(page):
        ref = int(index.meta["ref"][unit])
        if ref < len(by_page):
            by_page[ref] = page[unit]
    features["page"] = by_page[pages]
    return Legs(coverage, cosine, page, turns, features, shares)


def term_rows(index: OwnerIndex, terms: Sequence[str]) -> list[tuple[Ints, float]]:
    """The rows that hold each term, and its share of the query's idf.

    idf = ln(1 + (N - n + .5) / (n + .5)) over the rows of turns. A term that nothing holds stays in the denominator,
    so that coverage is absolute: 1 only where everything asked for was found.
    """
    is_turn = index.meta["kind"][index.unit_of_row] == TURN
    total = int(np.count_nonzero(is_turn))
    rows = [index.postings(term) for term in terms]
    held = [int(np.count_nonzero(is_turn[each])) for each in rows]
    idf = [math.log(1.0 + (total - n + 0.5) / (n + 0.5)) for n in held]
    return [(each, part / sum(idf)) for each, part in zip(rows, idf, strict=True)]


def _coverage(index: OwnerIndex, terms: Sequence[tuple[Ints, float]], turns: TurnOrder) -> tuple[Floats, list[Ints]]:
    """The coverage of each unit's best row, and the places of the turns whose best row holds each term.

    What is read is the postings of the query's terms, however much is stored.
    """
    of_rows = np.zeros(index.rows, dtype=np.float32)
    for rows, share in terms:
        of_rows[rows] += share
    found = np.flatnonzero(of_rows)
    units, values = index.unit_of_row[found], of_rows[found]
    coverage = np.zeros(index.count + 1, dtype=np.float32)
    np.maximum.at(coverage, units, values)
    best = np.zeros(index.count + 1, dtype=np.int64)
    holds = values >= coverage[units]
    best[units[holds]] = found[holds]
    held = []
    for rows, _ in terms:
        of = index.unit_of_row[rows]
        places = turns.rank[of[best[of] == rows]]
        held.append(places[places >= 0])
    return coverage, held


def _best(index: OwnerIndex, values: Floats) -> tuple[Floats, Ints]:
    """For each unit its highest value over its rows, never below 0, and the row that has it (else its first)."""
    best = np.zeros(index.count + 1, dtype=np.float32)
    best[index.unit_of_row] = np.maximum(values, 0.0)  # all there is to it where a unit has one row, as most have
    row = index.first_rows().copy()
    rows = index.rows_of_several()
    units, of_rows = index.unit_of_row[rows], values[rows]
    best[units] = 0.0
    np.maximum.at(best, units, of_rows)
    holds = of_rows >= best[units]
    row[units[holds]] = rows[holds]
    best[0] = 0.0
    return best, row


def _lend(index: OwnerIndex, coverage: Floats, cosine: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """What the notes lend to the turns they stand on: their coverage and similarity, times their weight."""
    lent_coverage, lent_cosine = np.zeros_like(coverage), np.zeros_like(cosine)
    notes, turns = index.evidence_pairs()
    if len(notes):
        faded = weight[notes]
        np.maximum.at(lent_coverage, turns, coverage[notes] * faded)
        np.maximum.at(lent_cosine, turns, cosine[notes] * faded)
    return lent_coverage, lent_cosine


def _take_over(own: Floats, gate: Floats, others: Floats, distance: int) -> None:
    """Raise own[..., i] to gate[i] * others[..., i + distance] where that is higher; none of it is below 0."""
    if distance > 0:
        here, there = slice(None, -distance), slice(distance, None)
    else:
        here, there = slice(-distance, None), slice(None, distance)
    np.maximum(own[..., here], gate[here] * others[..., there], out=own[..., here])


def _turn_features(
    turns: TurnOrder,
    coverage: Floats,
    cosine: Floats,
    held: Sequence[Ints],
    shares: Sequence[float],
    *,
    asks: NDArray[np.bool_],
) -> dict[str, Floats]:
    if not len(turns.units):
        empty = np.zeros(0, dtype=np.float32)
        return dict.fromkeys(("coverage", "coverage_near", "cosine"), empty)
    asked = turns.answering * shift(asks, 1)

    def beside(distance: int) -> Floats:
        gate = turns.gates[distance]
        return gate * shift(cosine, -distance) + (1.0 - gate) * cosine

    return {
        "coverage": coverage,
        "coverage_near": np.maximum(_near(turns, held, shares), coverage),
        "coverage_around": _around(turns, coverage),
        "cosine": cosine,
        "cosine_before": beside(-1),
        "cosine_after": beside(1),
        "cosine_before_two": beside(-2),
        "asked_cosine": asked * shift(cosine, 1),
        "asked_coverage": asked * shift(coverage, 1),
    }


def _near(turns: TurnOrder, held: Sequence[Ints], shares: Sequence[float]) -> Floats:
    """Coverage by a turn and its two neighbours on either side together: each term counts where it is nearest."""
    total = np.zeros(len(turns.units), dtype=np.float32)
    for places, share in zip(held, shares, strict=True):
        near = np.zeros(len(turns.units), dtype=np.float32)
        for distance, gate in turns.gates.items():
            here = places - distance
            here = here[(here >= 0) & (here < len(near))]
            near[here] = np.maximum(near[here], gate[here])
        near[places] = 1.0
        total += np.float32(share) * near
    return total


def _around(turns: TurnOrder, coverage: Floats) -> Floats:
    """The best coverage within 8 turns on either side, times gate * .8 for each step to it."""
    reaches = turns.reaches(AROUND_DECAY)
    around = coverage
    for way in (-1, 1):
        wave = coverage.copy()
        for leap in AROUND_LEAPS:
            _take_over(wave, reaches[way * leap], wave, way * leap)
        around = np.maximum(around, wave)
    return around


def _speaker(index: OwnerIndex, turns: TurnOrder, query: Query) -> Floats:
    if len(query.speakers) == 1:
        return np.asarray(turns.speaker == index.speakers.get(query.speakers[0]), dtype=np.float32)
    if query.first_person:
        return np.asarray(turns.speaker != index.speakers.get("assistant"), dtype=np.float32)
    return np.zeros(len(turns.units), dtype=np.float32)


def _dates(index: OwnerIndex, turns: TurnOrder, query: Query) -> dict[str, Floats]:
    """Month, year, day and range named in the query, against when each turn was said and what its notes date."""
    if not (query.months or query.years or query.ranges):
        return {}
    meta = index.meta
    found = {name: np.zeros(index.count + 1, dtype=np.float32) for name in ("month", "year", "day", "range")}
    dated = np.flatnonzero((meta["kind"] == NOTE) & (meta["event_start"] != UNSET))
    starts = meta["event_start"][dated]
    for units, times, months, days, is_event in (
        (turns.units, turns.at, turns.months, turns.days, False),
        (dated, starts, months_of(starts), days_of(starts), True),
    ):
        fits = np.ones(len(units), dtype=np.bool_)
        if query.years:
            fits &= np.isin(months // 12 + 1970, query.years)
        if query.months:
            fits &= np.isin(months % 12 + 1, query.months)
            found["month"][units] = fits
            found["day"][units] = _day(days, fits, query, is_event)
        elif query.years:
            found["year"][units] = fits
        ends = meta["event_end"][units] if is_event else times + 1
        for span in query.ranges:
            found["range"][units] = np.maximum(
                found["range"][units], (times < to_us(span.end)) & (ends > to_us(span.start))
            )
    notes, evidence = index.evidence_pairs()
    for values in found.values():
        np.maximum.at(values, evidence, values[notes])
    return {name: values[turns.units] for name, values in found.items()}


def _day(days: Ints, fits: NDArray[np.bool_], query: Query, is_event: bool) -> Floats:
    """Told on the day that the query names or the next: 1; the day before, or within the week after: .5."""
    result = np.zeros(len(days), dtype=np.float32)
    if not query.days:
        return result
    late = days - query.days[0]
    if is_event:
        return np.asarray(fits & (late == 0), dtype=np.float32)
    result[fits & (late >= -1) & (late <= 7)] = 0.5
    result[fits & (late >= 0) & (late <= 1)] = 1.0
    return result
