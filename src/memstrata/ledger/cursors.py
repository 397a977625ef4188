"""Cursors of lists: the place after which the next page begins, as an opaque text; and the checks of `limit`."""

from __future__ import annotations

import base64
import binascii

import orjson

from memstrata.errors import InputError

MAX_LIMIT = 1000
PASS = "pass the one that the last page gave"
MAX_NUMBER = 2**63 - 1  # as a column holds it


def limit_of(limit: object, most: int = MAX_LIMIT) -> int:
    """How many items a page has at most."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= most:
        raise InputError(f"limit must be a whole number from 1 to {most}, not {limit!r:.60}")
    return limit


def cursor_at(*place: int | str) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(place)).decode()


def place_of(cursor: object, *kinds: type) -> tuple[int | str, ...] | None:
    """The place that a cursor stands for, None without one; InputError when it is none of this list's."""
    if cursor is None:
        return None
    try:
        place = orjson.loads(base64.b64decode(cursor.encode(), altchars=b"-_", validate=True))  # type: ignore[attr-defined]
    except (ValueError, AttributeError, binascii.Error) as error:
        raise InputError(f"cursor {cursor!r:.60} cannot be read: {PASS}") from error
    fits = isinstance(place, list) and [type(each) for each in place] == list(kinds)
    if not fits or any(isinstance(each, int) and not 0 <= each <= MAX_NUMBER for each in place):
        raise InputError(
            f"cursor {cursor!r:.60} stands for no place in this list: pass the one that the last page gave"
        )
    return tuple(place)
