"""Figures of a gate: precision, recall, F1 at a threshold, ROC and precision-recall areas, bootstrap over groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Integers = NDArray[np.int64]

RESAMPLES = 500


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True, slots=True)
class Kept:
    """What a decision on every example came to."""

    f1: float
    precision: float
    recall: float
    share: float  # of the examples that are admitted

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


def kept(label: Booleans, admitted: Booleans) -> Kept:
    """Precision, recall and F1 of the admitted examples; 0 where nothing is admitted or nothing was worth it."""
    hits = float((label & admitted).sum())
    chosen, wanted = float(admitted.sum()), float(label.sum())
    return Kept(
        f1=2 * hits / (chosen + wanted) if chosen + wanted else 0.0,
        precision=hits / chosen if chosen else 0.0,
        recall=hits / wanted if wanted else 0.0,
        share=chosen / len(label) if len(label) else 0.0,
    )


def auc(label: Booleans, score: Floats) -> float:
    """Area under the ROC curve, ties counted half: the chance that an example worth keeping scores higher. NaN for one
    class."""
    _, inverse, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    ones = float(label.sum())
    zeros = len(label) - ones
    if not ones or not zeros:
        return float("nan")
    return float((ranks[label].sum() - ones * (ones + 1) / 2) / ones / zeros)


@dataclass(frozen=True, slots=True)
class Curve:
    """Precision, recall and share admitted at every threshold that admits something else, the highest first."""

    threshold: Floats
    precision: Floats
    recall: Floats
    share: Floats

    @property
    def f1(self) -> Floats:
        total = self.precision + self.recall
        return np.divide(2 * self.precision * self.recall, total, out=np.zeros_like(total), where=total > 0)

    @property
    def average_precision(self) -> float:
        """Sum of precision times the recall it adds, over the thresholds from above."""
        return float(np.sum(self.precision * np.diff(self.recall, prepend=0.0)))


def curve(label: Booleans, score: Floats) -> Curve:
    """The precision-recall curve; equal scores are admitted together."""
    order = np.argsort(-score, kind="stable")
    ranked = score[order]
    last = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1)
    hits = np.cumsum(label[order])[last].astype(np.float64)
    chosen = last + 1.0
    return Curve(ranked[last], hits / chosen, hits / max(1.0, float(label.sum())), chosen / len(label))


def average_precision(label: Booleans, score: Floats) -> float:
    """That of the curve; NaN when nothing is worth keeping."""
    return curve(label, score).average_precision if label.any() else float("nan")


def bootstrap(
    group: Integers, figure: Callable[[Integers], float], *, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """A figure of some examples (given by number) with its 95 % interval: whole groups are drawn with replacement.

    With one group alone its examples are drawn, which knows nothing of how conversations differ.
    """
    everything = np.arange(len(group))
    numbers = np.unique(group)
    blocks = [np.flatnonzero(group == number) for number in numbers]
    if len(blocks) == 1:
        blocks = [np.array([example]) for example in everything]
    random = np.random.default_rng(seed)
    drawn = [
        figure(np.concatenate([blocks[block] for block in random.integers(len(blocks), size=len(blocks))]))
        for _ in range(resamples)
    ]
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return Interval(figure(everything), float(low), float(high))
