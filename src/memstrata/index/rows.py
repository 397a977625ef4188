"""An owner's rows: one for each chunk of a unit, with its vector, and how they are searched.

Small owners are compared in float32. From CODES_FROM rows on a scan reads eight bits a component and the rows that
may belong to the best are compared again; `fast` reads only the signs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memstrata.index.columns import roomy
from memstrata.index.vectors import all_dots, code_dots, codes_of, dots, sign_distances, sketch

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

CODES_FROM = 8192  # rows from which a scan reads eight bits a component
RESCORED = 512  # rows of a scan that are scored exactly then
FAST_KEPT = 1024  # rows that the signs choose, of a million and for ten of them
NEAREST_FROM, NEAREST_KEEP = 1024, 256  # where only a few nearest are asked for, signs choose from so many rows
GROUPS = ("vectors", "sketches", "units", "flags", "codes", "scales", "errors")


class Rows:
    """Arrays by row number. They have room for more rows than there are and grow by doubling."""

    def __init__(self, dim: int, arrays: Mapping[str, NDArray[Any]] | None = None, count: int = 0) -> None:
        """Without `arrays` (those of `arrays()`, with any number of spare rows) there are no rows yet."""
        self.dim, self.count = dim, count
        room = 64
        self._arrays: dict[str, NDArray[Any]] = (
            {
                "vectors": np.zeros((room, dim), dtype=np.float32),
                "sketches": np.zeros((room, (dim + 63) // 64), dtype=np.uint64),
                "units": np.zeros(room, dtype=np.int64),
                "flags": np.zeros(room, dtype=np.int8),
            }
            if arrays is None
            else dict(arrays)
        )
        self._coded = count if "codes" in self._arrays else 0  # rows that have codes

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """What there is to keep of the rows, without spare ones."""
        if self.count >= CODES_FROM:
            self._code()
        return {name: array[: self.count] for name, array in self._arrays.items()}

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._arrays.values())

    @property
    def vectors(self) -> Floats:
        return self._arrays["vectors"][: self.count]

    @property
    def units(self) -> Ints:
        """The unit of each row; 0 for a row that was replaced."""
        return self._arrays["units"][: self.count]

    @property
    def flags(self) -> NDArray[np.int8]:
        return self._arrays["flags"][: self.count]

    def reserve(self, more: int) -> None:
        """Make room for so many more rows."""
        if self.count + more > len(self._arrays["units"]):
            self._arrays = {name: roomy(array, self.count + more) for name, array in self._arrays.items()}

    def add(self, more: int = 1) -> int:
        """More rows, all zeros; returns the first of them."""
        self.reserve(more)
        self.count += more
        return self.count - more

    def put(self, at: Ints, vectors: Floats, units: Ints, flags: NDArray[np.int8]) -> None:
        """Write rows."""
        self._arrays["vectors"][at] = vectors
        self._arrays["sketches"][at] = sketch(vectors)
        self._arrays["units"][at] = units
        self._arrays["flags"][at] = flags
        again = at < self._coded
        if again.any():
            self._write_codes(at[again], vectors[again])

    def clear(self, row: int) -> None:
        """The row stands for nothing any more."""
        self._arrays["units"][row] = 0

    def _code(self) -> None:
        """Give codes to the rows that have none."""
        if self._coded == self.count:
            return
        held = self._arrays
        if "codes" not in held:
            room = len(held["units"])
            held["codes"] = np.zeros((room, self.dim), dtype=np.int8)
            held["scales"], held["errors"] = np.zeros((2, room), dtype=np.float32)
        self._write_codes(np.arange(self._coded, self.count), held["vectors"][self._coded : self.count])
        self._coded = self.count

    def _write_codes(self, at: Ints, vectors: Floats) -> None:
        self._arrays["codes"][at], self._arrays["scales"][at], self._arrays["errors"][at] = codes_of(vectors)

    # searching --------------------------------------------------------------------------------------------------------

    def _approximate(self, query: Floats) -> tuple[Floats, float]:
        """The dot product of a unit vector with each row from the codes, and how far from the true one it can be."""
        self._code()
        codes, scales, errors = codes_of(query[None, :])
        # |q.v - q'.v'| <= |q - q'| |v'| + |q| |v - v'|
        found = code_dots(codes[0], self._arrays["codes"][: self.count])
        found *= self._arrays["scales"][: self.count] * scales[0]
        lost = float(self._arrays["errors"][: self.count].max(initial=0.0))
        return found, float(errors[0]) * (1.0 + lost) + lost

    def similarities(self, query: Floats) -> Floats:
        """The cosine of a unit vector to each row. From CODES_FROM rows on, to about .001 but for the best RESCORED."""
        if self.count < CODES_FROM:
            return dots(query, self.vectors)
        scores, _ = self._approximate(query)
        best = np.argpartition(scores, self.count - RESCORED)[self.count - RESCORED :]
        scores[best] = dots(query, self.vectors.take(best, axis=0))
        return scores

    def search(
        self, query: Floats, count: int, allowed: Mask | None = None, *, fast: bool = False
    ) -> tuple[Ints, Floats]:
        """The `count` rows with the highest cosine of those `allowed` (all that stand for a unit), best first, and it.

        Exact: codes leave out only rows that cannot be among them. `fast` looks at those whose signs are nearest; what
        it misses is measured by `recall_of_fast`.
        """
        mask = self.units > 0
        if allowed is not None:
            mask &= allowed
        if self.count < CODES_FROM:
            rows = np.flatnonzero(mask)
        elif fast:
            rows = self._near_by_signs(query, mask, max(FAST_KEPT, 32 * count))
        else:
            scores, error = self._approximate(query)
            scores[~mask] = -2.0
            rows = np.flatnonzero(scores >= max(_surely_among(scores, count) - 2 * error, -1.5))
        scores = dots(query, self.vectors.take(rows, axis=0))
        best = np.argsort(-scores, kind="stable")[:count]
        return rows[best], scores[best]

    def _near_by_signs(self, query: Floats, mask: Mask, keep: int) -> Ints:
        """The `keep` rows of a mask whose signs are nearest to a vector's, and those as near as the last of them."""
        distances = sign_distances(query, self._arrays["sketches"][: self.count]).astype(np.uint16)
        distances[~mask] = self.dim + 1
        counts = np.cumsum(np.bincount(distances, minlength=self.dim + 2)[: self.dim + 1])
        return np.flatnonzero(distances <= min(int(np.searchsorted(counts, keep)), self.dim))

    def nearest_units(self, queries: Floats, rows: Ints, count: int) -> list[dict[int, float]]:
        """For each query the `count` units that have the highest cosine among some rows (their best), and that cosine.

        From NEAREST_FROM rows on, the signs choose the NEAREST_KEEP rows that are compared exactly.
        """
        if len(rows) < NEAREST_FROM:
            return [self._best(rows, scores, count) for scores in all_dots(queries, self.vectors[rows])]
        sketches = self._arrays["sketches"][rows]
        found: list[dict[int, float]] = []
        for query in queries:
            near = rows[np.argpartition(sign_distances(query, sketches), NEAREST_KEEP)[:NEAREST_KEEP]]
            found.append(self._best(near, dots(query, self.vectors[near]), count))
        return found

    def _best(self, rows: Ints, scores: Floats, count: int) -> dict[int, float]:
        """The `count` units with the highest of their rows' scores, and these."""
        best: dict[int, float] = {}
        units = self.units
        for place in np.argsort(-scores, kind="stable"):
            if len(best) == count:
                break
            best.setdefault(int(units[rows[place]]), float(scores[place]))
        return best


def _surely_among(scores: Floats, count: int) -> float:
    """A score that at least `count` others reach, if there are so many, near to the last of the best: taken from the
    best of each block, which costs a tenth of finding it."""
    block = 256
    whole = len(scores) // block * block
    best = scores[:whole].reshape(-1, block).max(axis=1)
    return float(np.partition(best, -count)[-count]) if len(best) >= count else -2.0
