"""Recall: a query to hits, each with its score, legs, link path and evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import TypeVar

import numpy as np

from memstrata.engine import Engine
from memstrata.index.encode import encode_query
from memstrata.index.owner import OwnerIndex
from memstrata.recall.choose import choose
from memstrata.recall.legs import Floats
from memstrata.recall.query import understand
from memstrata.recall.rank import Ranking, rank
from memstrata.recall.request import Ask
from memstrata.store.base import Db
from memstrata.store.kinds import NOTE, PAGE
from memstrata.store.read import evidence_by_no, key_of, notes_standing_on, turns_by_note
from memstrata.store.rows import decoder, from_us
from memstrata.tiers.weight import weight_at
from memstrata.trace import span
from memstrata.types import Evidence, Hit, Leg, Note, Scope

MAX_EVIDENCE = 20  # turns that a hit brings along; of more, the first and the last half of so many

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
        found = await engine.store.read(read)
    await engine.keep(index)
    return found


def _collect(db: Db, index: OwnerIndex, scope: Scope, ask: Ask, ranking: Ranking, clock: datetime) -> Found:
    """The hits of this page, read together: a recall spends most of its time on records."""
    meta, key = index.meta, key_of(scope)
    chosen = choose(db, index, key, ask, ranking)
    units = chosen.units
    again = {unit: chosen.again.get(unit, ()) for unit in units}
    refs = {unit: int(meta["ref"][unit]) for unit in (*units, *chain.from_iterable(again.values()))}
    notes = {refs[unit]: unit for unit in units if meta["kind"][unit] == NOTE}
    standing = turns_by_note(db, key, notes)
    shown = {no: _shown(standing.get(no, ())) for no in notes}
    turns = [no for unit, no in refs.items() if meta["kind"][unit] != NOTE]
    evidence = evidence_by_no(db, key, chain(turns, *shown.values()))
    records = notes_standing_on(
        db,
        key,
        {no: [evidence[turn] for turn in shown[no]] for no in notes},
        {no: _weight(index, unit, clock) for no, unit in notes.items()},
        index.id_of_note,
    )
    hits: list[Hit] = []
    warm: list[tuple[int, ...]] = []
    for unit in units:
        no = refs[unit]
        if meta["kind"][unit] == NOTE:
            more = len(standing.get(no, ())) - len(shown[no])
            hits.append(_note_hit(index, ranking, unit, records[no], more))
            pages = [int(meta["page"][turn]) for turn in index.standing(unit)]
        else:
            said = (unit, *again[unit])
            hits.append(_turn_hit(index, ranking, unit, [evidence[refs[turn]] for turn in said]))
            pages = [int(meta["page"][turn]) for turn in said]
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


def _note_hit(index: OwnerIndex, ranking: Ranking, unit: int, note: Note, more: int) -> Hit:
    legs, path = _legs(index, ranking, unit), _path(index, ranking, unit)
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


def _turn_hit(index: OwnerIndex, ranking: Ranking, unit: int, said: Sequence[Evidence]) -> Hit:
    """A turn, and the others that say the same word for word."""
    turn, shown = said[0], _shown(said)
    legs, path = _legs(index, ranking, unit), _path(index, ranking, unit)
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


def _legs(index: OwnerIndex, ranking: Ranking, unit: int) -> tuple[Leg, ...]:
    """The legs that found a unit, by falling score: its own similarity and terms, and for a turn (or the best turn of
    a note) what lies around it."""
    legs = ranking.legs
    found = [_leg("dense", legs.cosine, unit), _leg("lexical", legs.coverage, unit)]
    rank_of = legs.turns.rank
    turns = unit if rank_of[unit] >= 0 else list(index.standing(unit))
    places = np.atleast_1d(rank_of[turns])
    places = places[places >= 0]
    if len(places):
        place = int(places[legs.features["coverage_near"][places].argmax()])
        for name, feature in (
            ("neighbours", "coverage_near"),
            ("speaker", "speaker"),
            ("month", "month"),
            ("year", "year"),
            ("day", "day"),
            ("time", "range"),
            ("page", "page"),
            ("late", "late"),
        ):
            if feature in legs.features:
                found.append(_leg(name, legs.features[feature], place))
    if unit in ranking.link_score:
        reached = sorted(ranking.link_score.values(), reverse=True)
        own = ranking.link_score[unit]
        found.append(Leg("links", min(1.0, own), 1 + reached.index(own)))
    return tuple(sorted((leg for leg in found if leg.score > 0), key=lambda leg: (-leg.score, leg.name)))


def _leg(name: str, values: Floats, at: int) -> Leg:
    own = float(values[at])
    if own <= 0.0:
        return Leg(name, 0.0, 0)  # it found nothing: no rank to count
    return Leg(name, min(1.0, max(0.0, own)), 1 + int(np.count_nonzero(values > own)))


def _reason(legs: Sequence[Leg], path: Sequence[str]) -> str:
    parts = [f"{leg.name} {leg.score:.2f} (rank {leg.rank})" for leg in legs[:4]]
    over = f"; reached over {' > '.join(path)}" if path else ""
    return f"found by {', '.join(parts)}{over}" if parts else f"nothing of the query is in it{over}"
