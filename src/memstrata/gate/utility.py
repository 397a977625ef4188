"""Utility without an LLM: a small logistic model over named features of a candidate and of what stands around it.

The coefficients are shipped readable in `gate/data/utility.toml`, with how they were fitted. A feature is a number,
mostly 0 or 1, that a person can check by looking at the text; words of three languages lie in `gate/data/cues.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from math import exp, isfinite, log1p
from types import MappingProxyType
from typing import Any

from memstrata.errors import SettingsError
from memstrata.text.names import name_key
from memstrata.text.scripts import UNSPACED
from memstrata.types import KINDS, Candidate, Turn

ESTIMATOR = "utility 2"

_ASCII_WORD = re.compile(r"[a-z0-9']+")
_WORD = re.compile(rf"(?:(?![{UNSPACED}])[\w'])+")
_UNSPACED = re.compile(rf"[{UNSPACED}]")
_ASKS = re.compile(r"[?？]|か。|か$|吗。|吗$|呢。|呢$", re.MULTILINE)
_EXCLAIMS = re.compile(r"[!！]")
_DIGIT = re.compile(r"\d")
_BESIDE = 600  # characters of the turns beside it: the end of the one before, the beginning of the one after
_EXACT = ("minute", "hour", "day")

FEATURES: Mapping[str, str] = MappingProxyType(
    {
        "length": "ln(1 + words of the candidate); two CJK characters count as a word",
        "keywords": "ln(1 + its keywords)",
        "digits": "it has a digit",
        "names": "ln(1 + things it names)",
        "new_names": "ln(1 + things it names that no note near it names)",
        "event_time": "when it happened is known",
        "event_day": "it is known to the day",
        "event_past": "it began before it was told",
        "slot": "it gives a single-valued attribute a value",
        "first_person": "ln(1 + times it says I, my, we, 私, 我)",
        "own": "it speaks of what is mine or ours",
        "self": "it tells what I am, have or do",
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
        "turn_length": "ln(1 + words of the turn it is from)",
        "turn_asks": "that turn asks",
        "turn_first_person": "ln(1 + times that turn says I, my, we)",
        "turn_own": "that turn speaks of what is mine or ours",
        "turn_self": "that turn tells what I am, have or do",
        "turn_image": "an image is shown with it",
        "before_length": "ln(1 + words of the turn before, of its last 600 characters)",
        "before_asks": "the turn before asks",
        "before_you": "the turn before speaks of you",
        "after_length": "ln(1 + words of the turn after, of its first 600 characters)",
        "after_asks": "the turn after asks",
        "after_reacts": "the turn after thanks, congratulates, agrees",
        "last": "nothing follows it in its session",
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
        return 1.0 / (1.0 + exp(-max(-700.0, z)))


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What stands around a candidate when its page is decided on: the turn it is from, those beside it in its session,
    and the names (`text.names.name_key`) in the notes near it. Without a turn the candidate counts as one; what else is
    not there counts as empty."""

    turn: Turn | None = None
    before: Turn | None = None
    after: Turn | None = None
    known_names: frozenset[str] = frozenset()


ALONE = Surroundings()


def estimate_utility(candidate: Candidate, around: Surroundings = ALONE) -> float:
    """How likely the candidate is to be asked for later, in (0, 1). Some 60 microseconds for 25 words."""
    return default_model().estimate(utility_features(candidate, around))


def utility_features(candidate: Candidate, around: Surroundings = ALONE) -> dict[str, float]:
    """The value of each of `FEATURES`, in their order."""
    text = candidate.text.casefold()
    own = _look(text)
    event = candidate.event
    unknown = [name for name in candidate.names if name_key(name) not in around.known_names]
    values = {
        "length": own.length,
        "keywords": log1p(len(candidate.keywords)),
        "digits": float(_DIGIT.search(text) is not None),
        "names": log1p(len(candidate.names)),
        "new_names": log1p(len(unknown)),
        "event_time": float(event is not None),
        "event_day": float(event is not None and event.precision in _EXACT),
        "event_past": float(event is not None and event.start < candidate.said_at),
        "slot": float(candidate.slot is not None),
        "asks": float(candidate.question or own.asks),
        "exclaims": float(_EXCLAIMS.search(text) is not None),
        "negated": float(candidate.negated),
        "hedged": float(candidate.hedged),
        "answers": float(_asks(candidate.context)),
        **{f"kind_{kind}": float(candidate.kind == kind) for kind in KINDS if kind != "fact"},
        **own.cues,
        **_of_surroundings(around, text),
    }
    return {name: values[name] for name in FEATURES}


