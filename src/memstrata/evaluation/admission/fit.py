"""Fitting a gate: utility estimator, weights on the simplex, threshold, for one of three objectives.

The utilities that weights and threshold are fitted on come from estimators that did not see the conversation (inner
folds), or the fit would trust utility more than it deserves. Weight vectors are tried on a grid of the simplex in
eighths (A-MAC tried random ones) by how they rank; the mean of the best of them is taken, which lies on the simplex
too and moves less with the sample than the single best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Literal

import numpy as np

from memstrata.errors import InputError
from memstrata.evaluation.admission.candidates import Booleans, Floats, Integers, Table
from memstrata.evaluation.admission.estimator import fit_utility, utilities
from memstrata.evaluation.admission.folds import fold_of
from memstrata.evaluation.admission.metrics import curve
from memstrata.gate.policy import SIGNALS, Policy, Weights
from memstrata.gate.utility import UtilityModel

STEPS = 8  # the grid's step is an eighth
BEST = 10  # so many of the best weight vectors are averaged
INNER = 5

Aim = Literal["f1", "recall", "cost"]
AIMS: tuple[Aim, ...] = ("f1", "recall", "cost")


@dataclass(frozen=True, slots=True)
class Objective:
    """What the threshold is for. "f1": the best F1. "recall": of the thresholds that keep at least `floor` of what is
    worth keeping, the one that admits least. "cost": the least cost, where losing one counts as `miss` times keeping
    one that is not worth it."""

    aim: Aim = "f1"
    floor: float = 0.95
    miss: float = 3.0

    def __post_init__(self) -> None:
        if not 0.0 < self.floor <= 1.0:
            raise InputError(f"the recall floor must lie in (0, 1], not {self.floor!r}")
        if not self.miss > 0.0:
            raise InputError(f"the cost of a miss must be positive, not {self.miss!r}")

    @property
    def described(self) -> str:
        """The objective in words."""
        detail = {"f1": "F1", "recall": f"recall at least {self.floor:g}", "cost": f"cost, a miss {self.miss:g} times"}
        return detail[self.aim]

    def best(self, label: Booleans, score: Floats) -> tuple[float, float]:
        """The threshold and its value, the higher the better. Scores below 0 are never admitted."""
        found = curve(label, score)
        possible = found.threshold >= 0.0
        if not possible.any():
            raise InputError("no candidate was drafted: nothing can be admitted")
        if self.aim == "f1":
            values = found.f1
        elif self.aim == "recall":
            values = np.where(found.recall >= self.floor, -found.share, found.recall - 2.0)
        else:
            positive = label.mean()
            values = -(self.miss * positive * (1 - found.recall) + found.share - positive * found.recall)
        values = np.where(possible, values, -np.inf)
        at = int(np.argmax(values))
        below = found.threshold[at + 1] if at + 1 < len(values) and found.threshold[at + 1] >= 0.0 else 0.0
        return float((found.threshold[at] + below) / 2), float(values[at])


def objective(aim: str, *, floor: float = 0.95, miss: float = 3.0) -> Objective:
    """The objective of this name. Raises InputError when there is none."""
    for known in AIMS:
        if aim == known:
            return Objective(known, floor, miss)
    raise InputError(f"the objective must be {', '.join(AIMS)}, not {aim!r}")


@dataclass(frozen=True)
class Fitted:
    """A gate that was fitted: its estimator, weights in the order of SIGNALS, and threshold."""

    utility: UtilityModel
    weights: Weights
    theta: float

    def scores(self, table: Table, policy: Policy) -> Floats:
        """S of every candidate; priors and rates are the policy's."""
        return np.asarray(table.signals(utilities(self.utility, table), policy) @ np.array(self.weights))


@lru_cache
def grid(floor: float = 0.0, without: str | None = None) -> Floats:
    """Weight vectors on the simplex in eighths, shape (n, 5); each weight at least `floor`, that of `without` 0."""
    vectors = np.array(
        [(*rest, STEPS - sum(rest)) for rest in product(range(STEPS + 1), repeat=4) if sum(rest) <= STEPS], dtype=float
    )
    if without is not None:
        vectors = vectors[vectors[:, SIGNALS.index(without)] == 0]
    free = np.array([name != without for name in SIGNALS])
    return np.asarray(floor * free + (1.0 - floor * free.sum()) * vectors / STEPS)


