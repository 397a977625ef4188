"""The extractive summary of a page: its most informative sentences, in order, with who said them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

from memstrata.extract.cues import is_question
from memstrata.extract.measure import clip, size
from memstrata.extract.smalltalk import is_filler
from memstrata.extract.sources import without_fences
from memstrata.text.language import detect
from memstrata.text.sentences import sentences
from memstrata.text.tokens import content_words
from memstrata.types import Turn

_QUESTION_WORTH: Final = 0.4  # a question tells what was talked about, an answer what is so
_NUMBER_WORTH: Final = 0.5  # a figure or date adds as much as half a word that is said often


def summarise(turns: Sequence[Turn], *, max_words: int = 60) -> str:
    """A summary of at most `max_words` words (two CJK characters count as one), "Ana: ... Ben: ...".

    Sentences are chosen by the mean weight of their content words (how often the page says them) times the square
    root of their number, so neither a bare name nor a ramble wins. System turns and tool calls are left out. The best
    sentence is always in, cut to the limit if need be; empty where the page has no text.

    >>> summarise([])
    ''
    """
    said = [(turn, piece, detect(piece)) for turn in turns if _speaks(turn) for piece in sentences(_text(turn))]
    weights = Counter(word for _, piece, _ in said for word in set(content_words(piece)))
    ranked = sorted(range(len(said)), key=lambda i: (-_worth(said[i][1], said[i][2], weights), i))
    chosen: set[int] = set()
    room = float(max_words)
    for index in ranked:
        length = size(said[index][1]) + 1  # the speaker's name counts as a word
        if length <= room:
            chosen.add(index)
            room -= length
    if not chosen and ranked:
        turn, piece, _ = said[ranked[0]]
        return f"{turn.speaker or turn.role}: {clip(piece, max_words - 1)}"
    return _printed([(said[index][0], said[index][1]) for index in sorted(chosen)])


def _speaks(turn: Turn) -> bool:
    return turn.is_source and turn.role != "system" and turn.trust != "system"


def _text(turn: Turn) -> str:
    return without_fences(turn.indexed_text)


def _worth(text: str, language: str, weights: Counter[str]) -> float:
    found = content_words(text)
    if not found or is_filler(text, language):
        return 0.0
    distinct = set(found)
    worth = sum(weights[word] for word in distinct) / math.sqrt(len(distinct)) + (
        _NUMBER_WORTH if any(c.isdigit() for c in text) else 0.0
    )
    return worth * (_QUESTION_WORTH if is_question(text, language) else 1.0)


def _printed(chosen: Sequence[tuple[Turn, str]]) -> str:
    """The sentences in order, each speaker named once for what they say in a row."""
    parts: list[str] = []
    last: str | None = None
    for turn, piece in chosen:
        speaker = turn.speaker or turn.role
        parts.append(piece if speaker == last else f"{speaker}: {piece}")
        last = speaker
    return " ".join(parts)
