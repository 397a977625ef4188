"""What the command line reads: messages from stdin, filters from an option."""

from __future__ import annotations

import json
from typing import Any

from memstrata.errors import FilterError, InputError


def messages_from(text: str) -> Any:
    """Messages from JSON (one or a list), from JSON Lines, or a plain text as one message."""
    stripped = text.strip()
    if not stripped.startswith(("{", "[")):
        return text
    try:
        return json.loads(stripped)
    except json.JSONDecodeError:
        return [_line(number, line) for number, line in enumerate(stripped.splitlines(), 1) if line.strip()]


def _line(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"line {number} is not JSON: {error}") from error


def filter_from(text: str | None) -> dict[str, Any] | None:
    """A filter given as JSON."""
    if text is None:
        return None
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise FilterError(f"--filter is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise FilterError("--filter must be a JSON object")
    return found