def fit(
    parts: Sequence[tuple[Table, Booleans]],
    policy: Policy,
    objective: Objective,
    *,
    floor: float = 0.0,
    without: str | None = None,
) -> Fitted:
    """The gate fitted on the chosen examples of each table; several tables weigh the same in everything.

    `policy` gives the priors and rates; `floor` is the least weight of a signal, `without` one that is left out.
    """
    signals = [table.signals(crossed(table, chosen, parts), policy) for table, chosen in parts]
    weights, theta = weigh(parts, signals, objective, floor=floor, without=without)
    return Fitted(fit_utility(parts), weights, theta)


def crossed(table: Table, chosen: Booleans, parts: Sequence[tuple[Table, Booleans]]) -> Floats:
    """The utility of the chosen examples' candidates by estimators that did not see their conversation."""
    found = np.zeros(len(table.example))
    others = [part for part in parts if part[0] is not table]
    if len(np.unique(table.group[chosen])) < 2:
        raise InputError(f"{table.name}: fitting needs at least two conversations beside the one held out")
    inner = np.full(len(table.label), -1, dtype=np.int64)
    inner[chosen] = fold_of(table.group[chosen], table.label[chosen], folds=INNER)
    for fold in range(int(inner.max()) + 1):
        model = fit_utility([(table, chosen & (inner != fold)), *others])
        rows = table.rows(inner == fold)
        found[rows] = utilities(model, table)[rows]
    return found


def weigh(
    parts: Sequence[tuple[Table, Booleans]],
    signals: Sequence[Floats],
    objective: Objective,
    *,
    floor: float = 0.0,
    without: str | None = None,
) -> tuple[Weights, float]:
    """Weights and threshold for these signals of every candidate, by the mean over the tables.

    Weights only rank: they are chosen by average precision and best F1 alike. The threshold is the objective's.
    """
    vectors = grid(floor, without)
    values = np.zeros(len(vectors))
    for (table, chosen), found in zip(parts, signals, strict=True):
        label = table.label[chosen]
        for n, vector in enumerate(vectors):
            line = curve(label, table.best(found @ vector)[chosen])
            values[n] += (line.average_precision + float(line.f1.max())) / len(parts)
    mean = vectors[np.argsort(-values, kind="stable")[:BEST]].mean(axis=0)
    utility, confidence, novelty, recency, prior = (float(weight) for weight in mean / mean.sum())
    thetas = [
        objective.best(table.label[chosen], table.best(found @ mean)[chosen])[0]
        for (table, chosen), found in zip(parts, signals, strict=True)
    ]
    return (utility, confidence, novelty, recency, prior), float(np.mean(thetas))


@dataclass(frozen=True)
class HeldOut:
    """Scores of every example by a gate that did not see its conversation, the threshold that held for it, the fold it
    was in, and the gate of each fold."""

    score: Floats
    theta: Floats
    fold: Integers
    fitted: tuple[Fitted, ...]

    @property
    def admitted(self) -> Booleans:
        return np.asarray(self.score >= self.theta)


def held_out(
    table: Table,
    policy: Policy,
    objective: Objective,
    *,
    folds: int | None = None,
    floor: float = 0.0,
    without: str | None = None,
    others: Sequence[Table] = (),
) -> HeldOut:
    """Everything fitted on the other folds (and all of `others`), then applied to the one that is left out."""
    fold = fold_of(table.group, table.label, folds=folds)
    score, theta = np.zeros(len(table.label)), np.zeros(len(table.label))
    whole = [(other, np.ones(len(other.label), dtype=np.bool_)) for other in others]
    fitted = []
    for number in range(int(fold.max()) + 1):
        gate = fit([(table, fold != number), *whole], policy, objective, floor=floor, without=without)
        out = fold == number
        score[out] = table.best(gate.scores(table, policy))[out]
        theta[out] = gate.theta
        fitted.append(gate)
    return HeldOut(score, theta, fold, tuple(fitted))
