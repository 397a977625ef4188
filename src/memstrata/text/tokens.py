"""From text to comparable units: index terms, words, equality keys and numbers.

Two families of scripts are told apart. Where spaces separate words (Latin, Cyrillic, Arabic, ...) the unit is the word;
where they do not (Chinese, Japanese, Thai, ...) it is the character or the pair of characters, so that any term is
found without a dictionary. Every function takes any string: lone surrogates and control characters are no letters.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache, lru_cache

from memstrata.text import stopwords
from memstrata.text.irregular import BASE_FORMS
from memstrata.text.language import detect
from memstrata.text.numerals import english_numbers, han_numbers
from memstrata.text.patterns import regex
from memstrata.text.scripts import HAN, HANGUL, INDIC_MARKS, LETTER, MARKS, UNSPACED, has_unspaced

STOP_WORDS: frozenset[str] = frozenset(stopwords.ENGLISH)
QUERY_STOP_WORDS: frozenset[str] = STOP_WORDS | frozenset(stopwords.NEGATIONS)

_REMEMBERED = 1_000  # characters of a text whose units are kept for the next that asks
_LONGEST_WORD = 64  # characters of a word that count: longer ones are encoded data, not language
_INVISIBLE = dict.fromkeys([0xAD, *range(0x200B, 0x2010), 0x2060, 0xFEFF, *range(0xFE00, 0xFE10)])
_QUOTES = {0x2018: "'", 0x2019: "'", 0x02BC: "'"}

_NUMBER = r"\d+(?:,\d{3})*(?!\d)(?:\.\d+)*"
_DIGITS = regex(_NUMBER)
# number with an ordinal ending | word: letters, then digits, inner apostrophes | run without spaces
_UNITS = regex(
    rf"(?P<number>{_NUMBER})(?:(?:st|nd|rd|th)\b)?"
    rf"|(?P<word>[cf](?:\+\+|#)|{LETTER}(?:{LETTER}|\d)*(?:'{LETTER}+)*)"
    rf"|(?P<run>[{UNSPACED}]+)"
)
_ASCII_UNITS = regex(
    rf"(?P<number>{_NUMBER})(?:(?:st|nd|rd|th)\b)?|(?P<word>[cf](?:\+\+|#)|[a-z][a-z0-9]*(?:'[a-z]+)*)", re.ASCII
)
_CLITIC = regex(r"'(?:s|m|re|ve|ll|d)$")
_SINGLE = regex(rf"[{HAN}{HANGUL}]")
_LATIN_ACCENTS = regex("[\u0300-\u036f]")


def normalise(text: str) -> str:
    """`text` for comparison: NFKC, case folded, invisible characters out, white space to single spaces. Idempotent."""
    if text.isascii():
        return " ".join(text.lower().split())
    text = unicodedata.normalize("NFKC", text.translate(_INVISIBLE))
    # Folding can undo the normal form and the other way round (Unicode 3.13, D146): repeat until nothing changes.
    while (folded := unicodedata.normalize("NFKC", text.casefold()).translate(_INVISIBLE)) != text:
        text = folded
    return " ".join(text.split())


def _split(text: str) -> Sequence[tuple[str, str]]:
    """The units of `text` in order, each with its family: "number", "word" or "run" (of a script without spaces)."""
    return _split_again(text) if len(text) <= _REMEMBERED else _split_once(text)


def _split_once(text: str) -> tuple[tuple[str, str], ...]:
    plain = normalise(text)
    pattern = _ASCII_UNITS
    if not plain.isascii():
        plain = plain.translate(_QUOTES)
        pattern = _ASCII_UNITS if plain.isascii() else _UNITS
    units = []
    for number, word, *run in pattern.findall(plain):
        if word:
            units.append(("word", _CLITIC.sub("", word) if "'" in word else word))
        elif number:
            units.append(("number", number.replace(",", "")))
        else:
            units.append(("run", run[0]))
    return tuple(units)


_split_again = lru_cache(maxsize=1024)(_split_once)  # a statement is looked at from many sides


@cache
def _stemmer() -> Callable[[str], str]:
    """Snowball's English stemmer. It keeps its state in itself, so one thread at a time."""
    import Stemmer

    stem_word: Callable[[str], str] = Stemmer.Stemmer("english").stemWord
    lock = threading.Lock()

    def stem(word: str) -> str:
        with lock:
            return stem_word(word)

    return stem


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    if not word.isascii() and word[0] < "\u0250":  # Latin: people leave the accents out when they ask
        word = _LATIN_ACCENTS.sub("", unicodedata.normalize("NFKD", word))
    return _stemmer()(BASE_FORMS.get(word, word))


def stem(word: str) -> str:
    """The index form of a normalised word: irregular forms to their base, accents off, Snowball English stem."""
    return _stem(word[:_LONGEST_WORD])


def _run_terms(run: str) -> list[str]:
    """Pairs of neighbouring characters, and single Chinese or Korean ones, which can be words of their own."""
    if len(run) == 1:
        return [run]
    return [run[i : i + 2] for i in range(len(run) - 1)] + _SINGLE.findall(run)


def _unit_terms(family: str, unit: str) -> list[str]:
    if family == "run":
        return _run_terms(unit)
    return [unit[:_LONGEST_WORD]] if family == "number" else [stem(unit)]


