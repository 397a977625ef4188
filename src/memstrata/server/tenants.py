"""The memories of all tenants on one store: opened when first asked for, closed when long unused."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from typing import TypeVar

from memstrata.async_memory import AsyncMemory
from memstrata.errors import MemstrataError
from memstrata.server.keys import Rules, no_rules
from memstrata.server.problems import HttpError
from memstrata.store.base import Db

log = logging.getLogger("memstrata.server")
MOST_OPEN = 2000  # memories kept open; each costs a few kilobytes, their indexes share one budget
FRESH_SECONDS = 5.0  # how long what is set for a tenant, and its count of turns, are believed
T = TypeVar("T")


class Tenants:
    """One `AsyncMemory` for each tenant, on the store, models and indexes of the one that the service was opened with.

    `rules_of` gives what is set for a tenant; it is asked again every few seconds.
    """

    def __init__(self, root: AsyncMemory, rules_of: Callable[[str], Rules] = no_rules) -> None:
        self._root = root
        self._rules_of = rules_of
        self._rules: OrderedDict[str, tuple[Rules, float]] = OrderedDict()
        self._turns: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._open: OrderedDict[str, AsyncMemory] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()
        self._upkeep: asyncio.Task[None] | None = None

    def memory(self, tenant: str) -> AsyncMemory:
        """The memory of a tenant. Raises SettingsError where the tenant's own settings cannot be."""
        memory = self._open.get(tenant)
        if memory is None:
            memory = self._open[tenant] = self._root._for_tenant(tenant, **self.rules(tenant).settings)
        self._open.move_to_end(tenant)
        if len(self._open) > MOST_OPEN:
            self._close_later(self._open.popitem(last=False)[1])
        return memory

    def rules(self, tenant: str) -> Rules:
        """What is set for a tenant; when that changed, its memory is opened anew at the next call."""
        now = time.monotonic()
        rules, at = self._rules.get(tenant, (None, 0.0))
        if rules is None or now - at > FRESH_SECONDS:
            found = self._rules_of(tenant)
            if rules is not None and found.settings != rules.settings and tenant in self._open:
                self._close_later(self._open.pop(tenant))
            rules = found
            _keep(self._rules, tenant, (rules, now))
        return rules

    async def check_room(self, tenant: str) -> None:
        """Raise a 403 when the tenant has as many turns as it may; counted every few seconds."""
        most = self.rules(tenant).max_turns
        if most is None:
            return
        count, at = self._turns.get(tenant, (0, 0.0))
        if not at or time.monotonic() - at > FRESH_SECONDS:
            count = await self._root._engine.store.within(tenant).read(lambda db: _count_turns(db, tenant))
            _keep(self._turns, tenant, (count, time.monotonic()))
        if count >= most:
            raise HttpError(403, "QuotaError", f"this tenant has its {most} turns; erase or forget, or raise its quota")

    def _close_later(self, memory: AsyncMemory) -> None:
        task = asyncio.get_running_loop().create_task(memory.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    # upkeep -----------------------------------------------------------------------------------------------------------

    def start_upkeep(self, seconds: float) -> None:
        """Go on with the work that an earlier run left; from then on keep every tenant up, every so many seconds."""
        self._upkeep = asyncio.get_running_loop().create_task(self._keep_up(seconds))

    async def _keep_up(self, seconds: float) -> None:
        await self.flush()
        while True:
            await asyncio.sleep(seconds)
            await self.maintain()

    async def flush(self, *, timeout: float | None = None) -> Counter[str]:
        """Work off every tenant's queue, each for at most `timeout` seconds; what was done, by kind, of all."""
        return await self._each(waiting_tenants, lambda memory: memory.flush(timeout=timeout))

    async def maintain(self) -> Counter[str]:
        """Do what is due in every tenant; what was done, by kind, of all."""
        return await self._each(all_tenants, lambda memory: memory.maintain())

    async def _each(
        self, which: Callable[[Db], list[str]], work: Callable[[AsyncMemory], Awaitable[dict[str, int]]]
    ) -> Counter[str]:
        """Work for tenants, one after another; one that fails does not hold up the others."""
        done: Counter[str] = Counter()
        try:
            for tenant in await self._root._engine.store.within(None).read(which):
                try:
                    done.update(await work(self.memory(tenant)))
                except MemstrataError as error:
                    log.warning("upkeep of a tenant failed: %s", type(error).__name__)
        except MemstrataError as error:
            log.warning("upkeep of all tenants failed: %s", type(error).__name__)
        return done

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


def _keep(known: OrderedDict[str, T], tenant: str, value: T) -> None:
    known[tenant] = value
    known.move_to_end(tenant)
    if len(known) > MOST_OPEN:
        known.popitem(last=False)


def _count_turns(db: Db, tenant: str) -> int:
    row = db.one("SELECT count(*) AS n FROM turns WHERE tenant = ?", (tenant,))
    return int(row["n"]) if row else 0


def all_tenants(db: Db) -> list[str]:
    """The tenants of whom anything is stored."""
    return [row["tenant"] for row in db.all("SELECT DISTINCT tenant FROM owners ORDER BY tenant")]


def waiting_tenants(db: Db) -> list[str]:
    """The tenants that have queued work."""
    return [row["tenant"] for row in db.all("SELECT DISTINCT tenant FROM jobs ORDER BY tenant")]
