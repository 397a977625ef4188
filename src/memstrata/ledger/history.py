"""The history of a note: its changes from the log, oldest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson

from memstrata.store.base import Db
from memstrata.store.read import key_of
from memstrata.store.rows import from_us
from memstrata.types import Note, Revision, Scope


def history_of(db: Db, scope: Scope, note: Note) -> tuple[Revision, ...]:
    """The changes of a note from the log, oldest first; its birth carries what it was born with."""
    rows = db.all(
        "SELECT c.op, c.before, c.after, o.verb, o.at FROM changes c"
        " JOIN operations o ON o.tenant = c.tenant AND o.owner = c.owner AND o.id = c.op"
        " WHERE c.tenant = ? AND c.owner = ? AND c.tbl = 'notes' AND c.ref = ? ORDER BY o.seq, c.n",
        (*key_of(scope), str(note.no)),
    )
    revisions = [
        Revision(
            row["op"],
            row["verb"],
            from_us(row["at"]),
            None if row["before"] is None else orjson.loads(row["before"]),
            None if row["after"] is None else orjson.loads(row["after"]),
        )
        for row in rows
    ]
    if revisions and revisions[0].before is None:
        revisions[0] = replace(revisions[0], after=_born(note, revisions[1:]))
    return tuple(revisions)


def _born(note: Note, later: Sequence[Revision]) -> dict[str, Any]:
    """What a note was when it was made: what it is now, with later changes taken back."""
    fields: dict[str, Any] = {
        "content": note.content,
        "context": note.context,
        "keywords": list(note.keywords),
        "tags": list(note.tags),
        "kind": note.kind,
        "state": note.state,
    }
    for revision in reversed(later):
        for name, value in (revision.before or {}).items():
            if name in fields:
                fields[name] = orjson.loads(value) if name in ("keywords", "tags") else value
    return fields
