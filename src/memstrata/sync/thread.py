"""What the sync methods stand on: an `AsyncMemory` on an event loop in a thread of its own; each call waits for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from memstrata.async_memory import AsyncMemory
from memstrata.clock import Clock
from memstrata.embed import Embedder
from memstrata.errors import ClosedError
from memstrata.llm import LLM
from memstrata.settings import Settings
from memstrata.store.base import Store

T = TypeVar("T")


class MemoryThread:
    """Opens and closes an `AsyncMemory`, and runs its methods."""

    def __init__(
        self,
        path: str | Path = "memory.db",
        *,
        embedder: str | Embedder | None = None,
        clock: Clock | None = None,
        store: Store | None = None,
        llm: str | LLM | None = None,
        **settings: Any,
    ) -> None:
        self._async = AsyncMemory(path, embedder=embedder, clock=clock, store=store, llm=llm, **settings)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="memstrata", daemon=True)
        self._thread.start()
        self._guard = threading.Lock()
        self._closed = False

    def _run(self, call: Coroutine[Any, Any, T]) -> T:
        with self._guard:  # nothing is handed to a loop that stops
            if self._closed:
                call.close()
                raise ClosedError
            future = asyncio.run_coroutine_threadsafe(call, self._loop)
        return future.result()

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._async.settings

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Finish the job in hand and close the store; what is queued goes on at the next opening."""
        with self._guard:
            if self._closed:
                return
            self._closed = True
            future = asyncio.run_coroutine_threadsafe(self._finish(), self._loop)
        try:
            future.result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _finish(self) -> None:
        """Close, and let the calls of other threads come to their ends: nobody waits for a loop that stopped."""
        try:
            await self._async.close()
        finally:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            if others:
                await asyncio.wait(others)
