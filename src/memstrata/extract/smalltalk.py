"""Greetings, thanks and reactions: sentences that hold nothing to remember."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from memstrata.extract import cue_tables as tables
from memstrata.extract.cues import Folded, fold, table_language
from memstrata.text import stopwords
from memstrata.text.patterns import regex
from memstrata.text.tokens import content_words

_STOP_WORDS: Final = frozenset(stopwords.ENGLISH)
_REPEATED: Final = regex(r"(.{1,2}?)\1{2,}")
_LAUGH: Final = regex(r"(?:ha|he){2,}h?")
_CJK: Final = {
    language: regex(rf"^\W*(?:(?:{'|'.join(sorted(map(re.escape, phrases), key=len, reverse=True))})\W*)+$")
    for language, phrases in tables.FILLER_CJK.items()
}


def content_of(folded: Folded) -> list[str]:
    """The content words of a sentence: what is left without function words."""
    if folded.text.isascii():
        return [word for word in folded.words if word not in _STOP_WORDS]
    return content_words(folded.text)


def is_filler(text: str, language: str, *, names: tuple[str, ...] = (), folded: Folded | None = None) -> bool:
    """Whether a sentence is only small talk; `names` are people who may be addressed in it,
    by their first three or four letters too ("Mel" for Melanie).

    >>> is_filler("Wow, that's great, Ana!", "en", names=("Ana",)), is_filler("Great, I moved to Porto!", "en")
    (True, False)
    >>> is_filler("ありがとうございます！", "ja"), is_filler("太好了！", "zh"), is_filler("好きです。", "ja")
    (True, True, False)
    """
    table = table_language(language)
    if table != "en":
        for name in names:
            text = text.replace(name, "")
        return _CJK[table].match(text) is not None or not any(character.isalnum() for character in text)
    addressed = _addressed(names)
    return all(
        word in tables.FILLER_EN or word in addressed or _stretched(word) for word in (folded or fold(text)).words
    )


@lru_cache(maxsize=64)
def _addressed(names: tuple[str, ...]) -> frozenset[str]:
    """The words that people are called by, and what they are cut to."""
    return frozenset(short for name in names for word in name.lower().split() for short in (word, word[:3], word[:4]))


@lru_cache(maxsize=4096)
def _stretched(word: str) -> bool:
    """Whether a word is a filler with repeated letters: "sooo", "wooow", "hahahaha"."""
    squeezed = re.sub(r"(.)\1{2,}", r"\1", word)
    return (squeezed != word and squeezed in tables.FILLER_EN) or re.fullmatch(r"(?:ha|he){2,}h?", word) is not None
