"""Replay: the log run again gives a store that exports the same bytes (invariant 6, without an LLM)."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

from memstrata import AsyncMemory, Memory
from memstrata.clock import SetClock
from memstrata.errors import ReplayError
from memstrata.ledger.export import export
from memstrata.ledger.replay import replay
from memstrata.store.sqlite import SqliteStore
from memstrata.types import Scope


def replayed(memory: Memory, scope: Scope | None = None) -> tuple[bytes, bytes, dict[str, int]]:
    """The export of a memory, that of its replay, and the replay's counts."""
    engine = memory._async._engine
    store = SqliteStore(":memory:")

    async def both() -> tuple[bytes, bytes, dict[str, int]]:
        counts = await replay(engine, store, scope)
        first, second = io.BytesIO(), io.BytesIO()
        await export(engine, first, scope)
        await export(engine.with_seams(store=store), second, scope)
        await store.close()
        return first.getvalue(), second.getvalue(), counts

    return (*memory._run(both()),)


@pytest.mark.parametrize("rate", [None, 0.12])
def test_every_verb_repeats_itself(rate: float | None, past: SimpleNamespace) -> None:
    clock = SetClock(past.START)
    with past.open_memory(":memory:", clock, forgetting_rate=rate) as memory:
        past.live(memory, clock)
        first, second, counts = replayed(memory)
    verbs = {"add", "remember", "end_session", "page", "distill", "touch", "update", "pin", "forget", "restore", "undo"}
    verbs.add("feedback")
    for verb in verbs | ({"sweep"} if rate else set()):
        assert f'"verb":"{verb}"'.encode() in first
    assert first.splitlines() == second.splitlines()
    assert counts == {"owners": 3, "operations": first.count(b'"type":"operation"')}


def test_a_replay_of_one_owner_has_that_owner_only(past: SimpleNamespace) -> None:
    clock = SetClock(past.START)
    with past.open_memory(":memory:", clock) as memory:
        past.talk(memory, past.JA, clock, user_id="ana", session_id="s")
        past.talk(memory, past.EN, clock, user_id="bob", session_id="s")
        memory.add([{"role": "user", "content": text, "id": f"t{n}"} for n, text in enumerate(past.ZH)], user_id="ana")
        first, second, counts = replayed(memory, Scope("default", "ana"))
    assert first == second
    assert counts["owners"] == 1


def test_a_store_says_when_its_log_no_longer_gives_it(past: SimpleNamespace) -> None:
    clock = SetClock(past.START)
    with past.open_memory(":memory:", clock) as memory:
        past.talk(memory, past.EN, clock, user_id="ana", session_id="s")
        past.talk(memory, past.ZH, clock, user_id="zoe", session_id="s")
        memory.remember("I live in Madrid now.", user_id="ana")
        note = memory.list(user_id="ana").notes[-1]
        memory.forget(note.id, user_id="ana", hard=True)
        with pytest.raises(ReplayError, match="purged"):
            replayed(memory)
        first, second, _ = replayed(memory, Scope("default", "zoe"))
        assert first == second
        memory.erase(user_id="ana")
        with pytest.raises(ReplayError, match="erased"):
            replayed(memory)


def test_a_replay_under_other_settings_is_noticed(past: SimpleNamespace) -> None:
    clock = SetClock(past.START)
    with past.open_memory(":memory:", clock) as memory:
        past.talk(memory, past.EN, clock, user_id="ana", session_id="s")
        engine = memory._async._engine
        other = engine.with_seams(settings=engine.settings.model_copy(update={"page_size": 2}))

        async def run() -> None:
            store = SqliteStore(":memory:")
            try:
                await replay(other, store)
            finally:
                await store.close()

        with pytest.raises(ReplayError):
            memory._run(run())


async def test_a_replay_of_an_empty_store_is_empty() -> None:
    async with AsyncMemory(":memory:", embedder="hashing") as memory:
        store = SqliteStore(":memory:")
        assert await replay(memory._engine, store) == {"owners": 0, "operations": 0}
        await store.close()
