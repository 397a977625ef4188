"""The rerankers by name; each is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

from memstrata.errors import SettingsError
from memstrata.rerank.base import Reranker


def create_reranker(spec: str, *, url: str | None = None) -> Reranker:
    """The reranker named `spec`: "onnx:FOLDER", "sentence-transformers:NAME" or "api:MODEL" (at `url`).

    A folder holds model.onnx and tokenizer.json of a cross-encoder. An API is any endpoint of the shape that Cohere,
    Jina, Voyage, vLLM and text-embeddings-inference share; its key is read from RERANKER_API_KEY.

    Raises:
        SettingsError: no such kind, no such folder, or an API without its URL.
        MissingExtraError: the extra that it needs is not installed.
    """
    kind, _, name = spec.partition(":")
    if url is not None and kind != "api":
        raise SettingsError("reranker_url goes with reranker='api:MODEL'")
    if kind == "onnx" and name:
        return _made(import_module("memstrata.rerank.onnx").OnnxReranker(name))
    if kind == "sentence-transformers" and name:
        return _made(import_module("memstrata.rerank.sentence_transformers").SentenceTransformersReranker(name))
    if kind == "api" and name:
        if url is None:
            raise SettingsError("reranker='api:MODEL' needs reranker_url, such as https://host/v1/rerank")
        return _made(import_module("memstrata.rerank.api").ApiReranker(name, url))
    raise SettingsError(f"unknown reranker {spec!r}; there are onnx:FOLDER, sentence-transformers:NAME, api:MODEL")


def _made(reranker: Reranker) -> Reranker:
    return reranker
