"""The embedders by name: each is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from memstrata.embed.base import Embedder
from memstrata.errors import SettingsError

BUILT_IN: Mapping[str, tuple[str, str]] = {
    "minilm": ("minilm", "MiniLMEmbedder"),
    "multilingual": ("multilingual", "MultilingualEmbedder"),
    "static": ("static", "StaticEmbedder"),
    "hashing": ("hashing", "HashingEmbedder"),
    "hashing-tokens": ("hashing", "HashingTokenEmbedder"),
}
WITH_MODEL: Mapping[str, tuple[str, str]] = {
    "sentence-transformers": ("extras", "SentenceTransformersEmbedder"),
    "fastembed": ("extras", "FastembedEmbedder"),
    "openai": ("extras", "OpenAIEmbedder"),
}


def create_embedder(spec: str | Embedder = "minilm", **options: Any) -> Embedder:
    """The embedder named `spec`; an embedder is given back as it is. Loads no model: takes well under a millisecond.

    `options` go to the embedder's constructor (`threads=2`, `base_url=...`).

    >>> create_embedder("minilm").dim
    384

    Raises:
        SettingsError: no such name, or an option the embedder does not know.
        MissingExtraError: the embedder's package is not installed.
    """
    if not isinstance(spec, str):
        if options:
            raise SettingsError(f"options {sorted(options)} go with an embedder's name, not with an embedder")
        return spec
    kind, _, model = spec.partition(":")
    try:
        if spec in BUILT_IN:
            return _make(BUILT_IN[spec], **options)
        if kind in WITH_MODEL and model:
            return _make(WITH_MODEL[kind], model, **options)
    except TypeError as error:
        raise SettingsError(f"embedder {spec!r}: {error}") from error
    known = [*BUILT_IN, *(f"{name}:<model>" for name in WITH_MODEL)]
    raise SettingsError(f"unknown embedder {spec!r}; there are: {', '.join(known)}")


def _make(home: tuple[str, str], *arguments: Any, **options: Any) -> Embedder:
    module, name = home
    made: Embedder = getattr(import_module(f"memstrata.embed.{module}"), name)(*arguments, **options)
    return made
