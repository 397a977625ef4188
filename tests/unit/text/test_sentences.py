"""Sentence splitting."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.text.sentences import sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hi there! How are you? Fine.", ["Hi there!", "How are you?", "Fine."]),
        ("I met Dr. Smith at 3.5 p.m. today. He left.", ["I met Dr. Smith at 3.5 p.m. today.", "He left."]),
        (
            "I met J. Smith, e.g. at home. So did I. Then rain.",
            ["I met J. Smith, e.g. at home.", "So did I.", "Then rain."],
        ),
        ("Well... maybe. Hm... No!", ["Well... maybe.", "Hm...", "No!"]),
        ("i went home. then i slept", ["i went home.", "then i slept"]),
        ("Is it No. 5? No. It is not.", ["Is it No. 5?", "No.", "It is not."]),
        ("1. Wash the rice.\n2. Cook it.", ["1. Wash the rice.", "2. Cook it."]),
        ("- one\n* two\n\n  ", ["one", "two"]),
        ('He said "go!" Then left.', ['He said "go!"', "Then left."]),
        ("猫がいます。犬もいます！本当？はい", ["猫がいます。", "犬もいます！", "本当？", "はい"]),
        ("「もう帰る。」と言った。そして帰った。", ["「もう帰る。」と言った。", "そして帰った。"]),
        ("「帰る。」「うん。」", ["「帰る。」", "「うん。」"]),
        ("我去了北京。她没去！真的吗？", ["我去了北京。", "她没去！", "真的吗？"]),
        ("I love it!東京にいます。", ["I love it!", "東京にいます。"]),
        ("See example.com/a.b for v1.2 now", ["See example.com/a.b for v1.2 now"]),
        ("", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.text(st.one_of(st.characters(), st.sampled_from('.!?。！？「」『』 \n"Aab1')), max_size=80))
def test_no_word_is_lost(text: str) -> None:
    found = sentences(text)
    assert all(sentence == sentence.strip() and sentence for sentence in found)
    assert re.sub(r"\W", "", "".join(found)) == re.sub(r"\W", "", text)


def test_unclosed_quotes_cost_linear_time() -> None:
    assert len(sentences("「あ。" * 20_000)) >= 1
