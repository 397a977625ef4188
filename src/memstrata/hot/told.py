"""A read kept: what a store answered to a function, so that the function can be run again without the store."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from memstrata.store.base import Db, Row

Answers = dict[str, tuple[list[str], list[list[Any]]]]  # by statement and parameters: names of columns, rows


class Untold(LookupError):
    """A question that was not asked when the answers were kept."""


def _name(sql: str, params: Sequence[object]) -> str:
    return hashlib.blake2b(orjson.dumps([sql, list(params)]), digest_size=12).hexdigest()


class Recording:
    """One transaction whose answers are kept; implements `Db` for reading."""

    def __init__(self, db: Db) -> None:
        self._db = db
        self.answers: Answers = {}

    def all(self, sql: str, params: Sequence[object] = ()) -> list[Row]:
        rows = self._db.all(sql, params)
        names = list(rows[0].keys()) if rows else []
        self.answers[_name(sql, params)] = (names, [list(row) for row in rows])
        return rows

    def one(self, sql: str, params: Sequence[object] = ()) -> Row | None:
        rows = self.all(sql, params)
        return rows[0] if rows else None

    def run(self, sql: str, params: Sequence[object] = ()) -> int:
        raise TypeError("what is kept is read, never written")

    def many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        raise TypeError("what is kept is read, never written")


class Told(Recording):
    """The answers again. Raises Untold for a question that was not asked then."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self._told = answers

    def all(self, sql: str, params: Sequence[object] = ()) -> list[Row]:
        found = self._told.get(_name(sql, params))
        if found is None:
            raise Untold(sql)
        names, rows = found
        return [_ToldRow(zip(names, row)) for row in rows]


class _ToldRow(dict[str, Any]):
    """A row by column name."""
