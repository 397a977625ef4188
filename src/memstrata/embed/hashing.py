"""The public fake of the Embedder seam: a random projection of the text's terms. For tests and simulations, not recall.

It knows no meaning, only shared terms, but it is real in every other way: instant, deterministic everywhere, nothing to
install, and it works for every script that `memstrata.text.tokens.terms` splits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from memstrata.embed.base import Tokens, Vector, clean, unit
from memstrata.errors import ClosedError
from memstrata.text.tokens import query_terms, terms


class HashingEmbedder:
    """Each term is a fixed random vector of 128 signs, a text the sum of its terms' vectors weighted 1 + ln(count).

    Random sign vectors are nearly orthogonal (Achlioptas 2003), so the cosine of two texts is about the cosine of their
    bags of terms, give or take 1/sqrt(128) = .09.
    """

    name = "hashing-128"
    dim = 128
    max_chars = 16_384

    def __init__(self) -> None:
        self._closed = False

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vector:
        """See `Embedder.embed`. Takes microseconds, so it stays on the event loop."""
        if self._closed:
            raise ClosedError("this embedder is closed")
        rows = [_project(text) for text in clean(texts, self.max_chars)]
        return np.stack(rows) if rows else np.zeros((0, self.dim), np.float32)

    async def close(self) -> None:
        """See `Embedder.close`."""
        self._closed = True


class HashingTokenEmbedder(HashingEmbedder):
    """The same with token vectors: each index term of a text that is no function word is a token of its own, whatever
    stands beside it. The public fake of what late interaction needs."""

    name = "hashing-tokens-128"
    token_dim = HashingEmbedder.dim

    async def embed_tokens(self, texts: Sequence[str], *, query: bool = False) -> tuple[Vector, list[Tokens]]:
        """See `TokenEmbedder.embed_tokens`."""
        vectors = await self.embed(texts, query=query)
        found = []
        for text in clean(texts, self.max_chars):
            words = tuple(dict.fromkeys(query_terms(text)))
            rows = [_project(word) for word in words]
            found.append(Tokens(words, np.stack(rows) if rows else np.zeros((0, self.token_dim), np.float32)))
        return vectors, found


def _project(text: str) -> Vector:
    counts = Counter(terms(text))
    if not counts:
        return np.zeros(HashingEmbedder.dim, np.float32)
    digests = b"".join(blake2b(term.encode(), digest_size=HashingEmbedder.dim // 8).digest() for term in counts)
    bits = np.unpackbits(np.frombuffer(digests, np.uint8)).reshape(len(counts), HashingEmbedder.dim)
    weights = np.array([1 + math.log(count) for count in counts.values()])
    return unit(weights @ (2.0 * bits - 1.0))
