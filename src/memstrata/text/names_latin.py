"""Named things in scripts with capital letters: capitalised spans that are more than the start of a sentence."""

from __future__ import annotations

from collections.abc import Iterator

from memstrata.text import name_words
from memstrata.text.patterns import regex
from memstrata.text.scripts import UNSPACED
from memstrata.text.stopwords import ENGLISH, NEGATIONS

_UPPER = "A-Z\u00c0-\u00d6\u00d8-\u00deĆČĐĘĞİŁŃŐŚŠŞŰŹŻŽ\u0391-\u03a9\u0410-\u042f"
_TAIL = "A-Za-z0-9\u00c0-\u024f\u0370-\u052f\u1e00-\u1eff"
_CAPITALISED = rf"(?:[{_UPPER}][{_TAIL}]*(?:['’&.\-](?=[{_TAIL}])[{_TAIL}]+)*|[a-z][A-Z][{_TAIL}]+)"
_JOINED = r"(?:(?:of|the|de|van|von|der|da|di|la|del|du|bin|al|&)\s){0,2}"
_TITLE = r"(?:(?:Mr|Mrs|Ms|Dr|Prof|St)\.?\s)"
_SPAN = regex(rf"(?<![{_TAIL}@#/_.]){_TITLE}?{_CAPITALISED}(?:\s(?={_JOINED}[{_UPPER}]){_JOINED}{_CAPITALISED})*")
_NEXT_WORD = regex(r"\s(\w+)")
_POSSESSIVE = regex(r"['’](?:s|m|re|ve|ll|d)$")
_STARTS_SENTENCE = regex(rf"(?:^|[.!?…:\n。！？「『—*•]|[^\w\s,;&'’\"“”‘(){UNSPACED}])[\s\"“‘'’”)(]*$")
_LATIN_WORD = regex(r"[A-Za-z][A-Za-z0-9+#]*(?:[ .&'’\-][A-Za-z0-9][A-Za-z0-9+#]*)*")
_UNSPACED_BESIDE = regex(rf"[{UNSPACED}、。「」『』・《》（）！？]")
_QUOTED = regex(r"[\"“]([^\"“”\n]{2,60})[\"”]")
_SMALL_WORDS = frozenset(
    ["a", "an", "the", "of", "and", "in", "on", "at", "to", "for", "with", "from", "de", "la", "or", "but", "is"]
)
_NOT_NAMES = name_words.NOT_NAMES | frozenset(ENGLISH) | frozenset(NEGATIONS)


def is_name_word(word: str) -> bool:
    """Whether a capitalised word can be a name at all: no day, month, pronoun, exclamation or single letter."""
    return len(word) > 1 and _POSSESSIVE.sub("", word).casefold().replace("’", "'") not in _NOT_NAMES


def _is_shouted(text: str) -> bool:
    """Whether capitals say nothing here, because most letters are capitals."""
    upper = sum(map(str.isupper, text))
    return upper > 12 and upper > 0.6 * sum(map(str.isalpha, text))


def _trim(words: list[str]) -> tuple[int, int]:
    """First and last + 1 of the words of a span once those that are no names are off both ends."""
    start, end = 0, len(words)
    while start < end and not (is_name_word(words[start]) or (words[start][-1:] == "." and end - start > 1)):
        start += 1
    while end > start and not is_name_word(words[end - 1]):
        end -= 1
    return start, end


def _stands_alone(word: str, following: str, known: frozenset[str]) -> bool:
    """Whether the one capitalised word that starts a sentence is a name by other signs than its place."""
    folded = word.casefold()
    if folded in known or folded in name_words.GIVEN_NAMES:
        return True
    if word[1:] != word[1:].lower():  # McDonald, YouTube, NASA
        return True
    verb = _NEXT_WORD.match(following)
    return verb is not None and verb[1] in name_words.PERSON_VERBS


def _spans(text: str) -> Iterator[tuple[int, str, bool]]:
    """Start, surface and whether it starts a sentence, for each span of capitalised words that can be a name."""
    for match in _SPAN.finditer(text):
        words = match[0].split()
        first, last = _trim(words)
        if first == last:
            continue
        offset = match.start() + (match[0].index(words[first]) if first else 0)
        starts = first == 0 and bool(_STARTS_SENTENCE.search(text, max(0, match.start() - 8), match.start()))
        if starts and last > 1 and words[0].endswith(("ed", "ing", "ly")):  # "Visited Paris"
            offset += len(words[0]) + 1
            first, starts = 1, False
        yield offset, _POSSESSIVE.sub("", " ".join(words[first:last])), starts


def capitalised(text: str, known: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Start and surface of the capitalised names of `text`.

    A single word at the start of a sentence counts when it is in `known` (case-folded), a common given name, written
    with inner capitals, subject of what people do, or capitalised inside a sentence elsewhere in `text`.
    """
    if text.islower() or _is_shouted(text):
        return
    spans = list(_spans(text))
    elsewhere = {word.casefold() for _, surface, starts in spans if not starts for word in surface.split()}
    for offset, surface, starts in spans:
        following = text[offset + len(surface) : offset + len(surface) + 24]
        if not starts or " " in surface or _stands_alone(surface, following, known | elsewhere):
            yield offset, surface


def quoted_titles(text: str) -> Iterator[tuple[int, str]]:
    """Start and surface of titles in double quotes: every word capitalised but the small ones."""
    for match in _QUOTED.finditer(text):
        title = match[1].rstrip(",.")
        words = title.split()
        headed = [word for word in words if word.lower() not in _SMALL_WORDS]
        is_headed = all(word[0].isupper() or word[0].isdigit() for word in headed)
        if headed and is_headed and title[-1] not in "!?" and (len(words) > 1 or is_name_word(title)):
            yield match.start(1), title


def inside_unspaced(text: str) -> Iterator[tuple[int, str]]:
    """Start and surface of the Latin-script words that stand next to Chinese, Japanese or the like."""
    for match in _LATIN_WORD.finditer(text):
        beside = text[max(0, match.start() - 2) : match.start()].strip() + text[match.end() : match.end() + 2].strip()
        surface = match[0]
        if (
            len(surface) > 1
            and is_name_word(surface)
            and surface.islower() is False
            and _UNSPACED_BESIDE.search(beside)
        ):
            yield match.start(), surface
