"""A recall as it was asked for: its arguments checked, and the cursors between its pages."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memstrata.engine import Engine
from memstrata.errors import FilterError, InputError
from memstrata.intake.arguments import flag, kinds_of, words
from memstrata.intake.times import parse_time, zone
from memstrata.recall.filters import Check, compile_filter
from memstrata.recall.rank import View
from memstrata.store.rows import dump
from memstrata.types import Kind

MAX_K = 1000
MAX_QUERY = 20_000  # characters


@dataclass(frozen=True, slots=True)
class Ask:
    """A recall as it was asked for, checked."""

    query: str
    k: int
    check: Check | None
    view: View
    kinds: tuple[Kind, ...]
    tags: tuple[str, ...]
    min_score: float
    offset: int
    now: datetime
    digest: str
    more_words: str = ""  # that a model added to the query

    @property
    def searched(self) -> str:
        """What is looked for."""
        return f"{self.query} {self.more_words}".rstrip()


def make_ask(
    engine: Engine,
    query: str,
    *,
    k: int = 10,
    filters: Mapping[str, Any] | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    as_of: datetime | str | None = None,
    known_at: datetime | str | None = None,
    kinds: Sequence[Kind] | None = None,
    tags: Sequence[str] | None = None,
    include_superseded: bool = False,
    min_score: float = 0.0,
    cursor: str | None = None,
    now: datetime | str | None = None,
    tz: str | None = None,
) -> Ask:
    """Check the arguments of a recall; InputError (or one of its kinds) names the one that cannot be taken."""
    query = clean_query(query)
    if not query.strip():
        raise InputError("query must be a text that is not empty")
    if len(query) > MAX_QUERY:
        raise InputError(f"query has {len(query)} characters, at most {MAX_QUERY} are taken: ask for less at once")
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MAX_K:
        raise InputError(f"k must be a whole number from 1 to {MAX_K}, not {k!r}")
    if isinstance(min_score, bool) or not isinstance(min_score, int | float) or not 0 <= min_score <= 1:
        raise InputError(f"min_score must lie between 0 and 1, not {min_score!r}")
    kinds = None if kinds is None else kinds_of(kinds)
    tags = None if tags is None else words(tags, "tags")
    flag(include_superseded, "include_superseded")
    check = compile_filter(filters)
    zone_name = tz or engine.settings.tz
    times: dict[str, Any] = {
        name: None if value is None else parse_time(value, tz=zone_name, what=name)
        for name, value in (("since", since), ("until", until), ("as_of", as_of), ("known_at", known_at))
    }
    asked_at = engine.now() if now is None else parse_time(now, tz=zone_name, what="now")
    if zone_name is not None:
        asked_at = asked_at.astimezone(zone(zone_name))
    view = View(
        **times,
        include_superseded=include_superseded,
        notes_only=bool(kinds or tags) or "transcript" not in engine.settings.legs,
        turns_only="notes" not in engine.settings.legs,
    )
    digest = _digest(query, filters, times, kinds, tags, include_superseded, min_score)
    return Ask(
        query=query,
        k=k,
        check=check,
        view=view,
        kinds=tuple(kinds or ()),
        tags=tuple(tag.casefold() for tag in tags or ()),
        min_score=float(min_score),
        offset=_offset(cursor, digest),
        now=asked_at,
        digest=digest,
    )


def clean_query(query: object) -> str:
    """The query with what no model takes replaced: null bytes, lone surrogates."""
    if not isinstance(query, str):
        raise InputError(f"query must be a text, not {type(query).__name__}")
    return query.replace("\0", " ").encode("utf-8", "replace").decode()


def _digest(*asked: object) -> str:
    """What tells whether a cursor belongs to this query."""
    try:
        return hashlib.blake2b(dump(asked).encode(), digest_size=8).hexdigest()
    except TypeError as error:  # all else was checked
        raise FilterError(f"filters hold what is not JSON: {error}") from error


def _offset(cursor: str | None, digest: str) -> int:
    if cursor is None:
        return 0
    try:
        data = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        offset, made_for = int(data["o"]), str(data["d"])
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as error:
        raise InputError(f"cursor {cursor!r} cannot be read: pass the one that the last page gave") from error
    if made_for != digest or offset < 0:
        raise InputError("this cursor belongs to another query: start again without it")
    return offset


def cursor_of(offset: int | None, digest: str) -> str | None:
    if offset is None:
        return None
    return base64.urlsafe_b64encode(json.dumps({"o": offset, "d": digest}).encode()).decode()
