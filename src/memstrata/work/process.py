"""A worker that is a process of its own: it works off one tenant's queue, or those of all tenants of a service."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from memstrata.async_memory import AsyncMemory
from memstrata.errors import InputError, MissingExtraError
from memstrata.store.addresses import access_beside

LOOK_SECONDS = 30.0  # between two looks at a queue of which the store tells
STOP_SECONDS = 0.5  # how long a signal may wait meanwhile


class Queues(Protocol):
    """One tenant's work, or that of all."""

    async def flush(self, *, timeout: float | None = None) -> Mapping[str, int]: ...

    async def maintain(self) -> Mapping[str, int]: ...

    async def close(self) -> None: ...


async def work_off(
    store: str, poll: float, upkeep: float, all_tenants: bool, access: Path | None, embedder: str | None
) -> None:
    """Work until SIGTERM or SIGINT, then finish the job in hand; see `memstrata worker` for the arguments."""
    stop = asyncio.Event()
    for told in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(told, stop.set)
    memory = AsyncMemory(store, embedder=embedder, worker=False)
    queues: Queues = _of_all(memory, store, access) if all_tenants else memory
    longest = min(LOOK_SECONDS, upkeep or LOOK_SECONDS)
    try:
        print(f"memstrata works off {store}", file=sys.stderr, flush=True)
        maintained = time.monotonic()
        while not stop.is_set():
            done = await queues.flush(timeout=poll)
            if upkeep and time.monotonic() - maintained >= upkeep:
                await queues.maintain()
                maintained = time.monotonic()
            if not any(count for kind, count in done.items() if kind != "waiting"):
                await _rest(memory, stop, poll, 0.0 if done.get("waiting") else longest)
    finally:
        await queues.close()


def _of_all(memory: AsyncMemory, store: str, access: Path | None) -> Queues:
    try:
        from memstrata.server.keys import AccessFile, no_rules
        from memstrata.server.tenants import Tenants
    except ImportError as error:
        raise MissingExtraError("the work of all tenants of a service", "server") from error
    path = access_beside(store) if access is None else access
    if access is not None and not path.exists():
        raise InputError(f"{access} is not there: name the file that `memstrata serve --access` has, or leave it out")
    return Tenants(memory, AccessFile(path).rules_of if path.exists() else no_rules)


async def _rest(memory: AsyncMemory, stop: asyncio.Event, poll: float, longest: float) -> None:
    """Wait for work: until the store tells of a job (at most `longest`), or where it does not tell, for `poll`."""
    until = time.monotonic() + max(longest, poll)
    while not stop.is_set() and time.monotonic() < until:
        woken = await memory._worker.rest(min(poll, STOP_SECONDS))
        if woken is None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), poll)
        if woken is not False:
            return
