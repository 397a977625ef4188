"""Character classes of the writing systems that the text functions tell apart, as bodies of regex sets."""

from __future__ import annotations

import re

HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
HIRAGANA = "\u3041-\u3096\u309d\u309e"
KATAKANA = "\u30a1-\u30fa\u30fc-\u30fe\u31f0-\u31ff"
HANGUL = "\uac00-\ud7a3\u1100-\u11ff\u3131-\u318e"
# Thai, Lao, Myanmar and Khmer with their vowel signs, tones and digits: no spaces between words either.
SOUTH_EAST_ASIAN = "\u0e01-\u0e3a\u0e40-\u0e59\u0e81-\u0ed9\u0edc-\u0edf\u1000-\u1049\u1780-\u17d3\u17e0-\u17e9"

UNSPACED = HAN + HIRAGANA + KATAKANA + HANGUL + SOUTH_EAST_ASIAN
"""Scripts read character by character. Korean has spaces, but glues its particles to the words."""

# Marks that belong to the letter before them, and that \\w leaves out (Latin, Cyrillic, Hebrew, Arabic, Indic).
MARKS = "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963"
INDIC_MARKS = (
    "\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a03\u0a3c-\u0a4d\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57"
    "\u0b82\u0bbe-\u0bd7\u0c00-\u0c04\u0c3c-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d57\u0d81-\u0ddf"
)

LETTER = rf"(?:(?![{UNSPACED}])[^\W\d_][{MARKS}{INDIC_MARKS}]*)"
"""One letter of a script that writes spaces between words, with its marks."""

_UNSPACED_CHARACTER = re.compile(rf"[{UNSPACED}]")


def has_unspaced(text: str) -> bool:
    """Whether any character of a script without spaces between words occurs in `text`."""
    return not text.isascii() and _UNSPACED_CHARACTER.search(text) is not None
