"""The legs of recall: how well each unit answers a query, in features that mean the same for every query and store.

Turns are scored with what was said around them: an answer rarely repeats its question's words, the turns beside it do.
A gate keeps long turns out of that: min(1, 80 / words of the longest of the turns in between) squared. Notes lend
their similarity, times their weight, to the turns they stand on; warm pages lend theirs, mixed with their heat.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from memstrata.index.columns import UNSET
from memstrata.index.flags import PROPER, QUESTION, TIME
from memstrata.index.owner import OwnerIndex
from memstrata.index.turns import TurnOrder
from memstrata.recall.query import Query
from memstrata.store.base import Db
from memstrata.store.kinds import NOTE, TURN
from memstrata.store.rows import to_us

Floats = NDArray[np.float32]
Array = TypeVar("Array", bound=NDArray[Any])
GATE_WORDS = 80.0
AROUND_STEPS, AROUND_DECAY = 8, 0.8
DAY_US = 86_400_000_000


@dataclass(slots=True)
class Legs:
    """What the legs found, one entry a unit; `near` has one row a feature of the turns, in the order of `turns`."""

    coverage: Floats
    cosine: Floats
    page: Floats
    turns: TurnOrder
    features: dict[str, Floats]


def find(db: Db, index: OwnerIndex, query: Query, vector: Floats, weight: Floats, page: Floats) -> Legs:
    """Score every unit of an owner.

    `weight` is the forgetting weight of each unit (1 but for notes; 0 for what may not lend anything), `page` the tier
    score of each warm page's unit. The index's lock must be held.
    """
    rows = index.row_similarities(vector)
    hits, shares = term_hits(db, index, query.terms)
    row_coverage = shares @ hits if len(shares) else np.zeros(index.rows, dtype=np.float32)
    coverage, best_lexical = _best(index, row_coverage)
    cosine, best_dense = _best(index, rows)
    turns = index.turn_order()
    own = turns.units
    lent_coverage, lent_cosine = _lend(index, coverage, cosine, weight)
    lent_hits = hits[:, best_lexical[own]]
    features = _turn_features(
        turns,
        np.maximum(coverage[own], lent_coverage[own]),
        np.maximum(cosine[own], lent_cosine[own]),
        lent_hits,
        shares,
        asks=(index.flags[best_dense[own]] & QUESTION) > 0,
    )
    flags = index.flags[best_dense[own]]
    short = np.minimum(1.0, GATE_WORDS / turns.length) ** 2
    features["time_word"] = short * ((flags & TIME) > 0) * query.asks_when
    features["proper_noun"] = short * ((flags & PROPER) > 0) * query.asks_name
    features["speaker"] = _speaker(index, turns, query)
    features.update(_dates(index, turns, query))
    pages = index.meta["page"][own]
    by_page = np.zeros(int(pages.max(initial=0)) + 1, dtype=np.float32)
    for unit in np.flatnonzero(page):
        ref = int(index.meta["ref"][unit])
        if ref < len(by_page):
            by_page[ref] = page[unit]
    features["page"] = by_page[pages]
    return Legs(coverage, cosine, page, turns, features)


def term_hits(db: Db, index: OwnerIndex, terms: Sequence[str]) -> tuple[Floats, Floats]:
    """Which row holds which term, (terms, rows) of 0 and 1, and each term's share of the query's idf.

    idf = ln(1 + (N - n + .5) / (n + .5)) over the rows of turns. A term that nothing holds stays in the denominator,
    so that coverage is absolute: 1 only where everything asked for was found.
    """
    hits = np.zeros((len(terms), index.rows), dtype=np.float32)
    if not terms:
        return hits, np.zeros(0, dtype=np.float32)
    is_turn = index.meta["kind"][index.unit_of_row] == TURN
    total = int(is_turn.sum())
    idf = np.zeros(len(terms), dtype=np.float32)
    for n, term in enumerate(terms):
        rows = index.postings(db, term)
        hits[n, rows] = 1.0
        held = int(is_turn[rows].sum())
        idf[n] = math.log(1.0 + (total - held + 0.5) / (held + 0.5))
    return hits, idf / idf.sum()


def _best(index: OwnerIndex, values: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """For each unit its highest value over its rows, never below 0, and the row that has it (else its first)."""
    best = np.zeros(index.count + 1, dtype=np.float32)
    np.maximum.at(best, index.unit_of_row, values)
    best[0] = 0.0
    row = index.first_rows().copy()
    holds = np.flatnonzero(values >= best[index.unit_of_row])
    row[index.unit_of_row[holds]] = holds
    return best, row


def _lend(index: OwnerIndex, coverage: Floats, cosine: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """What the notes lend to the turns they stand on: their coverage and similarity, times their weight."""
    lent_coverage, lent_cosine = np.zeros_like(coverage), np.zeros_like(cosine)
    notes, turns = index.evidence_pairs()
    if len(notes):
        np.maximum.at(lent_coverage, turns, coverage[notes] * weight[notes])
        np.maximum.at(lent_cosine, turns, cosine[notes] * weight[notes])
    return lent_coverage, lent_cosine


def _shift(values: Array, by: int) -> Array:
    """values[..., i - by] at i; 0 beyond the ends."""
    moved: Array = np.zeros_like(values)
    if by > 0:
        moved[..., by:] = values[..., :-by]
    else:
        moved[..., :by] = values[..., -by:]
    return moved


def _take_over(own: Floats, gate: Floats, others: Floats, distance: int) -> None:
    """Raise own[..., i] to gate[i] * others[..., i + distance] where that is higher; none of it is below 0."""
    if distance > 0:
        here, there = slice(None, -distance), slice(distance, None)
    else:
        here, there = slice(-distance, None), slice(None, distance)
    np.maximum(own[..., here], gate[here] * others[..., there], out=own[..., here])


def _gates(turns: TurnOrder) -> Mapping[int, Floats]:
    """How much of a neighbour at each distance counts: 0 across sessions, less for long turns."""
    joined = turns.joined.astype(np.float32)
    longest = np.maximum(turns.length, _shift(turns.length, 1))
    one = joined * np.minimum(1.0, GATE_WORDS / longest) ** 2
    longest = np.maximum(longest, _shift(turns.length, 2))
    two = joined * _shift(joined, 1) * np.minimum(1.0, GATE_WORDS / longest) ** 2
    return {-1: one, -2: two, 1: _shift(one, -1), 2: _shift(two, -2)}


def _turn_features(
    turns: TurnOrder, coverage: Floats, cosine: Floats, hits: Floats, shares: Floats, *, asks: NDArray[np.bool_]
) -> dict[str, Floats]:
    if not len(turns.units):
        empty = np.zeros(0, dtype=np.float32)
        return dict.fromkeys(("coverage", "coverage_near", "cosine"), empty)
    gates = _gates(turns)
    near = hits.copy()
    for distance, gate in gates.items():
        _take_over(near, gate, hits, distance)
    around = coverage.copy()
    for step in (-1, 1):
        decayed, wave = AROUND_DECAY * gates[step], coverage
        for _ in range(AROUND_STEPS):
            further = coverage.copy()
            _take_over(further, decayed, wave, step)
            wave = further
        np.maximum(around, wave, out=around)
    other = (turns.speaker != _shift(turns.speaker, 1)).astype(np.float32)
    asked = gates[-1] * other * _shift(asks.astype(np.float32), 1)

    def beside(distance: int) -> Floats:
        return gates[distance] * _shift(cosine, -distance) + (1.0 - gates[distance]) * cosine

    return {
        "coverage": coverage,
        "coverage_near": np.maximum(shares @ near, coverage) if len(shares) else coverage,
        "coverage_around": around,
        "cosine": cosine,
        "cosine_before": beside(-1),
        "cosine_after": beside(1),
        "cosine_before_two": beside(-2),
        "asked_cosine": asked * _shift(cosine, 1),
        "asked_coverage": asked * _shift(coverage, 1),
    }


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
    for units, times, is_event in (
        (turns.units, meta["at"][turns.units], False),
        (dated, meta["event_start"][dated], True),
    ):
        months = times.astype("datetime64[us]").astype("datetime64[M]").astype(np.int64)
        fits = np.ones(len(units), dtype=np.bool_)
        if query.years:
            fits &= np.isin(months // 12 + 1970, query.years)
        if query.months:
            fits &= np.isin(months % 12 + 1, query.months)
            found["month"][units] = fits
            found["day"][units] = _day(times, fits, query, is_event)
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


def _day(times: NDArray[np.int64], fits: NDArray[np.bool_], query: Query, is_event: bool) -> Floats:
    """Told on the day that the query names or the next: 1; the day before, or within the week after: .5."""
    result = np.zeros(len(times), dtype=np.float32)
    if not query.days:
        return result
    days = times.astype("datetime64[us]").astype("datetime64[D]")
    in_month = (days - days.astype("datetime64[M]").astype("datetime64[D]")).astype(np.int64) + 1
    late = in_month - query.days[0]
    if is_event:
        return np.asarray(fits & (late == 0), dtype=np.float32)
    result[fits & (late >= -1) & (late <= 7)] = 0.5
    result[fits & (late >= 0) & (late <= 1)] = 1.0
    return result
