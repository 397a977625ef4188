"""Token vectors as they are stored: four bits a component, and no scale, since every row has length 1.

A component is scaled by its row's largest, rounded to -7..7 and stored as that + 8, two a byte. What a row was scaled
by is forgotten: read again, it is scaled to length 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from memstrata.errors import StoreFormatError

Floats = NDArray[np.float32]
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


def unpack(blobs: Sequence[bytes], dim: int) -> tuple[Floats, NDArray[np.int64]]:
    """The rows of all blobs, text after text, and how many each blob has.

    Raises:
        StoreFormatError: a blob is no whole number of rows.
    """
    size = dim // 2
    sizes = np.fromiter(map(len, blobs), dtype=np.int64, count=len(blobs))
    if (sizes % size).any():
        raise StoreFormatError(f"a row of token vectors is not of {dim} dimensions: run `memstrata reindex`")
    levels = np.frombuffer(b"".join(blobs), dtype=np.uint8).reshape(-1, size)
    rows = _PAIR_OF_BYTE.take(levels).view(np.float32)
    rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]  # never 0: the largest is 7 or -7
    return rows, sizes // size
