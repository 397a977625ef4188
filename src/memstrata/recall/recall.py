"""Recall: a query to hits, each with its score, legs, link path and evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import TypeVar

import numpy as np

from memstrata.engine import Engine
from memstrata.index.encode import encode_query
from memstrata.index.owner import OwnerIndex
from memstrata.recall.choose import choose
from memstrata.recall.query import understand
from memstrata.recall.rank import Ranking, rank
from memstrata.recall.request import Ask
from memstrata.store.base import Db
from memstrata.store.kinds import NOTE, PAGE
from memstrata.store.read import evidence_by_no, key_of, notes_standing_on
from memstrata.store.rows import decoder, from_us
from memstrata.tiers.weight import weight_at
from memstrata.trace import span
from memstrata.types import Evidence, Hit, Leg, Note, Scope

FEW_ROWS = 4096  # of an owner in memory: looking takes few milliseconds, no more than to wait for another thread's turn
MAX_EVIDENCE = 20  # turns that a hit brings along; of more, the first and the last half of so many

AROUND: Mapping[str, str] = {
    "neighbours": "coverage_near",
    "speaker": "speaker",
    "month": "month",
    "year": "year",
    "day": "day",
    "time": "range",
    "page": "page",
    "late": "late",
}  # legs that look at a turn and what lies around it, and the feature that each shows

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Found:
    """Hits, the warm pages that they stand on (hit by hit, or all together), and where the next page of hits begins.

    `without` names what should have been asked and could not be, and why.
    """

    hits: tuple[Hit, ...]
    warm: tuple[tuple[int, ...], ...]
    next_offset: int | None
    without: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[int, ...]:
        """The numbers of the notes among the hits."""
        return tuple(hit.note.no for hit in self.hits if hit.note is not None)

    @property
    def pages(self) -> tuple[int, ...]:
        """The pages that these hits warm, each once however many hits stand on it."""
        return tuple(dict.fromkeys(page for pages in self.warm for page in pages))


async def look(engine: Engine, scope: Scope, ask: Ask) -> Found:
    """The hits of one page in recall's own order. One encoding of the query, one read transaction."""
    settings = engine.settings
    late = settings.late_interaction and "late" in settings.legs
    with span("memstrata.embed", texts=1):
        vector, tokens = await encode_query(engine.embedder, ask.searched, late=late)
    index = engine.index(scope)
    clock = engine.now()

    def read(db: Db) -> Found:
        engine.check_model(db)
        with index.lock:
            index.refresh(db)
            query = understand(ask.searched, [name for name, _ in index.speakers.items()], ask.now)
            ranking = rank(db, index, scope, query, vector, tokens, ask.view, clock, settings)
            return _collect(db, index, scope, ask, ranking, clock)

    with span("memstrata.search"):
        found = await engine.store.read(read, brief=index.changed >= 0 and index.rows < FEW_ROWS)
    await engine.keep(index)
    return found


def _collect(db: Db, index: OwnerIndex, scope: Scope, ask: Ask, ranking: Ranking, clock: datetime) -> Found:
    """The hits of this page, read together: a recall spends most of its time on records."""
    key = key_of(scope)
    kind, ref, page = (index.meta[column] for column in ("kind", "ref", "page"))
    chosen = choose(db, index, key, ask, ranking)
    units = chosen.units
    again = {unit: chosen.again.get(unit, ()) for unit in units}
    refs = {unit: int(ref[unit]) for unit in (*units, *chain.from_iterable(again.values()))}
    notes = {refs[unit]: unit for unit in units if kind[unit] == NOTE}
    standing = {no: ref[list(index.standing(unit))].tolist() for no, unit in notes.items()}
    shown = {no: _shown(turns) for no, turns in standing.items()}
    turns = [no for unit, no in refs.items() if kind[unit] != NOTE]
    evidence = evidence_by_no(db, key, chain(turns, *shown.values()))
    records = notes_standing_on(
        db,
        key,
        {no: [evidence[turn] for turn in shown[no]] for no in notes},
        {no: _weight(index, unit, clock) for no, unit in notes.items()},
        index.id_of_note,
    )
    legs = _legs(index, ranking, units)
    hits: list[Hit] = []
    warm: list[tuple[int, ...]] = []
    for unit in units:
        no = refs[unit]
        if kind[unit] == NOTE:
            more = len(standing[no]) - len(shown[no])
            hits.append(_note_hit(index, ranking, unit, legs[unit], records[no], more))
            pages = [int(page[turn]) for turn in index.standing(unit)]
        else:
            said = (unit, *again[unit])
            hits.append(_turn_hit(index, ranking, unit, legs[unit], [evidence[refs[turn]] for turn in said]))
            pages = [int(page[turn]) for turn in said]
        warm.append(_warm(index, pages))
    return Found(tuple(hits), tuple(warm), chosen.next_offset)


