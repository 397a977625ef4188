"""Two runs question by question: paired differences with bootstrap intervals (Efron and Tibshirani 1993).

Questions are drawn with replacement, both runs' scores of a question together, so that what makes a question hard
counts for both. An interval that leaves out 0 is a difference that other questions of this kind would show too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memstrata.errors import InputError
from memstrata.evaluation.outcome import Answered
from memstrata.evaluation.retrieval import METRICS, score

RESAMPLES = 10_000
LEVEL = 0.95
AT_ONCE = 500  # resamples drawn together: bounds the memory
FIGURES = (*METRICS, "in_context", "tokens")


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the bounds between which it lies in `LEVEL` of the resamples."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """One figure of two runs over the same `n` questions; `difference` is the second run's less the first's, `p` twice
    the share of the resamples in which its sign is another."""

    figure: str
    n: int
    first: float
    second: float
    difference: Interval
    p: float


def figures_of(one: Answered) -> dict[str, float]:
    """Every figure of one question: the retrieval metrics, the fraction of gold in the context, its tokens."""
    return {**score(one.ranking, one.gold), "in_context": one.in_context, "tokens": float(one.tokens)}


def intervals(
    values: Mapping[str, Sequence[float]], *, seed: int = 0, resamples: int = RESAMPLES
) -> dict[str, Interval]:
    """The mean of each figure over the same questions, with its bootstrap interval."""
    table = np.array(list(values.values()), dtype=np.float64)
    bounds = _bounds(_resampled(table, seed, resamples))
    return {
        name: Interval(float(row.mean()), float(low), float(high))
        for name, row, (low, high) in zip(values, table, bounds, strict=True)
    }


def compare(
    first: Sequence[Answered],
    second: Sequence[Answered],
    *,
    figures: Sequence[str] = FIGURES,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> list[Difference]:
    """The differences of two runs over the questions that both answered.

    Raises InputError when they share no question.
    """
    pairs = _paired(first, second)
    ours = [(figures_of(one), figures_of(other)) for one, other in pairs]
    one = np.array([[values[name] for values, _ in ours] for name in figures])
    other = np.array([[values[name] for _, values in ours] for name in figures])
    means = _resampled(other - one, seed, resamples)
    bounds = _bounds(means)
    found = []
    for n, name in enumerate(figures):
        low, high = bounds[n]
        mean = float((other[n] - one[n]).mean())
        beyond = float(np.mean(means[n] <= 0 if mean > 0 else means[n] >= 0))
        found.append(
            Difference(
                figure=name,
                n=len(pairs),
                first=float(one[n].mean()),
                second=float(other[n].mean()),
                difference=Interval(mean, float(low), float(high)),
                p=min(1.0, 2 * beyond),
            )
        )
    return found


def _paired(first: Sequence[Answered], second: Sequence[Answered]) -> list[tuple[Answered, Answered]]:
    """The questions of both runs, in the first's order; a question that is asked twice is paired in its order."""
    theirs = _keyed(second)
    pairs = [(one, theirs[key]) for key, one in _keyed(first).items() if key in theirs]
    if not pairs:
        raise InputError("the two runs share no question: they are of other data")
    return pairs


def _keyed(answered: Sequence[Answered]) -> Mapping[tuple[str, str, str, int], Answered]:
    keyed: dict[tuple[str, str, str, int], Answered] = {}
    for one in answered:
        number = 0
        while (key := (one.conversation, one.question, one.category, number)) in keyed:
            number += 1
        keyed[key] = one
    return keyed


def _bounds(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """(low, high) of each row of resampled means."""
    return np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=1).T


def _resampled(values: NDArray[np.float64], seed: int, resamples: int) -> NDArray[np.float64]:
    """Means of the rows of `values`, shape (figures, n), over resamples of the columns: shape (figures, resamples)."""
    n = values.shape[1]
    draws = np.random.default_rng(seed)
    parts = []
    for start in range(0, resamples, AT_ONCE):
        counts = draws.multinomial(n, np.full(n, 1 / n), size=min(AT_ONCE, resamples - start))
        parts.append(values @ counts.T / n)
    return np.concatenate(parts, axis=1)
