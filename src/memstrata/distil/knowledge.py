"""What is already known around some candidates: read in one transaction, handed to the plan as plain records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memstrata.index.owner import OwnerIndex
from memstrata.index.units import Vectors
from memstrata.notes.classify import Neighbour
from memstrata.store.base import Db, Row
from memstrata.store.kinds import NOTE
from memstrata.store.read import Key, neighbours_by_no, select_in
from memstrata.text.names import name_key
from memstrata.text.tokens import statement_key
from memstrata.types import Candidate, Note

NEAREST = 6  # notes by cosine that a candidate is compared with
PER_NAME = 4  # notes with an equal name
TURNS_SEEN = 12  # newest turns of a note that are looked at: more that agree change nothing any more


@dataclass(frozen=True, slots=True)
class Known:
    """For each candidate its neighbours, nearest first, and the state of the notes that this was read at."""

    neighbours: tuple[tuple[Neighbour, ...], ...]
    notes_changed: int


def known_around(
    db: Db, index: OwnerIndex, key: Key, agent: str, candidates: Sequence[Candidate], vectors: Vectors
) -> Known:
    """The notes nearest to each candidate, those that state the same, fill the same slot or share a name.

    Only notes of the very same agent: what another agent knows neither duplicates nor contradicts.
    """
    row = db.one("SELECT notes_changed FROM owners WHERE tenant = ? AND owner = ?", key)
    found: list[dict[int, float]] = []
    with index.lock:
        index.refresh(db)
        meta = index.meta
        mine = (meta["kind"] == NOTE) & (meta["state"] < 2) & (meta["agent"] == index.agents.get(agent))
        nearest = index.nearest_units(vectors, mine, NEAREST)
        refs = meta["ref"]
        for related, vector, near in zip(_related(db, key, agent, candidates), vectors, nearest, strict=True):
            numbers = {int(refs[unit]): similarity for unit, similarity in near.items()}
            for no in related:
                unit = index.unit(NOTE, no)
                vector_of = index.vector(unit) if unit is not None else None
                numbers.setdefault(no, float(vector_of @ vector) if vector_of is not None else 0.0)
            found.append(numbers)
        standing = {no: index.turns_of(no)[-TURNS_SEEN:] for no in sorted({no for numbers in found for no in numbers})}
        notes = neighbours_by_no(db, key, standing, index.id_of_note)
    return Known(
        tuple(_sorted([Neighbour(notes[no], similarity) for no, similarity in numbers.items()]) for numbers in found),
        row["notes_changed"] if row else 0,
    )


def _sorted(neighbours: list[Neighbour]) -> tuple[Neighbour, ...]:
    return tuple(sorted(neighbours, key=lambda each: (-each.similarity, each.note.no)))


def _related(db: Db, key: Key, agent: str, candidates: Sequence[Candidate]) -> list[set[int]]:
    """For each candidate the notes with the equal statement, the same slot, or an equal normalised name."""
    statements = [statement_key(candidate.content) for candidate in candidates]
    equal: dict[str, set[int]] = {}
    for statement, no in select_in(
        db,
        "SELECT statement, no FROM notes WHERE tenant = ? AND owner = ? AND agent = ?"
        " AND state IN ('current', 'superseded') AND statement IN ({marks})",
        (*key, agent),
        dict.fromkeys(statements),
    ):
        equal.setdefault(statement, set()).add(no)
    return [
        equal.get(statement, set()) | _of_slot_or_name(db, key, agent, candidate)
        for statement, candidate in zip(statements, candidates, strict=True)
    ]


def _of_slot_or_name(db: Db, key: Key, agent: str, candidate: Candidate) -> set[int]:
    """The notes with the candidate's slot, and the newest with a name of its own."""
    rows: list[Row] = []
    if candidate.slot is not None:
        rows += db.all(
            "SELECT no FROM notes WHERE tenant = ? AND owner = ? AND subject = ? AND attribute = ? AND agent = ?"
            " AND state IN ('current', 'superseded')",
            (*key, candidate.slot.subject, candidate.slot.attribute, agent),
        )
    for name in candidate.names:
        rows += db.all(
            "SELECT n.no FROM names x JOIN notes n ON n.tenant = x.tenant AND n.owner = x.owner AND n.no = x.note"
            " WHERE x.tenant = ? AND x.owner = ? AND x.name = ? AND n.agent = ? AND n.state = 'current'"
            " ORDER BY x.note DESC LIMIT ?",
            (*key, name_key(name), agent, PER_NAME),
        )
    return {row["no"] for row in rows}


def with_planned(
    neighbours: Sequence[Neighbour], planned: Sequence[tuple[Note, Vectors]], vector: Vectors
) -> tuple[Neighbour, ...]:
    """The neighbours together with the notes that the same plan makes."""
    if not planned:
        return tuple(neighbours)
    extra = [Neighbour(note, float(own[0] @ vector)) for note, own in planned]
    return _sorted([*neighbours, *extra])
