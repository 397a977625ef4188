"""Splitting text into sentences, for English-like, Chinese and Japanese punctuation."""

from __future__ import annotations

import re
from functools import lru_cache

from memstrata.text.patterns import regex
from memstrata.text.stopwords import word_list

_NEVER_LAST = frozenset(
    word_list(
        """
        mr mrs ms dr prof sr jr st mt rev gen col sgt capt lt hon vs e.g i.e cf approx dept est fig no vol pp
        ca
        """
    )
)
"""Abbreviations that a sentence does not end with."""

_SELDOM_LAST = frozenset(word_list("etc a.m p.m inc ltd co corp ave blvd rd u.s u.k u.n u.s.a ph.d b.a m.a"))
"""Abbreviations that may end a sentence: they do when no small letter follows."""

_CLOSERS = "\"'”’)\\]}»」』）】》〉"
_STOP = regex(
    rf"(?P<wide>[。！？｡]+[。！？｡!?…]*[{_CLOSERS}]*)"
    rf"|(?P<narrow>(?:[.!?]+|…+)[{_CLOSERS}]*)(?=\s|$|[^\x00-\u2fff])"
    r"|(?P<quote>[「『《])"
)
_ASCII_STOP = regex(rf"(?P<narrow>[.!?]+[{_CLOSERS}]*)(?=\s|$)")
_CLOSING = {"「": "」", "『": "』", "《": "》"}
_LONGEST_QUOTE = 300
_LAST_WORD = regex(r"[\w.]+$")
_BULLET = regex(r"^(?:[-*•·・]\s+)+")


def _ends(line: str, start: int, stop: re.Match[str]) -> bool:
    """Whether the narrow stop (. ! ? …) at `stop` ends the sentence that began at `start`."""
    mark = stop["narrow"]
    following = line[stop.end() : stop.end() + 8].lstrip()[:1]
    if "!" in mark or "?" in mark:
        return True
    if mark.startswith(("..", "…")):
        return not following.islower()
    word = _LAST_WORD.search(line, max(start, stop.start() - 20), stop.start())
    if word is None:
        return True
    last = word[0]
    folded = last.lower()
    if folded == "no":
        return not following.isdigit()
    if folded in _NEVER_LAST or (len(last) == 1 and last.isupper() and last != "I" and following.isupper()):
        return False
    if last.isdigit() and not line[start : word.start()].strip():  # "1. Wash the rice": the number of a list
        return False
    return not (folded in _SELDOM_LAST and following.islower())


def _line_sentences(line: str) -> list[str]:
    found = []
    start = quoted_until = 0
    if line.isascii():
        for stop in _ASCII_STOP.finditer(line):
            if _ends(line, start, stop):
                found.append(line[start : stop.end()])
                start = stop.end()
        return [*found, line[start:]]
    for stop in _STOP.finditer(line):
        if opening := stop["quote"]:
            closing = line.find(_CLOSING[opening], stop.end(), stop.end() + _LONGEST_QUOTE)
            quoted_until = max(quoted_until, closing)
        elif stop.start() < quoted_until and not (
            stop.end() > quoted_until and (stop.end() == len(line) or line[stop.end()] not in "とっ")
        ):
            continue  # inside a quotation, or at its end with the sentence going on: 「もう帰る。」と言った
        elif stop["wide"] or _ends(line, start, stop):
            found.append(line[start : stop.end()])
            start = stop.end()
    found.append(line[start:])
    return found


@lru_cache(maxsize=256)  # a turn is read for the summary of its page and for its statements
def _sentences(text: str) -> tuple[str, ...]:
    lines = (_line_sentences(line) for line in text.splitlines())
    stripped = (_BULLET.sub("", sentence.strip()) for found in lines for sentence in found)
    return tuple(sentence for sentence in stripped if sentence)


def sentences(text: str) -> list[str]:
    """The sentences of `text` in order, stripped, none empty; their words are all of the text's words.

    A line break ends a sentence. `.` does unless an abbreviation, an initial or a list's number stands before it;
    `。！？` do except inside 「」, 『』 and 《》. The bullet of a list item is left out.
    """
    return list(_sentences(text))
