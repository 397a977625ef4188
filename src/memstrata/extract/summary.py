"""The extractive summary of a page: its most informative sentences, in order, with who said them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from memstrata.extract.cues import Folded, fold, is_question
from memstrata.extract.smalltalk import content_of, is_filler
from memstrata.extract.sources import without_fences
from memstrata.text.language import detect
from memstrata.text.measure import clip, size
from memstrata.text.sentences import sentences
from memstrata.types import Turn

_QUESTION_WORTH: Final = 0.4  # a question tells what was talked about, an answer what is so
_NUMBER_WORTH: Final = 0.5  # a figure or date adds as much as half a word that is said often


class _Sentence(NamedTuple):
    turn: Turn
    text: str
    folded: Folded


def summarise(turns: Sequence[Turn], *, max_words: int = 60) -> str:
    """A summary of at most `max_words` words (two CJK characters count as one), "Ana: ... Ben: ...".

    Sentences are chosen by the mean weight of their content words (how often the page says them) times the square
    root of their number, so neither a bare name nor a ramble wins. System turns and tool calls are left out. The best
    sentence is always in, cut to the limit if need be; empty where the page has no text.

    >>> summarise([])
    ''
    """
    said = [_Sentence(turn, piece, fold(piece)) for turn in turns if _speaks(turn) for piece in sentences(_text(turn))]
    content = [frozenset(content_of(sentence.folded)) for sentence in said]
    weights = Counter(word for distinct in content for word in distinct)
    worth = [_worth(sentence, distinct, weights) for sentence, distinct in zip(said, content)]
    telling = [index for index in range(len(said)) if worth[index] > 0] or list(range(len(said)))
    ranked = sorted(telling, key=lambda index: (-worth[index], index))
    chosen: set[int] = set()
    room = float(max_words)
    for index in ranked:
        length = size(said[index].text) + 1  # the speaker's name counts as a word
        if length <= room:
            chosen.add(index)
            room -= length
    if not chosen and ranked:
        best = said[ranked[0]]
        return f"{best.turn.speaker or best.turn.role}: {clip(best.text, max_words - 1)}"
    return _printed([said[index] for index in sorted(chosen)])


def _speaks(turn: Turn) -> bool:
    return turn.is_source and turn.role != "system" and turn.trust != "system"


def _text(turn: Turn) -> str:
    return without_fences(turn.indexed_text)


def _worth(sentence: _Sentence, content: frozenset[str], weights: Counter[str]) -> float:
    language = detect(sentence.text)
    if not content or is_filler(sentence.text, language, folded=sentence.folded):
        return 0.0
    worth = sum(weights[word] for word in content) / math.sqrt(len(content))
    if any(map(str.isdigit, sentence.text)):
        worth += _NUMBER_WORTH
    return worth * (_QUESTION_WORTH if is_question(sentence.text, language, sentence.folded) else 1.0)


def _printed(chosen: Sequence[_Sentence]) -> str:
    """The sentences in order, each speaker named once for what they say in a row."""
    parts: list[str] = []
    last: str | None = None
    for sentence in chosen:
        speaker = sentence.turn.speaker or sentence.turn.role
        parts.append(sentence.text if speaker == last else f"{speaker}: {sentence.text}")
        last = speaker
    return " ".join(parts)
