"""Access: what was returned is fresh again. Touches are gathered and written together; a crash may lose them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import datetime

from memstrata.distil.commit import refresh_weight
from memstrata.engine import Engine
from memstrata.ledger.recorder import Recorder
from memstrata.store.base import Db
from memstrata.tiers.pages import touch_pages
from memstrata.types import Receipt, Scope


@dataclass(frozen=True, slots=True)
class Touch:
    """One touching recall (or context): the notes and pages that it returned."""

    scope: Scope
    at: datetime
    notes: tuple[int, ...]
    pages: tuple[int, ...]
    served: bool = False  # the notes went into a context of this session


@dataclass(slots=True)
class TouchBuffer:
    """Touches on their way to the store."""

    engine: Engine
    _waiting: list[Touch] = field(default_factory=list)
    _task: asyncio.Task[None] | None = None

    def add(self, touch: Touch) -> None:
        """Take a touch; it is written in the background."""
        self._waiting.append(touch)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._drain())

    async def drain(self) -> None:
        """Wait until every touch taken so far is written."""
        task = self._task  # the buffer may have another by the time this one is done
        if task is not None:
            await asyncio.wait([task])
            task.result()

    async def _drain(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            groups: dict[tuple[str, str, str | None], list[Touch]] = {}
            for touch in batch:
                groups.setdefault((touch.scope.tenant, touch.scope.owner, touch.scope.agent), []).append(touch)
            for touches in groups.values():
                await apply_touches(self.engine, touches)


async def apply_touches(engine: Engine, touches: list[Touch]) -> None:
    """Write the touches of one scope, in their order, as one operation."""
    operation, scope = engine.operation_id(), touches[0].scope

    def write(db: Db) -> None:
        owner = db.one("SELECT 1 FROM owners WHERE tenant = ? AND owner = ?", (scope.tenant, scope.owner))
        if owner is None:  # erased in between
            return
        rec = engine.record(db, scope, "touch", operation=operation, now=touches[-1].at)
        for touch in touches:
            rec.now = touch.at
            apply_touch(engine, rec, touch)
        payload = {"touches": [_payload(touch) for touch in touches]}
        rec.finish(payload, Receipt(operation, "touch", rec.now, counts={"recalls": len(touches)}))

    await engine.store.write(write)


def apply_touch(engine: Engine, rec: Recorder, touch: Touch) -> None:
    """Weights of the notes to 1, heat of the pages up, one tick on."""
    agent = touch.scope.agent or ""
    for no in touch.notes:
        row = rec.select("notes", (no,))
        if row is not None and row["state"] in ("current", "superseded"):
            refresh_weight(rec, no, row["kind"], bool(row["pinned"]), engine.settings)
        if touch.served:
            rec.db.run(
                "INSERT INTO served (tenant, owner, agent, session, note) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                (*rec.key, agent, touch.scope.session or "", no),
            )
    touch_pages(rec, agent, touch.pages, engine.settings)


def _payload(touch: Touch) -> dict[str, object]:
    return {
        "at": touch.at,
        "notes": touch.notes,
        "pages": touch.pages,
        "session": touch.scope.session,
        "served": touch.served,
    }
