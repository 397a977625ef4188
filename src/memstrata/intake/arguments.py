"""Checks of the arguments that many verbs share: each gives the value back, or says what it must be."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import get_args

from memstrata.errors import InputError, LimitError
from memstrata.intake.characters import fault_in_text
from memstrata.types import KINDS, Kind, Trust

MAX_LABELS = 64  # keywords or tags of a note, or of a question
TRUSTS: tuple[Trust, ...] = get_args(Trust)


def flag(value: object, what: str) -> bool:
    """True or False; nothing is taken for one of them."""
    if not isinstance(value, bool):
        raise InputError(f"{what} must be True or False, not {value!r}")
    return value


def seconds(value: object, what: str) -> float:
    """A length of time, not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < inf:
        raise InputError(f"{what} must be a number of seconds, 0 or more, not {value!r:.60}")
    return float(value)


def identifier(value: object, what: str) -> str:
    """The id of a note, a decision or an operation, as it was given out."""
    if not isinstance(value, str):
        raise InputError(f"{what} must be a string, not {type(value).__name__}")
    if fault := fault_in_text(value):
        raise InputError(f"{what} {fault}")
    return value


def words(value: object, what: str, *, limit: int = MAX_LABELS) -> tuple[str, ...]:
    """A list of words or ids, none of them empty."""
    if isinstance(value, str) or not isinstance(value, (Sequence, set, frozenset)):
        raise InputError(f"{what} must be a list of words, not {value!r:.60}")
    if len(value) > limit:
        raise LimitError(f"{what} has {len(value)} items, at most {limit} are taken")
    for item in value:
        if not isinstance(item, str) or not item.strip():
            raise InputError(f"{what} must be a list of words, {item!r:.60} is none")
        if fault := fault_in_text(item):
            raise InputError(f"{what}: {item!r:.60} {fault}")
    return tuple(value)


def kinds_of(value: object) -> tuple[Kind, ...]:
    """Kinds of notes."""
    return tuple(kind_of(kind) for kind in words(value, "kinds"))


def kind_of(value: object) -> Kind:
    """One kind of notes."""
    if value not in KINDS:
        raise InputError(f"no such kind: {value!r:.60} (one of {', '.join(KINDS)})")
    return value


def trust_of(value: object) -> Trust | None:
    """A trust class, or None for that of the role."""
    if value is not None and value not in TRUSTS:
        raise InputError(f"no such trust class: {value!r:.60} (one of {', '.join(TRUSTS)})")
    return value
