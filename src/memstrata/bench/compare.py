"""Search over one owner's vectors beside numpy and what the memory allows, and a picture of cost against size."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from memstrata.bench.row import Row
from memstrata.errors import MissingExtraError
from memstrata.index.timing import Floats, clustered, queries_near, rows_of, search_times

DIM = 384
FOUND = 10  # rows that a search asks for
QUERIES = 12
ROUNDS = 3
LIMITS = {1_000: 0.2, 10_000: 2.0, 100_000: 7.0, 1_000_000: 65.0}  # ms of CPU, exact
COLOURS = {"exact": "#1b5e8c", "fast": "#7a4b94", "numpy": "#c46a1b", "reading float32": "#6b6b6b"}


def compare(sizes: Sequence[int], say: Callable[[str], None]) -> Iterator[Row]:
    """For each size milliseconds of CPU of a search for FOUND rows among nine tenths of all, p50 over the queries."""
    rng = np.random.default_rng(3)
    for size in sizes:
        say(f"comparing searches of {size:,} vectors")
        vectors = clustered(size, DIM, rng)
        queries = queries_near(vectors, QUERIES, rng)
        found = search_times(rows_of(vectors), queries, FOUND, rounds=ROUNDS)
        at = f"search of {size:,} vectors"
        yield Row(f"{at}, exact", found.exact * 1e3, "ms", LIMITS.get(size))
        yield Row(f"{at}, exact, recall", found.exact_recall, "", 1.0, floor=True)
        yield Row(f"{at}, fast", found.fast * 1e3, "ms", 20.0 if size == 1_000_000 else None)
        yield Row(f"{at}, fast, recall", found.fast_recall, "", 0.97, floor=True)
        yield Row(f"{at}, numpy", numpy_search(vectors, queries) * 1e3, "ms")
        yield Row(f"{at}, reading float32", found.float32_read * 1e3, "ms")


def numpy_search(vectors: Floats, queries: Floats) -> float:
    """Seconds of CPU of the same search as a few lines of numpy, p50 over the queries, of each the best round."""
    allowed = np.random.default_rng(0).random(len(vectors)) < 0.9

    def search(query: Floats) -> None:
        scores = np.where(allowed, vectors @ query, -np.inf)
        best = np.argpartition(scores, -FOUND)[-FOUND:]
        best[np.argsort(scores[best])]

    def seconds(query: Floats) -> float:
        begun = time.process_time()
        search(query)
        return time.process_time() - begun

    return float(np.median([min(seconds(query) for _ in range(ROUNDS)) for query in queries]))


def draw(rows: Sequence[Row], path: Path) -> None:
    """Milliseconds against size, both by powers of ten, as a picture. Raises MissingExtraError without matplotlib."""
    if find_spec("matplotlib") is None:
        raise MissingExtraError("a drawing of the comparison", "eval")
    from matplotlib.figure import Figure

    curves: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for row in rows:
        place, _, way = row.name.partition(" vectors, ")
        if place.startswith("search of ") and way in COLOURS:
            curves[way].append((int(place.removeprefix("search of ").replace(",", "")), row.value))
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    for way, points in curves.items():
        axes.plot(*zip(*points), marker="o", color=COLOURS[way], label=way)
    axes.set(xscale="log", yscale="log", xlabel="vectors of one owner", ylabel="CPU of a search, ms")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path)
