"""Units by falling score, of which a call mostly reads the first few."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Order:
    """Units by falling score; with the same score notes before turns, then by unit number.

    Only about the best `first` are sorted, until a slice reaches further down.
    """

    def __init__(
        self, units: NDArray[np.int64], kinds: NDArray[np.int8], scores: NDArray[np.float32], first: int
    ) -> None:
        self._units, self._kinds, self._falling = units, kinds, -scores
        best = np.arange(len(units))
        if len(units) > first:
            # Whatever has the last one's score is in as well: nothing that is left out belongs between these.
            best = np.flatnonzero(self._falling <= np.partition(self._falling, first - 1)[first - 1])
        self._sorted = self._sort(best)

    def __len__(self) -> int:
        return len(self._units)

    def __getitem__(self, part: slice) -> list[int]:
        if len(self._sorted) < part.indices(len(self))[1]:
            self._sorted = self._sort(np.arange(len(self)))
        return self._sorted[part]

    def _sort(self, places: NDArray[np.int64]) -> list[int]:
        units = self._units[places]
        found: list[int] = units[np.lexsort((units, self._kinds[places], self._falling[places]))].tolist()
        return found
