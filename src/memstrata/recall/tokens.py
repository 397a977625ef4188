"""Tokens as the models of the day count them: o200k, the encoding of the GPT-4o family and its successors."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpe_openai._bindings import PyTokenizer

ENCODING = "o200k_base"


@lru_cache(maxsize=1)
def load_tokenizer() -> PyTokenizer:
    """The tokenizer, made at the first use (measured: 0.1 s, 70 MB).

    Only the compiled part of bpe-openai is loaded: its `__init__` reads the tables of every encoding into Python, which
    takes 0.7 s and 75 MB more for nothing that is used here.
    """
    package = importlib.util.find_spec("bpe_openai")
    folders = None if package is None else package.submodule_search_locations
    spec = PathFinder.find_spec("_bindings", folders) if folders else None
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError("bpe-openai is missing or incomplete: pip install --force-reinstall bpe-openai")
    bindings = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bindings)
    tokenizer: PyTokenizer = bindings.tokenizer_for_encoding(ENCODING)
    return tokenizer


def count_tokens(text: str) -> int:
    """The number of o200k tokens of a text; what looks like a special token ("<|endoftext|>") counts as text.

    Measured: 0.02 ms for 140 tokens.
    """
    count: int = load_tokenizer().count(text)
    return count