def _shown(turns: Sequence[T]) -> Sequence[T]:
    """The turns that a hit brings along: all, or of a statement that was made very often the first and the last."""
    half = MAX_EVIDENCE // 2
    return turns if len(turns) <= MAX_EVIDENCE else [*turns[:half], *turns[-half:]]


@decoder
def _weight(index: OwnerIndex, unit: int, clock: datetime) -> float:
    """The forgetting weight of a note now."""
    meta = index.meta
    return (
        1.0
        if meta["pinned"][unit]
        else weight_at(from_us(int(meta["last_access"][unit])), clock, float(meta["rate"][unit]))
    )


def _warm(index: OwnerIndex, pages: Sequence[int]) -> tuple[int, ...]:
    """The pages that a hit warms, each once. A distilled page has no heat to raise."""
    state = index.meta["state"]
    distinct = dict.fromkeys(page for page in pages if page)
    return tuple(page for page in distinct if (unit := index.unit(PAGE, page)) is None or state[unit] == 0)


def _note_hit(index: OwnerIndex, ranking: Ranking, unit: int, legs: tuple[Leg, ...], note: Note, more: int) -> Hit:
    path = _path(index, ranking, unit)
    return Hit(
        id=note.id,
        kind="note",
        text=note.content,
        score=_score(ranking, unit),
        legs=legs,
        path=path,
        evidence=note.evidence,
        more_evidence=more,
        at=note.said_at,
        event=note.event,
        note=note,
        reason=_reason(legs, path),
    )


def _turn_hit(index: OwnerIndex, ranking: Ranking, unit: int, legs: tuple[Leg, ...], said: Sequence[Evidence]) -> Hit:
    """A turn, and the others that say the same word for word."""
    turn, shown, path = said[0], _shown(said), _path(index, ranking, unit)
    return Hit(
        id=turn.id,
        kind="turn",
        text=f"{turn.speaker or turn.role}: {turn.text}",
        score=_score(ranking, unit),
        legs=legs,
        path=path,
        evidence=tuple(shown),
        more_evidence=len(said) - len(shown),
        at=turn.at,
        reason=_reason(legs, path),
    )


def _path(index: OwnerIndex, ranking: Ranking, unit: int) -> tuple[str, ...]:
    return tuple(index.note_id(step) for step in ranking.path.get(unit, ()))


def _score(ranking: Ranking, unit: int) -> float:
    return min(1.0, max(0.0, float(ranking.score[unit])))


def _legs(index: OwnerIndex, ranking: Ranking, units: Sequence[int]) -> dict[int, tuple[Leg, ...]]:
    """The legs that found each unit, by falling score: its own similarity and terms, and for a turn (or the best turn
    of a note) what lies around it."""
    legs, own = ranking.legs, np.array(units, dtype=np.int64)
    around = np.array([_best_place(index, ranking, unit) for unit in units], dtype=np.int64)
    looked = [("dense", legs.cosine, own), ("lexical", legs.coverage, own)]
    looked += [(name, legs.features[feature], around) for name, feature in AROUND.items() if feature in legs.features]
    found: dict[int, list[Leg]] = {unit: [] for unit in units}
    for name, values, places in looked:
        scores = np.where(places >= 0, values[places], 0.0)
        hit = np.flatnonzero(scores > 0.0)
        if not len(hit):
            continue
        higher = values[values > scores[hit].min()]
        ranks = 1 + np.count_nonzero(higher > scores[hit, None], axis=1)
        for place, rank_ in zip(hit.tolist(), ranks.tolist(), strict=True):
            found[units[place]].append(Leg(name, min(1.0, scores.item(place)), rank_))
    reached = sorted(ranking.link_score.values(), reverse=True)
    for unit in ranking.link_score.keys() & found.keys():
        score = ranking.link_score[unit]
        found[unit].append(Leg("links", min(1.0, score), 1 + reached.index(score)))
    return {unit: tuple(sorted(each, key=lambda leg: (-leg.score, leg.name))) for unit, each in found.items()}


def _best_place(index: OwnerIndex, ranking: Ranking, unit: int) -> int:
    """Where a turn, or the best turn of a note, stands among the turns; -1 for a note without one."""
    legs = ranking.legs
    own = legs.turns.rank.item(unit)
    if own >= 0:
        return own
    places = [place for turn in index.standing(unit) if (place := legs.turns.rank.item(turn)) >= 0]
    return max(places, key=legs.features["coverage_near"].item, default=-1)


def _reason(legs: Sequence[Leg], path: Sequence[str]) -> str:
    parts = [f"{leg.name} {leg.score:.2f} (rank {leg.rank})" for leg in legs[:4]]
    over = f"; reached over {' > '.join(path)}" if path else ""
    return f"found by {', '.join(parts)}{over}" if parts else f"nothing of the query is in it{over}"
