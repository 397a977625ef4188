"""Late interaction: each token of the query against the tokens of a turn as the encoder saw them there (MaxSim of
ColBERT, Khattab & Zaharia 2020), on the turns that everything else puts first.

A token of the query has its best cosine among a turn's tokens, never below 0; the turn's score is their sum, each times
its weight: the share of its term in the query's idf, as in coverage. What the query asks in words that the encoder has
no token for stays in the sum as 0, so that 1 means that all of it was said in these words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memstrata.embed.base import Tokens
from memstrata.index.owner import OwnerIndex
from memstrata.index.tokens import unpack
from memstrata.index.turns import TurnOrder
from memstrata.index.vectors import all_dots
from memstrata.text.scripts import has_unspaced
from memstrata.text.tokens import terms

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
CANDIDATES = 200  # turns that are looked at
CANDIDATE_ROWS = 400  # and chunks of them: of long turns fewer are


def weights_of(tokens: Tokens, query_terms: Sequence[str], shares: Sequence[float]) -> Floats:
    """The weight of each token of the query: a term's share is divided among the tokens that are (part of) it; 0 for
    tokens of no term, as function words and speakers' names."""
    weights = np.zeros(len(tokens.words), dtype=np.float32)
    of_word: dict[str, tuple[str, ...]] = {word: tuple(terms(word)) for word in set(tokens.words)}
    for term, share in zip(query_terms, shares, strict=True):
        unspaced = has_unspaced(term)  # such a term is a pair of characters, each of them a word to the encoder
        mine = [
            place
            for place, word in enumerate(tokens.words)
            if term in of_word[word] or (unspaced and word and word in term)
        ]
        weights[mine] += share / max(1, len(mine))
    return weights


def candidates(index: OwnerIndex, turns: TurnOrder, score: Floats, allowed: NDArray[np.bool_]) -> Ints:
    """The places of the best turns that may count, in the order of `turns`."""
    places = np.flatnonzero(allowed[turns.units])
    if len(places) > CANDIDATES:
        places = places[np.argpartition(-score[places], CANDIDATES)[:CANDIDATES]]
    best = places[np.argsort(-score[places], kind="stable")]
    rows = np.cumsum(index.row_counts(turns.units[best]))
    return np.sort(best[: int(np.searchsorted(rows, CANDIDATE_ROWS, side="right"))])


def late_features(
    index: OwnerIndex, turns: TurnOrder, places: Ints, tokens: Tokens, weights: Floats
) -> Mapping[str, Floats]:
    """`late`, `late_near` (each token where it is best, in the turn or its two neighbours on either side, gated) and
    `late_session` (the best of the session) of the turns at `places`; 0 for all others. None of it without tokens.

    All are times min(1, 80 / words): among the many tokens of a long turn there is one near to anything.
    """
    asked = np.flatnonzero(weights)
    found = _best_cosines(index, turns, places, tokens.vectors[asked], weights[asked]) if len(asked) else None
    if found is None:
        return {}
    own = weights[asked] @ found
    near = found.copy()
    for distance, gate in turns.gates.items():
        at = np.minimum(np.searchsorted(places, places + distance), len(places) - 1)
        beside = np.flatnonzero(places[at] == places + distance)
        near[:, beside] = np.maximum(near[:, beside], gate[places[beside]] * found[:, at[beside]])
    session = np.cumsum(~turns.joined)[places] if len(places) else places
    of_session = np.zeros(int(session.max(initial=0)) + 1, dtype=np.float32)
    np.maximum.at(of_session, session, own)
    features = {}
    for name, values in (("late", own), ("late_near", weights[asked] @ near), ("late_session", of_session[session])):
        features[name] = np.zeros(len(turns.units), dtype=np.float32)
        features[name][places] = np.sqrt(turns.brevity[places]) * values
    return features


def _best_cosines(index: OwnerIndex, turns: TurnOrder, places: Ints, queries: Floats, weights: Floats) -> Floats | None:
    """(query tokens, places): the best cosine of each token in the best chunk of each turn; None where none has any."""
    rows, of_chunk = index.rows_of(turns.units[places])
    levels, counts = index.tokens.levels(rows, queries.shape[1])
    has = counts > 0
    if not has.any():
        return None
    of_chunk, counts = of_chunk[has], counts[has]
    cosines = all_dots(queries, unpack(levels))
    best = np.maximum(np.maximum.reduceat(cosines, np.cumsum(counts) - counts, axis=1), 0.0)
    order = np.argsort(weights @ best, kind="stable")  # the best chunk of a turn is written last
    found = np.zeros((len(queries), len(places)), dtype=np.float32)
    found[:, of_chunk[order]] = best[:, order]
    return found
