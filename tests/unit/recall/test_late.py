"""Late interaction: what is stored, how tokens are weighed, and that recall uses it and tells of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import Bench

from memstrata.embed import create_embedder
from memstrata.embed.base import Tokens
from memstrata.embed.hashing import HashingEmbedder, HashingTokenEmbedder
from memstrata.errors import EmbedderError, StoreFormatError
from memstrata.index.encode import encode, encode_query
from memstrata.index.tokens import TokenPool, pack, unpack
from memstrata.recall.late import CANDIDATES, weights_of
from memstrata.settings import Settings

TURNS = ("I adopted a grey rabbit.", "We talked about the weather.", "大阪で仕事を始めました。", "我在北京买了自行车。")
QUESTIONS = ("Which rabbit was adopted?", "大阪の仕事は？", "北京的自行车")


def unit_rows(seed: int, count: int, dim: int) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@given(st.integers(0, 1000), st.lists(st.integers(0, 5), max_size=6), st.sampled_from([2, 96, 128]))
def test_what_is_packed_is_near_what_is_read(seed: int, counts: list[int], dim: int) -> None:
    rows = unit_rows(seed, sum(counts), dim)
    blobs = pack(rows, counts)
    assert [len(blob) for blob in blobs] == [count * dim // 2 for count in counts]
    pool, places = TokenPool(), np.arange(len(counts))[::-1]
    pool.put(places, blobs)
    levels, found = pool.levels(places, dim)
    read = unpack(levels)
    assert [pool.blob(place) for place in places.tolist()] == list(blobs)
    assert found.tolist() == counts
    np.testing.assert_allclose(np.linalg.norm(read, axis=1), 1, atol=1e-5)
    assert (np.einsum("ij,ij->i", read, rows) > 0.98).all()  # a level is a seventh of the largest component


def test_a_blob_of_another_size_is_damage() -> None:
    pool = TokenPool()
    pool.put(np.array([0]), [b"123"])
    with pytest.raises(StoreFormatError, match="reindex"):
        pool.levels(np.array([0]), 96)


def test_a_term_divides_its_share_among_its_tokens() -> None:
    tokens = Tokens(("violins", "violins", "Ana", "the", "Lisbon"), unit_rows(0, 5, 4))
    weights = weights_of(tokens, ["violin", "lisbon", "quixotic"], [0.5, 0.3, 0.2])
    np.testing.assert_allclose(weights, [0.25, 0.25, 0, 0, 0.3], atol=1e-6)  # what no token stands for stays out: .2


def test_characters_are_tokens_of_the_pairs_they_are_in() -> None:
    tokens = Tokens(("大", "仕"), unit_rows(0, 2, 4))
    np.testing.assert_allclose(weights_of(tokens, ["大阪", "仕事"], [0.6, 0.4]), [0.6, 0.4], atol=1e-6)


@pytest.fixture
def late(make_bench: Callable[..., Bench]) -> Bench:
    bench = make_bench(embedder=HashingTokenEmbedder())
    for n, text in enumerate(TURNS):
        bench.memory.add(text, user_id="ana", session_id=f"s{n % 2}")
    bench.memory.flush()
    return bench


def legs_of(bench: Bench, query: str, **settings: Any) -> dict[str, dict[str, float]]:
    hits = bench.memory.recall(query, user_id="ana", touch=False, **settings).hits
    return {hit.text: {leg.name: leg.score for leg in hit.legs} for hit in hits}


def test_only_turns_have_tokens_and_stats_count_them(late: Bench) -> None:
    late.distil(user_id="ana")
    rows = late.rows("SELECT u.kind, v.tokens FROM vectors v JOIN units u ON u.no = v.unit AND u.owner = v.owner")
    assert {row["kind"] for row in rows} >= {0, 2}
    assert all((row["tokens"] is not None) == (row["kind"] == 2) for row in rows)
    held = sum(len(row["tokens"]) for row in rows if row["tokens"] is not None)
    assert held > 0
    assert late.memory.stats(user_id="ana")["vectors"]["token_bytes"] == held


@pytest.mark.parametrize(
    ("question", "answer"), [(QUESTIONS[0], TURNS[0]), (QUESTIONS[1], TURNS[2]), (QUESTIONS[2], TURNS[3])]
)
def test_hits_tell_how_well_their_tokens_answer(late: Bench, question: str, answer: str) -> None:
    found = legs_of(late, question)
    best = max(found, key=lambda text: found[text].get("late", 0.0))
    assert answer in best
    assert found[best]["late"] > 0.5


def test_without_the_leg_or_the_setting_there_is_none(make_bench: Callable[..., Bench]) -> None:
    for settings in (
        {"late_interaction": False},
        {"legs": tuple(leg for leg in Settings().legs if leg != "late")},
    ):
        bench = make_bench(embedder=HashingTokenEmbedder(), **settings)
        bench.memory.add(TURNS[0], user_id="ana", session_id="s")
        bench.memory.flush()
        assert all("late" not in legs for legs in legs_of(bench, QUESTIONS[0]).values())
        stored = [row["tokens"] for row in bench.rows("SELECT tokens FROM vectors")]
        assert (stored == [None]) == ("late_interaction" in settings)


def test_an_embedder_without_tokens_recalls_as_before(bench: Bench) -> None:
    bench.memory.add(TURNS[0], user_id="ana", session_id="s")
    bench.memory.flush()
    assert [row["tokens"] for row in bench.rows("SELECT tokens FROM vectors")] == [None]
    assert any(TURNS[0] in text for text in legs_of(bench, QUESTIONS[0]))


def test_reindex_and_reembed_bring_the_same_tokens(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(embedder="hashing")
    for text in TURNS:
        bench.memory.add(text, user_id="ana", session_id="s")
    bench.memory.flush()
    bench.memory.reembed(HashingTokenEmbedder())
    moved = bench.rows("SELECT unit, chunk, tokens FROM vectors ORDER BY unit, chunk")
    assert all(row["tokens"] for row in moved)
    bench.memory.reindex()
    again = bench.rows("SELECT unit, chunk, tokens FROM vectors ORDER BY unit, chunk")
    assert [tuple(row) for row in again] == [tuple(row) for row in moved]
    assert legs_of(bench, QUESTIONS[0])


def test_an_erased_subject_leaves_no_tokens(late: Bench) -> None:
    late.memory.erase(user_id="ana")
    assert late.rows("SELECT 1 FROM vectors") == late.rows("SELECT 1 FROM next_vectors") == []


def test_many_turns_are_cut_to_the_best(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(embedder=HashingTokenEmbedder())
    texts = [f"Note {n} about rabbit number {n}." for n in range(CANDIDATES + 30)]
    bench.memory.add([{"role": "user", "content": text} for text in texts], user_id="ana", session_id="s")
    bench.memory.flush()
    hits = bench.memory.recall("rabbit number 77", user_id="ana", k=300, touch=False).hits
    looked_at = [hit for hit in hits if any(leg.name == "late" for leg in hit.legs)]
    assert len(looked_at) == CANDIDATES
    assert texts[77] in hits[0].text


async def test_a_text_is_encoded_once() -> None:
    class Counting(HashingTokenEmbedder):
        passes = 0

        async def embed(self, texts: Any, *, query: bool = False) -> np.ndarray:
            self.passes += len(texts)
            return await super().embed(texts, query=query)

    embedder = Counting()
    encoded = await encode(embedder, TURNS, late=True)
    vector, tokens = await encode_query(embedder, QUESTIONS[0], late=True)
    assert embedder.passes == len(TURNS) + 1
    assert len(encoded.tokens) == len(TURNS)
    assert tokens is not None
    np.testing.assert_array_equal(vector, (await embedder.embed(QUESTIONS[:1], query=True))[0])
    assert (await encode(HashingEmbedder(), TURNS, late=True)).tokens == ()


async def test_tokens_that_cannot_be_are_refused() -> None:
    class Broken(HashingTokenEmbedder):
        async def embed_tokens(self, texts: Any, *, query: bool = False) -> tuple[np.ndarray, list[Tokens]]:
            vectors, tokens = await super().embed_tokens(texts, query=query)
            return vectors, [Tokens(each.words, each.vectors * self.factor) for each in tokens]

        factor = np.float32(1)

    embedder = Broken()
    await encode(embedder, TURNS, late=True)
    for factor in (2, np.nan):
        embedder.factor = np.float32(factor)
        with pytest.raises(EmbedderError, match="length"):
            await encode(embedder, TURNS, late=True)


async def test_the_default_embedder_gives_content_tokens() -> None:
    embedder = create_embedder("minilm")
    (_, [english, twice, stop, chinese]) = await embedder.embed_tokens(  # type: ignore[attr-defined]
        ["Ana: I don't play the violin!", "violin violin", "the of", "我上个月搬到了大阪。"]
    )
    assert set(english.words) == {"Ana", "play", "violin"}
    assert twice.words == ("violin",)
    assert stop.words == ()
    assert stop.vectors.shape == (0, 96)
    assert "大" in chinese.words
    like = english.vectors[english.words.index("violin")] @ twice.vectors[0]
    unlike = english.vectors[english.words.index("play")] @ twice.vectors[0]
    assert like > 0.6 > unlike
    await embedder.close()
