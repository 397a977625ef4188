"""Connections to a SQLite file, what runs in one transaction of one, and its errors as ours."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote

import orjson

from memstrata.errors import StoreBusyError, StoreError, StoreFormatError, StoreFullError, StoreReadOnlyError
from memstrata.store.base import Row

BUSY_SECONDS = 30.0
# A write that the system refused for another reason than ENOSPC: a quota, a limit on the size of files.
CANNOT_GROW = (sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE)


class SqliteDb:
    """One transaction on a SQLite connection; implements `Db`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def all(self, sql: str, params: Sequence[object] = ()) -> list[Row]:
        return self._connection.execute(sql, params).fetchall()

    def one(self, sql: str, params: Sequence[object] = ()) -> Row | None:
        return self._connection.execute(sql, params).fetchone()

    def run(self, sql: str, params: Sequence[object] = ()) -> int:
        return self._connection.execute(sql, params).rowcount

    def many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        self._connection.executemany(sql, rows)


@contextlib.contextmanager
def typed_errors(path: str) -> Iterator[None]:
    """Turn sqlite3's errors into ours, by their code."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL:
            raise StoreFullError from error
        if getattr(error, "sqlite_errorcode", 0) in CANNOT_GROW:
            raise StoreFullError(
                f"{path} cannot grow ({error}): the disk, a quota or a limit on file sizes is used up; nothing of "
                "this call was written. Free some space and repeat the call."
            ) from error
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise StoreBusyError from error
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT) or "decode to UTF-8" in str(error):
            raise _damaged(path, error) from error
        if code == sqlite3.SQLITE_READONLY:
            raise StoreReadOnlyError(
                f"{path} can only be read ({error}); nothing of this call was written. Check the rights of the file "
                "and its folder, and how the disk is mounted, or copy the store to where it can be written."
            ) from error
        if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR):
            raise StoreError(
                f"{path} cannot be opened or written: {error}. Check the folder and its rights."
            ) from error
        raise StoreError(f"{path}: {error}") from error
    except (UnicodeDecodeError, orjson.JSONDecodeError) as error:  # what a store wrote itself, it can read
        raise _damaged(path, error) from error
    except IndexError as error:
        if str(error) != "No item with that key":  # what sqlite3.Row says of a column that its table has not
            raise
        raise _damaged(path, error) from error


def read_only_target(path: str, *, alone: bool = False) -> str:
    """The address that opens a file for reading; `alone`: where nobody can write it, not even the log's index."""
    return f"file:{quote(os.path.abspath(path))}?mode=ro{'&immutable=1' if alone else ''}"  # noqa: PTH100 - no look


def _damaged(path: str, error: Exception) -> StoreFormatError:
    return StoreFormatError(
        f"{path} is damaged or is no SQLite file ({error}); nothing was changed. Restore it from a backup, "
        "or choose another path."
    )


def connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        uri=path.startswith(("file:memstrata-", "file:/")),
        cached_statements=512,
    )
    connection.row_factory = sqlite3.Row
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")  # erased rows leave no bytes in free pages
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA mmap_size = 268435456")
        connection.execute("PRAGMA cache_size = -65536")
        connection.execute("PRAGMA wal_autocheckpoint = 4000")  # 16 MB: a page that changes often is copied back once
    except sqlite3.Error:
        connection.close()
        raise
    return connection
