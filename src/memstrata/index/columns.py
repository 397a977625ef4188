"""Columns of an owner's units: one array a column, so that a scan over a column reads nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

NEVER = np.iinfo(np.int64).max  # an interval without an end
UNSET = np.iinfo(np.int64).min  # no event time

# state: 0 = current, 1 = superseded, 2 = closed (forgotten, removed, undone, distilled page).
COLUMNS: Mapping[str, str] = {
    "kind": "i1",
    "state": "i1",
    "hidden": "i1",
    "hot": "i1",
    "pinned": "i1",
    "note_kind": "i1",
    "ref": "i4",
    "agent": "i4",
    "session": "i4",
    "speaker": "i4",
    "page": "i4",
    "position": "i4",
    "length": "i4",
    "at": "i8",
    "recorded": "i8",
    "event_start": "i8",
    "event_end": "i8",
    "valid_from": "i8",
    "valid_to": "i8",
    "last_access": "i8",
    "rate": "f8",
    "heat": "f8",
    "heat_tick": "i8",
}


def roomy(array: NDArray[Any], size: int, fill: int = 0) -> NDArray[Any]:
    """The array, or where it has fewer than `size` entries one twice as long, filled up."""
    if size <= len(array):
        return array
    grown = np.full((max(2 * len(array), size), *array.shape[1:]), fill, dtype=array.dtype)
    grown[: len(array)] = array
    return grown


class Columns:
    """A row for each unit, by unit number; row 0 and rows without a unit have kind -1. Arrays grow by doubling."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]] | None = None, count: int = 0) -> None:
        """Without `arrays` (those of `arrays()`, with any number of spare rows, zeros) there are no units yet."""
        self.count = count  # units are numbered 1..count
        self._arrays: dict[str, NDArray[Any]] = (
            {name: np.zeros(64, dtype=kind) for name, kind in COLUMNS.items()} if arrays is None else dict(arrays)
        )
        self._arrays["kind"][count + 1 :] = -1
        self._arrays["kind"][0] = -1

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """The columns, rows 0..count."""
        return {name: array[: self.count + 1] for name, array in self._arrays.items()}

    def __getitem__(self, column: str) -> NDArray[Any]:
        """One column, as a view of rows 0..count."""
        return self._arrays[column][: self.count + 1]

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._arrays.values())

    def reach(self, unit: int) -> None:
        """Make room for a unit."""
        size = len(self._arrays["kind"])
        if unit >= size:
            self._arrays = {name: roomy(array, unit + 1) for name, array in self._arrays.items()}
            self._arrays["kind"][size:] = -1
        self.count = max(self.count, unit)

    def put(self, units: NDArray[np.int64], **values: ArrayLike) -> None:
        """Set columns of some units, each to one value or to one a unit."""
        for name, value in values.items():
            self._arrays[name][units] = value


class Codes:
    """Small numbers for strings (agents, sessions, speakers) of one owner."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._codes: dict[str, int] = {text: code for code, text in enumerate(texts)}

    def of(self, text: str) -> int:
        return self._codes.setdefault(text, len(self._codes))

    def get(self, text: str) -> int:
        """The code of a known string, else -1."""
        return self._codes.get(text, -1)

    def items(self) -> Sequence[tuple[str, int]]:
        return list(self._codes.items())
