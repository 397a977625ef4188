"""Fitting the utility estimator: logistic regression on candidates whose labels are those of their turns.

A turn is kept when any of its candidates is, so the best by the fit so far stands for it, and the others are left out,
a few times over (multiple-instance learning). Each data set and each class weighs the same, so that a utility of .5 is
even odds between the classes, not a share of candidates.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memstrata.evaluation.admission.candidates import Booleans, Floats, Integers, Table
from memstrata.gate.utility import FEATURES, UtilityModel

ROUNDS = 3
PENALTY = 30.0  # on standardised features, for weights that add up to the number of candidates
STEPS, SETTLED = 50, 1e-8

Part = tuple[Floats, Booleans]


def logistic(parts: Sequence[Part], *, penalty: float = PENALTY) -> tuple[float, Floats]:
    """Intercept and coefficients by Newton's method, of features and labels of each data set."""
    x = np.concatenate([features for features, _ in parts])
    y = np.concatenate([labels for _, labels in parts]).astype(np.float64)
    weight = np.concatenate([class_weights(labels) for _, labels in parts])
    weight *= len(y) / weight.sum()
    mean, scale = x.mean(axis=0), x.std(axis=0)
    scale[scale == 0] = 1.0
    z = np.column_stack([np.ones(len(x)), (x - mean) / scale])
    ridge = np.diag([0.0, *[penalty] * x.shape[1]])
    beta = np.zeros(z.shape[1])
    for _ in range(STEPS):
        p = sigmoid(z @ beta)
        gradient = z.T @ (weight * (y - p)) - ridge @ beta
        step = np.linalg.solve((z * (weight * p * (1 - p))[:, None]).T @ z + ridge, gradient)
        beta += step
        if np.abs(step).max() < SETTLED:
            break
    coefficients = beta[1:] / scale
    return float(beta[0] - coefficients @ mean), coefficients


def class_weights(label: Booleans) -> Floats:
    """Weights by which both classes count the same and the set's sum is 1; of one class alone, each its share."""
    ones, zeros = label.sum(), (~label).sum()
    return np.asarray(np.where(label, 0.5 / max(1, ones), 0.5 / max(1, zeros)))


def sigmoid(z: Floats) -> Floats:
    """1 / (1 + e^-z), without overflow."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * z)))


def fit_utility(parts: Sequence[tuple[Table, Booleans]]) -> UtilityModel:
    """The estimator fitted on the chosen examples of each table."""
    chosen = [(table, np.flatnonzero(table.rows(examples))) for table, examples in parts]
    intercept, coefficients = logistic([_part(table, rows) for table, rows in chosen])
    for _ in range(ROUNDS):
        standing = [
            (table, _standing(table, rows, intercept + table.features[rows] @ coefficients)) for table, rows in chosen
        ]
        intercept, coefficients = logistic([_part(table, rows) for table, rows in standing])
    return UtilityModel(intercept, dict(zip(FEATURES, map(float, coefficients), strict=True)))


def utilities(model: UtilityModel, table: Table) -> Floats:
    """The utility of every candidate of a table."""
    coefficients = np.array([model.coefficients.get(name, 0.0) for name in FEATURES])
    return sigmoid(model.intercept + table.features @ coefficients)


def _part(table: Table, rows: NDArray[np.intp]) -> Part:
    return table.features[rows], table.label[table.example[rows]]


def _standing(table: Table, rows: NDArray[np.intp], scores: Floats) -> NDArray[np.intp]:
    """Which candidates count: the best of each example."""
    examples: Integers = table.example[rows]
    order = np.lexsort((-scores, examples))
    _, first = np.unique(examples[order], return_index=True)
    return np.asarray(np.sort(rows[order[first]]))
