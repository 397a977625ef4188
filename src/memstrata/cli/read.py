"""What the command line reads: messages from a file or standard input, JSON objects from options."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import typer

from memstrata.errors import FilterError, InputError


def messages(text: str | None, file: Path | None, role: str, name: str | None) -> Any:
    """The messages of a call: the text given, those of a file, or of standard input ("-", or no text at all)."""
    if file is not None:
        if text is not None:
            raise typer.BadParameter("give a text or --file, not both")
        return messages_from(_decoded(file.read_bytes(), str(file)))
    if text is None and sys.stdin.isatty():
        raise typer.BadParameter("give a text, --file, or messages on standard input")
    if text is None or text == "-":
        found = messages_from(_decoded(sys.stdin.buffer.read(), "standard input"))
        if not isinstance(found, str):
            return found
        text = found
    message = {"role": role, "content": text}
    return message if name is None else {**message, "name": name}


def _decoded(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{where} is not UTF-8: {error.reason} at byte {error.start}") from error


def messages_from(text: str) -> Any:
    """Messages from JSON (one or a list), from JSON Lines, or a plain text as one message."""
    stripped = text.strip()
    if not stripped.startswith(("{", "[")):
        return stripped
    try:
        return json.loads(stripped)
    except json.JSONDecodeError as error:
        if stripped.startswith("["):
            raise InputError(f"the messages are not JSON: {error}") from error
    return [_line(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]


def _line(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"line {number} is not JSON: {error.msg} at character {error.pos + 1}") from error


def filter_from(text: str | None) -> dict[str, Any] | None:
    """A filter given as JSON."""
    try:
        return object_from(text, "--filter")
    except InputError as error:
        raise FilterError(str(error)) from error


def object_from(text: str | None, option: str) -> dict[str, Any] | None:
    """A JSON object given to an option."""
    if text is None:
        return None
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{option} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise InputError(f'{option} must be a JSON object, such as {{"kind": "plan"}}')
    return found
