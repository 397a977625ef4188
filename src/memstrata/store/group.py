"""Group commit: one thread takes what waits to be written and hands it to the store together."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from memstrata.errors import ClosedError
from memstrata.store.base import Db
from memstrata.trace import carried

T = TypeVar("T")
# What to do, where the result goes, whether to wait for the disk.
Writing = tuple[Callable[[Db], Any], Future[Any], bool]
Outcome = tuple[Future[Any], Any, BaseException | None]
GROUP = 64  # at most so many callers share one commit


class GroupWriter:
    """Writes in the order they came, as many in one commit as wait for it.

    `commit` gets a batch and gives every future in it its result or its error; it raises nothing.
    """

    def __init__(self, commit: Callable[[list[Writing]], None]) -> None:
        self._commit = commit
        self._queue: queue.SimpleQueue[Writing | None] = queue.SimpleQueue()
        self._guard = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._loop, name="memstrata-writer", daemon=True)
        self._thread.start()

    async def submit(self, work: Callable[[Db], T], durable: bool) -> T:
        """The result of `work`, when it is committed. Raises ClosedError after `close`."""
        future: Future[T] = Future()
        with self._guard:
            if self._closed:
                raise ClosedError
            self._queue.put((carried(work), future, durable))
        # A caller that is cancelled does not withdraw its write: it is on its way to the disk.
        return await asyncio.shield(asyncio.wrap_future(future))

    async def close(self) -> None:
        """Take nothing more, and finish what waits."""
        with self._guard:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _loop(self) -> None:
        while (first := self._queue.get()) is not None:
            batch = [first]
            stop = False
            while len(batch) < GROUP:
                try:
                    item = self._queue.get_nowait()
                except queue.Empty:
                    break
                if item is None:
                    stop = True
                    break
                batch.append(item)
            self._commit(batch)
            if stop:
                return


def settle(outcomes: list[Outcome]) -> None:
    """Give every caller its own result or error."""
    for future, result, error in outcomes:
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
