"""Grouped folds: a conversation is never on both sides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memstrata.errors import InputError

LEAVE_ONE_OUT = 12  # up to so many conversations each is a fold of its own
FOLDS = 5  # of more


def fold_of(group: NDArray[np.int64], label: NDArray[np.bool_], *, folds: int | None = None) -> NDArray[np.int64]:
    """The fold of each example, numbered from 0; examples of a group are in the same fold.

    Leave one conversation out for few of them, else (or as asked) as many folds: the largest groups are dealt out
    first, each to the smallest fold so far. Raises InputError with fewer than two groups, or when without some fold
    only one label would be left to fit on.
    """
    numbers, sizes = np.unique(group, return_counts=True)
    if len(numbers) < 2:
        raise InputError("one conversation alone cannot be held out: data of two or more groups is needed")
    count = min(len(numbers), folds or (len(numbers) if len(numbers) <= LEAVE_ONE_OUT else FOLDS))
    if count < 2:
        raise InputError(f"folds must be 2 or more, not {count}")
    filled = np.zeros(count, dtype=np.int64)
    place = np.zeros(int(numbers.max()) + 1, dtype=np.int64)
    for index in np.argsort(-sizes, kind="stable"):
        smallest = int(np.argmin(filled))
        place[numbers[index]] = smallest
        filled[smallest] += sizes[index]
    found = place[group]
    for fold in range(count):
        left = label[found != fold]
        if left.all() or not left.any():
            raise InputError(f"without fold {fold} every example has the same label: more groups of both are needed")
    return np.asarray(found)
