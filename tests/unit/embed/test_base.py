import asyncio
import threading
import time
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memstrata.embed import create_embedder
from memstrata.embed.base import LocalEmbedder, VectorCache, require, unit
from memstrata.embed.hashing import HashingEmbedder
from memstrata.errors import ClosedError, EmbedderError, MissingExtraError, SettingsError


class Lengths(LocalEmbedder[str]):
    """Encodes a text as (its length, 1), and keeps count of what it did and where."""

    def __init__(self, *, fail: int = 0, seconds: float = 0) -> None:
        super().__init__("lengths", 2)
        self.loads = 0
        self.encoded: list[str] = []
        self.threads: set[int] = set()
        self._fail = fail
        self._seconds = seconds

    def _load(self) -> str:
        self.loads += 1
        if self.loads <= self._fail:
            raise EmbedderError("the file is damaged")
        return "model"

    def _encode(self, model: str, text: str, query: bool) -> NDArray[Any]:
        self.threads.add(threading.get_ident())
        time.sleep(self._seconds)
        self.encoded.append(text)
        return np.array([len(text) + (100 if query else 0), 1])


@pytest.mark.parametrize("spec", ["minilm", "multilingual", "static", "hashing"])
def test_creating_loads_nothing(spec: str) -> None:
    assert getattr(create_embedder(spec), "_model", None) is None


def test_unknown_names_list_the_known_ones() -> None:
    for spec in ("bert", "", "openai", "openai:", "minilm:x"):
        with pytest.raises(SettingsError, match="minilm, multilingual, static, hashing, hashing-tokens, sentence-tr"):
            create_embedder(spec)


def test_options() -> None:
    with pytest.raises(SettingsError, match="speed"):
        create_embedder("minilm", speed=3)
    with pytest.raises(SettingsError, match="threads"):
        create_embedder("minilm", threads=0)
    own = HashingEmbedder()
    assert create_embedder(own) is own
    with pytest.raises(SettingsError):
        create_embedder(own, threads=2)


def test_a_missing_package_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MissingExtraError, match=r"memstrata\[static\]"):
        require("no_such_package_at_all", "the static embedder", "static")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for spec, extra in {
        "multilingual": "multilingual",
        "static": "static",
        "sentence-transformers:m": "sentence-transformers",
        "fastembed:m": "fastembed",
        "openai:m": "openai",
    }.items():
        with pytest.raises(MissingExtraError) as caught:
            create_embedder(spec)
        assert caught.value.extra == extra


async def test_loads_once_and_encodes_off_the_event_loop() -> None:
    made = Lengths(seconds=0.001)
    await asyncio.gather(*(made.embed([f"text {i} {j}" for j in range(5)]) for i in range(8)))
    assert made.loads == 1
    assert len(made.encoded) == 40
    assert len(made.threads) == 1
    assert threading.get_ident() not in made.threads
    await made.close()


async def test_the_cache_saves_encoding() -> None:
    made = Lengths()
    first = await made.embed(["a", "bb", "a"])
    again = await made.embed(["bb", "a"])
    assert made.encoded == ["a", "bb"]
    np.testing.assert_array_equal(again, first[[1, 0]])
    assert not np.array_equal(await made.embed(["a"], query=True), first[:1])  # another key
    await made.close()


async def test_a_query_does_not_wait_for_an_import() -> None:
    made = Lengths(seconds=0.005)
    big = asyncio.create_task(made.embed([f"text {i}" for i in range(80)]))
    await asyncio.sleep(0.02)
    await made.embed(["short"], query=True)
    assert made.encoded.index("short") < 20
    await big
    await made.close()


async def test_a_failed_load_is_tried_again() -> None:
    made = Lengths(fail=1)
    with pytest.raises(EmbedderError, match="damaged"):
        await made.embed(["a"])
    assert (await made.embed(["a"])).shape == (1, 2)
    await made.close()


async def test_closing_in_the_middle() -> None:
    made = Lengths(seconds=0.002)
    big = asyncio.create_task(made.embed([f"text {i}" for i in range(200)]))
    await asyncio.sleep(0.02)
    await made.close()
    with pytest.raises(ClosedError):
        await big
    assert len(made.encoded) < 200


def test_usable_from_several_event_loops() -> None:
    made = Lengths()
    results: list[NDArray[np.float32]] = []
    threads = [threading.Thread(target=lambda: results.append(asyncio.run(made.embed(["abc"])))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert made.encoded == ["abc"]
    asyncio.run(made.close())


def test_the_cache_drops_what_was_unused_for_longest() -> None:
    cache = VectorCache(2)
    one, two, three = (np.full(1, i, np.float32) for i in (1, 2, 3))
    cache.put(b"1", one)
    cache.put(b"2", two)
    assert cache.get(b"1") is one
    cache.put(b"3", three)
    assert cache.get(b"2") is None
    assert cache.get(b"1") is one
    assert cache.get(b"3") is three


def test_unit() -> None:
    np.testing.assert_allclose(unit(np.array([3.0, 4.0])), [0.6, 0.8], rtol=1e-6)
    assert not unit(np.zeros(3)).any()
    with pytest.raises(EmbedderError, match="finite"):
        unit(np.array([np.nan, 1.0]))
