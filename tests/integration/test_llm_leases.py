"""A model that takes longer than a lease: the owner stays with the worker that waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from memstrata import AsyncMemory
from memstrata.llm import Completion, Request

from .scripts import sensible
from .test_llm_stages import TOLD

Make = Callable[..., Any]


class Slow:
    """A sensible model that takes its time."""

    name = "test:slow"
    profile = "full"

    def __init__(self) -> None:
        self.calls = 0

    async def complete(self, request: Request) -> Completion:
        self.calls += 1
        await asyncio.sleep(1.0)
        return Completion(sensible(request))

    async def close(self) -> None:
        """Nothing to do."""


async def test_a_slow_model_keeps_its_lease(make_bench: Make) -> None:
    bench = make_bench()
    bench.memory.add([{"role": "user", "content": text} for text in TOLD], user_id="mara")
    bench.memory.end_session(user_id="mara")
    slow = Slow()
    settings = {"embedder": "hashing", "worker": False, "clock": bench.clock, "lease_seconds": 0.3, "llm": slow}
    async with AsyncMemory(bench.path, **settings) as one, AsyncMemory(bench.path, **settings) as other:
        done = await asyncio.gather(one.flush(), other.flush())
    assert slow.calls == 1
    assert sum(each["page"] for each in done) == 1


async def test_adding_never_waits_for_a_model(make_bench: Make) -> None:
    bench = make_bench()
    slow = Slow()
    async with AsyncMemory(bench.path, embedder="hashing", clock=bench.clock, llm=slow) as memory:
        started = asyncio.get_running_loop().time()
        for n in range(4):
            await memory.add([{"role": "user", "content": f"{text} {n}"} for text in TOLD], user_id="mara")
        assert asyncio.get_running_loop().time() - started < 1.0
        assert len(await memory.recall("Where does Lena bake bread?", user_id="mara")) > 0


async def test_owners_do_not_wait_for_each_other(make_bench: Make) -> None:
    bench = make_bench()
    users = [f"user{n}" for n in range(6)]
    for user in users:
        bench.memory.add([{"role": "user", "content": text} for text in TOLD], user_id=user)
        bench.memory.end_session(user_id=user)
    slow = Slow()
    settings = {"embedder": "hashing", "worker": False, "clock": bench.clock, "llm": slow, "llm_concurrency": 3}
    async with AsyncMemory(bench.path, **settings) as memory:
        started = asyncio.get_running_loop().time()
        done = await memory.flush()
        assert asyncio.get_running_loop().time() - started < 5.0  # six seconds of thinking, three at once
    assert (slow.calls, done["page"], done["failed"]) == (6, 6, 0)
