"""Utility without an LLM: a small logistic model over named features of a candidate.

The coefficients are shipped readable in `gate/data/utility.toml`, with how they were fitted. A feature is a number,
mostly 0 or 1, that a person can check by looking at the text; words of three languages lie in `gate/data/cues.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from math import exp, log1p
from types import MappingProxyType

from memstrata.text.scripts import UNSPACED
from memstrata.types import KINDS, Candidate

ESTIMATOR = "utility 1"

_ASCII_WORD = re.compile(r"[a-z0-9']+")
_WORD = re.compile(rf"(?:(?![{UNSPACED}])[\w'])+")
_UNSPACED = re.compile(rf"[{UNSPACED}]")
_ASKS = re.compile(r"[?？]|か。|か$|吗。|吗$|呢。|呢$", re.MULTILINE)
_EXCLAIMS = re.compile(r"[!！]")
_DIGIT = re.compile(r"\d")

FEATURES: Mapping[str, str] = MappingProxyType(
    {
        "length": "ln(1 + words of the candidate); two CJK characters count as a word",
        "digits": "it has a digit",
        "names": "ln(1 + things it names)",
        "event_time": "when it happened is known",
        "slot": "it gives a single-valued attribute a value",
        "first_person": "it speaks of I, my, we, 私, 我",
        "family": "it speaks of a relative, partner, friend or pet",
        "experience": "it tells what somebody did, got, made, lost, joined",
        "taste": "it tells what somebody likes, loves, hates, prefers",
        "reaction": "it thanks, greets, congratulates, agrees or wishes well",
        "second_person": "it speaks of you",
        "asks": "it asks",
        "exclaims": "it exclaims",
        "negated": "it denies",
        "hedged": "it is hedged",
        "answers": "its context is a question that it answers",
        **{f"kind_{kind}": f"it is of the kind {kind}" for kind in KINDS if kind != "fact"},
    }
)
"""Every feature with what it means. A kind counts beside "fact", which has none."""


@dataclass(frozen=True)
class UtilityModel:
    """ln(p / (1 - p)) = intercept + sum of coefficient * feature; p is the utility."""

    intercept: float
    coefficients: Mapping[str, float]

    def estimate(self, values: Mapping[str, float]) -> float:
        """The utility in (0, 1) of a candidate with these features."""
        z = self.intercept + sum(weight * values[name] for name, weight in self.coefficients.items())
        return 1.0 / (1.0 + exp(-z))


def estimate_utility(candidate: Candidate) -> float:
    """How likely the candidate is to be asked for later, in (0, 1). Some 30 microseconds for 25 words."""
    return default_model().estimate(utility_features(candidate))


def utility_features(candidate: Candidate) -> dict[str, float]:
    """The value of each of `FEATURES`, in their order."""
    text = candidate.text.casefold()
    values = {
        "length": log1p(_length(text)),
        "digits": float(_DIGIT.search(text) is not None),
        "names": log1p(len(candidate.names)),
        "event_time": float(candidate.event is not None),
        "slot": float(candidate.slot is not None),
        "asks": float(candidate.question or _ASKS.search(text) is not None),
        "exclaims": float(_EXCLAIMS.search(text) is not None),
        "negated": float(candidate.negated),
        "hedged": float(candidate.hedged),
        "answers": float(_ASKS.search(candidate.context) is not None),
        **{f"kind_{kind}": float(candidate.kind == kind) for kind in KINDS if kind != "fact"},
        **_cues_in(text),
    }
    return {name: values[name] for name in FEATURES}


def is_of_listener(text: str) -> bool:
    """Whether a statement speaks of "you" and not of the speaker: what it says, another would know better."""
    found = _cues_in(text.casefold())
    return bool(found["second_person"] and not found["first_person"])


@lru_cache
def default_model() -> UtilityModel:
    """The model that is shipped."""
    table = tomllib.loads(_data("utility.toml"))
    return UtilityModel(intercept=table["intercept"], coefficients=table["coefficients"])


@lru_cache(maxsize=16)  # the same candidate is looked at from several sides
def _cues_in(text: str) -> Mapping[str, float]:
    words = _words(text)
    known, folded = frozenset(words), f" {' '.join(words)} "
    return {name: float(cues.found(text, known, folded)) for name, cues in _cues().items()}


def _words(text: str) -> list[str]:
    """The words of casefolded text in scripts that write spaces, apostrophes straight."""
    plain = text.replace("’", "'")
    return (_ASCII_WORD if plain.isascii() else _WORD).findall(plain)


def _length(text: str) -> float:
    """Words; of a script without spaces two characters count as one."""
    words = _words(text)
    return len(words) if text.isascii() else len(words) + len(_UNSPACED.findall(text)) / 2


@dataclass(frozen=True)
class _Cues:
    """The cues of a feature: whole words, phrases of whole words, and parts of text without spaces."""

    words: frozenset[str]
    phrases: tuple[str, ...]
    parts: tuple[str, ...]

    def found(self, text: str, words: frozenset[str], folded: str) -> bool:
        if not self.words.isdisjoint(words) or any(phrase in folded for phrase in self.phrases):
            return True
        return not text.isascii() and any(part in text for part in self.parts)


@lru_cache
def _cues() -> Mapping[str, _Cues]:
    tables: dict[str, list[str]] = tomllib.loads(_data("cues.toml"))
    return {
        name: _Cues(
            words=frozenset(cue for cue in cues if cue.isascii() and " " not in cue),
            phrases=tuple(f" {cue} " for cue in cues if cue.isascii() and " " in cue),
            parts=tuple(cue for cue in cues if not cue.isascii()),
        )
        for name, cues in tables.items()
    }


def _data(name: str) -> str:
    return (files("memstrata.gate") / "data" / name).read_text(encoding="utf-8")
