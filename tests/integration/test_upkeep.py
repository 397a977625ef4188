"""Upkeep on a store that others use: it keeps to its tenant, and may run while turns come in and are worked on."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memstrata import AsyncMemory
from memstrata.clock import SetClock

NOW = datetime(2023, 5, 8, 9, tzinfo=UTC)
LIMIT = 20  # seconds; half of one is usual
SAID = ("My bicycle is parked in the yard", "昨日、京都で抹茶を飲みました", "我昨天在上海喝了绿茶")


async def state(memory: AsyncMemory) -> dict[str, Any]:
    """What upkeep may change, as the tenant counts it."""
    counted = await memory.stats()
    names = ("turns", "pages", "notes", "notes_by_state", "operations", "tiers", "jobs", "vectors", "errors")
    return {name: counted[name] for name in names}


async def test_upkeep_keeps_to_its_tenant(tmp_path: Path) -> None:
    def opened(tenant: str) -> AsyncMemory:
        return AsyncMemory(tmp_path / "m.db", embedder="hashing", clock=SetClock(NOW), worker=False, tenant=tenant)

    # The limit: upkeep that saw rows beyond its wall, and could not write them, would come back to them for ever.
    async with opened("a") as one, opened("b") as other, asyncio.timeout(LIMIT):
        for memory in (one, other):  # the same ids on both sides of the wall
            for text in SAID:
                receipt = await memory.remember(text, user_id="u", kind="ephemeral")
                assert receipt.candidates[0].outcome == "admitted"
            await memory.add([{"role": "user", "content": f"hm {n}"} for n in range(13)], user_id="u", session_id="s")
        receipt = await other.remember("I love green tea from Uji", user_id="u", kind="preference")
        await other.forget(receipt.candidates[0].note, user_id="u")  # due to be purged, but not by its neighbour
        before = await state(other)
        assert before["jobs"]["queued"] == 2

        faded = {
            "sessions": 1,
            "pages": 2,
            "distilled": 0,
            "folded": 0,
            "forgotten": len(SAID),
            "purged": 0,
            "erased": 0,
        }
        assert await one.maintain(now=NOW + timedelta(days=20)) == faded
        assert (await one.maintain(now=NOW + timedelta(days=51)))["purged"] == len(SAID)
        await one.flush()
        assert await one.retry_failed() == 0
        assert (await one.stats())["notes"] == 0
        assert await state(other) == before

        assert await other.maintain(now=NOW + timedelta(days=20)) == faded


async def test_upkeep_may_run_beside_writers_and_the_worker(tmp_path: Path) -> None:
    later = datetime.now(UTC) + timedelta(hours=7)  # every session is idle then: each call ends those it meets
    async with AsyncMemory(tmp_path / "m.db", embedder="hashing") as memory:

        async def add() -> None:
            for n in range(30):
                turns = [{"role": "user", "content": f"My cat number {n} is called Miso {n}{i}"} for i in range(7)]
                await memory.add(turns, user_id=f"u{n % 3}", session_id="s")

        async def maintain() -> Counter[str]:
            total: Counter[str] = Counter()
            for _ in range(10):
                total.update(await memory.maintain(now=later))
                await asyncio.sleep(0.01)
            return total

        _, total = await asyncio.gather(add(), maintain())
        total.update(await memory.maintain(now=later))
        await memory.flush()
        counted = await memory.stats()
        assert total["sessions"] >= 3
        assert counted["turns"] == 210
        assert counted["tiers"]["hot_turns"] == 0
        assert counted["tiers"]["warm_pages"] + counted["tiers"]["distilled_pages"] == counted["pages"]
        assert (counted["jobs"]["queued"], counted["jobs"]["failed"], counted["errors"]) == (0, 0, [])
        assert await memory.check() == ()
