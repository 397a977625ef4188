"""The Reranker seam: how well texts answer a query."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Protocol

from memstrata.errors import RerankerError


class Reranker(Protocol):
    """A model that reads a query and a text together. Every implementation passes tests/contract/test_rerankers.py.

    `name` says which one; it stands in logs.
    """

    @property
    def name(self) -> str: ...

    async def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """How well each text answers the query, in [0, 1], in the order of the texts; none for no texts.

        Raises:
            RerankerError: the model failed or cannot be reached. ClosedError: after close().
        """
        ...

    async def close(self) -> None:
        """Frees the model or its connections. Calling it twice is fine."""
        ...


def sound(scores: Sequence[float], texts: Sequence[str], name: str) -> list[float]:
    """The scores, once they are one for each text and lie in [0, 1]; RerankerError else."""
    if len(scores) != len(texts):
        raise RerankerError(f"{name} gave {len(scores)} scores for {len(texts)} texts")
    if wrong := [score for score in scores if not (isfinite(score) and 0.0 <= score <= 1.0)]:
        raise RerankerError(f"{name} gave the score {wrong[0]!r}; scores lie in [0, 1]")
    return [float(score) for score in scores]
