"""Keywords: the words of a text that tell best what it is about.

Without a corpus, rarity is guessed from length and from lists of words that say little. Chinese is cut at function
words, verbs and times, not segmented: a keyword there can be two words long. Japanese keywords are compounds in Chinese
characters and katakana words; words in hiragana are missed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memstrata.text import keyword_words
from memstrata.text.language import detect
from memstrata.text.names import names
from memstrata.text.patterns import regex
from memstrata.text.scripts import HAN, HANGUL, KATAKANA, LETTER, SOUTH_EAST_ASIAN, has_unspaced
from memstrata.text.tokens import QUERY_STOP_WORDS, normalise, stem, terms

_WORD = regex(rf"{LETTER}(?:{LETTER}|\d)*(?:['’]{LETTER}+)*")
_ASCII_WORD = regex(r"[A-Za-z][A-Za-z0-9]*(?:'[A-Za-z]+)*")
_CLITIC = regex(r"['’](?:s|m|re|ve|ll|d)$", re.IGNORECASE)
_SHORTEST = 3  # letters of a word that can be a keyword; shorter ones are names or nothing

_JAPANESE_UNIT = regex(rf"[{HAN}]{{2,8}}|[{KATAKANA}]{{2,}}|[{HAN}](?=[はがをのにでともや])")
_CHINESE_UNIT = regex(rf"[{HAN}]{{2,8}}")
_CHINESE_CUT = regex(
    "|".join(sorted({*keyword_words.CHINESE_CUTS, *keyword_words.COMMON_CHINESE}, key=len, reverse=True))
)
_JAPANESE_CUT = regex("|".join(word for word in sorted(keyword_words.COMMON_JAPANESE) if len(word) > 1))
_OTHER_UNIT = regex(rf"[{HANGUL}]{{2,}}|[{SOUTH_EAST_ASIAN}]{{3,16}}|[{HAN}]{{2,8}}|[{KATAKANA}]{{2,}}")
_KOREAN_PARTICLE = regex(r"(?<=..)(?:에서|으로|에게|하고|은|는|이|가|을|를|에|의|도|로|와|과)$")


def _informativeness(word: str, before: str) -> float:
    """How likely the case-folded `word`, after the word `before`, names a topic: longer, noun-like, no adverb."""
    score = min(len(word), 12) / 12
    if before in keyword_words.DETERMINERS:
        score += 0.4
    if word.endswith("ly"):
        score -= 0.5
    elif word.endswith("ed"):
        score -= 0.2
    elif word.endswith(keyword_words.NOUN_ENDINGS):
        score += 0.2
    return score


def _spaced(text: str) -> Iterator[tuple[str, str, float]]:
    """Key, surface and score of each content word of the scripts with spaces."""
    before = ""
    for surface in (_ASCII_WORD if text.isascii() else _WORD).findall(text):
        if not surface.isalnum():
            surface = _CLITIC.sub("", surface)
        word = surface.lower() if surface.isascii() else normalise(surface).replace("’", "'")
        if len(word) >= _SHORTEST and word not in QUERY_STOP_WORDS and word not in keyword_words.COMMON:
            # A capital that made no name is the start of a sentence; capitals throughout are kept.
            yield stem(word), word if surface.istitle() else surface, _informativeness(word, before)
        before = word


def _unspaced(text: str) -> Iterator[tuple[str, str, float]]:
    """Key, surface and score of each content unit of the scripts without spaces."""
    language = detect(text)
    if language == "zh":
        pattern, common, text = _CHINESE_UNIT, keyword_words.COMMON_CHINESE, _CHINESE_CUT.sub(" ", text)
    elif language == "ja":
        pattern, common, text = _JAPANESE_UNIT, keyword_words.COMMON_JAPANESE, _JAPANESE_CUT.sub(" ", text)
    else:
        pattern, common = _OTHER_UNIT, frozenset[str]()
    for match in pattern.finditer(text):
        unit = _KOREAN_PARTICLE.sub("", match[0]) if language == "ko" else match[0]
        if unit not in common:
            yield normalise(unit), unit, 0.3 + min(len(unit), 4) / 5


def keywords(text: str, *, limit: int = 8, named: Sequence[str] | None = None) -> tuple[str, ...]:
    """Up to `limit` keywords of `text`, the most telling first: names, then content words; each stem once.

    Surface forms, in small letters where only the start of a sentence made the capital. Repeated words count more.
    `named` are the `names` of the text when the caller has them already; they are looked for otherwise.
    """
    named = names(text) if named is None else named
    if len(named) >= limit:
        return tuple(named[:limit])
    rest = text
    for name in named:
        rest = rest.replace(name, " | ")
    in_names = {term for name in named for term in terms(name)}
    scored: dict[str, tuple[float, str]] = {}
    units = [*_spaced(rest), *(_unspaced(rest) if has_unspaced(rest) else ())]
    for key, surface, score in units:
        if key not in in_names:
            total, first = scored.get(key, (0.0, surface))
            scored[key] = (max(total + 0.2, score) if total else score, first)
    ranked = sorted(scored.values(), key=lambda item: -item[0])  # stable: the text's order among equals
    found = dict.fromkeys((*named, *(surface for _, surface in ranked)))
    return tuple(found)[:limit]
