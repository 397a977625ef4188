"""How much two sequences of words have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def lcs_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Length of the longest common subsequence of two word sequences.

    Bit-parallel (Hyyro 2004, "Bit-parallel LCS-length computation revisited"): one integer holds a row of the
    dynamic programme, one bit a word of `first`; each zero in it is a step up of the LCS length.
    """
    positions: dict[str, int] = {}
    for index, word in enumerate(first):
        positions[word] = positions.get(word, 0) | (1 << index)
    row = full = (1 << len(first)) - 1
    for word in second:
        matches = positions.get(word)
        if matches is not None:
            common = row & matches
            row = ((row + common) | (row - common)) & full
    return len(first) - row.bit_count()


def lcs_precision(candidate: Sequence[str], source: Sequence[str]) -> float:
    """ROUGE-L precision: the share of `candidate`'s words that `source` has in the same order, in [0, 1].

    0 for an empty candidate: nothing supports nothing. Source: Lin 2004, "ROUGE", section 3.
    """
    return lcs_length(candidate, source) / len(candidate) if candidate else 0.0


def jaccard(first: Iterable[str], second: Iterable[str]) -> float:
    """Size of the intersection over size of the union of two collections, in [0, 1]; 0 when both are empty."""
    a, b = frozenset(first), frozenset(second)
    union = len(a | b)
    return len(a & b) / union if union else 0.0
