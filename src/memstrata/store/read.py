"""Reading records: turns, notes with their links and evidence, decisions, operations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace

import orjson

from memstrata.errors import NotFoundError
from memstrata.store.base import Db, Row
from memstrata.store.kinds import FORGOTTEN_BIT
from memstrata.store.rows import EVIDENCE_COLUMNS, ByNumber, evidence_of_row, from_us, note_of, turn_of
from memstrata.types import Evidence, Link, LinkType, Note, Scope, Turn

Key = tuple[str, str]
BATCH = 500  # values in one IN list


def key_of(scope: Scope) -> Key:
    return (scope.tenant, scope.owner)


def select_in(db: Db, sql: str, key: Sequence[object], values: Iterable[object]) -> list[Row]:
    """Rows of a query that ends in `IN ({marks})`, in batches.

    A batch is filled up to a power of two with its last value, so that the database meets few different statements and
    has prepared them all.
    """
    wanted = list(values)
    rows: list[Row] = []
    for start in range(0, len(wanted), BATCH):
        part = wanted[start : start + BATCH]
        part += part[-1:] * ((1 << (len(part) - 1).bit_length()) - len(part))
        rows.extend(db.all(sql.format(marks=", ".join("?" * len(part))), (*key, *part)))
    return rows


def turns_by_no(db: Db, key: Key, numbers: Iterable[int]) -> dict[int, Turn]:
    rows = select_in(db, "SELECT * FROM turns WHERE tenant = ? AND owner = ? AND no IN ({marks})", key, set(numbers))
    return {row["no"]: turn_of(row) for row in rows}


def turns_of_page(db: Db, key: Key, agent: str, session: str, first: int, last: int) -> list[Turn]:
    """The turns of a session from one position to another. What its user forgot is no source of anything new."""
    rows = db.all(
        "SELECT * FROM turns WHERE tenant = ? AND owner = ? AND agent = ? AND session = ? AND position BETWEEN ? AND ?"
        " ORDER BY position",
        (*key, agent, session, first, last),
    )
    return [replace(turn_of(row), is_source=False) if row["hidden"] & FORGOTTEN_BIT else turn_of(row) for row in rows]


def notes_by_no(db: Db, key: Key, numbers: Iterable[int], *, texts: bool = True) -> dict[int, Note]:
    """Notes with their links (both ways) and their evidence; with `texts=False` only where that was said."""
    rows = _note_rows(db, key, numbers)
    links = _links(db, key, rows)
    turns = _standing_on(db, key, rows, evidence_by_no if texts else places_by_no)
    return ByNumber({no: note_of(row, links=links.get(no, ()), evidence=turns.get(no, ())) for no, row in rows.items()})


def bare_notes_by_no(db: Db, key: Key, numbers: Iterable[int]) -> dict[int, Note]:
    """Notes without their links and evidence: what a filter looks at."""
    return {no: note_of(row) for no, row in _note_rows(db, key, numbers).items()}


def notes_standing_on(
    db: Db,
    key: Key,
    evidence: Mapping[int, Sequence[Evidence]],
    weights: Mapping[int, float],
    id_of: Callable[[int], str],
) -> dict[int, Note]:
    """The notes that `evidence` and `weights` name, with those and their links; `id_of` as for `neighbours_by_no`."""
    rows = _note_rows(db, key, evidence)
    found = sorted(set(map(tuple, link_rows(db, key, "source, target, type, score, reason", rows))))
    links = _links_by_no(found, rows.keys(), id_of)
    return {
        no: note_of(row, links=links.get(no, ()), evidence=evidence[no], weight=weights[no]) for no, row in rows.items()
    }


def neighbours_by_no(
    db: Db, key: Key, standing: Mapping[int, Sequence[int]], id_of: Callable[[int], str]
) -> dict[int, Note]:
    """Notes as the gate looks at its neighbours: of their evidence the places, of their links the ends and the type.

    `standing` has the numbers of the turns that each note is seen to stand on; `id_of` gives the id of a note by its
    number, so that no row of a link or of its other end is read.
    """
    rows = _note_rows(db, key, standing)
    found = sorted(set(map(tuple, link_rows(db, key, "source, target, type, 0.0, ''", rows))))
    links = _links_by_no(found, rows.keys(), id_of)
    places = places_by_no(db, key, (turn for turns in standing.values() for turn in turns))
    return ByNumber(
        {
            no: note_of(row, links=links.get(no, ()), evidence=[places[turn] for turn in standing[no]])
            for no, row in rows.items()
        }
    )


def _note_rows(db: Db, key: Key, numbers: Iterable[int]) -> dict[int, Row]:
    sql = "SELECT * FROM notes WHERE tenant = ? AND owner = ? AND no IN ({marks})"
    return {row["no"]: row for row in select_in(db, sql, key, sorted(set(numbers)))}


def link_rows(db: Db, key: Key, columns: str, numbers: Iterable[int]) -> list[Row]:
    """The links at either end of these notes; one between two of them comes twice."""
    wanted = sorted(numbers)
    return [
        row
        for end in ("source", "target")
        for row in select_in(
            db, f"SELECT {columns} FROM links WHERE tenant = ? AND owner = ? AND {end} IN ({{marks}})", key, wanted
        )
    ]


def _links(db: Db, key: Key, rows: Mapping[int, Row]) -> dict[int, list[Link]]:
    found = sorted(set(map(tuple, link_rows(db, key, "source, target, type, score, reason", rows))))
    ids = ByNumber({no: row["id"] for no, row in rows.items()})
    others = {no for source, target, *_ in found for no in (source, target)} - ids.keys()
    sql = "SELECT no, id FROM notes WHERE tenant = ? AND owner = ? AND no IN ({marks})"
    ids.update(map(tuple, select_in(db, sql, key, sorted(others))))
    return _links_by_no(found, rows.keys(), ids.__getitem__)


def _links_by_no(
    found: Iterable[tuple[int, int, LinkType, float, str]], numbers: Set[int], id_of: Callable[[int], str]
) -> dict[int, list[Link]]:
    """Each note's links, from rows without repetition."""
    links: dict[int, list[Link]] = {}
    for source, target, kind, score, reason in found:
        link = Link(id_of(source), id_of(target), kind, score, reason)
        for no in {source, target} & numbers:
            links.setdefault(no, []).append(link)
    return links


