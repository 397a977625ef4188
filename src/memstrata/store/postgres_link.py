"""Connections to PostgreSQL: rows, one transaction as a `Db`, types, and errors as ours."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, ClassVar

import orjson
import psycopg
from psycopg import errors, sql
from psycopg.abc import Buffer
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.numeric import Int8, Int8BinaryDumper, NumericBinaryLoader, NumericLoader

from memstrata.errors import (
    MemstrataError,
    StoreBusyError,
    StoreError,
    StoreFormatError,
    StoreFullError,
    StoreUnreachableError,
)
from memstrata.store.base import Row
from memstrata.store.dialect import bulk_insert, tables_in, translated

Connection = psycopg.Connection[Any]
BUSY_SECONDS = 30.0  # how long a lock is waited for, and a server that does not answer
CONFLICTS = (errors.SerializationFailure, errors.DeadlockDetected)  # the transaction is to be run again
# Two transactions that drew the same number of an owner meet in an index, which the server tells as a duplicate, not as
# what it is: the later one saw a snapshot that is no longer so, and is to be run again too.
MEETINGS = (*CONFLICTS, errors.UniqueViolation)
BULK = 1000  # rows of one statement
GOING = (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow)  # the server stops or starts


# rows -----------------------------------------------------------------------------------------------------------------


class PostgresRow(tuple[Any, ...]):
    """A row that is read by column name or position, as sqlite3.Row is."""

    __slots__ = ()
    _at: ClassVar[dict[str, int]]

    def keys(self) -> list[str]:
        return list(self._at)

    def __getitem__(self, key: Any) -> Any:
        return tuple.__getitem__(self, self._at[key] if isinstance(key, str) else key)


@lru_cache(maxsize=1024)
def _row_class(names: tuple[str, ...]) -> type[PostgresRow]:
    at: dict[str, int] = {}
    for place, name in enumerate(names):
        at.setdefault(name, place)
    return type("PostgresRow", (PostgresRow,), {"__slots__": (), "_at": at})


def _rows(cursor: psycopg.Cursor[Any]) -> Callable[[Sequence[Any]], PostgresRow]:
    return _row_class(tuple(column.name for column in cursor.description or ()))


# types ----------------------------------------------------------------------------------------------------------------


class _FlagDumper(Int8BinaryDumper):
    """A truth value is 0 or 1, as in the tables of a file."""

    def dump(self, obj: Any) -> Buffer | None:
        return super().dump(int(obj))


class _NumberLoader(NumericLoader):
    """A sum of integers is an integer, and other decimals are floats, as in a file."""

    def load(self, data: Buffer) -> Any:
        return _number(super().load(data))


class _BinaryNumberLoader(NumericBinaryLoader):
    def load(self, data: Buffer) -> Any:
        return _number(super().load(data))


def _number(value: Any) -> int | float:
    return int(value) if value == value.to_integral_value() and value.as_tuple().exponent >= 0 else float(value)


# connecting -----------------------------------------------------------------------------------------------------------


def shown(address: str) -> str:
    """An address without its password, for messages."""
    parts = conninfo_to_dict(address)
    place = parts.get("host") or parts.get("hostaddr") or "localhost"
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"postgresql://{place}{port}/{parts.get('dbname') or ''}"


def connect(address: str, schema: str) -> Connection:
    """A connection to the schema of a store. Raises psycopg.Error."""
    connection = psycopg.connect(
        make_conninfo(address, **_defaults(address)), autocommit=True, prepare_threshold=2, row_factory=_rows
    )
    try:
        configure(connection, schema)
    except psycopg.Error:
        connection.close()
        raise
    return connection


def _defaults(address: str) -> dict[str, Any]:
    given = conninfo_to_dict(address)
    wanted = {"connect_timeout": 10, "application_name": "memstrata", "keepalives_idle": 30, "tcp_user_timeout": 30_000}
    return {name: value for name, value in wanted.items() if name not in given}


def configure(connection: Connection, schema: str) -> None:
    """What every connection of a store has set.

    A sequential scan reads rows of other owners, which makes serializable transactions of theirs conflict with ours;
    every statement names an owner, so there is always an index.
    """
    connection.prepared_max = 1000
    adapters = connection.adapters
    adapters.register_dumper(int, Int8BinaryDumper)
    adapters.register_dumper(bool, _FlagDumper)
    adapters.register_loader("numeric", _NumberLoader)
    adapters.register_loader("numeric", _BinaryNumberLoader)
    connection.execute(
        sql.SQL(
            "SET search_path TO {}; SET lock_timeout TO {}; SET enable_seqscan TO off; SET jit TO off;"
            " SET client_min_messages TO warning"
        ).format(sql.Identifier(schema), sql.Literal(f"{int(BUSY_SECONDS * 1000)}ms"))
    )


# one transaction ------------------------------------------------------------------------------------------------------


class PostgresDb:
    """One transaction on a connection; implements `Db`.

    What has no answer to wait for (an insert, a statement for many rows) is sent together with the next statement
    about the same table, or by `flush`: a call over a network costs its round trips. Rows that go into one table by
    then go in one statement. (COPY would be quicker still, but takes no rows of tables with row-level security.)
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.queued = False  # whether a job was put into the queue
        self.written = 0  # rows of statements that had no answer to wait for
        self._first: tuple[bytes, Sequence[object]] | None = None
        self._waiting: dict[str, list[tuple[str, list[Sequence[object]]]]] = {}  # by table

    def first(self, statement: str, params: Sequence[object]) -> None:
        """Send a statement together with the next one, before it."""
        self._first = (translated(statement).encode(), params)

    def _execute(self, statement: str, params: Sequence[object]) -> psycopg.Cursor[Any]:
        query = translated(statement).encode()
        behind = bool(self._waiting) and not self._waiting.keys().isdisjoint(tables_in(statement))
        if not behind and self._first is None:
            return self._connection.execute(query, params, binary=True)
        with self._connection.pipeline():
            self._send(waiting=behind)
            return self._connection.execute(query, params, binary=True)

    def _send(self, *, waiting: bool) -> None:
        """Send what comes first, and what waits."""
        first, self._first = self._first, None
        if first is not None:
            self._connection.execute(*first)
        if not waiting:
            return
        sent, self._waiting = self._waiting, {}
        with self._connection.cursor(binary=True) as cursor:
            for statements in sent.values():
                for query, rows in statements:
                    _run_for(cursor, query, rows)

    def _defer(self, statement: str, rows: list[Sequence[object]]) -> None:
        """Let a statement wait, behind those about its table. One about several tables waits for nothing."""
        self.written += len(rows)
        query, tables = translated(statement), tables_in(statement)
        table = next(iter(tables), "")
        if len(tables) != 1:
            self.flush()
        waiting = self._waiting.setdefault(table, [])
        if waiting and waiting[-1][0] == query:
            waiting[-1][1].extend(rows)
        else:
            waiting.append((query, rows))
        if len(tables) != 1:
            self.flush()

    def drop(self) -> None:
        """Forget what waits."""
        self._first, self._waiting = None, {}

    def flush(self) -> None:
        """Run what waits. Raises its errors."""
        if self._waiting:
            with self._connection.pipeline():
                self._send(waiting=True)

    def all(self, sql: str, params: Sequence[object] = ()) -> list[Row]:
        return self._execute(sql, params).fetchall()

    def one(self, sql: str, params: Sequence[object] = ()) -> Row | None:
        return self._execute(sql, params).fetchone()

    def run(self, sql: str, params: Sequence[object] = ()) -> int:
        self.queued = self.queued or sql.startswith("INSERT INTO jobs ")
        if sql.startswith("INSERT INTO ") and "ON CONFLICT" not in sql and "SELECT" not in sql:
            self._defer(sql, [params])
            return 1
        return self._execute(sql, params).rowcount

    def many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        taken = list(rows)
        if taken:
            self._defer(sql, taken)


