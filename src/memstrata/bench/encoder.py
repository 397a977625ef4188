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

from memstrata.embed.base import Tokens

_WORD = re.compile(r"[a-z]{4,}|\d+|[\u3040-\u30ff\u3400-\u9fff]{2}")
_COMMON = 0.35  # share of the vector that all texts have: unrelated texts have a cosine of about .1


class BenchEncoder:
    """Implements `TokenEmbedder`: a text is the sum of fixed random vectors of its words, and of one that all share."""

    name = "bench-384"
    dim = 384
    token_dim = 96

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

    async def embed_tokens(
        self, texts: Sequence[str], *, query: bool = False
    ) -> tuple[NDArray[np.float32], list[Tokens]]:
        """Each word of a text is a token, once: its first components, with some of what the text is about."""
        vectors = await self.embed(texts, query=query)
        cpu, wall = time.thread_time(), time.perf_counter()
        found = []
        for text, vector in zip(texts, vectors, strict=True):
            words = tuple(dict.fromkeys(_WORD.findall(text.lower())))
            rows = np.array([self._words[word][: self.token_dim] for word in words], dtype=np.float32)
            rows = rows.reshape(-1, self.token_dim) + vector[: self.token_dim]
            found.append(Tokens(words, rows / np.linalg.norm(rows, axis=1, keepdims=True)))
        self.cpu += time.thread_time() - cpu
        self.wall += time.perf_counter() - wall
        return vectors, found

    async def close(self) -> None:
        """Nothing is held."""
