"""Fusion: features to one score in [0, 1] for turns, notes and pages; the coefficients are in data/fusion.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from memstrata.index.owner import OwnerIndex
from memstrata.presets import LEGS, LegName
from memstrata.recall.legs import Legs
from memstrata.store.kinds import NOTE, PAGE

Floats = NDArray[np.float32]
OWN_COVERAGE = ("coverage", "coverage_near", "coverage_around")
OWN_COSINE = ("cosine", "cosine_before", "cosine_after", "cosine_before_two")
FEATURES_OF: Mapping[LegName, tuple[str, ...]] = {
    "dense": (*OWN_COSINE, "asked_cosine"),
    "lexical": (*OWN_COVERAGE, "asked_coverage"),
    "neighbours": (*OWN_COVERAGE[1:], *OWN_COSINE[1:], "asked_cosine", "asked_coverage", "late_near"),
    "speaker": ("speaker",),
    "time": ("month", "year", "day", "range", "time_word"),
    "names": ("proper_noun",),
    "pages": ("page",),
    "late": ("late", "late_near", "late_session"),
}
"""The features that count only when a leg is on; those of two legs need both."""


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
def fusion(legs: Sequence[LegName] = LEGS, *, late: bool = False) -> Fusion:
    """The model as fitted, with late interaction or without, the coefficients of the legs that are off at 0."""
    data = tomllib.loads((files("memstrata.recall") / "data" / "fusion.toml").read_text(encoding="utf-8"))
    if late:
        data = data["late"]
    off = {feature for leg, features in FEATURES_OF.items() if leg not in legs for feature in features}
    coefficients = {name: 0.0 if name in off else value for name, value in data["coefficients"].items()}
    return Fusion(coefficients, data["probability"]["scale"], data["probability"]["bias"])


def model_of(features: Mapping[str, Floats], on: Sequence[LegName]) -> Fusion:
    """The model that these features of turns were made for."""
    return fusion(tuple(on), late="late" in features)


def turn_scores(features: Mapping[str, Floats], count: int, on: Sequence[LegName] = LEGS) -> Floats:
    """The sum of the features of `count` turns, each times its coefficient."""
    coefficient = model_of(features, on).coefficients
    scores = np.zeros(count, dtype=np.float32)
    for name, values in features.items():
        scores += coefficient[name] * values
    return scores


def fuse(index: OwnerIndex, legs: Legs, turns: Floats, weight: Floats, on: Sequence[LegName] = LEGS) -> Floats:
    """The raw score of every unit, by unit number; `turns` has that of the turns.

    A turn has the sum of its features. A note has what it would have alone, or, as the best note of a turn, the score
    of that turn, where the leg "neighbours" is among those that are `on`. A page has what it would have alone; it
    counts through its turns.
    """
    coefficient = model_of(legs.features, on).coefficients
    raw = np.full(index.count + 1, -np.inf, dtype=np.float32)
    raw[legs.turns.units] = turns
    alone = np.zeros(index.count + 1, dtype=np.float32)
    alone += sum(coefficient[name] for name in OWN_COVERAGE) * legs.coverage
    alone += sum(coefficient[name] for name in OWN_COSINE) * np.maximum(legs.cosine, 0.0)
    meta = index.meta
    pages = np.flatnonzero(meta["kind"] == PAGE)
    raw[pages] = alone[pages]
    notes = np.flatnonzero(meta["kind"] == NOTE)
    raw[notes] = alone[notes] * weight[notes]
    if "neighbours" in on:
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
