"""Access: what was returned is fresh again. Touches are gathered and written together; a crash may lose them."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from datetime import datetime

from memstrata.engine import Engine
from memstrata.errors import StoreError
from memstrata.journal.recorder import Recorder
from memstrata.store.base import Db
from memstrata.tiers.fade import refresh_weight
from memstrata.tiers.pages import touch_pages
from memstrata.types import Receipt, Scope

log = logging.getLogger("memstrata")


@dataclass(frozen=True, slots=True)
class Touch:
    """One touching recall (or context): the notes and pages that it returned."""

    scope: Scope
    at: datetime
    notes: tuple[int, ...]
    pages: tuple[int, ...]
    served: bool = False  # the notes went into a context of this session

    @property
    def walls(self) -> tuple[str, str, str | None]:
        """What an operation may not reach across."""
        return (self.scope.tenant, self.scope.owner, self.scope.agent)


@dataclass(slots=True)
class TouchBuffer:
    """Touches on their way to the store."""

    engine: Engine
    _waiting: list[Touch] = field(default_factory=list)
    _task: asyncio.Task[None] | None = None
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def add(self, touch: Touch) -> None:
        """Take a touch; it is written in the background, where the store can be written."""
        if self.engine.read_only:
            return
        self._waiting.append(touch)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._background())

    async def _background(self) -> None:
        try:
            await self.drain()
        except StoreError as error:
            log.warning("%d touches wait for the next ones: %s", len(self._waiting), type(error).__name__)

    async def drain(self) -> None:
        """Write every touch taken so far. Those that the store refuses stay here; its error is raised."""
        async with self._writing:
            while self._waiting:
                walls = self._waiting[0].walls
                touches = [touch for touch in self._waiting if touch.walls == walls]
                self._waiting = [touch for touch in self._waiting if touch.walls != walls]
                try:
                    await apply_touches(self.engine, touches)
                except StoreError:
                    self._waiting = touches + self._waiting
                    raise


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

    await engine.store.write(write, durable=False)


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