def _run_for(cursor: psycopg.Cursor[Any], query: str, rows: list[Sequence[object]]) -> None:
    """Run a statement for each row of parameters; many rows of an insert together."""
    bulk = bulk_insert(query) if len(rows) > 1 else None
    if bulk is None:
        cursor.executemany(query.encode(), rows)
        return
    together, kinds = bulk
    for start in range(0, len(rows), BULK):
        columns = zip(*rows[start : start + BULK], strict=True)
        cursor.execute(together.encode(), [_column(kind, column) for kind, column in zip(kinds, columns, strict=True)])


def _column(kind: str, values: Sequence[Any]) -> list[Any]:
    """The values of a column as a list of one type, which psycopg would else choose by the first ones."""
    made = _OF_ONE_TYPE.get(kind)
    return list(values) if made is None else [None if value is None else made(value) for value in values]


_OF_ONE_TYPE: dict[str, Callable[[Any], object]] = {"BIGINT": Int8, "DOUBLE PRECISION": float}


# errors ---------------------------------------------------------------------------------------------------------------


def is_lost(error: BaseException) -> bool:
    """Whether the connection is gone, or the server is going."""
    if isinstance(error, GOING):
        return True
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and error.sqlstate is None


@contextlib.contextmanager
def typed_errors(where: str) -> Iterator[None]:
    """Turn psycopg's errors into ours, by their SQLSTATE."""
    try:
        yield
    except psycopg.Error as error:
        raise _typed(where, error) from error
    except (UnicodeDecodeError, orjson.JSONDecodeError) as error:  # what a store wrote itself, it can read
        raise StoreFormatError(
            f"{where} is damaged ({error}); nothing was changed. Restore it from a backup, or choose another database."
        ) from error


def _typed(where: str, error: psycopg.Error) -> MemstrataError:
    state = error.sqlstate or ""
    if is_lost(error):
        return StoreUnreachableError(
            f"{where} cannot be reached ({_first_line(error)}); nothing of this call was written. Start the server, or "
            "check address, user and network, and repeat the call."
        )
    if isinstance(error, CONFLICTS) or state in ("55P03", "53300", "57014"):
        return StoreBusyError(f"{where} is busy ({_first_line(error)}); nothing of this call was written. Repeat it.")
    if state in ("53100", "53200", "54000") or state.startswith("58"):
        return StoreFullError(f"{where} has no room ({_first_line(error)}); nothing of this call was written.")
    if state.startswith("XX"):
        return StoreFormatError(f"{where} is damaged ({_first_line(error)}). Restore it from a backup.")
    if state[:2] in ("28", "3D"):
        return StoreError(f"{where} cannot be opened: {_first_line(error)}. Check database, user and password.")
    return StoreError(f"{where}: {_first_line(error)}")


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
