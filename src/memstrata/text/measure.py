"""Lengths of texts with and without spaces between words: two CJK characters count as one word."""

from __future__ import annotations

from typing import Final

from memstrata.text.patterns import regex
from memstrata.text.scripts import has_unspaced

_SCRIPTS: Final = r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"  # Thai, kana, Chinese characters
_UNSPACED: Final = regex(f"[{_SCRIPTS}]")
_UNIT: Final = regex(rf"[{_SCRIPTS}]|[^\s{_SCRIPTS}]+")


def size(text: str) -> float:
    """Length in words, two characters of a script without spaces counting as one.

    >>> size("I moved to Porto"), size("東京に住む")
    (4.0, 2.5)
    """
    if not has_unspaced(text):
        return float(len(text.split()))
    rest, unspaced = _UNSPACED.subn(" ", text)
    return sum(1 for word in rest.split() if any(map(str.isalnum, word))) + unspaced / 2


def clip(text: str, max_words: float) -> str:
    """The beginning of a text, at most `max_words` long: cut between words, or between characters where none are."""
    return next(iter(chunks(text, max_words)), "")


def chunks(text: str, max_words: float) -> list[str]:
    """The text in verbatim pieces of at most `max_words` each; a word without spaces is never longer than that."""
    if len(text) <= max_words or size(text) <= max_words:
        return [text] if text else []
    found: list[str] = []
    start = end = 0
    length = 0.0
    for unit in _UNIT.finditer(text):
        own = 0.5 if _UNSPACED.match(unit.group()) else 1.0
        if length and length + own > max_words:
            found.append(text[start:end].strip())
            start, length = unit.start(), 0.0
        end = unit.end()
        length += own
    found.append(text[start:].strip())
    return found
