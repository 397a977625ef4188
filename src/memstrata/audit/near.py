"""Entries that say the same: equal statements, and nearly equal ones by MinHash or by an embedder.

Near by words: the Jaccard index of two entries' words is at least .8. Candidate pairs come from MinHash with banding
(Broder 1997; 16 bands of 4 rows find a pair of .8 with a chance above .999) and are then compared exactly. However near
two entries are, another name, another number or another polarity makes them two facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from memstrata.audit.cues import has_phrase
from memstrata.audit.entries import Entry
from memstrata.extract.cues import cues_of
from memstrata.text.names import name_key
from memstrata.text.names import names as names_in
from memstrata.text.overlap import jaccard
from memstrata.text.tokens import numbers, statement_key, words

NEAR_WORDS = 0.8  # Jaccard index from which two entries say much the same
NEAR_COSINE = 0.93  # cosine from which they do, when an embedder is asked
BANDS, ROWS = 16, 4
COMPARED = 24  # earlier members of a bucket that an entry is compared with: buckets of boilerplate are large
BLOCK = 1024  # rows of one product of vectors
_PRIME = (1 << 31) - 1
_LATIN = re.compile(r"[a-z]")

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Cluster:
    """Entries that say the same, by their place in the list: the first is the one to keep."""

    kept: int
    exact: tuple[int, ...]
    near: tuple[int, ...]

    @property
    def size(self) -> int:
        return 1 + len(self.exact) + len(self.near)


def clusters(entries: Sequence[Entry], vectors: NDArray[np.float32] | None = None) -> list[Cluster]:
    """The clusters of two entries or more, in the order of their first. `vectors`: unit vectors, one an entry."""
    first: dict[tuple[str, str], int] = {}
    copies: dict[int, list[int]] = {}
    for place, entry in enumerate(entries):
        kept = first.setdefault((entry.owner, statement_key(entry.text) or entry.text), place)
        if kept != place:
            copies.setdefault(kept, []).append(place)
    singles = sorted(first.values())
    parent = {place: place for place in singles}

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = place = parent[parent[place]]
        return place

    pairs = _near_words(entries, singles) if vectors is None else _near_vectors(entries, singles, vectors)
    for one, other in pairs:
        low, high = sorted((root(one), root(other)))
        parent[high] = low
    members: dict[int, list[int]] = {}
    for place in singles:
        members.setdefault(root(place), []).append(place)
    found = []
    for kept, group in members.items():
        exact = tuple(copies.get(kept, ()))
        near = tuple(sorted([*group[1:], *(copy for place in group[1:] for copy in copies.get(place, ()))]))
        if exact or near:
            found.append(Cluster(kept, exact, near))
    return found


# by words -------------------------------------------------------------------------------------------------------------


def _near_words(entries: Sequence[Entry], places: Sequence[int]) -> Iterator[Pair]:
    bags = {place: frozenset(words(entries[place].text)) for place in places}
    buckets: dict[tuple[str, int, bytes], list[int]] = {}
    for place in places:
        if not bags[place]:
            continue
        compared: set[int] = set()
        for band, signature in enumerate(_bands(bags[place])):
            bucket = buckets.setdefault((entries[place].owner, band, signature), [])
            compared.update(bucket[:COMPARED])
            bucket.append(place)
        for other in sorted(compared):
            if jaccard(bags[place], bags[other]) >= NEAR_WORDS and _same_facts(entries[other], entries[place]):
                yield other, place


def _bands(bag: Iterable[str]) -> list[bytes]:
    """The MinHash of a bag of words, in bands: min over the words of (a h + b) mod p for each of 64 (a, b)."""
    multipliers, offsets = _permutations()
    hashes = np.array([_hash(word) for word in bag], np.uint64)
    minima = ((multipliers[:, None] * hashes[None, :] + offsets[:, None]) % _PRIME).min(axis=1).astype(np.uint32)
    return [row.tobytes() for row in minima.reshape(BANDS, ROWS)]


@lru_cache(maxsize=65_536)
def _hash(word: str) -> int:
    return int.from_bytes(blake2b(word.encode(), digest_size=4).digest()) % _PRIME


@lru_cache
def _permutations() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    random = np.random.default_rng(17)
    multipliers = random.integers(1, _PRIME, BANDS * ROWS, np.uint64)
    return multipliers, random.integers(0, _PRIME, BANDS * ROWS, np.uint64)


# by vectors -----------------------------------------------------------------------------------------------------------


def _near_vectors(entries: Sequence[Entry], places: Sequence[int], vectors: NDArray[np.float32]) -> Iterator[Pair]:
    by_owner: dict[str, list[int]] = {}
    for place in places:
        by_owner.setdefault(entries[place].owner, []).append(place)
    for own in by_owner.values():
        rows = vectors[own]
        for start in range(0, len(own), BLOCK):
            near = rows[start : start + BLOCK] @ rows[: start + BLOCK].T >= NEAR_COSINE
            for row, column in zip(*np.nonzero(near), strict=True):
                one, other = own[column], own[start + row]
                if one < other and _same_facts(entries[one], entries[other]):
                    yield one, other


# both -----------------------------------------------------------------------------------------------------------------


def _same_facts(one: Entry, other: Entry) -> bool:
    """Whether nothing tells two similar entries apart: numbers, names, polarity, the value of a slot."""
    if one.slot is not None and other.slot is not None and one.slot != other.slot:
        return False
    return _facts(one.text, one.language) == _facts(other.text, other.language) and _same_capitals(one.text, other.text)


@lru_cache(maxsize=65_536)
def _facts(text: str, language: str) -> tuple[object, ...]:
    cues = cues_of(text, language)
    named = frozenset(name_key(name) for name in names_in(text))
    return (frozenset(numbers(text)), named, cues.negated, has_phrase(text, "opposed"))


def _same_capitals(one: str, other: str) -> bool:
    """Whether the words in which two texts differ are all lower-case: a capital may be a name that nobody knows."""
    mine, theirs = set(one.split()), set(other.split())
    differing = (word.strip(".,;:!?\"'()") for word in mine ^ theirs)
    own = {one.split()[0], other.split()[0]} if mine and theirs else set()
    return not any(word[:1].isupper() and word not in own and _LATIN.search(word) for word in differing)
