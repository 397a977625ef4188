"""A cross-encoder from a folder on this machine, run by onnxruntime."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from memstrata.embed.pairs import PairModel
from memstrata.errors import ClosedError, ModelFileError, RerankerError
from memstrata.rerank.base import sound


class OnnxReranker:
    """Implements `Reranker`. A model with one label gives the logit of "answers"; with two, the last one is that."""

    def __init__(self, folder: str | Path, *, threads: int = 1) -> None:
        self._model = PairModel(folder, threads=threads)
        self.name = f"onnx:{self._model.folder.name}"
        self._closed = False

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """See `Reranker.score`."""
        if self._closed:
            raise ClosedError("this reranker is closed")
        if not texts:
            return []
        try:
            logits = await asyncio.to_thread(self._model.logits, [(query, text) for text in texts])
        except ModelFileError as error:
            raise RerankerError(str(error)) from error
        if logits.shape[1] > 2:
            raise RerankerError(f"{self.name} has {logits.shape[1]} labels: a reranker has one or two")
        margin = logits[:, -1] - (logits[:, 0] if logits.shape[1] == 2 else 0.0)
        chance = 1.0 / (1.0 + np.exp(-np.clip(margin.astype(np.float64), -60.0, 60.0)))
        return sound(chance.tolist(), texts, self.name)

    async def close(self) -> None:
        """See `Reranker.close`."""
        self._closed = True
