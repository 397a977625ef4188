"""Token vectors as they are stored: four bits a component, and no scale, since every row has length 1.

A component is scaled by its row's largest, rounded to -7..7 and stored as that + 8, two a byte. What a row was scaled
by is forgotten: read again, it is scaled to length 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memstrata.errors import StoreFormatError
from memstrata.index.columns import roomy

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Levels = NDArray[np.uint8]
LEVELS = 7
# The two components of every byte, side by side as if they were one number: taken together, ten times faster.
_OF_BYTE = (np.stack([np.arange(256) >> 4, np.arange(256) & 15], axis=1) - (LEVELS + 1)).astype(np.float32)
_PAIR_OF_BYTE = _OF_BYTE.view(np.float64).reshape(-1)


def pack(rows: Floats, counts: Sequence[int]) -> tuple[bytes, ...]:
    """The blob of each text: `rows` holds the token vectors of all, (sum of counts, dim), dim even, text after text."""
    if not len(rows):
        return (b"",) * len(counts)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    scaled = rows * (LEVELS / np.maximum(largest, 1e-12))
    levels = (np.rint(scaled).astype(np.int8) + (LEVELS + 1)).astype(np.uint8)
    packed = (levels[:, 0::2] << 4) | levels[:, 1::2]
    ends = np.cumsum([0, *counts]).tolist()
    return tuple(packed[start:end].tobytes() for start, end in pairwise(ends))


def unpack(levels: Levels) -> Floats:
    """Rows of length 1 from packed ones, (n, dim / 2) -> (n, dim)."""
    rows = _PAIR_OF_BYTE.take(levels).view(np.float32)
    rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]  # never 0: the largest is 7 or -7
    return rows


class TokenPool:
    """The packed tokens of an owner's rows, blob after blob. A row that is put again leaves its old blob behind."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]] | None = None, used: int = 0) -> None:
        """Without `arrays` (those of `arrays()`, with any number of spare bytes and rows, zeros) there are none yet."""
        self._pool: Levels = np.zeros(0, dtype=np.uint8) if arrays is None else arrays["pool"]
        self._places: Ints = np.zeros((0, 2), dtype=np.int64) if arrays is None else arrays["places"]  # begin, bytes
        self.used = used

    def arrays(self, rows: int) -> Mapping[str, NDArray[Any]]:
        """What there is to keep of so many rows."""
        self._places = roomy(self._places, rows)
        return {"pool": self._pool[: self.used], "places": self._places[:rows]}

    @property
    def nbytes(self) -> int:
        return self._pool.nbytes + self._places.nbytes

    def put(self, rows: Ints, blobs: Sequence[bytes | None]) -> None:
        """Say what rows hold; None or nothing: no tokens."""
        if not self.used and not any(blobs):
            return
        sizes = np.fromiter((len(blob or b"") for blob in blobs), dtype=np.int64, count=len(blobs))
        end = self.used + int(sizes.sum())
        self._places = roomy(self._places, int(rows.max(initial=-1)) + 1)
        self._places[rows] = np.stack([self.used + np.cumsum(sizes) - sizes, sizes], axis=1)
        self._pool = roomy(self._pool, end)
        self._pool[self.used : end] = np.frombuffer(b"".join(blob for blob in blobs if blob), dtype=np.uint8)
        self.used = end

    def blob(self, row: int) -> bytes:
        """What a row holds."""
        begin, size = self._places[row].tolist() if row < len(self._places) else (0, 0)
        return self._pool[begin : begin + size].tobytes()

    def levels(self, rows: Ints, dim: int) -> tuple[Levels, Ints]:
        """The packed tokens of rows, one after another, and how many each row has.

        Raises:
            StoreFormatError: a row holds no whole number of tokens of this dimension.
        """
        width = dim // 2
        if not self.used:
            return np.zeros((0, width), dtype=np.uint8), np.zeros(len(rows), dtype=np.int64)
        begins, sizes = self._places[rows].T
        if (begins % width).any() or (sizes % width).any():
            raise StoreFormatError(f"a row of token vectors is not of {dim} dimensions: run `memstrata reindex`")
        counts = sizes // width
        before = np.cumsum(counts) - counts  # of each row, how many tokens stand before its own
        at = np.repeat(begins // width - before, counts) + np.arange(int(counts.sum()))
        return self._pool[: len(self._pool) // width * width].reshape(-1, width)[at], counts
