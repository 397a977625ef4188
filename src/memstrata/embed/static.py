"""wordllama's static token vectors: no attention, tenths of a millisecond. Needs the extra `static`.

Right for very low latency and for fast tests; weak across languages and blind to word order.

The weights and the tokenizer are read straight from the installed package: importing `wordllama` itself would set up
the root logger and bind a socket (by way of requests). The vectors are those of `WordLlama.load(...).embed(text)`.
Measured, 25 words: 0.2 ms CPU a text.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memstrata.embed.base import LocalEmbedder, require
from memstrata.errors import EmbedderError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NAME = "wordllama-l2-supercat-256"
DIM = 256
WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


class _Static(NamedTuple):
    tokenizer: Tokenizer
    vectors: NDArray[np.float32]  # (vocabulary, 256)


class StaticEmbedder(LocalEmbedder[_Static]):
    """wordllama l2_supercat: the mean of a text's token vectors, to length 1; 256 dimensions."""

    def __init__(self) -> None:
        require("wordllama", "the static embedder", "static")
        super().__init__(NAME, DIM)

    def _load(self) -> _Static:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        spec = importlib.util.find_spec("wordllama")
        if spec is None or spec.origin is None:
            raise EmbedderError("wordllama is gone; reinstall it: pip install wordllama==0.4.0.post1")
        package = Path(spec.origin).parent
        try:
            tokenizer = Tokenizer.from_buffer((package / TOKENIZER).read_bytes())
            vectors = load_file(package / WEIGHTS)["embedding.weight"].astype(np.float32)
        except (OSError, SafetensorError, KeyError, ValueError) as error:
            raise EmbedderError(f"wordllama's files do not load ({error}); reinstall wordllama==0.4.0.post1") from error
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return _Static(tokenizer, vectors)

    def _encode(self, model: _Static, text: str, query: bool) -> NDArray[Any]:
        ids = model.tokenizer.encode(text, add_special_tokens=False).ids
        if not ids:
            return np.zeros(DIM, np.float32)
        mean: NDArray[Any] = model.vectors[ids].mean(axis=0)
        return mean
