"""BM25, the baseline every retrieval figure is shown beside (Robertson and Zaragoza 2009; k1 1.2, b .75).

Its terms are fixed here and not shared with the store's own index, so the baseline stays where it is when the index
gets better: lower-cased words with Porter stems and, in scripts without spaces between words, character pairs. Nothing
is dropped from the query.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import Stemmer
from numpy.typing import NDArray

from memstrata.evaluation.benchmark import Conversation
from memstrata.text.scripts import UNSPACED, has_unspaced

K1 = 1.2
B = 0.75

_TERM = re.compile(rf"[{UNSPACED}]+|[^\W{UNSPACED}]+")
_stem_word = Stemmer.Stemmer("porter").stemWord


def baseline_terms(text: str) -> list[str]:
    """The terms of a text, in order, with repeats.

    >>> baseline_terms("Painted 2 sunsets, 京都旅行")
    ['paint', '2', 'sunset', '京都', '都旅', '旅行']
    """
    terms: list[str] = []
    for run in _TERM.findall(text.lower()):
        if has_unspaced(run):
            terms += [run[i : i + 2] for i in range(len(run) - 1)] or [run]
        else:
            terms.append(_stem(run))
    return terms


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    return _stem_word(word) or word  # the stemmer makes nothing of a lone "s"


class BM25:
    """An index over a fixed list of texts, numbered from 0."""

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [Counter(baseline_terms(text)) for text in texts]
        lengths = np.array([count.total() for count in counts], dtype=np.float64)
        average = lengths.mean() if lengths.any() else 1.0
        norms = K1 * (1 - B + B * lengths / average)
        postings: dict[str, list[tuple[int, int]]] = {}
        for number, count in enumerate(counts):
            for term, frequency in count.items():
                postings.setdefault(term, []).append((number, frequency))
        self._size = len(texts)
        self._weights: dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]] = {}
        for term, posting in postings.items():
            numbers = np.array([number for number, _ in posting], dtype=np.int64)
            tf = np.array([frequency for _, frequency in posting], dtype=np.float64)
            idf = np.log1p((self._size - len(posting) + 0.5) / (len(posting) + 0.5))
            self._weights[term] = (numbers, idf * tf * (K1 + 1) / (tf + norms[numbers]))

    def scores(self, query: str) -> NDArray[np.float64]:
        """The score of every text, shape (texts,); a term counts as often as the query has it."""
        scores = np.zeros(self._size)
        for term in baseline_terms(query):
            if term in self._weights:
                numbers, weights = self._weights[term]
                scores[numbers] += weights
        return scores

    def rank(self, query: str, depth: int) -> list[int]:
        """The best `depth` texts that share a term with the query; among equals the earlier first."""
        scores = self.scores(query)
        order = np.argsort(-scores, kind="stable")[:depth]
        return [int(number) for number in order if scores[number] > 0]


class TurnBaseline:
    """BM25 over a conversation's turns, each as "date speaker: text [image caption]"."""

    def __init__(self, conversation: Conversation) -> None:
        dated = [(session.date, turn) for session in conversation.sessions for turn in session.turns]
        self._ids = [turn.id for _, turn in dated]
        self._index = BM25([f"{date} {turn.said}" for date, turn in dated])

    def rank(self, query: str, depth: int) -> list[str]:
        """The ids of the best `depth` turns."""
        return [self._ids[number] for number in self._index.rank(query, depth)]
