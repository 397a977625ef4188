"""Scans over vectors: exact dot products, and the sign bits that tell which are worth one."""

from __future__ import annotations

import numpy as np
import simsimd
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def dots(query: Floats, vectors: Floats) -> Floats:
    """The dot product of a vector with each row."""
    found: Floats = all_dots(query[None, :], vectors)[0]
    return found


def all_dots(queries: Floats, vectors: Floats) -> Floats:
    """The dot product of each query with each row, (queries, rows), on one core: BLAS would spread so small a scan over
    threads, for which it waits longer than it computes (measured: 8 times slower on two busy cores)."""
    if not len(queries) or not len(vectors):
        return np.zeros((len(queries), len(vectors)), dtype=np.float32)
    found: Floats = np.asarray(simsimd.cdist(queries, vectors, metric="dot"), dtype=np.float32)
    return found


def sign_distances(query: Floats, sketches: NDArray[np.uint64]) -> NDArray[np.float64]:
    """In how many signs a vector differs from each sketch."""
    bits = sketch(query[None, :]).view(np.uint8)
    all_pairs = simsimd.cdist(bits, sketches.view(np.uint8), metric="hamming", dtype="bin8")
    found: NDArray[np.float64] = np.asarray(all_pairs, dtype=np.float64)[0]
    return found


def codes_of(vectors: Floats) -> tuple[NDArray[np.int8], Floats, Floats]:
    """Eight bits a component of each row: the codes, what they are to be multiplied by, and the length of what is
    lost."""
    scales = np.maximum(np.abs(vectors).max(axis=1, initial=0.0), 1e-12) / np.float32(127)
    codes = np.rint(vectors / scales[:, None]).astype(np.int8)
    errors = np.linalg.norm(vectors - codes * scales[:, None], axis=1)
    return codes, scales.astype(np.float32), errors.astype(np.float32)


def code_dots(query: NDArray[np.int8], codes: NDArray[np.int8]) -> Floats:
    """The dot product of codes with each row of codes."""
    all_pairs = simsimd.cdist(query[None, :], codes, metric="dot", dtype="int8", out_dtype="float32")
    found: Floats = np.asarray(all_pairs, dtype=np.float32)[0]
    return found


def sketch(vectors: Floats) -> NDArray[np.uint64]:
    """The signs of each row's components, packed: (n, dim) -> (n, ceil(dim / 64))."""
    bits = np.packbits(vectors > 0, axis=1)
    padding = -bits.shape[1] % 8
    if padding:
        bits = np.pad(bits, ((0, 0), (0, padding)))
    return np.ascontiguousarray(bits).view(np.uint64)
