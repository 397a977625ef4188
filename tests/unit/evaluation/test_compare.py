"""Paired comparisons: the interval is that of the differences, and questions are paired whatever their order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstrata.errors import InputError
from memstrata.evaluation.compare import compare, intervals
from memstrata.evaluation.outcome import Answered


def answered(number: int, found: bool, tokens: int = 100, conversation: str = "u") -> Answered:
    ranking = ("gold",) if found else ("other",)
    return Answered(conversation, f"question {number}", "4", ("gold",), ranking, (), 0.01, tokens, float(found), 3.0)


def test_a_difference_that_every_question_shows_has_no_width() -> None:
    first = [answered(n, False, 100) for n in range(20)]
    second = [answered(n, True, 90) for n in reversed(range(20))]
    by_name = {each.figure: each for each in compare(first, second, resamples=200)}
    frac = by_name["frac@5"]
    assert (frac.n, frac.first, frac.second) == (20, 0.0, 1.0)
    assert (frac.difference.low, frac.difference.mean, frac.difference.high) == (1.0, 1.0, 1.0)
    assert frac.p == 0.0
    assert by_name["tokens"].difference.mean == -10


def test_runs_that_differ_by_chance_have_an_interval_over_zero() -> None:
    draws = np.random.default_rng(1)
    first = [answered(n, bool(draws.random() < 0.5)) for n in range(200)]
    second = [answered(n, bool(draws.random() < 0.5)) for n in range(200)]
    found = compare(first, second, figures=["any@5"], resamples=1000)[0]
    assert found.difference.low < 0 < found.difference.high
    assert found.p > 0.05
    assert compare(first, second, figures=["any@5"], resamples=1000)[0] == found  # the seed is fixed


def test_only_shared_questions_are_compared() -> None:
    first = [answered(1, True), answered(1, False), answered(2, True)]  # one question asked twice
    second = [answered(2, True), answered(1, True), answered(1, False), answered(3, True)]
    found = compare(first, second, figures=["any@5"], resamples=100)[0]
    assert (found.n, found.difference.mean) == (3, 0.0)
    with pytest.raises(InputError, match="share no question"):
        compare(first, [answered(1, True, conversation="other")])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=60))
def test_the_mean_lies_in_its_interval(values: list[float]) -> None:
    found = intervals({"x": values}, resamples=400)["x"]
    assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9
    assert found.low - 0.2 <= found.mean <= found.high + 0.2
