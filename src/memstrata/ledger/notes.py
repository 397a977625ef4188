"""The verbs on notes: get, list, update, pin, forget, restore, history. Each change is one operation and a revision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memstrata.distil.commit import add_names
from memstrata.distil.stages import embed_documents, writer_for
from memstrata.engine import Engine
from memstrata.errors import ConflictError, InputError, LimitError
from memstrata.extract.cues import cues_of
from memstrata.extract.slots import slot_of
from memstrata.index.units import document_of
from memstrata.intake.arguments import flag, kind_of, kinds_of, words
from memstrata.intake.characters import fault_in_text
from memstrata.intake.messages import check_metadata
from memstrata.ledger.cursors import cursor_at, limit_of, place_of
from memstrata.ledger.history import history_of
from memstrata.recall.filters import compile_filter, note_fields
from memstrata.store.base import Db
from memstrata.store.read import key_of, note_by_id, notes_by_no
from memstrata.store.rows import dump
from memstrata.text.keywords import keywords as keywords_in
from memstrata.text.language import detect
from memstrata.text.names import names as names_in
from memstrata.text.tokens import statement_key
from memstrata.tiers.fade import forgets_us, rate_of
from memstrata.tiers.weight import weight_at
from memstrata.types import Kind, Message, Note, NotePage, Receipt, Revision, Scope

SCAN = 200  # notes read at once while a filter looks for its page


def with_weight(engine: Engine, note: Note) -> Note:
    """The note with its weight as of now."""
    if note.pinned or not engine.settings.forgetting:
        return note
    return replace(note, weight=weight_at(note.last_access, engine.now(), rate_of(note.kind, engine.settings)))


def _in_force(note: Note) -> Note:
    """The note, unless it was forgotten or undone: then ConflictError."""
    if note.state == "undone":
        raise ConflictError(f"note {note.id} was undone: undo that to have it back")
    if note.state not in ("current", "superseded"):
        raise ConflictError(f"note {note.id} is {note.state}: restore it first")
    return note


async def get(engine: Engine, scope: Scope, note_id: str) -> Note:
    return with_weight(engine, await engine.store.read(lambda db: note_by_id(db, scope, note_id)))


# list -----------------------------------------------------------------------------------------------------------------


async def list_notes(
    engine: Engine,
    scope: Scope,
    *,
    filters: Mapping[str, Any] | None = None,
    kinds: Sequence[Kind] | None = None,
    tags: Sequence[str] | None = None,
    include_superseded: bool = False,
    include_forgotten: bool = False,
    limit: int = 50,
    cursor: str | None = None,
) -> NotePage:
    limit_of(limit)
    states = ["current"]
    if flag(include_superseded, "include_superseded"):
        states.append("superseded")
    if flag(include_forgotten, "include_forgotten"):
        states += ["forgotten", "removed"]
    check = compile_filter(filters)
    kinds = kinds_of(kinds or ())
    wanted_tags = {tag.casefold() for tag in words(tags or (), "tags")}
    after = int((place_of(cursor, int) or (0,))[0])

    def fits(note: Note) -> bool:
        if kinds and note.kind not in kinds:
            return False
        if wanted_tags and not {tag.casefold() for tag in note.tags} >= wanted_tags:
            return False
        return check is None or check(note_fields(note))

    def read(db: Db) -> NotePage:
        found: list[Note] = []
        last = after
        while True:
            rows = numbers_after(db, scope, states, last)
            notes = notes_by_no(db, key_of(scope), rows)
            for no in rows:
                if fits(notes[no]):
                    if len(found) == limit:
                        return NotePage(tuple(found), cursor_at(found[-1].no))
                    found.append(with_weight(engine, notes[no]))
            if len(rows) < SCAN:
                return NotePage(tuple(found))
            last = rows[-1]

    return await engine.store.read(read)


def numbers_after(db: Db, scope: Scope, states: Sequence[str], after: int) -> list[int]:
    wall = "" if scope.agent is None else " AND agent IN ('', ?)"
    rows = db.all(
        f"SELECT no FROM notes WHERE tenant = ? AND owner = ? AND no > ? AND state IN ({', '.join('?' * len(states))})"
        f"{wall} ORDER BY no LIMIT ?",
        (*key_of(scope), after, *states, *(() if scope.agent is None else (scope.agent,)), SCAN),
    )
    return [row["no"] for row in rows]


# update ---------------------------------------------------------------------------------------------------------------


async def update(
    engine: Engine,
    scope: Scope,
    note_id: str,
    *,
    content: str | None = None,
    context: str | None = None,
    keywords: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
    kind: Kind | None = None,
    metadata: Mapping[str, Any] | None = None,
    revision: int | None = None,
) -> Note:
    edits = _edits(engine, content, context, keywords, tags, kind, metadata)
    operation, now = engine.operation_id(), engine.now()
    while True:
        old = await engine.store.read(lambda db: _in_force(note_by_id(db, scope, note_id, own=True)))
        if revision is not None and old.revision != revision:
            raise ConflictError(f"note {note_id} is at revision {old.revision}, not {revision}: read it again")
        new = _edited(old, edits)
        embedded = (await embed_documents(engine, [document_of(new)]))[0]

        def write(db: Db, old: Note = old, new: Note = new, embedded: Any = embedded) -> bool:
            if note_by_id(db, scope, note_id).revision != old.revision:
                return False
            rec = engine.record(db, scope, "update", operation=operation, now=now)
            writer_for(engine, db, scope, rec.counter).put(embedded.document, embedded.vectors)
            rec.update("notes", (old.no,), _columns(engine, new))
            if new.names != old.names:
                rec.db.run("DELETE FROM names WHERE tenant = ? AND owner = ? AND note = ?", (*rec.key, old.no))
                add_names(rec, old.no, new.names)
            rec.finish({"note": note_id, "edits": edits}, Receipt(operation, "update", now, counts={"updated": 1}))
            return True

        if await engine.store.write(write):
            return await get(engine, scope, note_id)


def _edits(
    engine: Engine,
    content: str | None,
    context: str | None,
    keywords: Sequence[str] | None,
    tags: Sequence[str] | None,
    kind: Kind | None,
    metadata: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The edits of a call, checked and redacted."""
    edits: dict[str, Any] = {}
    for name, text in (("content", content), ("context", context)):
        if text is not None:
            edits[name] = _clean(engine, name, text)
    if "content" in edits and not edits["content"].strip():
        raise InputError("content must not be empty; use forget to take a note away")
    for name, labels in (("keywords", keywords), ("tags", tags)):
        if labels is None:
            continue
        edits[name] = [_clean(engine, name, label) for label in words(labels, name)]
    if kind is not None:
        edits["kind"] = kind_of(kind)
    if metadata is not None:
        message = Message(role="user", text="", metadata=check_metadata(metadata))
        edits["metadata"] = engine.redactor.redact_message(message).metadata
    if not edits:
        raise InputError("nothing to update: pass content, context, keywords, tags, kind or metadata")
    return edits


