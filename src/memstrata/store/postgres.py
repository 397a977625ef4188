"""A store in a PostgreSQL database, for services: many processes on many machines share it.

Writes are serializable transactions: where two of them would not have the same result one after the other, one is run
again. One writer of each open store commits what waits together; reads have connections of their own and see one
snapshot each. Every commit leaves its number in the row of its writer: one whose answer was lost with the connection is
looked up there, so that nothing is written twice and nothing acknowledged is lost. (The number of a transaction would
not do: after a crash the server gives those again that it had not yet written down.)
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, cast
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg import errors, sql
from psycopg_pool import ConnectionPool, PoolTimeout

from memstrata.errors import ClosedError, StoreBusyError, StoreError, StoreUnreachableError
from memstrata.store import postgres_link, postgres_wake
from memstrata.store.base import Db, Store
from memstrata.store.dialect import ROWS, rows_of
from memstrata.store.group import GroupWriter, Outcome, Writing, settle
from memstrata.store.postgres_link import MEETINGS, Connection, PostgresDb, is_lost, shown, typed_errors
from memstrata.store.postgres_schema import prepare
from memstrata.store.tables import OWNED
from memstrata.trace import carried

T = TypeVar("T")
DEFAULT_SCHEMA = "memstrata"
READERS = 4
TRIES = 40  # of one transaction that meets others
ALONE_AFTER = 5  # of these it is let run alone
ANALYZE_AT = (500, 3_000, 20_000, 100_000)  # rows that one process wrote
SCRUB_WAIT_MS = 2000  # how long a scrub waits for readers of a table
RECONNECT_SECONDS = 10.0
TABLES = ("meta", "erasures", *OWNED)
log = logging.getLogger("memstrata")


def split_address(address: str) -> tuple[str, str]:
    """The address for the server and the name of the schema: `postgresql://host/database?schema=NAME`.

    >>> split_address("postgresql://ana@localhost/app?schema=team&connect_timeout=5")
    ('postgresql://ana@localhost/app?connect_timeout=5', 'team')
    """
    parts = urlsplit(address)
    given = parse_qsl(parts.query, keep_blank_values=True)
    schema = dict(given).get("schema") or DEFAULT_SCHEMA
    query = urlencode([(name, value) for name, value in given if name != "schema"], safe="/")
    return urlunsplit(parts._replace(query=query)), schema


class PostgresStore:
    """A store in one schema of a database, made when missing.

    Raises StoreFormatError for a schema that is another program's or newer, StoreUnreachableError where no server
    answers, StoreError where it does not let us in.
    """

    def __init__(self, address: str) -> None:
        self._address, self._schema = split_address(address)
        with typed_errors("the address"):
            self.name = shown(self._address)
        self._name, self._number = uuid.uuid4().hex, 0  # of the writer, and of its last commit
        self._queued = False  # whether the batch in hand queues jobs
        self._written = 0  # rows, since this store was opened
        self._analyze_at = list(ANALYZE_AT)
        self._closed = False
        self._guard = threading.Lock()
        with typed_errors(self.name):
            self._writer: Connection | None = postgres_link.connect(self._address, self._schema)
            try:
                prepare(self._writer, self._schema, self.name)
                self._enter(self._writer)
            except (psycopg.Error, StoreError):
                self._writer.close()
                raise
        logging.getLogger("psycopg").setLevel(logging.ERROR)  # what it says of faults, our errors say
        self._pool = ConnectionPool(
            connection_class=_Pooled,
            kwargs={"address": self._address, "schema": self._schema},
            min_size=1,
            max_size=READERS,
            timeout=postgres_link.BUSY_SECONDS,
            reconnect_timeout=RECONNECT_SECONDS,
            open=True,
        )
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="memstrata-reader")
        self._writing = GroupWriter(self._commit)
        self._listener = postgres_wake.Listener(self._open, self._schema)

    def _open(self) -> Connection:
        return postgres_link.connect(self._address, self._schema)

    def _analyze(self) -> None:
        """Let the server count again what lies in the tables that grow.

        Its own vacuum comes by once a minute. Until then it takes new tables for empty, and reads all rows of an owner
        where an index would name one: the first load of 3,000 turns took 2.4 s instead of 22 ms.
        """
        with contextlib.suppress(psycopg.Error), contextlib.closing(self._open()) as connection:
            for table in OWNED:
                connection.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(table)))

    def _enter(self, connection: Connection) -> None:
        """A row for this writer; those of writers that crashed go after a month."""
        connection.execute("DELETE FROM writers WHERE opened < now() - interval '30 days'")
        connection.execute("INSERT INTO writers VALUES (%s, 0, now())", (self._name,))

    # reading ----------------------------------------------------------------------------------------------------------

    async def read(self, work: Callable[[Db], T], *, brief: bool = False) -> T:
        return await self.read_rows(None, work)

    async def read_rows(self, tenant: str | None, work: Callable[[Db], T]) -> T:
        """`read` within a tenant. Even a short look goes over the network, which must not hold the caller's thread."""
        return await self._in_reader(lambda: self._read(_within(tenant, work)))

    async def _in_reader(self, work: Callable[[], T]) -> T:
        with self._guard:
            if self._closed:
                raise ClosedError
            future = self._readers.submit(carried(work))
        return await asyncio.wrap_future(future)

    def _read(self, work: Callable[[Db], T]) -> T:
        """Run `work` on one snapshot; once more where a connection was lost, as all are by a server's restart."""
        with typed_errors(self.name):
            try:
                return self._read_once(work)
            except psycopg.Error as error:
                if not is_lost(error):
                    raise
            self._pool.check()
            return self._read_once(work)

    def _read_once(self, work: Callable[[Db], T]) -> T:
        try:
            connection = self._pool.getconn()
        except PoolTimeout as error:
            raise StoreUnreachableError(
                f"{self.name} gave no connection for {postgres_link.BUSY_SECONDS:.0f} s; is the server there, and does "
                "it allow enough connections?"
            ) from error
        try:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                db = PostgresDb(connection)
                return _whole(work, db)
            finally:
                if not connection.broken:
                    connection.execute("ROLLBACK")
        finally:
            self._pool.putconn(connection)

    # writing ----------------------------------------------------------------------------------------------------------

    async def write(self, work: Callable[[Db], T], *, durable: bool = True) -> T:
        return await self.write_rows(None, work, durable)

    async def write_rows(self, tenant: str | None, work: Callable[[Db], T], durable: bool) -> T:
        """`write` within a tenant."""
        return await self._writing.submit(_within(tenant, work), durable)

    def _commit(self, batch: list[Writing]) -> None:
        """Run a batch until it is committed; where it meets other writers, one work after the other."""
        self._queued = False
        try:
            settle(self._until_committed(batch))
            if self._queued and self._writer is not None:
                postgres_wake.tell(self._writer, self._schema)
            if self._analyze_at and self._written >= self._analyze_at[0]:
                del self._analyze_at[0]
                with contextlib.suppress(RuntimeError):  # the readers are closing
                    self._readers.submit(self._analyze)
        except Exception as error:  # noqa: BLE001 - every caller is told
            if len(batch) > 1 and (isinstance(error, StoreBusyError) or isinstance(error.__cause__, MEETINGS)):
                for each in batch:
                    self._commit([each])
                return
            for _, future, _ in batch:
                future.set_exception(error)

    def _until_committed(self, batch: list[Writing]) -> list[Outcome]:
        """The outcomes of a batch after its commit. Raises what stopped the whole of it."""
        met, most = 0, TRIES if len(batch) == 1 else 1
        until = time.monotonic() + RECONNECT_SECONDS
        with typed_errors(self.name):
            while True:
                try:
                    outcomes = self._attempt(batch, alone=met >= ALONE_AFTER)
                    if outcomes is not None:
                        return outcomes
                except MEETINGS:
                    met += 1
                    if met == most:
                        raise
                    time.sleep(random.uniform(0.0, 0.02))  # others that met here should not meet again
                except psycopg.Error as error:
                    if not is_lost(error) or time.monotonic() > until:
                        raise
                    self._hang_up()
                    time.sleep(0.1)

    def _attempt(self, batch: list[Writing], *, alone: bool) -> list[Outcome] | None:
        """Run a batch in one transaction and commit it; None when the connection was lost and nothing was written.

        `alone`: after all other writers have ended, and before any other begins. (LOCK is the one statement that takes
        no snapshot, so what it waited for is seen.)
        """
        connection = self._connected()
        number = self._number + 1
        begin = (
            f"BEGIN ISOLATION LEVEL SERIALIZABLE; LOCK TABLE writers IN {'' if alone else 'ROW '}EXCLUSIVE MODE;"
            f" UPDATE writers SET number = {number} WHERE writer = '{self._name}'"
        )
        if not any(durable for _, _, durable in batch):
            begin += "; SET LOCAL synchronous_commit = off"
        try:
            connection.execute(begin)
            outcomes = self._run(connection, batch)
        except BaseException:
            with contextlib.suppress(psycopg.Error):
                connection.execute("ROLLBACK")
                # psycopg forgets what it meant to prepare in a pipeline that failed when it rolls back itself.
                with connection.transaction(force_rollback=True):
                    pass
            raise
        try:
            connection.execute("COMMIT")
        except psycopg.Error as error:
            if not is_lost(error):
                raise
            if not self._was_committed(number):
                return None
        self._number = number
        return outcomes

    def _run(self, connection: Connection, batch: list[Writing]) -> list[Outcome]:
        """Every work of a batch, of several each in a savepoint of its own. Raises what stops all of them."""
        db = PostgresDb(connection)
        done: list[Outcome] = []
        for work, future, _ in batch:
            try:
                if len(batch) == 1:
                    done.append((future, _whole(work, db), None))
                    break
                with connection.transaction("one"):
                    result = _whole(work, db)
            except Exception as error:
                if len(batch) == 1 or isinstance(error, MEETINGS) or is_lost(error):
                    raise
                done.append((future, None, _own(self.name, error)))
            else:
                done.append((future, result, None))
        self._queued = db.queued
        self._written += db.written
        return done

    def _connected(self) -> Connection:
        if self._writer is None:
            self._writer = postgres_link.connect(self._address, self._schema)
        return self._writer

    def _hang_up(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _was_committed(self, number: int) -> bool:
        """Whether a transaction was committed whose connection broke meanwhile. Raises StoreUnreachableError."""
        until = time.monotonic() + postgres_link.BUSY_SECONDS
        while time.monotonic() < until:
            self._hang_up()
            try:
                # FOR UPDATE waits for the transaction itself, should the server still be at it.
                row = (
                    self._connected()
                    .execute("SELECT number FROM writers WHERE writer = %s FOR UPDATE", (self._name,))
                    .fetchone()
                )
            except psycopg.Error as error:
                if not is_lost(error) and not isinstance(error, errors.LockNotAvailable):
                    raise
                time.sleep(0.2)
            else:
                return row is not None and bool(row[0] == number)
        raise StoreUnreachableError(
            f"{self.name} was lost while it committed: whether this call was written is not known. Repeat it with the "
            "same idempotency key or message ids once the server is back."
        )

    # upkeep -----------------------------------------------------------------------------------------------------------

    async def scrub(self) -> bool:
        """Write the tables anew, without the rows that were deleted.

        What the server still keeps in its write-ahead log, its archive and its standbys' is not this package's to
        remove; a checkpoint is asked for, so that the old files go.
        """
        return await self._in_reader(self._rewrite)

    def _rewrite(self) -> bool:
        with (
            typed_errors(self.name),
            contextlib.closing(postgres_link.connect(self._address, self._schema)) as connection,
        ):
            connection.execute(f"SET lock_timeout TO {SCRUB_WAIT_MS}")
            try:
                for table in TABLES:
                    connection.execute(sql.SQL("VACUUM (FULL, ANALYZE) {}").format(sql.Identifier(table)))
            except (errors.LockNotAvailable, errors.DiskFull):
                return False
            with contextlib.suppress(errors.InsufficientPrivilege):
                connection.execute("CHECKPOINT")
        return True

    async def integrity(self) -> list[str]:
        def read(db: Db) -> list[str]:
            there = {row["relname"]: row["valid"] for row in db.all(_RELATIONS, (self._schema,))}
            lost = [f"the table {table} is missing" for table in TABLES if table not in there]
            return lost + [f"the index {name} is not valid: REINDEX it" for name in sorted(there) if not there[name]]

        return await self.read(read)

    async def size(self) -> int:
        row = await self.read(lambda db: db.one(_SIZE, (self._schema,)))
        return int(row[0]) if row is not None else 0

    async def wait_for_jobs(self, seconds: float) -> bool:
        return await asyncio.to_thread(self._listener.wait, seconds)

    def within(self, tenant: str | None) -> Store:
        return self if tenant is None else TenantStore(self, tenant)

    async def close(self) -> None:
        with self._guard:
            if self._closed:
                return
            self._closed = True
        await self._writing.close()
        await asyncio.to_thread(self._listener.close)
        await asyncio.to_thread(self._readers.shutdown)
        await asyncio.to_thread(self._pool.close)
        if self._writer is not None:
            with contextlib.suppress(psycopg.Error):
                self._writer.execute("DELETE FROM writers WHERE writer = %s", (self._name,))
        self._hang_up()


class TenantStore:
    """A PostgreSQL store as one tenant sees it."""

    def __init__(self, store: PostgresStore, tenant: str) -> None:
        self._store, self._tenant = store, tenant
        self.scrub, self.integrity, self.size = store.scrub, store.integrity, store.size
        self.within, self.close, self.wait_for_jobs = store.within, store.close, store.wait_for_jobs

    async def read(self, work: Callable[[Db], T], *, brief: bool = False) -> T:
        return await self._store.read_rows(self._tenant, work)

    async def write(self, work: Callable[[Db], T], *, durable: bool = True) -> T:
        return await self._store.write_rows(self._tenant, work, durable)


def _within(tenant: str | None, work: Callable[[Db], T]) -> Callable[[Db], T]:
    """The work, after its transaction has said whose rows it sees."""

    def inside(db: Db) -> T:
        cast("PostgresDb", db).first("SELECT set_config(?, ?, true)", (ROWS, rows_of(tenant)))
        return work(db)

    return inside


_RELATIONS = (
    "SELECT c.relname, coalesce(i.indisvalid, true) AS valid FROM pg_class c"
    " LEFT JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE n.nspname = ? AND c.relkind IN ('r', 'p', 'i', 'I')"
)
_SIZE = (
    "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c"
    " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relkind = 'r'"
)


class _Pooled(psycopg.Connection[object]):
    """A reader's connection, as the pool opens it."""

    @classmethod
    def connect(cls, conninfo: str = "", *, address: str, schema: str, **more: object) -> Connection:  # type: ignore[override]
        del conninfo, more
        return postgres_link.connect(address, schema)


def _whole(work: Callable[[Db], T], db: PostgresDb) -> T:
    """A work with what it left waiting. What of that fails, failed before the error that the work ended with.

    After an error of the server's nothing more can be sent: what waits goes with the transaction.
    """
    try:
        result = work(db)
    except psycopg.Error:
        db.drop()
        raise
    except Exception:
        db.flush()
        raise
    db.flush()
    return result


def _own(where: str, error: Exception) -> BaseException:
    """An error of one work as its caller sees it."""
    try:
        with typed_errors(where):
            raise error
    except Exception as typed:  # noqa: BLE001 - given back
        return typed
