from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.extract.summary import summarise
from memstrata.text.measure import chunks, clip, size
from memstrata.types import Turn

Make = Callable[..., Turn]


def test_informative_sentences_are_kept_in_order_with_their_speakers(turn: Make) -> None:
    page = [
        turn("Hi Ben!", 1, speaker="Ana"),
        turn("Hey! I adopted a grey cat from the shelter in Porto last week.", 2, speaker="Ben"),
        turn("Wow, great!", 3, speaker="Ana"),
        turn("The cat is called Miso. She sleeps on my keyboard.", 4, speaker="Ben"),
        turn("My sister also adopted a cat in March.", 5, speaker="Ana"),
    ]
    summary = summarise(page, max_words=30)
    assert summary.index("Ben: ") < summary.index("adopted a grey cat") < summary.index("Ana: My sister")
    assert "Wow" not in summary
    assert len(summary.split()) <= 30


@pytest.mark.parametrize(
    "texts, kept",
    [
        (
            ["こんにちは！", "先週、京都で茶道の体験をしました。", "すごいですね。"],
            "先週、京都で茶道の体験をしました。",
        ),
        (["你好！", "我上周在上海参加了马拉松比赛。", "太好了！"], "我上周在上海参加了马拉松比赛。"),
    ],
)
def test_other_scripts(turn: Make, texts: list[str], kept: str) -> None:
    page = [turn(text, no, speaker="Kim") for no, text in enumerate(texts, 1)]
    assert summarise(page, max_words=12) == f"Kim: {kept}"


def test_system_and_served_text_stay_out(turn: Make) -> None:
    page = [
        turn("You are a helpful assistant that loves bananas.", 1, role="system"),
        turn("<memstrata-context>Ana loves bananas.</memstrata-context> I planted tomatoes.", 2),
    ]
    assert summarise(page) == "user: I planted tomatoes."


def test_one_long_sentence_is_cut(turn: Make) -> None:
    summary = summarise([turn("word " * 500)], max_words=20)
    assert size(summary) <= 20


def test_no_text_no_summary(turn: Make) -> None:
    assert summarise([turn("")]) == ""


@given(st.text(alphabet="ab 京都。、\n", max_size=200), st.integers(2, 20))
def test_chunks_hold_the_whole_text_within_the_limit(text: str, limit: int) -> None:
    pieces = chunks(text, limit)
    assert all(piece in text for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert all(size(piece) <= limit + 0.5 for piece in pieces)
    assert clip(text, limit) == (pieces[0] if pieces else "")