def _clean(engine: Engine, name: str, text: object) -> str:
    if not isinstance(text, str):
        raise InputError(f"{name} must be text, not {type(text).__name__}")
    if len(text) > engine.settings.max_chars:
        raise LimitError(f"{name} has {len(text)} characters, at most {engine.settings.max_chars} are taken")
    if fault := fault_in_text(text):
        raise InputError(f"{name}: {fault}")
    return engine.redactor.redact(text)[0]


def _edited(note: Note, edits: Mapping[str, Any]) -> Note:
    """The note with the edits, and what follows from a new content: its names, slot, polarity and language."""
    edited = tuple(sorted({*note.edited, *edits}))
    values: dict[str, Any] = {
        name: tuple(value) if name in ("keywords", "tags") else value for name, value in edits.items()
    }
    new = replace(note, **values, edited=edited)
    if "content" not in edits:
        return new
    prefix = f"{note.speaker}: "
    said = new.content.removeprefix(prefix) if note.speaker else new.content
    language = detect(said)
    cues = cues_of(said, language)
    named = names_in(said, speaker=note.speaker)
    return replace(
        new,
        names=named,
        keywords=new.keywords if "keywords" in edited else keywords_in(said, named=named),
        slot=slot_of(said, note.speaker, language),
        negated=cues.negated,
        language=language,
    )


def _columns(engine: Engine, note: Note) -> dict[str, object]:
    return {
        "content": note.content,
        "context": note.context,
        "keywords": dump(note.keywords),
        "tags": dump(note.tags),
        "names": dump(note.names),
        "kind": note.kind,
        "language": note.language,
        "negated": int(note.negated),
        "statement": statement_key(note.content),
        "subject": note.slot.subject if note.slot else None,
        "attribute": note.slot.attribute if note.slot else None,
        "value": note.slot.value if note.slot else None,
        "edited": dump(note.edited),
        "metadata": dump(note.metadata) if note.metadata else None,
        "rate": rate_of(note.kind, engine.settings),
        "forgets_at": forgets_us(note.last_access, note.kind, note.pinned, engine.settings),
    }


async def pin(engine: Engine, scope: Scope, note_id: str, *, pinned: bool) -> Note:
    operation, now, pinned = engine.operation_id(), engine.now(), flag(pinned, "pinned")

    def write(db: Db) -> None:
        note = _in_force(note_by_id(db, scope, note_id, own=True))
        rec = engine.record(db, scope, "pin", operation=operation, now=now)
        forgets = forgets_us(note.last_access, note.kind, pinned, engine.settings)
        rec.update("notes", (note.no,), {"pinned": int(pinned), "forgets_at": forgets})
        rec.finish({"note": note_id, "pinned": pinned}, Receipt(operation, "pin", now, counts={"pinned": int(pinned)}))

    await engine.store.write(write)
    return await get(engine, scope, note_id)


# history --------------------------------------------------------------------------------------------------------------


async def history(engine: Engine, scope: Scope, note_id: str) -> tuple[Revision, ...]:
    return await engine.store.read(lambda db: history_of(db, scope, note_by_id(db, scope, note_id)))
