"""Adapters to other embedding models: sentence-transformers, fastembed, and any OpenAI-compatible endpoint.

The first two fetch their models from a hub at first use, unless a local directory is given.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from memstrata.embed.base import LocalEmbedder, Vector, VectorCache, clean, require, unit
from memstrata.errors import ClosedError, EmbedderError, SettingsError

if TYPE_CHECKING:
    from fastembed import TextEmbedding
    from openai import AsyncOpenAI
    from sentence_transformers import SentenceTransformer

# Texts a request: below every provider's limit, and small enough that a repeated request is cheap.
REQUEST_TEXTS = 128


def _agree(model: str, dim: int, found: int) -> int:
    """The dimension of `model`, as `found` in a vector of it and, unless that is 0, as expected in `dim`.

    Raises:
        EmbedderError: they differ.
    """
    if dim not in (0, found):
        raise EmbedderError(f"{model} gives vectors of {found} dimensions, not {dim}")
    return found


class SentenceTransformersEmbedder(LocalEmbedder["SentenceTransformer"]):
    """Any sentence-transformers model (5.0 or newer), by its hub name or directory.

    Queries and passages get the model's own prompts, if it has any. `dim` is 0 until the model is loaded, unless given.
    `device` is torch's ("cpu", "cuda", ...); by default the library chooses.
    """

    def __init__(self, model: str, *, dim: int = 0, device: str | None = None) -> None:
        require("sentence_transformers", "the sentence-transformers embedder", "sentence-transformers")
        super().__init__(model, dim)
        self._device = device

    def _load(self) -> SentenceTransformer:
        from sentence_transformers import SentenceTransformer

        try:
            model = SentenceTransformer(self.name, device=self._device)
        except (OSError, RuntimeError, ValueError) as error:
            raise EmbedderError(f"sentence-transformers cannot load {self.name!r}: {error}") from error
        self.dim = _agree(self.name, self.dim, len(self._encode(model, "dimension", False)))
        return model

    def _encode(self, model: SentenceTransformer, text: str, query: bool) -> NDArray[Any]:
        encode = model.encode_query if query else model.encode_document
        try:
            vector: NDArray[Any] = encode(text, convert_to_numpy=True, show_progress_bar=False)
        except RuntimeError as error:  # torch's, out of memory among them
            raise EmbedderError(f"sentence-transformers failed on a text: {error}") from error
        return vector


class FastembedEmbedder(LocalEmbedder["TextEmbedding"]):
    """Any dense text model fastembed knows, by its name there.

    `path` is a local directory with the model's files, to be used instead of a download; `threads` onnxruntime's.
    `dim` is 0 until the model is loaded, unless given.
    """

    def __init__(self, model: str, *, dim: int = 0, threads: int = 1, path: str | None = None) -> None:
        require("fastembed", "the fastembed embedder", "fastembed")
        super().__init__(model, dim)
        self._options: dict[str, Any] = {"threads": threads}
        if path is not None:
            self._options["specific_model_path"] = path

    def _load(self) -> TextEmbedding:
        from fastembed import TextEmbedding

        try:
            model = TextEmbedding(self.name, **self._options)
        except (OSError, RuntimeError, ValueError) as error:
            raise EmbedderError(f"fastembed cannot load {self.name!r}: {error}") from error
        self.dim = _agree(self.name, self.dim, len(self._encode(model, "dimension", False)))
        return model

    def _encode(self, model: TextEmbedding, text: str, query: bool) -> NDArray[Any]:
        vectors = model.query_embed(text) if query else model.passage_embed([text])
        vector: NDArray[Any] = next(iter(vectors))
        return vector


class OpenAIEmbedder:
    """A model behind an OpenAI-compatible /embeddings endpoint: the one embedder that sends texts elsewhere.

    Args:
        model: its name there; the name stored with the vectors.
        dim: its dimension; learnt from the first answer when 0.
        base_url, api_key: by default OPENAI_BASE_URL and OPENAI_API_KEY. A server named by its URL may need no key.
        query_prefix, passage_prefix: put before each text, for models that were trained so ("search_query: ").
        timeout: seconds a request may take. Failed requests are repeated `max_retries` times, with growing pauses.

    Equal texts get equal vectors only as far as the server does that; the cache helps for recent ones. Its connections
    belong to the event loop of the first call.
    """

    max_chars = 8_000

    def __init__(
        self,
        model: str,
        *,
        dim: int = 0,
        base_url: str | None = None,
        api_key: str | None = None,
        query_prefix: str = "",
        passage_prefix: str = "",
        timeout: float = 30.0,
        max_retries: int = 3,
    ) -> None:
        require("openai", "the OpenAI-compatible embedder", "openai")
        self.name = model
        self.dim = dim
        base_url = base_url or os.environ.get("OPENAI_BASE_URL")
        api_key = api_key or os.environ.get("OPENAI_API_KEY")
        if not api_key and not base_url:
            raise SettingsError(f"openai:{model} needs OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own")
        # The library insists on a key; a server of one's own ignores it.
        self._options: dict[str, Any] = {
            "base_url": base_url,
            "api_key": api_key or "none",
            "timeout": timeout,
            "max_retries": max_retries,
        }
        self._prefix = {True: query_prefix, False: passage_prefix}
        self._cache: VectorCache[Vector] = VectorCache()
        self._client: AsyncOpenAI | None = None
        self._closed = False

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vector:
        """See `Embedder.embed`."""
        if self._closed:
            raise ClosedError("this embedder is closed")
        cleaned = clean(texts, self.max_chars)
        keys = [self._cache.key(text, query) for text in cleaned]
        known = {key: vector for key in keys if (vector := self._cache.get(key)) is not None}
        wanted = {key: text for key, text in zip(keys, cleaned) if text.strip() and key not in known}
        pending = list(wanted.items())
        for start in range(0, len(pending), REQUEST_TEXTS):
            batch = pending[start : start + REQUEST_TEXTS]
            for (key, _), vector in zip(batch, await self._request([self._prefix[query] + text for _, text in batch])):
                known[key] = vector
                self._cache.put(key, vector)
        if keys and not self.dim:  # blank texts only, and nothing asked so far
            await self._request(["dimension"])
        rows = np.zeros((len(keys), self.dim), np.float32)  # blank texts stay zeros
        for i, key in enumerate(keys):
            if key in known:
                rows[i] = known[key]
        return rows

    async def close(self) -> None:
        """See `Embedder.close`."""
        self._closed = True
        self._cache.clear()
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()

    async def _request(self, texts: list[str]) -> list[Vector]:
        """The vectors of `texts` by one request, in their order."""
        from openai import AsyncOpenAI, OpenAIError

        if self._client is None:
            self._client = AsyncOpenAI(**self._options)
        try:
            answer = await self._client.embeddings.create(model=self.name, input=texts, encoding_format="float")
        except OpenAIError as error:
            raise EmbedderError(f"the embedding endpoint failed for model {self.name!r}: {error}") from error
        items = sorted(answer.data, key=lambda item: item.index)
        if [item.index for item in items] != list(range(len(texts))):
            raise EmbedderError(f"the embedding endpoint answered {len(texts)} texts with {len(items)} vectors")
        vectors = [unit(np.asarray(item.embedding, np.float64)) for item in items]
        for vector in vectors:
            self.dim = _agree(self.name, self.dim, len(vector))
        return vectors
