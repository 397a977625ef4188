"""Undo: the rows of an operation as they were before it, restored as a new operation with new revisions.

Only what nothing changed since is restored. Weights, heat and ticks are not: an access is not a revision. What was
purged does not come back, so an operation that closed a purged note cannot be undone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from memstrata.distil.commit import Embedded, add_names
from memstrata.distil.stages import embed_documents, writer_for
from memstrata.engine import Engine
from memstrata.errors import UndoError
from memstrata.index.units import document_of
from memstrata.journal.recorder import Recorder
from memstrata.store.base import Db, Row
from memstrata.store.kinds import UNDONE_BIT
from memstrata.store.read import Key, key_of, notes_by_no, operation_row
from memstrata.store.rows import dump, from_us, to_us
from memstrata.tiers.fade import forgets_us
from memstrata.types import Note, Receipt, Scope

FINAL = ("erase", "purge", "touch", "page")  # verbs that cannot be undone: "page" makes a summary, which is derived
TEXTS = ("content", "context", "keywords", "tags")
FADING = frozenset({"last_access", "rate", "pinned", "forgets_at"})  # columns that decide when a note is forgotten


@dataclass(slots=True)
class Steps:
    """What an undo will do: the operations, newest first, the rows to restore, and the state this was read at."""

    operations: list[Row]
    changes: list[Row]
    changed: int
    notes: list[Note] = field(default_factory=list)  # as they will be, where their text changes


async def undo(engine: Engine, scope: Scope, operation: str, *, cascade: bool) -> Receipt:
    undo_id, now = engine.operation_id(), engine.now()
    while True:
        steps = await engine.store.read(lambda db: _steps(db, scope, operation, cascade))
        embedded = await embed_documents(engine, [document_of(note) for note in steps.notes])

        def write(db: Db, steps: Steps = steps, embedded: Sequence[Embedded] = embedded) -> Receipt | None:
            rec = engine.record(db, scope, "undo", operation=undo_id, now=now)
            if rec.counter.changed - 1 != steps.changed:
                return None  # something happened meanwhile, perhaps in one of these operations: look again
            _reindex(engine, rec, embedded)
            for change in steps.changes:
                _restore(engine, rec, change)
            for undone in steps.operations:
                _mark(rec, undone)
            ids = [row["id"] for row in steps.operations]
            counts = Counter(row["verb"] for row in steps.operations)
            receipt = Receipt(
                undo_id, "undo", now, counts={"operations": len(ids), "rows": len(steps.changes), **counts}
            )
            rec.finish({"undone": ids, "operation": operation, "cascade": cascade}, receipt)
            return receipt

        receipt = await engine.store.write(write)
        if receipt is not None:
            return receipt


# what to do -----------------------------------------------------------------------------------------------------------


def _steps(db: Db, scope: Scope, operation: str, cascade: bool) -> Steps:
    key = key_of(scope)
    first = operation_row(db, scope, operation)
    _check(first, scope)
    found = {first["id"]: first}
    waiting = [first]
    while waiting:
        for row in _later(db, key, waiting.pop()):
            if row["id"] not in found:
                found[row["id"]] = row
                waiting.append(row)
    operations = sorted(found.values(), key=lambda row: -row["seq"])
    blockers = tuple(row["id"] for row in operations if row["id"] != operation)
    if blockers and not cascade:
        verbs = ", ".join(f"{row['verb']} {row['id']}" for row in operations if row["id"] != operation)
        raise UndoError(
            f"{operation} cannot be undone alone: later operations changed the same rows or stand on its notes "
            f"({verbs}); undo those first, or pass cascade=True",
            blockers=blockers,
        )
    for row in operations:
        _check(row, scope)
    changes = [change for row in operations for change in _changes(db, key, row["id"])]
    owner = db.one("SELECT changed FROM owners WHERE tenant = ? AND owner = ?", key)
    steps = Steps(operations, changes, owner["changed"] if owner else 0)
    steps.notes = _notes_with_new_texts(db, key, changes)
    return steps


def _check(row: Row, scope: Scope) -> None:
    if scope.agent is not None and row["agent"] != scope.agent:
        raise UndoError(f"{row['id']} is not an operation of agent {scope.agent!r}: name only the user to undo it")
    if row["verb"] in FINAL:
        raise UndoError(f"{row['id']} is a {row['verb']}: it cannot be undone")
    payload = orjson.loads(row["payload"])
    if row["verb"] == "forget" and payload["hard"]:
        raise UndoError(f"{row['id']} forgot for good (hard=True): it cannot be undone")
    if payload.get("purged"):
        raise UndoError(f"{row['id']} changed notes that were purged since: it cannot be undone")
    if row["undone_by"] is not None:
        raise UndoError(f"{row['id']} was undone already, by {row['undone_by']}; undo that to have it back")


def _later(db: Db, key: Key, operation: Row) -> list[Row]:
    """Operations after this one, still in force, that changed a row it changed or gave a note it made more evidence.

    Who said again what such a note says was told "duplicate": without the note nothing would be left of it. An undo in
    force and what it undid cancel out; a page's summary is the page's own work and stands in no way.
    """
    found: dict[str, Row] = {}
    # `seq + 0`, `tbl || ''`: go from this operation's rows to those of others by index, not through the whole log.
    # The evidence of note 7 is "7/1", "7/2": what lies between "7/" and "70" ("0" is the character after "/").
    for same, also in (
        ("later.tbl = mine.tbl AND later.ref = mine.ref", ""),
        (
            "later.tbl = 'evidence' AND later.ref > mine.ref || '/' AND later.ref < mine.ref || '0'",
            " AND mine.tbl || '' = 'notes' AND mine.before IS NULL AND later.before IS NULL",
        ),
    ):
        rows = db.all(
            "SELECT DISTINCT o.* FROM changes mine"
            f" JOIN changes later ON later.tenant = mine.tenant AND later.owner = mine.owner AND {same}"
            " JOIN operations o ON o.tenant = later.tenant AND o.owner = later.owner AND o.id = later.op"
            " WHERE mine.tenant = ? AND mine.owner = ? AND mine.op = ? AND o.seq + 0 > ? AND o.undone_by IS NULL"
            f"  AND o.verb NOT IN ('undo', 'page'){also}",
            (*key, operation["id"], operation["seq"]),
        )
        found.update((row["id"], row) for row in rows)
    return list(found.values())


def _changes(db: Db, key: Key, operation: str) -> list[Row]:
    """The changes of an operation, last first."""
    return db.all("SELECT * FROM changes WHERE tenant = ? AND owner = ? AND op = ? ORDER BY n DESC", (*key, operation))


def _notes_with_new_texts(db: Db, key: Key, changes: Sequence[Row]) -> list[Note]:
    """Notes whose text the undo changes, as they will be: they are embedded anew."""
    texts: dict[int, dict[str, Any]] = {}
    for change in changes:
        if change["tbl"] != "notes" or change["before"] is None:
            continue
        before = orjson.loads(change["before"])
        if any(name in before for name in TEXTS):
            texts.setdefault(int(change["ref"]), {}).update({name: before[name] for name in TEXTS if name in before})
    notes = notes_by_no(db, key, texts, texts=False)
    changed: list[Note] = []
    for no, values in texts.items():
        if no in notes:
            fields: dict[str, Any] = {
                name: tuple(orjson.loads(value)) if name in ("keywords", "tags") else value
                for name, value in values.items()
            }
            changed.append(replace(notes[no], **fields))
    return changed


# doing it -------------------------------------------------------------------------------------------------------------


def _reindex(engine: Engine, rec: Recorder, embedded: Sequence[Embedded]) -> None:
    if not embedded:
        return
    writer = writer_for(engine, rec.db, rec.scope, rec.counter)
    for item in embedded:
        writer.put(item.document, item.vectors)


def _restore(engine: Engine, rec: Recorder, change: Row) -> None:
    """Take one change back."""
    table, ref = change["tbl"], tuple(change["ref"].split("/"))
    before = None if change["before"] is None else orjson.loads(change["before"])
    if before is None:
        _take_back(rec, table, ref)
    elif change["after"] is None:
        rec.insert(table, before)
    elif table == "turns":
        _move_turn(rec, int(ref[0]), before)
    elif table == "notes":
        _restore_note(engine, rec, int(ref[0]), before, orjson.loads(change["after"]))
    elif table == "pages":
        _restore_page(rec, int(ref[0]), before)
    else:
        rec.update(table, ref, before)
    if table == "evidence":
        rec.mark("notes", int(ref[0]))


def _restore_note(engine: Engine, rec: Recorder, no: int, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """The old columns of a note. An access that came later stays, so when it is forgotten is told anew."""
    row = rec.select("notes", (no,))
    if row is None:
        return
    values = dict(before)
    if "last_access" in values and row["last_access"] != after["last_access"]:
        del values["last_access"]
    if FADING & before.keys():
        accessed, kind, pinned = (values.get(name, row[name]) for name in ("last_access", "kind", "pinned"))
        values["forgets_at"] = forgets_us(from_us(accessed), kind, bool(pinned), engine.settings)
    rec.update("notes", (no,), values)
    if "names" in values:
        rec.db.run("DELETE FROM names WHERE tenant = ? AND owner = ? AND note = ?", (*rec.key, no))
        add_names(rec, no, tuple(orjson.loads(values["names"])))


def _restore_page(rec: Recorder, no: int, before: Mapping[str, Any]) -> None:
    """The old columns of a page, and the queued work that belongs to them."""
    rec.update("pages", (no,), before)
    row = rec.select("pages", (no,))
    if row is None:
        return
    if before.get("state") == "warm" and not row["summary"]:
        rec.enqueue("page", {"page": no}, agent=row["agent"])
    if "due_at" not in before:
        return
    if before["due_at"] is None:
        _unqueue(rec, "distill", f'{{"page":{no},%')
    elif row["state"] == "warm":
        newest = rec.db.one(
            "SELECT newest_at FROM scopes WHERE tenant = ? AND owner = ? AND agent = ?", (*rec.key, row["agent"])
        )
        payload = {"page": no, "newest_at": newest["newest_at"] if newest else 0}
        rec.enqueue("distill", payload, agent=row["agent"])


def _unqueue(rec: Recorder, kind: str, payload: str) -> None:
    """Take a page's job off the queue; `payload` is a LIKE pattern."""
    rec.db.run(
        "DELETE FROM jobs WHERE tenant = ? AND owner = ? AND kind = ? AND payload LIKE ?", (*rec.key, kind, payload)
    )


