"""Purging notes: the rows go for good, with every copy of their text. Their turns stay, hidden where a user forgot."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import orjson

from memstrata.distil.commit import Embedded
from memstrata.distil.stages import writer_for
from memstrata.engine import Engine
from memstrata.journal.recorder import Recorder
from memstrata.ledger.clean_log import clean_log
from memstrata.ledger.traces import Traces, embed_traces, find_traces, take_out_unlogged
from memstrata.store.base import Db
from memstrata.store.kinds import NOTE
from memstrata.store.read import notes_by_no, select_in
from memstrata.store.rows import dump, to_us
from memstrata.types import Note, Receipt, Scope

BATCH = 200  # notes in one transaction
CLOSED = ("forgotten", "removed", "undone")  # states of a note that is out of everything


def purge_notes(
    engine: Engine, rec: Recorder, notes: Sequence[Note], traces: Traces, embedded: Sequence[Embedded]
) -> int:
    """Delete notes, their units, names, evidence, links, decisions and what the log says of them.

    What other rows hold of their words (`traces`, with the vectors of what changes) goes too. Returns how many. The
    operations that had closed them can no longer be undone.
    """
    take_out_unlogged(engine, rec, traces, embedded)
    clean_log(rec, traces, notes)
    writer = writer_for(engine, rec.db, rec.scope, rec.counter)
    for note in notes:
        no = note.no
        writer.drop(NOTE, note.no)
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
        _forget_decisions(rec, note.id)
        _forget_tags(rec, no)
        _forget_folds(rec, no)
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


def _forget_decisions(rec: Recorder, note: str) -> None:
    """The decisions that made or met the note, that which its user took back to have it, and what was said of them."""
    rows = rec.db.all(
        "SELECT id FROM decisions WHERE tenant = ? AND owner = ? AND note = ?"
        " UNION SELECT decision FROM feedback WHERE tenant = ? AND owner = ? AND note = ?",
        (*rec.key, note, *rec.key, note),
    )
    for row in rows:
        rec.db.run(
            "UPDATE operations SET payload = '{\"purged\":true}' WHERE tenant = ? AND owner = ? AND verb = 'feedback'"
            " AND id IN (SELECT op FROM changes WHERE tenant = ? AND owner = ? AND tbl = 'feedback' AND ref = ?)",
            (*rec.key, *rec.key, row["id"]),
        )
        _forget_changes(rec, "feedback", row["id"])
        rec.db.run("DELETE FROM feedback WHERE tenant = ? AND owner = ? AND decision = ?", (*rec.key, row["id"]))
        rec.db.run("DELETE FROM decisions WHERE tenant = ? AND owner = ? AND id = ?", (*rec.key, row["id"]))


def _forget_tags(rec: Recorder, no: int) -> None:
    """The tags that a `remember` was given lie in its payload too."""
    row = rec.db.one(
        "SELECT o.id, o.payload FROM notes n"
        " JOIN operations o ON o.tenant = n.tenant AND o.owner = n.owner AND o.id = n.op"
        " WHERE n.tenant = ? AND n.owner = ? AND n.no = ? AND o.verb = 'remember'",
        (*rec.key, no),
    )
    if row is not None:
        rec.db.run(
            "UPDATE operations SET payload = ? WHERE tenant = ? AND owner = ? AND id = ?",
            (dump(_without_tags(orjson.loads(row["payload"]))), *rec.key, row["id"]),
        )


def _without_tags(payload: dict[str, Any]) -> dict[str, Any]:
    each: dict[str, Any] = {"each": [[] for _ in payload["each"]]} if "each" in payload else {}
    return {**payload, "tags": [], **each}


def _forget_folds(rec: Recorder, no: int) -> None:
    """The text under which a model condensed notes lies in the payload too, and an answer that waits quotes notes."""
    for row in rec.db.all(
        "SELECT DISTINCT o.id, o.payload FROM changes c"
        " JOIN operations o ON o.tenant = c.tenant AND o.owner = c.owner AND o.id = c.op"
        " WHERE c.tenant = ? AND c.owner = ? AND c.tbl = 'notes' AND c.ref = ? AND o.verb = 'condense'",
        (*rec.key, str(no)),
    ):
        payload = {name: value for name, value in orjson.loads(row["payload"]).items() if name != "folds"}
        rec.db.run(
            "UPDATE operations SET payload = ? WHERE tenant = ? AND owner = ? AND id = ?",
            (dump(payload), *rec.key, row["id"]),
        )
    rec.db.run(
        "UPDATE calls SET answer = NULL WHERE tenant = ? AND owner = ? AND stage = 'fold' AND answer IS NOT NULL",
        rec.key,
    )


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

    def read(db: Db) -> tuple[list[Note], Traces]:
        closed = select_in(
            db,
            "SELECT no FROM notes WHERE tenant = ? AND owner = ? AND state IN ('forgotten', 'removed', 'undone')"
            " AND closed_at < ? AND no IN ({marks})",
            (tenant, owner, to_us(before)),
            numbers,
        )
        notes = list(notes_by_no(db, (tenant, owner), [row["no"] for row in closed]).values())
        return notes, find_traces(db, (tenant, owner), notes, forgetting=False, purging=True)

    while True:
        _, planned = await engine.store.read(read)
        embedded = await embed_traces(engine, planned)

        def write(db: Db, planned: Traces = planned, embedded: Sequence[Embedded] = embedded) -> int | None:
            notes, traces = read(db)
            if traces.state != planned.state:
                return None  # their neighbours changed meanwhile: look again
            rec = engine.record(db, scope, "purge", operation=operation, now=now)
            count = purge_notes(engine, rec, notes, traces, embedded)
            rec.finish({"notes": count}, Receipt(operation, "purge", now, counts={"purged": count}))
            return count

        count = await engine.store.write(write)
        if count is not None:
            await engine.drop_index(scope)
            return count
