"""From a problem document back to the error that the service raised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from memstrata import errors
from memstrata.errors import AccessError, MemstrataError, ServiceError

# What an error of these has besides its message, where the service tells nothing.
DETAILS: Mapping[type[MemstrataError], Mapping[str, Any]] = {
    errors.MessageError: {"index": None, "part": None},
    errors.UndoError: {"blockers": ()},
    errors.LLMUnavailableError: {"retry_after": None, "asked": True},
    errors.MissingExtraError: {"extra": ""},
    AccessError: {"status": 403, "retry_after": None},
    ServiceError: {"status": 502, "retry_after": None},
}


def error_of(status: int, body: bytes) -> MemstrataError:
    """The error that a refused call raises, of the same class as on the other side."""
    try:
        told = orjson.loads(body)
        detail, name = str(told["detail"]), str(told["error"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        told, detail, name = {}, f"the service answered {status} and no problem document; is its address right?", ""
    kind = getattr(errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, MemstrataError)):
        kind = AccessError if status in (401, 403, 429) else ServiceError
    error: MemstrataError = kind.__new__(kind)
    error.args = (detail,)
    for ancestor in reversed(kind.__mro__):
        for attribute, default in DETAILS.get(ancestor, {}).items():
            value = told.get(attribute, default)
            setattr(error, attribute, tuple(value) if isinstance(value, list) else value)
    return error
