"""The hot tier in Redis: the same contexts, quicker; never older than the record, never needed, and erased with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.conftest import NOW, SOON_COOL
from tests.servers import RedisServer

from memstrata import Context, Memory, SetClock
from memstrata.errors import MissingExtraError, SettingsError
from memstrata.hot import reading, redis_tier
from memstrata.hot.redis_tier import RedisTier

SAID = [
    "I moved to Porto with my sister Marta.",
    "妹の美咲は京都に住んでいます。",
    "我妹妹李娜在成都开了一家书店。",
    "My cat Miso likes the balcony.",
]
PLANTS = ["quokka-marmalade-7714", "人工降雨計画第八百四十二号", "紫色的长颈鹿在月球上跳舞"]
ANA: dict[str, Any] = {"user_id": "ana", "session_id": "s"}


def open_at(path: Path, url: str | None, **settings: Any) -> Memory:
    given = {"embedder": "hashing", "worker": False, "clock": SetClock(NOW), **SOON_COOL, **settings}
    return Memory(path, hot_url=url, **given)


def counts(memory: Memory) -> tuple[int, int]:
    """How often the hot tier answered, and how often the record had to, once nothing goes on any more."""
    hot = memory._async._engine.hot
    assert hot is not None
    memory._run(hot.settle())
    return hot.hits, hot.misses


def shown(memory: Memory, query: str, **more: Any) -> Context:
    return memory.context(query, touch=False, **ANA, **more)


def test_a_context_from_the_hot_tier_is_that_of_the_record(tmp_path: Path, redis: RedisServer) -> None:
    path = tmp_path / "m.db"
    warm = {"alpha": 0.9, "beta": 0.3, "promote_recalls": 1}
    with open_at(path, redis.url, **warm) as memory, open_at(path, None, **warm) as bare:
        for n in range(20):
            memory.add(SAID[n % 4].replace(".", f" {n}.").replace("。", f"{n}。"), **ANA)
        memory.flush()
        for _ in range(3):
            memory.recall("Porto Marta 京都 成都", user_id="ana")  # pages become promoted
        memory.flush()
        for strategy in ("hybrid", "window"):
            first = shown(memory, "Porto", strategy=strategy)
            assert counts(memory)[1] >= 1
            hits = counts(memory)[0]
            again = shown(memory, "Porto", strategy=strategy)
            assert counts(memory)[0] == hits + 1, "the second one came from the hot tier"
            assert first == again == shown(bare, "Porto", strategy=strategy)
        assert shown(memory, "Porto").turns
        assert shown(memory, "Porto").pages, "promoted pages are in it"
        before = counts(memory)
        shown(memory, "Porto", strategy="full")
        assert counts(memory) == before, "what depends on the budget is not kept"


def test_what_was_just_said_is_in_the_hot_tier_before_it_is_asked_for(tmp_path: Path, redis: RedisServer) -> None:
    with open_at(tmp_path / "m.db", redis.url) as memory:
        memory.add(SAID[0], **ANA)
        shown(memory, "Porto")
        for text in SAID[1:]:
            memory.add(text, **ANA)
            hits, misses = counts(memory)
            assert text in shown(memory, "Porto").text
            assert counts(memory) == (hits + 1, misses)


def test_it_is_never_older_than_the_record(tmp_path: Path, redis: RedisServer) -> None:
    """Another process writes, and does not know of the hot tier."""
    path = tmp_path / "m.db"
    with open_at(path, redis.url) as memory, open_at(path, None) as other:
        for n, text in enumerate(SAID * 4):
            other.add(f"{text} {n}", **ANA)
            if n % 5 == 4:
                other.flush()
            assert f"{text} {n}" in shown(memory, "Porto").text
            assert shown(memory, "Porto") == shown(other, "Porto")
        for note in other.list(user_id="ana").notes:
            other.forget(note.id, user_id="ana")
            assert shown(memory, "Porto") == shown(other, "Porto")
        assert (
            shown(
                memory,
                "Porto",
            ).turns
            != memory.context("Porto", user_id="bob", session_id="s").turns
            == ()
        )


def test_a_crash_of_redis_in_mid_conversation_loses_nothing(
    tmp_path: Path, redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_tier, "REST_SECONDS", 0.0)
    path = tmp_path / "m.db"
    with open_at(path, redis.url) as memory, open_at(path, None) as bare:
        for n in range(24):
            memory.add(f"{SAID[n % 4]} {n}", **ANA)
            if n % 3 == 0:
                memory.flush()
            if n in (5, 14):
                redis.kill()
            if n in (10, 20):
                redis.start()
            context = shown(memory, "京都 Porto 成都")
            assert f"{SAID[n % 4]} {n}" in context.text
            assert context == shown(bare, "京都 Porto 成都")
        counts(memory)
        hits = counts(memory)[0]
        shown(memory, "京都 Porto 成都")
        assert counts(memory)[0] == hits + 1, "it is used again when it is back"
        assert memory.stats(user_id="ana")["turns"] == 24
        assert memory.check() == ()


def test_an_erasure_reaches_it_and_waits_for_it(tmp_path: Path, redis: RedisServer) -> None:
    path = tmp_path / "m.db"

    def planted() -> bool:
        held = str(redis.held()) + b" ".join(v for f in redis.held().values() for v in f.values()).decode()
        return any(plant in held for plant in PLANTS)

    with open_at(path, redis.url) as memory:
        for kill in (False, True):
            for plant in PLANTS:
                memory.add(f"My word is {plant}.", **ANA)
            memory.add(SAID[0], user_id="bob", session_id="s")
            shown(memory, "word")
            counts(memory)
            assert planted()
            assert "ana" not in str(list(redis.held())), "names are hashed"
            if kill:
                redis.kill()
            assert memory.erase(user_id="ana").complete is not kill
            if kill:
                assert memory._run(_pending(memory))
                redis.start()
                memory.maintain()
            assert not memory._run(_pending(memory))
            assert not planted()
            assert not shown(memory, "word").turns


async def _pending(memory: Memory) -> bool:
    store = memory._async._engine.store
    return await store.read(lambda db: db.one("SELECT 1 FROM meta WHERE key = 'scrub_pending'")) is not None


async def test_what_was_read_before_an_erasure_is_not_kept_after_it(redis: RedisServer) -> None:
    tier, key = RedisTier(redis.url, "store"), ("t", "u:ana")
    other = RedisTier(redis.url, "another store")
    fence = await tier.fence()
    assert fence is not None
    await tier.keep(key, "f", fence, 1, {})
    await other.keep(key, "f", fence, 1, {})
    assert await tier.get(key, "f") == (1, {})
    assert await tier.clear()
    await tier.keep(key, "f", fence, 1, {})
    assert await tier.get(key, "f") is None
    assert await other.get(key, "f") == (1, {}), "stores that share a server are apart"
    again = await tier.fence()
    assert again is not None
    await tier.keep(key, "f", again, 2, {})
    assert await tier.get(key, "f") == (2, {})
    assert await tier.drop(key)
    assert await tier.get(key, "f") is None
    await tier.close()
    await other.close()


def test_where_no_redis_answers_the_record_does(tmp_path: Path) -> None:
    with open_at(tmp_path / "m.db", f"unix://{tmp_path}/nobody") as memory:
        memory.add(SAID[1], **ANA)
        assert SAID[1] in shown(memory, "京都").text


def test_a_wrong_address_and_a_missing_extra_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_at(tmp_path / "m.db", "porto:1") as memory, pytest.raises(SettingsError, match="hot_url"):
        shown(memory, "Porto")

    def missing(name: str, what: str, extra: str) -> None:
        raise MissingExtraError(what, extra)

    monkeypatch.setattr(reading, "require", missing)
    with pytest.raises(MissingExtraError, match=r"memstrata\[redis\]"):
        open_at(tmp_path / "m.db", "redis://localhost")


def test_it_is_one_question_to_redis_and_one_to_the_record(tmp_path: Path, redis: RedisServer) -> None:
    with open_at(tmp_path / "m.db", redis.url) as memory:
        for text in SAID:
            memory.add(text, **ANA)
        shown(memory, "Porto", strategy="window")
        counts(memory)
        hot = memory._async._engine.hot
        assert hot is not None
        asked: list[str] = []
        store, tier = memory._async._engine.store, hot._tier
        assert tier is not None
        read, execute = store.read, tier._redis.execute_command

        async def reading_(work: Any, **more: Any) -> Any:
            asked.append("record")
            return await read(work, **more)

        async def executing(*words: Any, **more: Any) -> Any:
            asked.append(words[0])
            return await execute(*words, **more)

        store.read, tier._redis.execute_command = reading_, executing  # type: ignore[method-assign]
        shown(memory, "Porto", strategy="window")
        assert sorted(asked) == ["HGET", "record", "record"], "besides: whether turns wait to be indexed"
