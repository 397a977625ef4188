"""Purging notes: the rows go for good, with every copy of their text. Their turns stay, hidden where a user forgot."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import orjson

from memstrata.distil.stages import writer_for
from memstrata.engine import Engine
from memstrata.index.units import document_of
from memstrata.journal.recorder import Recorder
from memstrata.store.base import Db
from memstrata.store.read import notes_by_no, select_in
from memstrata.store.rows import dump, to_us
from memstrata.types import Receipt, Scope

BATCH = 200  # notes in one transaction
CLOSED = ("forgotten", "removed", "undone")  # states of a note that is out of everything


def purge_notes(engine: Engine, rec: Recorder, numbers: Iterable[int]) -> int:
    """Delete notes, their units, names, evidence, links, decisions and what the log says of them.

    Returns how many. The operations that had closed them can no longer be undone.
    """
    notes = notes_by_no(rec.db, rec.key, numbers)
    writer = writer_for(engine, rec.db, rec.scope, rec.counter)
    for no, note in notes.items():
        writer.drop(document_of(note))
        links = rec.db.all(
            "SELECT source, target, type FROM links WHERE tenant = ? AND owner = ? AND (source = ? OR target = ?)",
            (*rec.key, no, no),
        )
        for link in links:
            _forget_changes(rec, "links", f"{link['source']}/{link['target']}/{link['type']}")
        for end in ("source", "target"):
            rec.db.run(f"DELETE FROM links WHERE tenant = ? AND owner = ? AND {end} = ?", (*rec.key, no))
        for table, column in (("names", "note"), ("evidence", "note"), ("served", "note")):
            rec.db.run(f"DELETE FROM {table} WHERE tenant = ? AND owner = ? AND {column} = ?", (*rec.key, no))
        rec.db.run("DELETE FROM decisions WHERE tenant = ? AND owner = ? AND note = ?", (*rec.key, note.id))
        rec.db.run(
            "UPDATE operations SET payload = '{\"purged\":true}' WHERE tenant = ? AND owner = ? AND verb = 'update'"
            " AND id IN (SELECT op FROM changes WHERE tenant = ? AND owner = ? AND tbl = 'notes' AND ref = ?)",
            (*rec.key, *rec.key, str(no)),
        )
        _seal(rec, no)
        _forget_changes(rec, "notes", str(no))
        rec.db.run("DELETE FROM notes WHERE tenant = ? AND owner = ? AND no = ?", (*rec.key, no))
    if notes:
        rec.notes_touched = True
        rec.counter.purged += len(notes)
    return len(notes)


def _seal(rec: Recorder, no: int) -> None:
    """Mark the operations that closed this note: undoing one would serve the turns of a note that is gone."""
    rows = rec.db.all(
        "SELECT o.id, o.payload, c.after FROM changes c"
        " JOIN operations o ON o.tenant = c.tenant AND o.owner = c.owner AND o.id = c.op"
        " WHERE c.tenant = ? AND c.owner = ? AND c.tbl = 'notes' AND c.ref = ? AND c.after IS NOT NULL",
        (*rec.key, str(no)),
    )
    for row in rows:
        if orjson.loads(row["after"]).get("state") in CLOSED:
            rec.db.run(
                "UPDATE operations SET payload = ? WHERE tenant = ? AND owner = ? AND id = ?",
                (dump({**orjson.loads(row["payload"]), "purged": True}), *rec.key, row["id"]),
            )


def _forget_changes(rec: Recorder, table: str, ref: str) -> None:
    rec.db.run("DELETE FROM changes WHERE tenant = ? AND owner = ? AND tbl = ? AND ref = ?", (*rec.key, table, ref))


async def purge_closed(engine: Engine, before: datetime) -> int:
    """Purge the tenant's notes that were closed (forgotten, removed, undone) before a time; returns how many."""
    tenant, purged = engine.settings.tenant, 0
    while True:
        rows = await engine.store.read(
            lambda db: db.all(
                "SELECT owner, no FROM notes WHERE tenant = ? AND state IN ('forgotten', 'removed', 'undone')"
                " AND closed_at < ? ORDER BY closed_at, owner, no LIMIT ?",
                (tenant, to_us(before), BATCH),
            )
        )
        if not rows:
            return purged
        owner = rows[0]["owner"]
        purged += await purge_some(engine, owner, [row["no"] for row in rows if row["owner"] == owner], before)


async def purge_some(engine: Engine, owner: str, numbers: list[int], before: datetime) -> int:
    """Purge these notes of one owner, unless they were restored in between."""
    kind, _, name = owner.partition(":")
    tenant = engine.settings.tenant
    scope = Scope(tenant, name, None) if kind == "u" else Scope(tenant, None, name)
    operation, now = engine.operation_id(), engine.now()

    def write(db: Db) -> int:
        rec = engine.record(db, scope, "purge", operation=operation, now=now)
        closed = select_in(
            db,
            "SELECT no FROM notes WHERE tenant = ? AND owner = ? AND state IN ('forgotten', 'removed', 'undone')"
            " AND closed_at < ? AND no IN ({marks})",
            (tenant, owner, to_us(before)),
            numbers,
        )
        count = purge_notes(engine, rec, [row["no"] for row in closed])
        rec.finish({"notes": count}, Receipt(operation, "purge", now, counts={"purged": count}))
        return count

    return await engine.store.write(write)
