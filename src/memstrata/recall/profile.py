"""The profile: current notes that say who someone is. Read from the notes, never kept beside them."""

from __future__ import annotations

from dataclasses import replace

from memstrata.engine import Engine
from memstrata.store.base import Db
from memstrata.store.read import key_of, notes_by_no
from memstrata.tiers.fade import rate_of
from memstrata.tiers.weight import weight_at
from memstrata.types import Note, Profile, Scope


async def make_profile(engine: Engine, scope: Scope) -> Profile:
    """The scope's current notes of identity, preference and relation, newest said first; see `AsyncMemory.profile`."""
    notes = await engine.store.read(lambda db: _personal_notes(db, scope))
    now, settings = engine.now(), engine.settings

    def of(kind: str) -> tuple[Note, ...]:
        return tuple(
            replace(note, weight=weight_at(note.last_access, now, rate_of(note.kind, settings)))
            if settings.forgetting and not note.pinned
            else note
            for note in notes
            if note.kind == kind
        )

    return Profile(scope.user, scope.agent, of("identity"), of("preference"), of("relation"))


def _personal_notes(db: Db, scope: Scope) -> list[Note]:
    wall = "" if scope.agent is None else " AND agent IN ('', ?)"
    rows = db.all(
        "SELECT no FROM notes WHERE tenant = ? AND owner = ? AND state = 'current'"
        f" AND kind IN ('identity', 'preference', 'relation'){wall} ORDER BY said_at DESC, no DESC",
        (*key_of(scope), *(() if scope.agent is None else (scope.agent,))),
    )
    notes = notes_by_no(db, key_of(scope), [row["no"] for row in rows])
    return [notes[row["no"]] for row in rows]