def _take_back(rec: Recorder, table: str, ref: tuple[str, ...]) -> None:
    """Undo an insert. Notes, pages and turns stay as rows, out of everything, until they are purged or redone."""
    if table == "notes":
        rec.update("notes", ref, {"state": "undone", "closed_at": to_us(rec.now)})
    elif table == "pages":
        rec.update("pages", ref, {"state": "undone"})
        _unqueue(rec, "page", dump({"page": int(ref[0])}))
    elif table == "turns":
        row = rec.select("turns", ref)
        if row is not None:
            # Its id is free again: the same message may be added anew.
            hidden = row["hidden"] | UNDONE_BIT
            _move_turn(rec, int(ref[0]), {"tier": "transcript", "page": None, "id": None, "hidden": hidden})
    else:
        rec.delete(table, ref)


def _move_turn(rec: Recorder, no: int, values: Mapping[str, Any]) -> None:
    """Change a turn's row and keep its session's count of hot turns right."""
    row = rec.select("turns", (no,))
    if row is None:
        return
    if values.get("id") is not None and _is_taken(rec, row, values["id"]):
        raise UndoError(f"message id {values['id']!r} was added anew meanwhile: the turn cannot come back under it")
    rec.update("turns", (no,), values)
    hot = int(values.get("tier", row["tier"]) == "hot") - int(row["tier"] == "hot")
    if hot:
        rec.db.run(
            "UPDATE sessions SET hot = hot + ?, state = CASE WHEN hot + ? > 0 THEN 'open' ELSE state END"
            " WHERE tenant = ? AND owner = ? AND agent = ? AND session = ?",
            (hot, hot, *rec.key, row["agent"], row["session"]),
        )


def _is_taken(rec: Recorder, row: Row, message_id: str) -> bool:
    other = rec.db.one(
        "SELECT 1 FROM turns WHERE tenant = ? AND owner = ? AND agent = ? AND session = ? AND id = ?",
        (*rec.key, row["agent"], row["session"], message_id),
    )
    return other is not None


def _mark(rec: Recorder, undone: Row) -> None:
    """Note on the operation that it was undone; what an undone undo had undone is in force again.

    Its idempotency key is free again: the same call may be made anew.
    """
    rec.db.run(
        "UPDATE operations SET undone_by = ?, idempotency_key = NULL WHERE tenant = ? AND owner = ? AND id = ?",
        (rec.operation, *rec.key, undone["id"]),
    )
    rec.db.run(
        "DELETE FROM jobs WHERE tenant = ? AND owner = ? AND op = ? AND kind = 'remember'", (*rec.key, undone["id"])
    )
    if undone["verb"] == "undo":
        for operation in orjson.loads(undone["payload"])["undone"]:
            rec.db.run(
                "UPDATE operations SET undone_by = NULL WHERE tenant = ? AND owner = ? AND id = ?",
                (*rec.key, operation),
            )
