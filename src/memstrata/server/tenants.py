"""The memories of all tenants on one store: opened when first asked for, closed when long unused."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from memstrata.async_memory import AsyncMemory
from memstrata.errors import MemstrataError
from memstrata.store.base import Db

log = logging.getLogger("memstrata.server")
MOST_OPEN = 2000  # memories kept open; each costs a few kilobytes, their indexes share one budget


class Tenants:
    """One `AsyncMemory` for each tenant, on the store, models and indexes of the one that the service was opened with.

    `settings` gives the settings of a tenant that differ from the service's; `forget` lets them be read again.
    """

    def __init__(self, root: AsyncMemory, settings: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self._root = root
        self._settings = {} if settings is None else settings
        self._open: OrderedDict[str, AsyncMemory] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()
        self._upkeep: asyncio.Task[None] | None = None

    def memory(self, tenant: str) -> AsyncMemory:
        """The memory of a tenant. Raises SettingsError where the tenant's own settings cannot be."""
        memory = self._open.get(tenant)
        if memory is None:
            memory = self._open[tenant] = self._root._for_tenant(tenant, **self._settings.get(tenant, {}))
        self._open.move_to_end(tenant)
        if len(self._open) > MOST_OPEN:
            self._close_later(self._open.popitem(last=False)[1])
        return memory

    def forget(self, tenant: str) -> None:
        """Open the tenant's memory anew at the next call, with the settings that it has then."""
        memory = self._open.pop(tenant, None)
        if memory is not None:
            self._close_later(memory)

    def _close_later(self, memory: AsyncMemory) -> None:
        task = asyncio.get_running_loop().create_task(memory.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    # upkeep -----------------------------------------------------------------------------------------------------------

    def start_upkeep(self, seconds: float) -> None:
        """Go on with the work that an earlier run left; from then on keep every tenant up, every so many seconds."""
        self._upkeep = asyncio.get_running_loop().create_task(self._keep_up(seconds))

    async def _keep_up(self, seconds: float) -> None:
        await self._each(waiting_tenants, "flush")
        while True:
            await asyncio.sleep(seconds)
            await self._each(all_tenants, "maintain")

    async def _each(self, which: Any, verb: str) -> None:
        """Call a verb for tenants, one after another; one that fails does not hold up the others."""
        try:
            for tenant in await self._root._engine.store.read(which):
                try:
                    await getattr(self.memory(tenant), verb)()
                except MemstrataError as error:
                    log.warning("%s of a tenant failed: %s", verb, type(error).__name__)
        except MemstrataError as error:
            log.warning("%s of all tenants failed: %s", verb, type(error).__name__)

    async def close(self) -> None:
        """Finish the jobs in hand, write what was touched, and close the store."""
        if self._upkeep is not None:
            self._upkeep.cancel()
            await asyncio.wait([self._upkeep])
        for memory in [*self._open.values()]:
            self._close_later(memory)
        self._open.clear()
        if self._closing:
            await asyncio.wait([*self._closing])
        await self._root.close()


def all_tenants(db: Db) -> list[str]:
    """The tenants of whom anything is stored."""
    return [row["tenant"] for row in db.all("SELECT DISTINCT tenant FROM owners ORDER BY tenant")]


def waiting_tenants(db: Db) -> list[str]:
    """The tenants that have queued work."""
    return [row["tenant"] for row in db.all("SELECT DISTINCT tenant FROM jobs ORDER BY tenant")]
