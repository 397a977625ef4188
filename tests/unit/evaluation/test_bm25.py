from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memstrata.evaluation.bm25 import BM25, TurnBaseline, baseline_terms
from memstrata.evaluation.locomo import load_locomo


def test_scores_worked_out_by_hand() -> None:
    index = BM25(["cat dog", "cat cat bird fish", "fish"])  # average length 7/3
    cat = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    bird = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))

    def part(idf: float, tf: int, length: int) -> float:
        return idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / (7 / 3)))

    assert index.scores("cat bird") == pytest.approx([part(cat, 1, 2), part(cat, 2, 4) + part(bird, 1, 4), 0])
    assert index.scores("cats cat") == pytest.approx([2 * part(cat, 1, 2), 2 * part(cat, 2, 4), 0])
    assert index.scores("whale").tolist() == [0, 0, 0]


def test_ranks_hold_matches_only_and_the_earlier_of_equals_first() -> None:
    index = BM25(["a b", "x", "b a", "a", "x y"])
    assert index.rank("a", 10) == [3, 0, 2]
    assert index.rank("a", 2) == [3, 0]
    assert index.rank("", 5) == []
    assert BM25(["", "..."]).rank("a", 5) == []
    assert BM25([]).rank("a", 5) == []


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Running, ran; he's 21!", ["run", "ran", "he", "s", "21"]),
        ("ponies generalization", ["poni", "gener"]),  # Porter's own examples
        ("東京でiPhoneを買う", ["東京", "京で", "iphon", "を買", "買う"]),
        ("我喜欢茶。茶", ["我喜", "喜欢", "欢茶", "茶"]),
        ("", []),
    ],
)
def test_terms(text: str, terms: list[str]) -> None:
    assert baseline_terms(text) == terms


def test_turns_are_found_by_speaker_text_caption_and_date(
    write: Callable[[Any], Path], harbour: dict[str, Any]
) -> None:
    (conversation,) = load_locomo(write([harbour])).conversations
    baseline = TurnBaseline(conversation)
    assert baseline.rank("adopting", 5) == ["D2:1"]
    assert baseline.rank("a bowl", 1) == ["D10:2"]
    assert baseline.rank("京都の茶碗", 5) == ["D10:2"]
    assert set(baseline.rank("March", 5)) == {"D10:1", "D10:2"}
    assert set(baseline.rank("Ines", 5)) == {"D2:1", "D2:3", "D10:1"}
