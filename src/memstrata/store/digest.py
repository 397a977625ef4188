"""What a table holds, as one number: equal rows give equal digests in every store, whatever order they lie in."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from memstrata.store.base import Db
from memstrata.store.tables import KEYS
from memstrata.types import Progress

ROWS = 2000  # read at once
BITS = 128


@dataclass(frozen=True, slots=True)
class Digest:
    """How many rows a table has, and the sum of their hashes as 32 hexadecimal digits."""

    rows: int
    sum: str


def columns_of(db: Db, table: str) -> tuple[str, ...]:
    """The names of a table's columns, sorted: stores may differ in their order. Empty when the table is."""
    row = db.one(f"SELECT * FROM {table} LIMIT 1")
    return () if row is None else tuple(sorted(row.keys()))


def rows_after(
    db: Db, table: str, columns: Sequence[str], after: Sequence[object] | None = None, limit: int = ROWS
) -> list[tuple[Any, ...]]:
    """The next rows of a table in the order of its key: a column each, then the key, from which to go on."""
    key = ", ".join(KEYS[table])
    later = "" if after is None else f" WHERE ({key}) > ({', '.join('?' * len(after))})"
    sql = f"SELECT {', '.join(columns)}, {key} FROM {table}{later} ORDER BY {key} LIMIT {limit}"
    return [tuple(row[n] for n in range(len(columns) + len(KEYS[table]))) for row in db.all(sql, after or ())]


def batches(db: Db, table: str, columns: Sequence[str]) -> Iterator[list[tuple[Any, ...]]]:
    """All rows of a table, ROWS at a time, without their keys behind them."""
    after: Sequence[object] | None = None
    while columns and (rows := rows_after(db, table, columns, after)):
        yield [row[: len(columns)] for row in rows]
        after = rows[-1][len(columns) :]
        if len(rows) < ROWS:
            return


def hash_of(row: Sequence[object]) -> int:
    """A hash of one row's values in the order of their columns' names."""
    return int.from_bytes(hashlib.blake2b(orjson.dumps(row, default=_plain), digest_size=BITS // 8).digest(), "big")


def _plain(value: object) -> str:
    """Bytes, which JSON has not."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    raise TypeError(f"{type(value).__name__} is no value of a column")


def digest_of(db: Db, table: str) -> Digest:
    """The digest of a table as it is on this snapshot."""
    count = total = 0
    for rows in batches(db, table, columns_of(db, table)):
        count += len(rows)
        total += sum(map(hash_of, rows))
    return Digest(count, f"{total % (1 << BITS):0{BITS // 4}x}")


def digests(db: Db, tables: Sequence[str], progress: Progress | None = None) -> dict[str, Digest]:
    """The digest of each table."""
    found = {}
    for n, table in enumerate(tables, 1):
        found[table] = digest_of(db, table)
        if progress is not None:
            progress("verifying tables", n, len(tables))
    return found


def differences(found: Mapping[str, Digest], wanted: Mapping[str, Digest]) -> list[str]:
    """The tables that differ, each with how: "notes: 3 rows, not 4"."""
    told = []
    for table, want in wanted.items():
        have = found.get(table, Digest(0, ""))
        if have.rows != want.rows:
            told.append(f"{table}: {have.rows} rows, not {want.rows}")
        elif have != want:
            told.append(f"{table}: other values")
    return told
