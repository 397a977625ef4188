"""Named things in a text: people, places, works, products, by their surface form.

There is no dictionary and no model behind this: spelling, brackets, honorifics and short lists decide. German, which
capitalises every noun, gives too many; Chinese names without a cue, and names in small letters, are missed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

from memstrata.text import name_words, names_cjk, names_latin
from memstrata.text.language import detect
from memstrata.text.patterns import regex
from memstrata.text.scripts import HAN, HIRAGANA, KATAKANA, has_unspaced
from memstrata.text.tokens import normalise

_ENGLISH_TITLE = regex(rf"^(?:{'|'.join(name_words.ENGLISH_TITLES)})\.? |^the ")
_POSSESSIVE = regex(r"['’]s?$")
_HONORIFIC = regex(
    rf"(?<=[{HAN}{HIRAGANA}{KATAKANA}][{HAN}{HIRAGANA}{KATAKANA}])"
    rf"(?:{'|'.join((*name_words.JAPANESE_HONORIFICS, *name_words.CHINESE_HONORIFICS))})$"
)
_PUNCTUATION = regex(r"[^\w\s+#&'\-]|_")


def _unspaced_names(text: str) -> Iterator[tuple[int, str]]:
    language = detect(text)
    found = [names_cjk.titles(text), names_cjk.listed(text), names_latin.inside_unspaced(text)]
    if language == "zh":
        found.append(names_cjk.chinese(text))
    else:  # a Japanese name may stand in a text of any other language
        found.append(names_cjk.japanese(text))
    return chain.from_iterable(found)


def names(text: str, *, speaker: str | None = None) -> tuple[str, ...]:
    """Surface forms of the named things in `text`, in order of appearance, each once by `name_key`.

    `speaker` (whoever said the text) is a known name: recognised at the start of a sentence too, but not added when
    the text does not mention it. Days, months, pronouns and exclamations are no names; of overlapping names the one
    that starts first, then the longest, stays.
    """
    known = frozenset(normalise(speaker).split()) if speaker else frozenset()
    found = [*names_latin.quoted_titles(text), *names_latin.capitalised(text, known)]
    if has_unspaced(text):
        found += _unspaced_names(text)
    by_key: dict[str, str] = {}
    end = 0
    for start, surface in sorted(found, key=lambda item: (item[0], -len(item[1]))):
        if start >= end:
            end = start + len(surface)
            by_key.setdefault(name_key(surface), surface)
    return tuple(by_key.values())


@lru_cache(maxsize=4096)  # people are spoken of again and again
def name_key(name: str) -> str:
    """Equal for spellings of one name: case, width, punctuation, titles and honorifics ("Dr.", "さん") do not count.

    An honorific stays when the name before it is a single character: 王先生 is not every 王.
    """
    plain = _POSSESSIVE.sub("", normalise(name))
    bare = _ENGLISH_TITLE.sub("", plain) if plain.isascii() else _HONORIFIC.sub("", plain)
    return " ".join(_PUNCTUATION.sub(" ", bare).split()) or plain
