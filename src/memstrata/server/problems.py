"""Errors as problem documents (RFC 9457): `application/problem+json` with a type, a status and what to do.

`error` names the class of `memstrata.errors`, so that a client can raise the same one. No memory text is in them but
what the error's own message quotes of the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson
from starlette.responses import Response

from memstrata import errors
from memstrata.errors import MemstrataError

MEDIA_TYPE = "application/problem+json"
# The first class of an error's ancestry that stands here gives the status.
STATUS: Mapping[type[MemstrataError], int] = {
    errors.LimitError: 413,
    errors.InputError: 422,
    errors.NotFoundError: 404,
    errors.ConflictError: 409,
    errors.StoreFullError: 507,
    errors.StoreBusyError: 503,
    errors.StoreUnreachableError: 503,
    errors.StoreError: 500,
    errors.EmbedderError: 503,
    errors.LLMUnavailableError: 503,
    errors.LLMError: 502,
    errors.SignalError: 503,
    errors.MissingExtraError: 501,
    errors.ClosedError: 503,
    errors.MemstrataError: 500,
}
DETAILS = ("index", "part", "blockers", "extra", "retry_after")  # attributes that tell where, or what to do
RETRY_SECONDS = 1
SCHEMA: Mapping[str, Any] = {
    "title": "Problem",
    "type": "object",
    "required": ["type", "title", "status", "error", "detail"],
    "properties": {
        "type": {"type": "string", "description": "A name for the kind of problem."},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "error": {"type": "string", "description": "The error's class, as in memstrata.errors."},
        "detail": {"type": "string", "description": "What is wrong, where, and what to do."},
        "request_id": {"type": "string"},
        "errors": {"type": "array", "items": {"type": "object"}, "description": "Where the request is wrong."},
    },
}


class HttpError(Exception):
    """A problem that has no class in `memstrata.errors`: of credentials, limits or headers."""

    def __init__(
        self, status: int, error: str, detail: str, *, headers: Mapping[str, str] | None = None, **details: Any
    ) -> None:
        super().__init__(detail)
        self.status, self.error, self.detail = status, error, detail
        self.headers, self.details = dict(headers or {}), details


def status_of(error: MemstrataError) -> int:
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def problem(
    status: int, error: str, detail: str, *, headers: Mapping[str, str] | None = None, **details: Any
) -> Response:
    """A problem document as a response."""
    words = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in error.removesuffix("Error"))
    body = {
        "type": f"urn:memstrata:problem:{words.strip('-').replace('l-l-m', 'llm')}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "error": error,
        "detail": detail,
        **{name: value for name, value in details.items() if value is not None},
    }
    return Response(orjson.dumps(body), status, dict(headers or {}), MEDIA_TYPE)


def problem_of(error: MemstrataError, *, status: int | None = None, request_id: str | None = None) -> Response:
    """One of our errors as a response. What it raised from stays inside."""
    status = status_of(error) if status is None else status
    details = {name: getattr(error, name, None) for name in DETAILS}
    headers = {}
    if status == 503:
        headers["Retry-After"] = str(max(RETRY_SECONDS, int(details["retry_after"] or RETRY_SECONDS)))
    detail = str(error)
    if isinstance(error, errors.StoreError):  # its message names the file: that is the operator's to read
        detail = (type(error).__doc__ or "").strip().splitlines()[0]
    return problem(status, type(error).__name__, detail, headers=headers, request_id=request_id, **details)
