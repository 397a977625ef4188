"""Touches on their way to the store."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

from memstrata import AsyncMemory


async def test_a_touch_that_comes_while_others_wait_for_the_last_ones_fails_nobody(past: SimpleNamespace) -> None:
    async with AsyncMemory(":memory:", embedder="hashing", worker=False) as memory:
        await memory.add(past.EN[0], user_id="ana", session_id="s")

        await memory.recall("Porto", user_id="ana")
        touches = memory._touches
        waiting = touches._waiting[0]

        async def add_after_draining() -> None:
            await touches.drain()
            touches.add(waiting)

        await asyncio.gather(add_after_draining(), touches.drain())
