"""Filters on fields and metadata: {"kind": "preference"}, {"metadata.lang": {"in": ["en", "ja"]}}, AND, OR, NOT.

Operators: eq ne in nin gt gte lt lte contains. Times may be datetimes or ISO strings of any offset: instants are
compared. A bare value means eq; several keys in one mapping are joined by AND. A name that is no field of hits is
looked up in the metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from memstrata.errors import FilterError, TimeError
from memstrata.intake.times import parse_time
from memstrata.types import KINDS, Note, Turn

Check = Callable[[Mapping[str, Any]], bool]
FIELDS = (
    "id kind text speaker role session agent tags keywords names pinned trust language state position at event_start"  # noqa: SIM905
    " event_end valid_from valid_to recorded_at last_access hit".split()
)
TIMES = ("at", "event_start", "event_end", "valid_from", "valid_to", "recorded_at", "last_access")
MAX_DEPTH = 10


def note_fields(note: Note) -> dict[str, Any]:
    """What a filter sees of a note."""
    return {
        "hit": "note",
        "id": note.id,
        "kind": note.kind,
        "text": note.content,
        "speaker": note.speaker,
        "role": None,
        "session": note.session,
        "agent": note.agent,
        "tags": list(note.tags),
        "keywords": list(note.keywords),
        "names": list(note.names),
        "pinned": note.pinned,
        "trust": note.trust,
        "language": note.language,
        "state": note.state,
        "position": None,
        "at": note.said_at,
        "event_start": note.event.start if note.event else None,
        "event_end": note.event.end if note.event else None,
        "valid_from": note.valid_from,
        "valid_to": note.valid_to,
        "recorded_at": note.recorded_at,
        "last_access": note.last_access,
        "metadata": note.metadata,
    }


def turn_fields(turn: Turn) -> dict[str, Any]:
    """What a filter sees of a turn."""
    blank: dict[str, Any] = dict.fromkeys(FIELDS)
    return {
        **blank,
        "hit": "turn",
        "id": turn.id,
        "text": turn.indexed_text,
        "speaker": turn.speaker,
        "role": turn.role,
        "session": turn.session,
        "agent": turn.agent,
        "tags": [],
        "keywords": [],
        "names": [],
        "pinned": False,
        "trust": turn.trust,
        "state": "current",
        "position": turn.position,
        "at": turn.at,
        "recorded_at": turn.recorded_at,
        "metadata": turn.metadata,
    }


def compile_filter(filters: Mapping[str, Any] | None) -> Check | None:
    """A filter as a function of the fields; FilterError says which key cannot be read."""
    if filters is None:
        return None
    return _all(filters, "filters", 0)


def _all(filters: object, where: str, depth: int) -> Check:
    if depth > MAX_DEPTH:
        raise FilterError(f"{where}: nested deeper than {MAX_DEPTH}")
    if not isinstance(filters, Mapping) or not filters:
        raise FilterError(f"{where} must be a mapping that is not empty, not {filters!r}")
    checks = [_one(str(name), wanted, where, depth) for name, wanted in filters.items()]
    return lambda fields: all(check(fields) for check in checks)


def _one(name: str, wanted: object, where: str, depth: int) -> Check:
    here = f"{where}.{name}"
    if name in ("AND", "OR"):
        if not isinstance(wanted, Sequence) or isinstance(wanted, str) or not wanted:
            raise FilterError(f"{here} takes a list of filters that is not empty")
        parts = [_all(item, f"{here}[{n}]", depth + 1) for n, item in enumerate(wanted)]
        if name == "AND":
            return lambda fields: all(part(fields) for part in parts)
        return lambda fields: any(part(fields) for part in parts)
    if name == "NOT":
        inner = _all(wanted, here, depth + 1)
        return lambda fields: not inner(fields)
    if name.startswith("$"):
        raise FilterError(f"{here}: no field begins with $; write AND, OR, NOT, and operators as eq, in, gte")
    get = _getter(name)
    if not isinstance(wanted, Mapping):
        wanted = {"eq": wanted}
    if not wanted:
        raise FilterError(f"{here}: no operator; known: {', '.join(OPERATORS)}")
    checks = [_operator(get, operator, value, here, name) for operator, value in wanted.items()]
    return lambda fields: all(check(fields) for check in checks)


def _getter(name: str) -> Callable[[Mapping[str, Any]], Any]:
    if name in FIELDS:
        return lambda fields: fields[name]
    path = name.removeprefix("metadata.").split(".")
    if not all(path):
        raise FilterError(f"filters: {name!r} names no field and no metadata")

    def metadata(fields: Mapping[str, Any]) -> Any:
        value: Any = fields["metadata"]
        for step in path:
            if not isinstance(value, Mapping) or step not in value:
                return None
            value = value[step]
        return value

    return metadata


def _operator(get: Callable[[Mapping[str, Any]], Any], operator: object, wanted: Any, where: str, name: str) -> Check:
    if operator not in OPERATORS:
        raise FilterError(f"{where}: no operator {operator!r}; known: {', '.join(OPERATORS)}")
    operator = str(operator)
    if operator in ("in", "nin") and (isinstance(wanted, str) or not isinstance(wanted, Sequence)):
        raise FilterError(f"{where}.{operator} takes a list, not {wanted!r}")
    if name == "kind" and operator in ("eq", "ne", "in", "nin"):
        for kind in wanted if operator in ("in", "nin") else [wanted]:
            if kind is not None and kind not in KINDS:
                raise FilterError(f"{where}: {kind!r} is no kind; known: {', '.join(KINDS)}")
    if name in TIMES:
        if operator == "contains":
            raise FilterError(f"{where}: a time contains nothing; use gte and lt")
        wanted = [_instant(item, where) for item in wanted] if operator in ("in", "nin") else _instant(wanted, where)
    compare = OPERATORS[operator]
    return lambda fields: compare(get(fields), wanted)


def _instant(value: Any, where: str) -> datetime | None:
    if value is None:
        return None
    try:
        return parse_time(value, what=where)
    except TimeError as error:
        raise FilterError(str(error)) from error


def _ordered(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Compare what can be compared; a missing value or another type is never in range."""

    def compare(have: Any, wanted: Any) -> bool:
        if have is None or wanted is None or isinstance(have, bool) != isinstance(wanted, bool):
            return False
        try:
            return test(have, wanted)
        except TypeError:
            return False

    return compare


def _contains(have: Any, wanted: Any) -> bool:
    """A part of a text, an item of a list or a key of a mapping; letter case does not count, as for tags."""
    if isinstance(have, str):
        return isinstance(wanted, str) and wanted.casefold() in have.casefold()
    return isinstance(have, Sequence | Mapping) and any(_folded(item) == _folded(wanted) for item in have)


def _folded(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value


OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": lambda have, wanted: bool(have == wanted),
    "ne": lambda have, wanted: bool(have != wanted),
    "in": lambda have, wanted: have in wanted,
    "nin": lambda have, wanted: have not in wanted,
    "gt": _ordered(lambda have, wanted: have > wanted),
    "gte": _ordered(lambda have, wanted: have >= wanted),
    "lt": _ordered(lambda have, wanted: have < wanted),
    "lte": _ordered(lambda have, wanted: have <= wanted),
    "contains": _contains,
}
