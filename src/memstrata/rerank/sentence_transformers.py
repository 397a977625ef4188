"""A cross-encoder of sentence-transformers, by its hub name or directory."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memstrata.embed.base import require
from memstrata.errors import ClosedError, RerankerError
from memstrata.rerank.base import sound

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder


class SentenceTransformersReranker:
    """Implements `Reranker`. The model is loaded at first use; its own activation, or a sigmoid, gives the scores."""

    def __init__(self, model: str) -> None:
        require("sentence_transformers", "the sentence-transformers reranker", "sentence-transformers")
        self.name = model
        self._lock = threading.Lock()
        self._model: CrossEncoder | None = None
        self._closed = False

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """See `Reranker.score`."""
        if self._closed:
            raise ClosedError("this reranker is closed")
        if not texts:
            return []
        return sound(await asyncio.to_thread(self._predict, query, texts), texts, self.name)

    def _predict(self, query: str, texts: Sequence[str]) -> list[float]:
        from sentence_transformers import CrossEncoder
        from torch.nn import Sigmoid

        with self._lock:
            try:
                self._model = self._model or CrossEncoder(self.name)
                pairs: Any = [(query, text) for text in texts]
                scores = self._model.predict(pairs, activation_fn=Sigmoid(), show_progress_bar=False)
            except (OSError, RuntimeError, ValueError) as error:
                raise RerankerError(f"sentence-transformers failed with {self.name!r}: {error}") from error
        return [float(score) for score in scores]

    async def close(self) -> None:
        """See `Reranker.close`."""
        self._closed = True
