from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from memstrata import AsyncMemory
from memstrata.clock import SetClock
from memstrata.errors import EmbedderError

NOW = datetime(2023, 5, 8, 9, tzinfo=UTC)
COUNTS = ("turns", "sessions", "pages", "notes", "links", "evolved", "operations")


@pytest.fixture
async def memory() -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(":memory:", embedder="hashing", clock=SetClock(NOW), worker=False) as opened:
        yield opened


def turns(count: int) -> list[dict[str, Any]]:
    return [
        {"role": "user", "name": "Ana", "content": f"In {1900 + n} my aunt bought a red house"} for n in range(count)
    ]


async def test_an_empty_store_counts_nothing(memory: AsyncMemory) -> None:
    counted = await memory.stats()
    assert [counted[name] for name in COUNTS] == [0] * len(COUNTS)
    assert counted["jobs"] == {"queued": 0, "failed": 0, "oldest": None}
    assert counted["bytes"] > 0
    assert counted["bytes_per_turn"] == 0
    assert (counted["languages"], counted["advice"]) == ({}, [])


async def test_counts_agree_with_what_was_done(memory: AsyncMemory) -> None:
    await memory.add(turns(100), user_id="u", session_id="s")
    before = (await memory.stats())["jobs"]
    done = await memory.flush()
    assert before == {"queued": 1 + 18 + done["distill"], "failed": 0, "oldest": NOW.isoformat()}
    receipt = await memory.remember("I love green tea", user_id="v")
    counted = await memory.stats()
    assert counted["turns"] == 101
    assert counted["sessions"] == 2
    assert counted["pages"] == done["page"] == 18
    assert counted["tiers"] == {
        "hot_turns": 10,
        "warm_pages": 18 - done["distill"],
        "distilled_pages": done["distill"],
    }
    assert counted["operations"] == 1 + 18 + done["distill"] + 1
    notes = [*(await memory.list(user_id="u", limit=500, include_superseded=True)), *(await memory.list(user_id="v"))]
    assert counted["notes"] == len(notes) == sum(counted["notes_by_state"].values())
    assert sum(counted["notes_by_kind"].values()) == counted["notes_by_state"]["current"]
    assert counted["links"] == len({link for note in notes for link in note.links})
    assert counted["decisions"]["admitted"] >= 1
    assert counted["vectors"]["model"] == "hashing-128"
    assert counted["vectors"]["dim"] == 128
    assert counted["vectors"]["count"] >= 101 + 18 + len(notes)
    assert counted["bytes_per_turn"] == counted["bytes"] / 101

    one = await memory.stats(user_id="v")
    assert (one["turns"], one["notes"], one["pages"]) == (1, 1, 0)
    assert one["decisions"] == {receipt.candidates[0].outcome: 1}


async def test_evolved_counts_what_the_receipts_say(memory: AsyncMemory) -> None:
    evolved = 0
    for text in ("I love green tea from Uji", "The green tea from Uji is sweet", "Green tea from Uji costs nine euros"):
        receipt = await memory.remember(text, user_id="u", tags=["tea", "Uji"])
        evolved += receipt.counts["evolved"]
    assert (await memory.stats())["evolved"] == evolved > 0


async def test_an_agent_counts_what_it_may_see(memory: AsyncMemory) -> None:
    for agent in (None, "a", "b"):
        await memory.add("hello", user_id="u", agent_id=agent, session_id="s")
        await memory.remember(f"I told {agent} about the {agent} garden", user_id="u", agent_id=agent)
    seen = await memory.stats(user_id="u", agent_id="a")
    assert (seen["turns"], seen["notes"], sum(seen["decisions"].values())) == (4, 2, 2)
    assert (await memory.stats(user_id="u"))["turns"] == (await memory.stats())["turns"] == 6


async def test_languages_and_advice(memory: AsyncMemory) -> None:
    await memory.remember("I love green tea from Uji", user_id="u")
    await memory.remember("私は京都の抹茶が大好きです", user_id="u")
    await memory.remember("我是一名在上海工作的老师", user_id="u")
    counted = await memory.stats()
    assert counted["languages"] == pytest.approx({"en": 1 / 3, "ja": 1 / 3, "zh": 1 / 3})
    assert counted["advice"] == []  # hashing knows no language better than another
    engine = memory._engine

    other = AsyncMemory(":memory:", embedder="minilm", worker=False)  # its model is loaded at the first text only
    engine.embedder = other._engine.embedder
    (advice,) = (await memory.stats())["advice"]
    await other.close()
    assert 'embedder="multilingual"' in advice
    assert "`memstrata reembed --embedder multilingual`" in advice
    assert advice.startswith("67%")


class Failing:
    name, dim = "failing", 8
    fails = True

    async def embed(self, texts: Any, *, query: bool = False) -> Any:
        if self.fails:
            raise EmbedderError("no power")
        return np.full((len(texts), 8), 8**-0.5, dtype=np.float32)

    async def close(self) -> None:
        pass


async def test_failed_work_is_visible_and_can_be_retried() -> None:
    clock, embedder = SetClock(NOW), Failing()
    async with AsyncMemory(":memory:", embedder=embedder, clock=clock, worker=False, job_attempts=1) as memory:
        await memory.add(turns(13), user_id="u", session_id="s")
        await memory.flush()
        counted = await memory.stats()
        assert counted["jobs"] == {"queued": 0, "failed": 2, "oldest": None}
        assert counted["errors"] == [
            {"kind": "index", "error": "EmbedderError: no power", "count": 1},
            {"kind": "page", "error": "EmbedderError: no power", "count": 1},
        ]
        embedder.fails = False
        assert await memory.retry_failed() == 2
        assert await memory.retry_failed() == 0
        await memory.flush()
        assert (await memory.stats())["jobs"] == {"queued": 0, "failed": 0, "oldest": None}
