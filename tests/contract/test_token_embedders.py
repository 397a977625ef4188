"""What every embedder with token vectors promises, beside what every embedder does (test_embedders.py)."""

import asyncio
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pytest

from memstrata.embed import create_embedder
from memstrata.embed.base import TokenEmbedder, Tokens, sound_tokens, token_embedder
from memstrata.embed.hashing import HashingTokenEmbedder
from memstrata.errors import ClosedError, InputError


def minilm() -> TokenEmbedder:
    found = token_embedder(create_embedder("minilm"))
    assert found is not None
    return found


MADE: Mapping[str, Callable[[], TokenEmbedder]] = {"minilm": minilm, "hashing": HashingTokenEmbedder}
TEXTS = [
    "I moved to Lisbon in March because of my new job.",
    "The violin teacher lives above the bakery.",
    "先月、新しい仕事のために大阪へ引っ越しました。",
    "我上个月因为新工作搬到了大阪。",
    "Lisbon, Lisbon, Lisbon!",
]


@pytest.fixture(scope="module", params=list(MADE))
def embedder(request: pytest.FixtureRequest) -> Iterator[TokenEmbedder]:
    made = MADE[request.param]()
    yield made
    asyncio.run(made.close())


def same(one: Tokens, other: Tokens) -> bool:
    return one.words == other.words and np.array_equal(one.vectors, other.vectors)


@pytest.mark.parametrize("query", [False, True])
async def test_vectors_are_those_of_embed(embedder: TokenEmbedder, query: bool) -> None:
    vectors, _ = await embedder.embed_tokens(TEXTS, query=query)
    np.testing.assert_array_equal(vectors, await embedder.embed(TEXTS, query=query))


async def test_a_unit_row_for_each_token(embedder: TokenEmbedder) -> None:
    _, tokens = await embedder.embed_tokens(TEXTS)
    sound_tokens(tokens, TEXTS, embedder)
    for text, each in zip(TEXTS, tokens, strict=True):
        assert each.words, text
        assert each.vectors.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(each.vectors, axis=1), 1, atol=1e-2)


async def test_what_carries_no_content_is_left_out(embedder: TokenEmbedder) -> None:
    blank = ["", " \n\t", "\0", "?!... ,"]
    vectors, tokens = await embedder.embed_tokens(blank)
    assert vectors.shape == (len(blank), embedder.dim)
    for each in tokens:
        assert each.words == ()
        assert each.vectors.shape == (0, embedder.token_dim)
    _, [told] = await embedder.embed_tokens(["the violin, and of the with"])
    assert told.words == ("violin",)


async def test_each_token_once(embedder: TokenEmbedder) -> None:
    _, [repeated] = await embedder.embed_tokens(TEXTS[-1:])
    assert len(repeated.words) == len(set(repeated.words))


async def test_nothing_in_nothing_out(embedder: TokenEmbedder) -> None:
    vectors, tokens = await embedder.embed_tokens([])
    assert vectors.shape == (0, embedder.dim)
    assert tokens == []


@pytest.mark.parametrize("name", list(MADE))
async def test_tokens_do_not_depend_on_the_other_texts(name: str) -> None:
    """Two embedders, so that no cache answers for the model."""
    alone, together = MADE[name](), MADE[name]()
    try:
        single = [(await alone.embed_tokens([text]))[1][0] for text in TEXTS]
        _, batch = await together.embed_tokens([*reversed(TEXTS), "noise " * 60])
    finally:
        await alone.close()
        await together.close()
    assert all(same(*pair) for pair in zip(single, reversed(batch[:-1]), strict=True))


async def test_equal_texts_get_equal_tokens(embedder: TokenEmbedder) -> None:
    _, tokens = await embedder.embed_tokens([TEXTS[0], TEXTS[2], TEXTS[0]])
    assert same(tokens[0], tokens[2])
    assert not same(tokens[0], tokens[1])


@pytest.mark.parametrize("text", ["the harbour at night " * 100_000, "x" * 1_000_000, "港" * 1_000_000])
async def test_very_long_texts(embedder: TokenEmbedder, text: str) -> None:
    async with asyncio.timeout(20):
        _, tokens = await embedder.embed_tokens([text])
    sound_tokens(tokens, [text], embedder)


async def test_weird_unicode(embedder: TokenEmbedder) -> None:
    texts = ["a\0harbour", "lone \ud800 surrogate", "e\u0301" * 50, "👩\u200d👧 family", "𠮷野家", "ก็", "!?…"]
    vectors, tokens = await embedder.embed_tokens(texts)
    assert np.isfinite(vectors).all()
    sound_tokens(tokens, texts, embedder)


async def test_eight_tasks_at_once(embedder: TokenEmbedder) -> None:
    texts = [
        [f"{name} {verb}" for verb in ("swims", "paints")]
        for name in ["Anna", "Ben", "Clara", "David", "Emma", "Frank"]
    ]
    found = await asyncio.gather(*(embedder.embed_tokens(part) for part in texts))
    for part, (vectors, tokens) in zip(texts, found, strict=True):
        again, others = await embedder.embed_tokens(part)
        np.testing.assert_array_equal(vectors, again)
        assert all(same(*pair) for pair in zip(tokens, others, strict=True))


async def test_refuses_what_is_no_list_of_strings(embedder: TokenEmbedder) -> None:
    with pytest.raises(InputError, match="not one string"):
        await embedder.embed_tokens("text")
    with pytest.raises(InputError, match=r"texts\[1\] is int"):
        await embedder.embed_tokens(["text", 3])  # type: ignore[list-item]


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("name", list(MADE))
async def test_closed_is_closed(name: str, used: bool) -> None:
    made = MADE[name]()
    if used:
        await made.embed_tokens(["text"])
    await made.close()
    await made.close()
    for texts in (["text"], []):
        with pytest.raises(ClosedError):
            await made.embed_tokens(texts)
