"""Down the ranking to a page of hits: what the filters let through, and nothing twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field

from memstrata.index.owner import OwnerIndex
from memstrata.recall.filters import note_fields, turn_fields
from memstrata.recall.rank import Ranking
from memstrata.recall.request import Ask
from memstrata.store.base import Db
from memstrata.store.kinds import NOTE, TURN
from memstrata.store.read import Key, bare_notes_by_no, turns_by_no
from memstrata.text.tokens import normalise
from memstrata.types import Note, Turn

LEAST_BATCH = 8  # units that are looked at together
SAME_TEXT = 0.97  # cosine below which two turns are not compared: the vectors of one text differ by rounding alone


@dataclass(slots=True)
class Chosen:
    """Units of one page of hits, best first; `again` has turns that say word for word what a chosen turn says.

    `next_offset` is where the next page begins, None after the last.
    """

    units: list[int] = field(default_factory=list)
    again: dict[int, list[int]] = field(default_factory=dict)
    next_offset: int | None = None


def choose(db: Db, index: OwnerIndex, key: Key, ask: Ask, ranking: Ranking) -> Chosen:
    """Walk down the ranking: filter, fold what was said already, until this page of hits is full."""
    end = ask.offset + ask.k
    given: set[int] = set()  # turn units that a hit stands on
    chosen = Chosen()
    batch = max(LEAST_BATCH, end + 1)  # mostly one is enough
    for start in range(0, len(ranking.units), batch):
        units = ranking.units[start : start + batch]
        wanted = _wanted(db, index, key, ask, [unit for unit in units if unit not in given])
        for unit in units:
            if float(ranking.score[unit]) < ask.min_score:
                return _page(chosen, ask)
            if unit in given or unit not in wanted:
                continue
            said = _said_by(db, index, key, unit, chosen.units)
            if said is not None:
                chosen.again.setdefault(said, []).append(unit)
                continue
            if len(chosen.units) == end:
                chosen.next_offset = end
                return _page(chosen, ask)
            chosen.units.append(unit)
            given.update(index.standing(unit))
    return _page(chosen, ask)


def _page(chosen: Chosen, ask: Ask) -> Chosen:
    del chosen.units[: ask.offset]
    return chosen


def _said_by(db: Db, index: OwnerIndex, key: Key, unit: int, chosen: Iterable[int]) -> int | None:
    """The chosen turn of the same speaker that says the same, whatever its case and white space."""
    kind, speaker, length = (index.meta[column] for column in ("kind", "speaker", "length"))
    own = index.vector(unit)
    if kind[unit] != TURN or own is None:
        return None
    same = [
        other
        for other in chosen
        if kind[other] == TURN
        and speaker[other] == speaker[unit]
        and length[other] == length[unit]
        and (vector := index.vector(other)) is not None
        and float(own @ vector) >= SAME_TEXT
    ]
    if not same:
        return None
    refs = {other: int(index.meta["ref"][other]) for other in (unit, *same)}
    texts = {no: normalise(turn.text) for no, turn in turns_by_no(db, key, refs.values()).items()}
    return next((other for other in same if texts[refs[other]] == texts[refs[unit]]), None)


def _wanted(db: Db, index: OwnerIndex, key: Key, ask: Ask, units: Sequence[int]) -> Set[int]:
    """Those of the units that pass the kinds, the tags and the filters of a call."""
    if not (ask.kinds or ask.tags or ask.check):
        return set(units)
    kind = index.meta["kind"]
    refs = {unit: int(index.meta["ref"][unit]) for unit in units}
    notes = bare_notes_by_no(db, key, [no for unit, no in refs.items() if kind[unit] == NOTE])
    turns = turns_by_no(db, key, [no for unit, no in refs.items() if kind[unit] != NOTE])
    return {unit for unit, no in refs.items() if _passes(notes[no] if kind[unit] == NOTE else turns[no], ask)}


def _passes(record: Note | Turn, ask: Ask) -> bool:
    if isinstance(record, Note):
        if ask.kinds and record.kind not in ask.kinds:
            return False
        if ask.tags and not {tag.casefold() for tag in record.tags} >= set(ask.tags):
            return False
    if ask.check is None:
        return True
    return ask.check(note_fields(record) if isinstance(record, Note) else turn_fields(record))