def terms(text: str) -> list[str]:
    """Index terms in the order of the text, repeats kept; the same function serves texts and queries.

    Words are stemmed (see `stem`), digits kept. Runs of a script without spaces become character pairs, with each Han
    and Hangul character by itself beside them, so that every exact term of two characters, and every such character
    alone, is found.
    """
    return [term for family, unit in _split(text) for term in _unit_terms(family, unit)]


@cache
def _run_stop_words(language: str) -> re.Pattern[str]:
    listed = stopwords.JAPANESE if language == "ja" else stopwords.CHINESE
    return regex("|".join(sorted(map(re.escape, listed), key=len, reverse=True)))


def _function_characters(run: str, language: str) -> set[int]:
    """Positions in `run` that a stop word covers, longest stop word first."""
    if language not in ("ja", "zh"):
        return set()
    return {i for match in _run_stop_words(language).finditer(run) for i in range(match.start(), match.end())}


def _run_query_terms(run: str, language: str) -> list[str]:
    """Terms of a run, without those all of whose characters lie in stop words: no exact term is broken."""
    covered = _function_characters(run, language)
    if len(run) == 1:
        return [] if covered else [run]
    pairs = [run[i : i + 2] for i in range(len(run) - 1) if not {i, i + 1} <= covered]
    return pairs + [run[i] for i in range(len(run)) if i not in covered and _SINGLE.match(run[i])]


def _run_language(text: str) -> str:
    """Whose stop words apply to the runs of `text`: "ja", "zh" or another code (then none do)."""
    if not has_unspaced(text):
        return "und"
    language = detect(text)
    # A Chinese or Japanese name in a text of another language brings no grammar of its own.
    return language if language in ("ja", "zh") else "und"


def query_terms(text: str) -> list[str]:
    """`terms` of a question without stop words and question words (English, Japanese, Chinese).

    A term is never broken by this: a pair of characters stays unless stop words cover both. When nothing would be
    left, all terms stay.
    """
    language = _run_language(text)
    kept = []
    for family, unit in _split(text):
        if family == "run":
            kept += _run_query_terms(unit, language)
        elif unit not in QUERY_STOP_WORDS:
            kept += _unit_terms(family, unit)
    return kept or terms(text)


def words(text: str) -> list[str]:
    """Surface units for measures of overlap: case-folded words and numbers, single characters of unspaced scripts.

    Endings of contractions and possessives are off ("she's" and "she" agree); "n't" stays.
    """
    found: list[str] = []
    for family, unit in _split(text):
        if family == "run":
            found += unit
        else:
            found.append(unit)
    return found


def content_words(text: str) -> list[str]:
    """`words` without stop words; negations stay. Empty when the text has nothing else."""
    language = _run_language(text)
    found: list[str] = []
    for family, unit in _split(text):
        if family == "run":
            covered = _function_characters(unit, language)
            found += (character for i, character in enumerate(unit) if i not in covered)
        elif unit not in STOP_WORDS:
            found.append(unit)
    return found


# What is no letter, mark, digit or meaningful sign. "C++" is not "C#", "-5" is not "5", "$5" is not "5".
_COMMA_IN_NUMBER = regex(r"(?<=\d),(?=\d{3}(?!\d))")
_NOT_KEYED = regex(
    rf"(?:(?!{LETTER})[^\d{UNSPACED}{MARKS}{INDIC_MARKS}+#%$€£¥@&<>=.\-])+|_|(?<!\d)\.|\.(?!\d)|(?<!\s)-|-(?!\d)"
)
_ASCII_NOT_KEYED = regex(r"[^a-z0-9+#%$&@<>=.\-]+|\.(?:(?<!\d\.)|(?!\d))|-(?:(?<!\s-)|(?!\d))")
_SPACE_BY_RUN = regex(rf"(?<=[{UNSPACED}]) | (?=[{UNSPACED}])")


@lru_cache(maxsize=4096)  # the same notes come round as neighbours again and again
def statement_key(text: str) -> str:
    """Equal for statements that differ only in case, width, punctuation, spaces at unspaced scripts, and emoji.

    A text of nothing but punctuation or emoji is its own key.
    """
    plain = normalise(text).translate(_QUOTES)
    key = (_COMMA_IN_NUMBER.sub("", plain) if "," in plain else plain).replace("'", "")
    if key.isascii():
        return " ".join(_ASCII_NOT_KEYED.sub(" ", f" {key} ").split()) or plain
    key = " ".join(_NOT_KEYED.sub(" ", f" {key} ").split())
    return _SPACE_BY_RUN.sub("", key) or plain


def _canonical(number: str) -> str:
    whole, point, decimals = number.partition(".")
    whole = whole.lstrip("0") or "0"
    if not point or "." in decimals:  # "1.2.3" is a version
        return whole + point + decimals
    decimals = decimals.rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole


def numbers(text: str) -> frozenset[str]:
    """The numbers of `text` as decimal strings: digits anywhere ("iPhone15", "1,200", "2.50" is 2.5), spelled English
    numbers and Chinese numerals before a counter. "one" and 一 alone are none: they are articles as often.
    """
    plain = normalise(text)
    units = _split(text)
    found = {_canonical(match[0].replace(",", "")) for match in _DIGITS.finditer(plain)}
    found.update(english_numbers(unit for family, unit in units if family != "run"))
    for family, unit in units:
        if family == "run":
            found.update(han_numbers(unit))
    return frozenset(found)
