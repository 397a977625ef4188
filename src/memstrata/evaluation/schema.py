"""Reading JSON of a known schema: what is missing or of another type is an InputError that names the file and place."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from memstrata.errors import InputError
from memstrata.types import Role

_T = TypeVar("_T")
_NAMES: Mapping[type, str] = {dict: "an object", list: "a list", str: "text", int: "a whole number", type(None): "null"}


def read_bytes(path: Path) -> bytes:
    """What a file holds, unpacked when its name ends in .gz. Raises InputError when it cannot be read."""
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except EOFError as error:
        raise InputError(f"{path}: is cut off: {error}") from error


def read_json(path: Path) -> Any:
    """The JSON value in a file. Raises InputError."""
    try:
        return json.loads(read_bytes(path))
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, nested without end
        raise InputError(f"{path}: not a JSON file: {error}") from error


def read_lines(path: Path) -> Iterator[tuple[str, Any]]:
    """("line N", value) of each line of a JSON Lines file that is not blank. Raises InputError."""
    for number, line in enumerate(read_bytes(path).splitlines(), start=1):
        if line.strip():
            try:
                yield f"line {number}", json.loads(line)
            except ValueError as error:
                raise InputError(f"{path}: line {number}: not JSON: {error}") from error


@dataclass(frozen=True, slots=True)
class Schema:
    """Checks values against a schema; `path` and `name` are what its errors call the file and the schema."""

    path: str
    name: str

    def get(self, item: Mapping[str, Any], key: str, kind: type[_T], where: str) -> _T:
        """item[key], which must be there and of this kind."""
        if key not in item:
            raise self.error(where, f"{key!r} is missing")
        return self.of(item[key], kind, f"{where}.{key}")

    def of(self, value: object, kind: type[_T], where: str) -> _T:
        """The value, which must be of this kind."""
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.error(where, f"expected {_NAMES[kind]}, found {_NAMES.get(type(value), type(value).__name__)}")
        return value

    def text(self, item: Mapping[str, Any], key: str, where: str) -> str | None:
        """A text that may be missing; numbers (some answers are years) become text."""
        value = item.get(key)
        if isinstance(value, bool) or not isinstance(value, str | int | float | None):
            raise self.error(f"{where}.{key}", f"expected text, found {type(value).__name__}")
        return None if value is None else str(value)

    def role(self, item: Mapping[str, Any], where: str) -> Role:
        """The role of a message: "user", where it names none, or "assistant"."""
        role = item.get("role", "user")
        if role == "user" or role == "assistant":
            return "user" if role == "user" else "assistant"
        raise self.error(f"{where}.role", f"{role!r} is neither user nor assistant")

    def error(self, where: str, message: str) -> InputError:
        return InputError(f"{self.path}: {where}: {message}; a file of the {self.name} schema is needed")
