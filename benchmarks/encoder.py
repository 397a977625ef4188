"""An encoder that costs next to nothing and gives vectors that lie to each other as those of a real one do.

What the encoder itself costs is no matter of memstrata's, so it is measured and taken off.
"""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"[a-z]{4,}|\d+|[\u3040-\u30ff\u3400-\u9fff]{2}")
_COMMON = 0.35  # share of the vector that all texts have: unrelated texts have a cosine of about .1


class BenchEncoder:
    """Implements `Embedder`: a text is the sum of fixed random vectors of its words, and of one that all share."""

    name = "bench-384"
    dim = 384

    def __init__(self) -> None:
        self._words: dict[str, NDArray[np.float32]] = {}
        self._common = self._draw("")
        self.cpu = 0.0  # seconds spent here
        self.wall = 0.0

    def _draw(self, word: str) -> NDArray[np.float32]:
        drawn = np.random.default_rng(zlib.crc32(word.encode())).standard_normal(self.dim)
        return np.asarray(drawn / np.linalg.norm(drawn), dtype=np.float32)

    def _vector(self, text: str) -> NDArray[np.float32]:
        words = _WORD.findall(text.lower())
        for word in words:
            if word not in self._words:
                self._words[word] = self._draw(word)
        total = np.sum([self._words[word] for word in words], axis=0) if words else np.zeros(self.dim, np.float32)
        total = total + _COMMON * max(1.0, len(words) ** 0.5) * self._common
        return np.asarray(total / np.linalg.norm(total), dtype=np.float32)

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        cpu, wall = time.thread_time(), time.perf_counter()
        vectors = [self._vector(text) for text in texts]
        found = np.stack(vectors) if vectors else np.zeros((0, self.dim), np.float32)
        self.cpu += time.thread_time() - cpu
        self.wall += time.perf_counter() - wall
        return found

    async def close(self) -> None:
        """Nothing is held."""
