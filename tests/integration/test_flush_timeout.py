"""`flush(timeout=)`: what was done so far, nothing lost, and nothing done twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memstrata import AsyncMemory, Memory
from memstrata.clock import SetClock
from memstrata.errors import InputError
from memstrata.llm import Completion, Request

from .scripts import sensible
from .test_llm_stages import TOLD

Make = Callable[..., Any]
EMPTY = {"index": 0, "page": 0, "distill": 0, "remember": 0, "failed": 0}
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
SAID = ("I moved to Porto last May.", "昨日、京都で抹茶を飲みました。", "我昨天在上海喝了绿茶。")


class Slow:
    """A sensible model that takes its time."""

    name = "test:slow"
    profile = "full"

    def __init__(self, seconds: float) -> None:
        self.seconds, self.begun, self.ended = seconds, 0, 0

    async def complete(self, request: Request) -> Completion:
        self.begun += 1
        await asyncio.sleep(self.seconds)
        self.ended += 1
        return Completion(sensible(request))

    async def close(self) -> None:
        """Nothing to do."""


@pytest.mark.parametrize("worker", [False, True])
async def test_it_returns_while_a_model_thinks_and_the_call_goes_on(tmp_path: Path, worker: bool) -> None:
    slow = Slow(0.8)
    settings = {"embedder": "hashing", "clock": SetClock(NOW), "hot_capacity": 5, "worker": worker}
    async with AsyncMemory(tmp_path / "m.db", llm=slow, **settings) as memory:
        for session in ("one", "two"):
            await memory.add(
                [{"role": "user", "content": f"{text} {session}"} for text in TOLD],
                user_id="mara",
                session_id=session,
            )
            await memory.end_session(user_id="mara", session_id=session)
        started = time.monotonic()
        done = await memory.flush(timeout=0.3)
        assert time.monotonic() - started < 0.7
        assert (done["page"], done["waiting"], slow.begun, slow.ended) == (0, 2, 1, 0)
        rest = await memory.flush()
        assert rest["waiting"] == 0
        assert (slow.begun, slow.ended) == (2, 2)  # the call that was under way was not made again
        stats = await memory.stats()
        assert (stats["tiers"]["warm_pages"], stats["jobs"]["failed"]) == (2, 0)


async def test_closing_waits_for_the_call_under_way_and_begins_no_other(tmp_path: Path) -> None:
    slow = Slow(0.8)
    settings = {"embedder": "hashing", "clock": SetClock(NOW), "worker": False}
    async with AsyncMemory(tmp_path / "m.db", llm=slow, **settings) as memory:
        for user in ("ana", "ben"):
            await memory.add([{"role": "user", "content": text} for text in TOLD], user_id=user)
            await memory.end_session(user_id=user)
        assert (await memory.flush(timeout=0.3))["waiting"] == 2
    assert slow.begun == slow.ended == 2  # both owners' pages were in hand
    async with AsyncMemory(tmp_path / "m.db", llm=slow, **settings) as memory:
        assert await memory.flush() == {**EMPTY, "waiting": 0}
    assert slow.begun == 2


@pytest.mark.parametrize("text", SAID)
def test_no_time_at_all_does_nothing_and_loses_nothing(make_bench: Make, text: str) -> None:
    bench = make_bench()
    memory: Memory = bench.memory
    memory.add([{"role": "user", "content": f"{text} {n}"} for n in range(13)], user_id="ana")
    assert memory.flush(timeout=0) == {**EMPTY, "waiting": 2}
    assert memory.flush(timeout=60) == {**EMPTY, "index": 1, "page": 1, "waiting": 0}
    assert memory.flush(timeout=60) == {**EMPTY, "waiting": 0}


async def test_what_another_worker_holds_is_not_waited_for_longer(tmp_path: Path) -> None:
    from memstrata.journal.jobs import lease, new_holder
    from memstrata.store.sqlite import SqliteStore

    async with AsyncMemory(tmp_path / "m.db", embedder="hashing", worker=False) as memory:
        await memory.add([{"role": "user", "content": f"{SAID[0]} {n}"} for n in range(13)], user_id="u")
        other, holder = SqliteStore(tmp_path / "m.db"), new_holder()
        assert await other.write(lambda db: lease(db, "default", "u:u", holder, 60))
        assert await asyncio.wait_for(memory.flush(timeout=0.3), 5) == {**EMPTY, "index": 1, "waiting": 1}
        await other.close()


@pytest.mark.parametrize("timeout", [-1, "3", True, float("nan"), float("inf")])
def test_a_timeout_is_a_length_of_time(make_bench: Make, timeout: Any) -> None:
    with pytest.raises(InputError, match="timeout must be a number of seconds"):
        make_bench().memory.flush(timeout=timeout)
