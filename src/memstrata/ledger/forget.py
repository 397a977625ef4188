"""Forget and restore: a note out of recall and back, with what other rows hold of its words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from memstrata.distil.commit import Embedded, hide_turn
from memstrata.distil.stages import embed_documents, writer_for
from memstrata.engine import Engine
from memstrata.errors import ConflictError, InputError
from memstrata.index.units import document_of
from memstrata.intake.arguments import flag
from memstrata.journal.recorder import Recorder
from memstrata.ledger.notes import get, numbers_after
from memstrata.ledger.purge import purge_notes
from memstrata.ledger.traces import Traces, cleaned, embed_traces, find_traces, hides, origin_of, take_out
from memstrata.notes.evolve import MOST_TAGS, with_pieces_back
from memstrata.recall.filters import compile_filter, note_fields
from memstrata.store.base import Db
from memstrata.store.kinds import FORGOTTEN_BIT
from memstrata.store.read import Key, key_of, note_by_id, notes_by_no, select_in
from memstrata.store.rows import dump, to_us
from memstrata.tiers.fade import forgets_us
from memstrata.types import Note, Receipt, Scope


@dataclass(frozen=True, slots=True)
class Marking:
    """Another verb that forgetting or restoring carries out: its name, its payload, and what it writes besides."""

    verb: str
    payload: Mapping[str, Any]
    write: Callable[[Recorder], None]


# forget ---------------------------------------------------------------------------------------------------------------


async def forget(
    engine: Engine,
    scope: Scope,
    note_id: str | None,
    *,
    filters: Mapping[str, Any] | None = None,
    hard: bool = False,
    marking: Marking | None = None,
) -> Receipt:
    """Take notes out of recall, and their words out of what other rows hold of them. See `AsyncMemory.forget`."""
    if (note_id is None) == (filters is None):
        raise InputError("forget takes either a note id or filters; to remove a whole subject use erase")
    check = compile_filter(filters)
    flag(hard, "hard")
    operation, now, verb = engine.operation_id(), engine.now(), marking.verb if marking is not None else "forget"

    def read(db: Db) -> tuple[list[Note], Traces]:
        found = [note_by_id(db, scope, note_id, own=True)] if note_id is not None else _matching(db, scope, check)
        found += _folded_into(db, key_of(scope), found)
        # Those that are gone already keep their time; one that was undone is not to come back by `restore`.
        concerned = found if hard else [note for note in found if hides(note)]
        return found, find_traces(db, key_of(scope), concerned, forgetting=True, purging=hard)

    while True:
        _, planned = await engine.store.read(read)
        embedded = await embed_traces(engine, planned)

        def write(db: Db, planned: Traces = planned, embedded: Sequence[Embedded] = embedded) -> Receipt | None:
            found, traces = read(db)
            if traces.state != planned.state:
                return None  # its neighbours changed meanwhile: look again
            rec = engine.record(db, scope, verb, operation=operation, now=now)
            fresh = [note for note in found if hides(note)]
            for note in fresh:
                rec.update("notes", (note.no,), {"state": "removed", "closed_at": to_us(now)})
                for turn in _turns_of(rec, note.no):
                    hide_turn(rec, turn, FORGOTTEN_BIT)
            counts = {"forgotten": len(fresh)}
            if hard:
                counts["purged"] = purge_notes(engine, rec, found, traces, embedded)
            else:
                take_out(engine, rec, traces, embedded)
            if traces.holders:
                counts["rewritten"] = len(traces.holders)
            receipt = Receipt(operation, verb, now, counts=counts)
            payload: Mapping[str, Any] = {"notes": [note.no for note in found], "hard": hard}
            if marking is not None:
                marking.write(rec)
                payload = marking.payload
            rec.finish(payload, receipt)
            return receipt

        receipt = await engine.store.write(write)
        if receipt is not None:
            if hard:
                await engine.drop_index(scope)
            return receipt


def _matching(db: Db, scope: Scope, check: Any) -> list[Note]:
    """The notes that a filter fits, whatever their state but gone already; of an agent, only its own."""
    found: list[Note] = []
    last = 0
    while numbers := numbers_after(db, scope, ("current", "superseded", "forgotten"), last):
        notes = notes_by_no(db, key_of(scope), numbers)
        mine = [notes[no] for no in numbers if scope.agent in (None, notes[no].agent)]
        found += [note for note in mine if check(note_fields(note))]
        last = numbers[-1]
    return found


def _folded_into(db: Db, key: Key, notes: Sequence[Note]) -> list[Note]:
    """The notes that compression folded into these, however often, but those among them: they say the same."""
    known = {note.no for note in notes}
    found: set[int] = set()
    waiting = sorted(known)
    while waiting:
        rows = select_in(
            db,
            "SELECT l.target FROM links l"
            " JOIN operations o ON o.tenant = l.tenant AND o.owner = l.owner AND o.id = l.op"
            " WHERE l.tenant = ? AND l.owner = ? AND o.verb = 'compress' AND l.type = 'supersedes'"
            " AND l.source IN ({marks})",
            key,
            waiting,
        )
        waiting = sorted({row["target"] for row in rows} - known - found)
        found.update(waiting)
    return [note for _, note in sorted(notes_by_no(db, key, found).items())]


def _turns_of(rec: Recorder, note: int) -> list[int]:
    rows = rec.db.all("SELECT turn FROM evidence WHERE tenant = ? AND owner = ? AND note = ?", (*rec.key, note))
    return [row["turn"] for row in rows]


# restore --------------------------------------------------------------------------------------------------------------


async def restore(engine: Engine, scope: Scope, note_id: str, *, marking: Marking | None = None) -> Note:
    """Bring a forgotten note back, with what was taken out of its neighbours. See `AsyncMemory.restore`."""
    operation, now, verb = engine.operation_id(), engine.now(), marking.verb if marking is not None else "restore"

    def read(db: Db) -> tuple[Note, list[Note]]:
        note = note_by_id(db, scope, note_id, own=True)
        if note.state not in ("forgotten", "removed"):
            raise ConflictError(f"note {note_id} is {note.state}: only a forgotten note can be restored")
        return note, _with_words_back(db, key_of(scope), note)

    while True:
        _, planned = await engine.store.read(read)
        embedded = await embed_documents(engine, [document_of(each) for each in planned])

        def write(db: Db, planned: Sequence[Note] = planned, embedded: Sequence[Embedded] = embedded) -> bool:
            note, holders = read(db)
            if _versions(holders) != _versions(planned):
                return False
            rec = engine.record(db, scope, verb, operation=operation, now=now)
            _bring_back(engine, rec, note)
            for holder, item in zip(holders, embedded, strict=True):
                writer_for(engine, db, scope, rec.counter).put(item.document, item.vectors)
                rec.update("notes", (holder.no,), {"context": holder.context, "tags": dump(holder.tags)})
            if marking is not None:
                marking.write(rec)
            payload = marking.payload if marking is not None else {"note": note_id}
            rec.finish(payload, Receipt(operation, verb, now, counts={"restored": 1}))
            return True

        if await engine.store.write(write):
            return await get(engine, scope, note_id)


def _versions(notes: Sequence[Note]) -> list[tuple[object, ...]]:
    return [(note.no, note.revision, note.context, note.tags) for note in notes]


def _with_words_back(db: Db, key: Key, note: Note) -> list[Note]:
    """The neighbours that lost words when this note was forgotten, with these words again: as they will be.

    A neighbour that was edited since is left alone. Of others that were forgotten at the same time nothing comes back.
    """
    rows = db.all(
        "SELECT c.op, c.after FROM changes c"
        " JOIN operations o ON o.tenant = c.tenant AND o.owner = c.owner AND o.id = c.op"
        " WHERE c.tenant = ? AND c.owner = ? AND c.tbl = 'notes' AND c.ref = ? AND c.after IS NOT NULL"
        " ORDER BY o.seq DESC, c.n DESC",
        (*key, str(note.no)),
    )
    taken = next((row["op"] for row in rows if orjson.loads(row["after"]).get("state") == "removed"), None)
    if taken is None:
        return []  # it faded: nothing was taken
    rows = db.all(
        "SELECT ref, before, after FROM changes WHERE tenant = ? AND owner = ? AND op = ? AND tbl = 'notes'"
        " AND before IS NOT NULL AND after IS NOT NULL AND ref <> ? ORDER BY n",
        (*key, taken, str(note.no)),
    )
    neighbours = notes_by_no(db, key, {int(row["ref"]) for row in rows})
    origin = origin_of(db, key, note)
    found = []
    for row in rows:
        neighbour = neighbours.get(int(row["ref"]))
        if neighbour is None:
            continue
        before, after = orjson.loads(row["before"]), orjson.loads(row["after"])
        context, tags = neighbour.context, neighbour.tags
        if "context" in before and ("context" not in neighbour.edited or context == after["context"]):
            context = with_pieces_back(context, before["context"], cleaned(before["context"], [origin]))
        if "tags" in before and "tags" not in neighbour.edited:
            had = orjson.loads(before["tags"])
            mine = [tag for tag in had if tag in tags or tag in origin.tags]
            tags = (*mine, *(tag for tag in tags if tag not in mine))[:MOST_TAGS]
        if (context, tags) != (neighbour.context, neighbour.tags):
            found.append(replace(neighbour, context=context, tags=tags))
    return found


def _bring_back(engine: Engine, rec: Recorder, note: Note) -> None:
    rec.update(
        "notes",
        (note.no,),
        {
            "state": "superseded" if _is_superseded(rec.db, rec.key, note) else "current",
            "closed_at": None,
            "last_access": to_us(rec.now),
            "forgets_at": forgets_us(rec.now, note.kind, note.pinned, engine.settings),
        },
    )
    for turn in _turns_of(rec, note.no):
        others = rec.db.one(
            "SELECT 1 FROM evidence e JOIN notes n ON n.tenant = e.tenant AND n.owner = e.owner AND n.no = e.note"
            " WHERE e.tenant = ? AND e.owner = ? AND e.turn = ? AND n.state = 'removed'",
            (*rec.key, turn),
        )
        if others is None:
            hide_turn(rec, turn, FORGOTTEN_BIT, hide=False)
    _supersede_older(rec, note.no)


def _is_superseded(db: Db, key: Key, note: Note) -> bool:
    """Whether a note that is there took its place, or the place of the one that did."""
    successor = note.superseded_by
    while successor is not None:
        row = db.one(
            "SELECT state, superseded_by FROM notes WHERE tenant = ? AND owner = ? AND id = ?",
            (*key, successor),
        )
        if row is None:
            return False
        if row["state"] in ("current", "superseded"):
            return True
        successor = row["superseded_by"]
    return False


def _supersede_older(rec: Recorder, note: int) -> None:
    """What this note had superseded, and was restored while it was away, gives way to it again."""
    rows = rec.db.all(
        "SELECT n.no, n.state FROM links l"
        " JOIN notes n ON n.tenant = l.tenant AND n.owner = l.owner AND n.no = l.target"
        " WHERE l.tenant = ? AND l.owner = ? AND l.source = ? AND l.type = 'supersedes'",
        (*rec.key, note),
    )
    for row in rows:
        if row["state"] == "current":
            rec.update("notes", (row["no"],), {"state": "superseded"})
        elif row["state"] in ("forgotten", "removed"):
            _supersede_older(rec, row["no"])
