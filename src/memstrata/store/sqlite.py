"""The default store: one SQLite file.

One writer thread takes what is waiting and commits it together (group commit: one fsync for many callers); each
caller's work is a savepoint, so that one failure undoes only its own. Readers have connections of their own and are
never blocked (WAL). `Memory(":memory:")` gives the same store without a file, for tests.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from memstrata.errors import ClosedError, StoreBusyError, StoreError, StoreFormatError, StoreFullError
from memstrata.store.base import Db
from memstrata.store.connection import BUSY_SECONDS, SqliteDb, connect, read_only_target, typed_errors
from memstrata.store.dialect import schema_text, statements
from memstrata.store.group import GroupWriter, Outcome, Writing, settle
from memstrata.trace import carried

if TYPE_CHECKING:
    from memstrata.types import Backup, Progress

T = TypeVar("T")
SCHEMA_VERSION = 1
APPLICATION_ID = 0x6D737472  # "mstr": tells our files from other SQLite databases
READERS = 4
SCRUB_WAIT_MS = 2000  # how long a scrub waits for readers of old pages
_memory_names = itertools.count()


class SqliteStore:
    """A store in one SQLite file, shared by any number of threads and processes.

    Raises StoreFormatError for a file that is not ours, damaged or newer; StoreError where it cannot be opened.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self._in_memory = self.path == ":memory:"
        # A named shared-cache database lets the reader connections see the writer's; it dies with the last of them.
        self._target = (
            f"file:memstrata-{next(_memory_names)}?mode=memory&cache=shared" if self._in_memory else self.path
        )
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._guard = threading.Lock()
        self._closed = False
        self._durable = True
        self.read_only = False
        with typed_errors(self.path):
            self._writer = self._opened()
        self._writing = GroupWriter(self._commit)
        # Shared-cache readers would meet table locks, so an in-memory store reads through its writer.
        self._pool = None if self._in_memory else ThreadPoolExecutor(READERS, thread_name_prefix="memstrata-reader")

    def _opened(self) -> sqlite3.Connection:
        """A connection that may write; where the file or its disk cannot be written, one that reads."""
        file = Path(self.path)
        there = not self._in_memory and file.exists() and file.stat().st_size > 0
        if not there or os.access(file, os.W_OK):
            try:
                return self._connected()
            except sqlite3.OperationalError as error:  # the log cannot be made in its folder
                if not there or error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                    raise
        self.read_only, self._target = True, read_only_target(self.path)
        try:
            return self._connected()
        except sqlite3.OperationalError:
            log = Path(f"{self.path}-wal")
            if log.exists() and log.stat().st_size:  # what it holds would be left out
                raise
        self._target = read_only_target(self.path, alone=True)
        return self._connected()

    def _connected(self) -> sqlite3.Connection:
        """A connection to a store that is made and of this version.

        SQLite answers "busy" at once, whatever its timeout, to two connections that turn a new file to WAL in the same
        instant (each would wait for the other): one of them begins again.
        """
        until = time.monotonic() + BUSY_SECONDS
        while True:
            self._writer = connect(self._target)
            try:
                self._prepare()
            except (sqlite3.Error, StoreError) as error:
                self._writer.close()
                busy = isinstance(error, sqlite3.Error) and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() > until:
                    raise
                time.sleep(random.uniform(0.005, 0.05))
            else:
                return self._writer

    def _prepare(self) -> None:
        """Create the schema in a new file; check that an old one is ours, and bring it to the newest version."""
        self._writer.execute("BEGIN")  # one snapshot: another process may be making the schema
        version = self._writer.execute("PRAGMA user_version").fetchone()[0]
        application = self._writer.execute("PRAGMA application_id").fetchone()[0]
        tables = self._writer.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        self._writer.execute("COMMIT")
        if application != APPLICATION_ID and (application or version or tables):
            raise StoreFormatError(f"{self.path} is a SQLite file of another program; choose another path.")
        if version > SCHEMA_VERSION:
            raise StoreFormatError(
                f"{self.path} has schema {version}, this memstrata knows up to {SCHEMA_VERSION}: "
                "pip install --upgrade memstrata"
            )
        if version:
            mode = self._writer.execute("PRAGMA journal_mode").fetchone()[0]
            if mode == "delete" and not self.read_only:  # a restored backup
                self._writer.execute("PRAGMA journal_mode = WAL")
            if version < SCHEMA_VERSION:
                from memstrata.store.upgrade import upgrade

                upgrade(self._writer, Path(self.path), SCHEMA_VERSION)
            return
        self._writer.execute("PRAGMA journal_mode = WAL")
        self._writer.execute("BEGIN IMMEDIATE")
        if self._writer.execute("PRAGMA user_version").fetchone()[0] == 0:  # else another process was faster
            for statement in statements(schema_text()):
                self._writer.execute(statement)
            self._writer.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._writer.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        self._writer.execute("COMMIT")

    # reading ----------------------------------------------------------------------------------------------------------

    async def read(self, work: Callable[[Db], T], *, brief: bool = False) -> T:
        if self._pool is None:
            return await self._writing.submit(lambda db: self._read_only(work, db), durable=False)
        with self._guard:
            if self._closed:
                raise ClosedError
            future = None if brief else self._pool.submit(self._read, carried(work))
        return self._read(work) if future is None else await asyncio.wrap_future(future)

    def _read_only(self, work: Callable[[Db], T], db: Db) -> T:
        """A read on the writer's connection, which may not write in it."""
        db.run("PRAGMA query_only = ON")
        try:
            return work(db)
        finally:
            db.run("PRAGMA query_only = OFF")

    def _read(self, work: Callable[[Db], T]) -> T:
        with typed_errors(self.path):
            connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
            if connection is None:
                connection = connect(self._target)
                connection.execute("PRAGMA query_only = ON")
                self._local.connection = connection
                with self._guard:
                    self._readers.append(connection)
            connection.execute("BEGIN")
            try:
                return work(SqliteDb(connection))
            finally:
                if connection.in_transaction:  # an error may have ended it
                    connection.execute("COMMIT")

    # writing ----------------------------------------------------------------------------------------------------------

    async def write(self, work: Callable[[Db], T], *, durable: bool = True) -> T:
        return await self._writing.submit(work, durable)

    def _commit(self, batch: list[Writing]) -> None:
        """Run a batch in one transaction; every future gets its own result or error after the commit."""
        connection, db = self._writer, SqliteDb(self._writer)
        done: list[Outcome] = []
        try:
            with typed_errors(self.path):
                self._sync(any(durable for _, _, durable in batch))
                connection.execute("BEGIN IMMEDIATE")
                for work, future, _ in batch:
                    if len(batch) > 1:
                        connection.execute("SAVEPOINT one")
                    try:
                        with typed_errors(self.path):
                            result = work(db)
                    except StoreFullError:
                        raise
                    except Exception as error:  # handed to the caller it belongs to
                        if not connection.in_transaction:  # SQLite undid the whole transaction, as after an I/O error
                            raise
                        if len(batch) == 1:  # its savepoint is the transaction
                            raise
                        connection.execute("ROLLBACK TO one")
                        done.append((future, None, error))
                    else:
                        done.append((future, result, None))
                    if len(batch) > 1:
                        connection.execute("RELEASE one")
                connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - the whole batch failed: every caller is told
            if connection.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
            for _, future, _ in batch:
                future.set_exception(error)
            return
        settle(done)

    def _sync(self, durable: bool) -> None:
        """Whether the next commit waits for the disk. One that does brings all before it to the disk too."""
        if durable != self._durable:
            self._writer.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._durable = durable

    # upkeep -----------------------------------------------------------------------------------------------------------

    async def scrub(self) -> bool:
        """Empty the write-ahead log into the file and cut it; deleted rows were overwritten by secure_delete."""
        return await asyncio.to_thread(self._checkpoint)

    def _checkpoint(self) -> bool:
        if self._closed:
            raise ClosedError
        if self._in_memory:
            return True
        try:
            with typed_errors(self.path), contextlib.closing(connect(self._target)) as connection:
                connection.execute("VACUUM")  # pages keep remnants of cells that moved: they are written anew
                connection.execute(f"PRAGMA busy_timeout = {SCRUB_WAIT_MS}")
                busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except (StoreBusyError, StoreFullError):
            return False
        return not busy

    async def backup(
        self, target: Path, now: datetime, *, overwrite: bool = False, progress: Progress | None = None
    ) -> Backup:
        """A hot backup, on a connection of its own: nobody waits for it."""
        from memstrata.store.backup import write_backup

        if self._in_memory:
            raise StoreError("a store in memory has no file to back up: use export")
        if self._closed:
            raise ClosedError

        def work() -> Backup:
            with typed_errors(self.path), contextlib.closing(connect(self._target)) as source:
                return write_backup(source, target, now, overwrite=overwrite, progress=progress)

        return await asyncio.to_thread(work)

    async def integrity(self) -> list[str]:
        def read(db: Db) -> list[str]:
            return [str(row[0]) for row in db.all("PRAGMA integrity_check")]

        faults = await self.read(read)
        return [] if faults == ["ok"] else faults

    async def size(self) -> int:
        if self._in_memory:
            pages = await self.read(lambda db: db.one("PRAGMA page_count"))
            unit = await self.read(lambda db: db.one("PRAGMA page_size"))
            return int(pages[0]) * int(unit[0]) if pages and unit else 0
        if self._closed:
            raise ClosedError
        return await asyncio.to_thread(_bytes_on_disk, self.path)

    def within(self, tenant: str | None) -> SqliteStore:
        """Itself: a file has no rights by row."""
        del tenant
        return self

    async def close(self) -> None:
        with self._guard:
            if self._closed:
                return
            self._closed = True
        await self._writing.close()
        if self._pool is not None:
            await asyncio.to_thread(self._pool.shutdown)
        for connection in [*self._readers, self._writer]:
            connection.close()


def _bytes_on_disk(path: str) -> int:
    return sum(part.stat().st_size for suffix in ("", "-wal") if (part := Path(path + suffix)).exists())
