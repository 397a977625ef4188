"""Texts through the encoder, once: vectors, and with late interaction the packed vectors of their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from memstrata.embed.base import Embedder, Tokens, Vector, sound, sound_tokens, token_embedder
from memstrata.index.tokens import pack


class Encoded(NamedTuple):
    """One row of `vectors` a text; `tokens` has what `index.tokens` makes of each, or nothing at all."""

    vectors: Vector
    tokens: tuple[bytes, ...]


async def encode(embedder: Embedder, texts: Sequence[str], *, late: bool) -> Encoded:
    """The vectors of texts; with `late`, where the embedder can, of their tokens too.

    Raises:
        EmbedderError: the model failed, or gave what cannot be vectors of these texts.
    """
    encoder = token_embedder(embedder) if late else None
    if encoder is None:
        return Encoded(sound(await embedder.embed(texts), texts, embedder), ())
    vectors, tokens = await encoder.embed_tokens(texts)
    sound_tokens(tokens, texts, encoder)
    rows = np.concatenate([each.vectors for each in tokens]) if tokens else np.zeros((0, encoder.token_dim), np.float32)
    return Encoded(sound(vectors, texts, embedder), pack(rows, [len(each.words) for each in tokens]))


async def encode_query(embedder: Embedder, text: str, *, late: bool) -> tuple[Vector, Tokens | None]:
    """The vector of a query, and its tokens where they are wanted and the embedder has them."""
    encoder = token_embedder(embedder) if late else None
    if encoder is None:
        return sound(await embedder.embed([text], query=True), [text], embedder)[0], None
    vectors, tokens = await encoder.embed_tokens([text], query=True)
    sound_tokens(tokens, [text], encoder)
    return sound(vectors, [text], embedder)[0], tokens[0]
