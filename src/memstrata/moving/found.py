"""What a reader finds in another system's files: statements, messages, and what it could not read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memstrata.errors import InputError

LARGEST = 2_000_000_000  # bytes of one file; a larger one is no store of these programs


@dataclass(frozen=True, slots=True)
class Place:
    """Whose an item is, as its own system names it; None where the file does not tell."""

    user: str | None = None
    agent: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """A memory as the other system kept it: it becomes a candidate, and a note if the gate admits it.

    `at` is its own time as written there; `metadata` is kept with the note, the other system's id under `source_id`.
    """

    id: str
    text: str
    place: Place
    at: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a conversation that the other system kept as it was said."""

    id: str
    role: str
    text: str
    place: Place
    at: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Unread:
    """Something that was not taken over: where it stands, and why."""

    where: str
    why: str


@dataclass(slots=True)
class Found:
    """All that a reader found, in the order of the files."""

    statements: list[Statement] = field(default_factory=list)
    messages: list[Said] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)

    @property
    def items(self) -> list[Said | Statement]:
        return [*self.messages, *self.statements]

    def skip(self, where: str, why: str) -> None:
        self.unread.append(Unread(where, why))

    def check(self, path: Path, looked_for: str) -> Found:
        """Itself; InputError when it holds nothing at all."""
        if not (self.statements or self.messages or self.unread):
            raise InputError(f"{path}: nothing to move in here; looked for {looked_for}")
        return self


def read_text(path: Path) -> str:
    """The text of a file; InputError when it cannot be read or is no UTF-8."""
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path} has more than {LARGEST:,} bytes: split it")
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no UTF-8 text ({error.reason})") from error


def read_json(path: Path) -> Any:
    """The JSON of a file; InputError says where it is none."""
    try:
        return json.loads(read_text(path))
    except RecursionError as error:
        raise InputError(f"{path} is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: line {error.lineno}, column {error.colno} is no JSON: {error.msg}") from error


def is_sqlite(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(16) == b"SQLite format 3\0"


def text_of(value: object) -> str | None:
    """A string with something in it, else None."""
    return value if isinstance(value, str) and value.strip() else None


def name_of(value: object) -> str | None:
    """An id: a string or a number, else None."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    return str(value).strip() or None


def words_of(value: object) -> tuple[str, ...]:
    """A list of words, also where it was stored as JSON in a string."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except json.JSONDecodeError:
            value = [value]
    if not isinstance(value, list):
        return ()
    return tuple(dict.fromkeys(each.strip() for each in value if isinstance(each, str) and each.strip()))