def turns_by_note(db: Db, key: Key, notes: Iterable[int]) -> dict[int, list[int]]:
    """The numbers of the turns that each note stands on, in order."""
    found: dict[int, list[int]] = {}
    sql = "SELECT note, turn FROM evidence WHERE tenant = ? AND owner = ? AND note IN ({marks})"
    for note, turn in select_in(db, sql, key, sorted(notes)):
        found.setdefault(note, []).append(turn)
    return found


def evidence_by_no(db: Db, key: Key, turns: Iterable[int]) -> dict[int, Evidence]:
    """Turns as evidence, by number."""
    sql = f"SELECT {EVIDENCE_COLUMNS} FROM turns WHERE tenant = ? AND owner = ? AND no IN ({{marks}})"
    return ByNumber((row[0], evidence_of_row(row)) for row in select_in(db, sql, key, sorted(set(turns))))


def places_by_no(db: Db, key: Key, turns: Iterable[int]) -> dict[int, Evidence]:
    """Turns as evidence without text, by number: enough to tell neighbouring ones, at a fifth of the cost."""
    sql = (
        "SELECT no, id, session, position, at, role, speaker FROM turns"
        " WHERE tenant = ? AND owner = ? AND no IN ({marks})"
    )
    return ByNumber(
        (no, Evidence(own_id or f"t{no}", session, position, from_us(at), role, speaker, ""))
        for no, own_id, session, position, at, role, speaker in select_in(db, sql, key, sorted(set(turns)))
    )


def _standing_on(
    db: Db, key: Key, rows: Iterable[int], read: Callable[[Db, Key, Iterable[int]], dict[int, Evidence]]
) -> dict[int, list[Evidence]]:
    standing = turns_by_note(db, key, rows)
    evidence = read(db, key, (turn for turns in standing.values() for turn in turns))
    return {note: [evidence[turn] for turn in sorted(turns)] for note, turns in standing.items()}


def note_by_id(db: Db, scope: Scope, note_id: str, *, own: bool = False) -> Note:
    """The note with this id that the scope may see; NotFoundError otherwise.

    `own=True` is for changes: an agent sees the notes of no agent, but only its user may change those.
    """
    row = db.one("SELECT no, agent FROM notes WHERE tenant = ? AND owner = ? AND id = ?", (*key_of(scope), note_id))
    if row is None or not sees(scope, row["agent"]):
        turn = re.fullmatch(r"t\d+", note_id) is not None
        hint = ": that is a turn; forget the notes that stand on it, undo its add, or erase" if turn else ""
        raise NotFoundError(f"no note {note_id!r} in this scope{hint}")
    if own and scope.agent is not None and row["agent"] != scope.agent:
        raise NotFoundError(f"note {note_id!r} belongs to no agent: name only the user to change it")
    return notes_by_no(db, key_of(scope), [row["no"]])[row["no"]]


def sees(scope: Scope, agent: str) -> bool:
    """Whether the scope may see what belongs to this agent ('' is none)."""
    return scope.agent is None or agent in ("", scope.agent)


def served_texts(db: Db, key: Key, agent: str, session: str) -> list[str]:
    """What `context` put before the model in this session."""
    rows = db.all(
        "SELECT n.content FROM served s JOIN notes n ON n.tenant = s.tenant AND n.owner = s.owner AND n.no = s.note"
        " WHERE s.tenant = ? AND s.owner = ? AND s.agent = ? AND s.session = ? ORDER BY s.note",
        (*key, agent, session),
    )
    return [row["content"] for row in rows]


def operation_row(db: Db, scope: Scope, operation: str) -> Row:
    """The row of an operation that the scope may see; NotFoundError otherwise."""
    row = db.one("SELECT * FROM operations WHERE tenant = ? AND owner = ? AND id = ?", (*key_of(scope), operation))
    if row is None or not sees(scope, row["agent"]):
        raise NotFoundError(f"no operation {operation!r} in this scope")
    return row


def loads(text: str | None, default: object = None) -> object:
    return default if not text else orjson.loads(text)
