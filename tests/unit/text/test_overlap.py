"""Overlap measures against their definitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.text.overlap import jaccard, lcs_length, lcs_precision
from memstrata.text.tokens import words

sequences = st.lists(st.sampled_from("abcde"), max_size=40)


def lcs_by_table(first: list[str], second: list[str]) -> int:
    row = [0] * (len(second) + 1)
    for word in first:
        before = row[:]
        for j, other in enumerate(second, start=1):
            row[j] = before[j - 1] + 1 if word == other else max(before[j], row[j - 1])
    return row[-1]


@given(sequences, sequences)
def test_lcs_equals_the_dynamic_programme(first: list[str], second: list[str]) -> None:
    assert lcs_length(first, second) == lcs_by_table(first, second)


@given(sequences, sequences)
def test_precision_is_a_share_of_the_candidate(first: list[str], second: list[str]) -> None:
    assert lcs_precision(first, second) * len(first) == pytest.approx(lcs_by_table(first, second))
    assert lcs_precision(first, [*second, *first]) == (1.0 if first else 0.0)


def test_precision_in_three_languages() -> None:
    assert lcs_precision(words("Bob has a dog"), words("Well, Bob really has a big dog!")) == 1.0
    assert lcs_precision(words("猫が好き"), words("妹は猫が好きです")) == 1.0
    assert lcs_precision(words("他住在上海"), words("他住在北京")) == 3 / 5


@given(sequences, sequences)
def test_jaccard(first: list[str], second: list[str]) -> None:
    assert jaccard(first, second) == jaccard(second, first)
    assert 0.0 <= jaccard(first, second) <= 1.0
    assert jaccard(first, first) == (1.0 if first else 0.0)


def test_jaccard_by_hand() -> None:
    assert jaccard(["a", "b", "b"], ["b", "c"]) == 1 / 3
