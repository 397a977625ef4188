"""How fast an owner's rows are searched, against what the memory allows: plain functions for a benchmark to call.

Times are seconds of this process' CPU. A run on a busy machine compares what it took in the same minute.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memstrata.index.rows import Rows
from memstrata.index.vectors import dots

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class SearchTimes:
    """Seconds of one search (p50 over the queries, of each the best round), and what of the true best it found."""

    rows: int
    exact: float
    fast: float
    exact_recall: float
    fast_recall: float
    float32_scan: float  # the dot product with every row in float32, nothing else
    float32_read: float  # reading the bytes that this scan reads
    codes_read: float  # reading those of a scan of codes


def clustered(count: int, dim: int, rng: np.random.Generator, *, cluster: int = 50, spread: float = 0.6) -> Floats:
    """Unit vectors as texts have them: in clusters of about so many, of cosine 1 / sqrt(1 + spread^2) to the centre."""
    centres = rng.standard_normal((max(1, count // cluster), dim), dtype=np.float32)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    vectors = np.empty((count, dim), dtype=np.float32)
    for start in range(0, count, 50_000):
        part = vectors[start : start + 50_000]
        rng.standard_normal(out=part, dtype=np.float32)
        part *= spread / np.sqrt(dim)
        part += centres[rng.integers(len(centres), size=len(part))]
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return vectors


def rows_of(vectors: Floats) -> Rows:
    """Rows of an owner with one of these vectors each, units 1, 2, ..."""
    rows = Rows(vectors.shape[1])
    rows.reserve(len(vectors))
    for start in range(0, len(vectors), 50_000):
        part = vectors[start : start + 50_000]
        at = np.array([rows.add() for _ in part], dtype=np.int64)
        rows.put(at, part, at + 1, np.zeros(len(part), dtype=np.int8))
    rows.arrays()  # codes are made now, not in the first search
    return rows


def queries_near(vectors: Floats, count: int, rng: np.random.Generator, *, spread: float = 0.6) -> Floats:
    """Unit vectors, each near to one of these."""
    found = vectors[rng.integers(len(vectors), size=count)].copy()
    found += rng.standard_normal(found.shape, dtype=np.float32) * np.float32(spread / np.sqrt(found.shape[1]))
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


def recall_of(rows: Rows, queries: Floats, count: int = 10, *, fast: bool) -> float:
    """The share of the `count` truly nearest rows (in float32) that a search finds."""
    hit = 0
    for query in queries:
        true = np.sort(dots(query, rows.vectors))[-count]  # what is as near as the last is as good
        hit += int(np.count_nonzero(rows.search(query, count, fast=fast)[1] >= true - 1e-6))
    return hit / (count * len(queries))


def search_times(rows: Rows, queries: Floats, count: int = 10, *, share: float = 0.9, rounds: int = 5) -> SearchTimes:
    """Time searches for `count` rows among a `share` of all that a filter allows."""
    allowed = np.random.default_rng(0).random(rows.count) < share

    def timed(work: Callable[[Floats], object]) -> float:
        best = [min(_cpu(work, query) for _ in range(rounds)) for query in queries]
        return float(np.median(best))

    arrays = rows.arrays()
    return SearchTimes(
        rows.count,
        timed(lambda query: rows.search(query, count, allowed)),
        timed(lambda query: rows.search(query, count, allowed, fast=True)),
        recall_of(rows, queries, count, fast=False),
        recall_of(rows, queries, count, fast=True),
        timed(lambda query: dots(query, rows.vectors)),
        timed(lambda _: arrays["vectors"].view(np.int64).max()),
        timed(lambda _: arrays["codes"].view(np.int64).max()) if "codes" in arrays else 0.0,
    )


def _cpu(work: Callable[[Floats], object], query: Floats) -> float:
    start = time.process_time()
    work(query)
    return time.process_time() - start
