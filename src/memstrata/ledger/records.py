"""Between rows of the tables and lines of an export: the fields of each record, their order, their names and types.

An export is JSON Lines: a header, then for each owner its own line and its rows, then a line that counts them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from memstrata.errors import InputError
from memstrata.store.base import Row
from memstrata.store.rows import dump, from_us, to_us

FORMAT, VERSION = "memstrata", 1
HEADER: Mapping[str, Any] = {"type": "header", "format": FORMAT, "version": VERSION}

# Columns whose names are short in the tables and plain in an export.
PLAIN_NAMES: Mapping[str, str] = {
    "no": "number",
    "n": "place",
    "op": "operation",
    "tbl": "table",
    "ref": "row",
    "h": "heat",
    "h_tick": "heat_tick",
    "at_offset": "at_offset_minutes",
    "rate": "forgetting_rate",
    "type": "kind",  # of a link; "type" is that of the line
}
TYPES: Mapping[str, tuple[type, ...]] = {"text": (str,), "int": (int,), "flag": (bool,), "real": (float, int)}
COLUMN_TYPE: Mapping[str, Callable[[Any], Any]] = {"text": str, "int": int, "flag": int, "real": float}
INT_LIMIT = 2**63


@dataclass(frozen=True, slots=True)
class Field:
    """A column and what it is in an export: text, int, real, flag (0/1), time (microseconds) or json (a JSON text)."""

    column: str
    name: str
    kind: str
    optional: bool

    def write(self, value: Any) -> Any:
        if value is None or self.kind in ("text", "int", "real"):
            return value
        if self.kind == "flag":
            return bool(value)
        if self.kind == "time":
            return from_us(value).isoformat()
        return orjson.loads(value) if value else None

    def read(self, value: Any) -> Any:
        """The column's value; InputError when it is of another type."""
        if value is None:
            if self.optional:
                return None
            if self.column in EMPTY_JSON:
                return ""
            raise InputError(f"{self.name!r} is missing")
        if self.kind == "json":
            return dump(value)
        if self.kind == "time":
            return self._time(value)
        fits = isinstance(value, TYPES[self.kind]) and isinstance(value, bool) == (self.kind == "flag")
        if not fits or (self.kind == "int" and not -INT_LIMIT <= value < INT_LIMIT):
            raise InputError(f"{self.name!r} cannot be {value!r}: {self.kind} is expected")
        return COLUMN_TYPE[self.kind](value)

    def _time(self, value: Any) -> int:
        try:
            return to_us(datetime.fromisoformat(value))
        except (TypeError, ValueError) as error:  # no text, no time, or one without an offset
            raise InputError(
                f"{self.name!r} cannot be {value!r}: an ISO 8601 time with an offset is expected"
            ) from error


EMPTY_JSON = frozenset({"drafts"})  # JSON columns that hold '' for nothing


def _fields(spec: str) -> tuple[Field, ...]:
    """Fields from words like "page:int?": a column, its kind, "?" when it may be missing."""
    fields = []
    for word in spec.split():
        column, kind = word.split(":")
        fields.append(Field(column, PLAIN_NAMES.get(column, column), kind.rstrip("?"), kind.endswith("?")))
    return tuple(fields)


@dataclass(frozen=True, slots=True)
class Record:
    """One kind of line: its table, the columns that order its lines, and its fields."""

    type: str
    table: str
    order: tuple[str, ...]
    fields: tuple[Field, ...]

    def line(self, row: Row) -> bytes:
        values = {field.name: field.write(row[field.column]) for field in self.fields}
        return to_line({"type": self.type, **{name: value for name, value in values.items() if value is not None}})

    def row(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """The columns of a line. Raises InputError for a field that is missing, unknown or of another type."""
        known = {field.name for field in self.fields}
        if unknown := sorted(data.keys() - known - {"type"}):
            raise InputError(f"a {self.type} has no {unknown[0]!r}")
        return {field.column: field.read(data.get(field.name)) for field in self.fields}


def _record(kind: str, table: str, order: str, spec: str) -> Record:
    return Record(kind, table, tuple(order.split()), _fields(spec))


# In the order of an export. What is missing of `owners` is derived, or belongs to a running process (leases).
OWNER = _record(
    "owner",
    "owners",
    "owner",
    "seq:int next_turn:int next_page:int next_note:int next_job:int purged:int",
)
RECORDS: Sequence[Record] = (
    _record("scope", "scopes", "agent", "agent:text tick:int newest_at:time"),
    _record(
        "session",
        "sessions",
        "agent session",
        "agent:text session:text next_position:int hot:int state:text started_at:time last_at:time last_recorded:time",
    ),
    _record(
        "turn",
        "turns",
        "no",
        "no:int agent:text session:text position:int id:text? role:text speaker:text? text:text parts:json?"
        " metadata:json? at:time at_offset:int recorded_at:time trust:text tier:text page:int? is_source:flag"
        " hidden:int op:text",
    ),
    _record(
        "page",
        "pages",
        "no",
        "no:int agent:text session:text first:int last:int summary:text drafts:json state:text h:real h_tick:int"
        " cools_at:int recalls:int due_at:time? started_at:time ended_at:time op:text",
    ),
    _record(
        "note",
        "notes",
        "no",
        "no:int id:text agent:text session:text state:text revision:int content:text context:text keywords:json"
        " tags:json names:json speaker:text? kind:text language:text trust:text negated:flag statement:text"
        " subject:text? attribute:text? value:text? event_start:time? event_end:time? event_precision:text?"
        " said_at:time valid_from:time valid_to:time? recorded_at:time closed_at:time? last_access:time rate:real"
        " forgets_at:time? pinned:flag superseded_by:text? decision:text? edited:json metadata:json? op:text",
    ),
    _record("evidence", "evidence", "note turn", "note:int turn:int"),
    _record("link", "links", "source target type", "source:int target:int type:text score:real reason:text op:text"),
    _record("name", "names", "name note", "name:text note:int"),
    _record(
        "decision",
        "decisions",
        "op n id",
        "id:text op:text n:int page:int? turn:int? note:text? outcome:text score:real? theta:real body:json"
        " decided_at:time",
    ),
    _record(
        "feedback",
        "feedback",
        "decision",
        "decision:text accept:flag reason:text? note:text? at:time op:text",
    ),
    _record(
        "operation",
        "operations",
        "seq",
        "id:text seq:int verb:text agent:text session:text at:time payload:json receipt:json idempotency_key:text?"
        " digest:text? undone_by:text?",
    ),
    _record("change", "changes", "op n", "op:text n:int tbl:text ref:text before:json? after:json?"),
    _record(
        "job",
        "jobs",
        "no",
        "no:int kind:text agent:text payload:json op:text state:text attempts:int run_after:time error:text?",
    ),
    _record("served", "served", "agent session note", "agent:text session:text note:int"),
)
BY_TYPE: Mapping[str, Record] = {record.type: record for record in RECORDS}


def to_line(data: Mapping[str, Any]) -> bytes:
    return orjson.dumps(data) + b"\n"


def owner_line(owner: str, row: Row) -> bytes:
    kind, _, name = owner.partition(":")
    fields = {field.name: field.write(row[field.column]) for field in OWNER.fields}
    return to_line({"type": "owner", "user" if kind == "u" else "agent": name, **fields})
