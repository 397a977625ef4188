"""Tokens as the models of the day count them: o200k, the encoding of the GPT-4o family and its successors."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpe_openai import Encoding

ENCODING = "o200k_base"


@lru_cache(maxsize=1)
def load_encoding() -> Encoding:
    """The encoding, read at the first use (0.7 s, once a process)."""
    import bpe_openai

    return bpe_openai.get_encoding(ENCODING)


def count_tokens(text: str) -> int:
    """The number of o200k tokens of a text; what looks like a special token ("<|endoftext|>") counts as text.

    Measured: 0.03 ms for 140 tokens.
    """
    return len(load_encoding().encode_ordinary(text))