def _of_surroundings(around: Surroundings, alone: str) -> dict[str, float]:
    turn = _look(alone if around.turn is None else around.turn.indexed_text.casefold())
    before = _look("" if around.before is None else around.before.indexed_text[-_BESIDE:].casefold())
    after = _look("" if around.after is None else around.after.indexed_text[:_BESIDE].casefold())
    return {
        "turn_length": turn.length,
        "turn_asks": turn.asks,
        "turn_first_person": turn.cues["first_person"],
        "turn_own": turn.cues["own"],
        "turn_self": turn.cues["self"],
        "turn_image": float(around.turn is not None and any(part.caption for part in around.turn.parts)),
        "before_length": before.length,
        "before_asks": before.asks,
        "before_you": before.cues["second_person"],
        "after_length": after.length,
        "after_asks": after.asks,
        "after_reacts": after.cues["reaction"],
        "last": float(around.turn is not None and around.after is None),
    }


@dataclass(frozen=True, slots=True)
class _Look:
    """What is seen in a text, whoever it is of."""

    length: float
    asks: float
    cues: Mapping[str, float]


@lru_cache(maxsize=64)  # a turn is looked at for each of its candidates, and for those beside it
def _look(text: str) -> _Look:
    words = _words(text)
    return _Look(log1p(_length(text, words)), float(_asks(text)), _cues_in(text, words))


def _asks(text: str) -> bool:
    return "?" in text if text.isascii() else _ASKS.search(text) is not None


def is_of_listener(text: str) -> bool:
    """Whether a statement speaks of "you" and not of the speaker: what it says, another would know better."""
    found = _look(text.casefold()).cues
    return bool(found["second_person"] and not found["first_person"])


@lru_cache
def default_model() -> UtilityModel:
    """The model that is shipped."""
    return utility_model(tomllib.loads(_data("utility.toml")), "utility.toml")


def utility_model(table: Any, where: str) -> UtilityModel:
    """The model in a table of `intercept` and `coefficients`; SettingsError, naming `where`, when it is none."""
    coefficients = table.get("coefficients") if isinstance(table, Mapping) else None
    if not isinstance(coefficients, Mapping) or set(table) != {"intercept", "coefficients"}:
        raise SettingsError(f"{where}: an intercept and [coefficients] are needed, and nothing else")
    if unknown := sorted(set(coefficients) - set(FEATURES)):
        raise SettingsError(f"{where}: no such features: {', '.join(unknown)}")
    for name, value in {"intercept": table["intercept"], **coefficients}.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise SettingsError(f"{where}: {name} must be a finite number, not {value!r}")
    return UtilityModel(float(table["intercept"]), {name: float(value) for name, value in coefficients.items()})


def _cues_in(text: str, words: Sequence[str]) -> Mapping[str, float]:
    known, folded = frozenset(words), f" {' '.join(words)} "
    values = {name: float(cues.found(text, known, folded)) for name, cues in _cues().items()}
    if values["first_person"]:
        values["first_person"] = log1p(_cues()["first_person"].count(text, words))
    return values


def _words(text: str) -> list[str]:
    """The words of casefolded text in scripts that write spaces, apostrophes straight."""
    plain = text.replace("’", "'")
    return (_ASCII_WORD if plain.isascii() else _WORD).findall(plain)


def _length(text: str, words: Sequence[str]) -> float:
    """Words; of a script without spaces two characters count as one."""
    return len(words) if text.isascii() else len(words) + len(_UNSPACED.findall(text)) / 2


@dataclass(frozen=True)
class _Cues:
    """The cues of a feature: whole words, phrases of whole words, and parts of text without spaces."""

    words: frozenset[str]
    phrases: Mapping[str, tuple[str, ...]]  # by their first word
    parts: tuple[str, ...]

    def found(self, text: str, words: frozenset[str], folded: str) -> bool:
        if not self.words.isdisjoint(words):
            return True
        if any(phrase in folded for first in self.phrases.keys() & words for phrase in self.phrases[first]):
            return True
        return not text.isascii() and any(part in text for part in self.parts)

    def count(self, text: str, words: Sequence[str]) -> int:
        """How often its words, and its parts of text without spaces, occur."""
        parts = 0 if text.isascii() else sum(text.count(part) for part in self.parts)
        return sum(word in self.words for word in words) + parts


@lru_cache
def _cues() -> Mapping[str, _Cues]:
    tables: dict[str, list[str]] = tomllib.loads(_data("cues.toml"))
    return {
        name: _Cues(
            words=frozenset(cue for cue in cues if cue.isascii() and " " not in cue),
            phrases=_by_first_word(cue for cue in cues if cue.isascii() and " " in cue),
            parts=tuple(cue for cue in cues if not cue.isascii()),
        )
        for name, cues in tables.items()
    }


def _by_first_word(phrases: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for phrase in phrases:
        first = phrase.split(" ", 1)[0]
        found[first] = (*found.get(first, ()), f" {phrase} ")
    return found


def _data(name: str) -> str:
    return (files("memstrata.gate") / "data" / name).read_text(encoding="utf-8")
