"""Fusion: features to one score in [0, 1] for turns, notes and pages; the coefficients are in data/fusion.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from memstrata.index.owner import OwnerIndex
from memstrata.recall.legs import Legs
from memstrata.store.kinds import NOTE, PAGE

Floats = NDArray[np.float32]
OWN_COVERAGE = ("coverage", "coverage_near", "coverage_around")
OWN_COSINE = ("cosine", "cosine_before", "cosine_after", "cosine_before_two")


@dataclass(frozen=True, slots=True)
class Fusion:
    """The coefficients, and the scale and bias that make a probability of their sum."""

    coefficients: Mapping[str, float]
    scale: float
    bias: float

    def probability(self, raw: Floats) -> Floats:
        logit = np.clip(self.scale * raw + self.bias, -60.0, 60.0)
        return np.asarray(1.0 / (1.0 + np.exp(-logit)), dtype=np.float32)


@lru_cache
def fusion() -> Fusion:
    data = tomllib.loads((files("memstrata.recall") / "data" / "fusion.toml").read_text(encoding="utf-8"))
    return Fusion(data["coefficients"], data["probability"]["scale"], data["probability"]["bias"])


def fuse(index: OwnerIndex, legs: Legs, weight: Floats) -> Floats:
    """The raw score of every unit, by unit number.

    A turn has the sum of its features. A note has what it would have alone, or, as the best note of a turn, the score
    of that turn. A page has what it would have alone; it counts through its turns.
    """
    model = fusion()
    coefficient = model.coefficients
    raw = np.full(index.count + 1, -np.inf, dtype=np.float32)
    turns = np.zeros(len(legs.turns.units), dtype=np.float32)
    for name, values in legs.features.items():
        turns += coefficient[name] * values
    raw[legs.turns.units] = turns
    alone = np.zeros(index.count + 1, dtype=np.float32)
    alone += sum(coefficient[name] for name in OWN_COVERAGE) * legs.coverage
    alone += sum(coefficient[name] for name in OWN_COSINE) * np.maximum(legs.cosine, 0.0)
    meta = index.meta
    pages = np.flatnonzero(meta["kind"] == PAGE)
    raw[pages] = alone[pages]
    notes = np.flatnonzero(meta["kind"] == NOTE)
    raw[notes] = alone[notes] * weight[notes]
    _lift_best_notes(index, raw, alone, weight)
    return raw


def _lift_best_notes(index: OwnerIndex, raw: Floats, alone: Floats, weight: Floats) -> None:
    """Give each turn's score to the note, of those that may be seen, that says best what the query asks of it."""
    notes, turns = index.evidence_pairs()
    if not len(notes):
        return
    seen = weight[notes] > 0
    notes, turns = notes[seen], turns[seen]
    best = np.full(index.count + 1, -np.inf, dtype=np.float32)
    np.maximum.at(best, turns, alone[notes])
    lifted = alone[notes] >= best[turns]
    np.maximum.at(raw, notes[lifted], raw[turns[lifted]])
