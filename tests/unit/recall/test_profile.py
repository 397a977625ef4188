from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memstrata import AsyncMemory
from memstrata.clock import SetClock

NOW = datetime(2023, 5, 8, 9, tzinfo=UTC)


async def test_a_profile_is_the_current_notes_of_who_someone_is_newest_first() -> None:
    clock = SetClock(NOW)
    async with AsyncMemory(":memory:", embedder="hashing", clock=clock, worker=False) as memory:
        old = NOW - timedelta(days=30)
        await memory.remember("我是一名老师", user_id="u", kind="identity")
        await memory.remember("I prefer green tea from Uji", user_id="u", kind="preference")
        await memory.remember("抹茶アイスが大好きです", user_id="u", kind="preference", at=old)
        await memory.remember("Ben is my brother", user_id="u", kind="relation")
        await memory.remember("The train leaves at nine", user_id="u", kind="fact")
        await memory.remember("I am an engineer of bridges", user_id="other", kind="identity")

        made = await memory.profile("u")
        assert [note.content for note in made.identity] == ["我是一名老师"]
        assert [note.content for note in made.preference] == ["I prefer green tea from Uji", "抹茶アイスが大好きです"]
        assert [note.content for note in made.relation] == ["Ben is my brother"]
        assert made == await memory.profile("u")
        assert all(note.evidence for note in made.identity)

        clock.advance(days=100)
        assert 0.5 < (await memory.profile("u")).identity[0].weight < 0.7  # exp(-.005 * 100) = .61
        await memory.forget(made.identity[0].id, user_id="u")
        assert (await memory.profile("u")).identity == ()


async def test_a_profile_has_the_agents_own_notes_and_those_of_no_agent() -> None:
    async with AsyncMemory(":memory:", embedder="hashing", clock=SetClock(NOW), worker=False) as memory:
        await memory.remember("I prefer green tea", user_id="u", kind="preference")
        await memory.remember("My brother is Ben", user_id="u", agent_id="a", kind="relation")
        await memory.remember("我是一名老师", user_id="u", agent_id="b", kind="identity")
        seen = await memory.profile("u", agent_id="a")
        assert (len(seen.preference), len(seen.relation), len(seen.identity)) == (1, 1, 0)
        whole = await memory.profile("u")
        assert (len(whole.preference), len(whole.relation), len(whole.identity)) == (1, 1, 1)
