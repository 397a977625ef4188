"""The Store seam: what every store promises, held by each implementation."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests import servers

from memstrata.errors import ClosedError, StoreBusyError, StoreError, StoreFormatError
from memstrata.store import connection, group, sqlite
from memstrata.store.base import Db, Store
from memstrata.store.postgres import PostgresStore
from memstrata.store.sqlite import SqliteStore

KINDS: dict[str, Callable[[Path], Store]] = {
    "file": lambda folder: SqliteStore(folder / "store.db"),
    "memory": lambda folder: SqliteStore(":memory:"),
    "postgres": lambda folder: PostgresStore(servers.address_for(folder)),
}
INSERT = "INSERT INTO meta (key, value) VALUES (?, ?)"


@pytest_asyncio.fixture(params=KINDS)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    made = KINDS[request.param](tmp_path)
    yield made
    await made.close()


def put(key: str, value: str = "") -> Callable[[Db], str]:
    """A work that writes one row and returns its key."""

    def work(db: Db) -> str:
        db.run(INSERT, (key, value))
        return key

    return work


def keys(db: Db) -> list[str]:
    return [row["key"] for row in db.all("SELECT key FROM meta ORDER BY key")]


def busy_for(event: threading.Event) -> Callable[[Db], None]:
    """A work that keeps the writer until the event, so that what comes in the meantime is committed together."""

    def work(db: Db) -> None:
        assert event.wait(10)

    return work


# transactions ---------------------------------------------------------------------------------------------------------


async def test_what_is_written_is_read(store: Store) -> None:
    assert await store.write(put("a", "Ana 京都 成都 ไทย 🦊")) == "a"
    row = await store.read(lambda db: db.one("SELECT key, value FROM meta"))
    assert (row["key"], row[1]) == ("a", "Ana 京都 成都 ไทย 🦊")


async def test_what_the_four_verbs_of_a_transaction_return(store: Store) -> None:
    def work(db: Db) -> tuple[Any, ...]:
        db.many(INSERT, [("a", "1"), ("b", "2"), ("c", "3")])
        db.many(INSERT, [])
        changed = db.run("UPDATE meta SET value = '9' WHERE key < ?", ("c",))
        none = db.run("DELETE FROM meta WHERE key = ?", ("z",))
        return changed, none, db.one("SELECT value FROM meta WHERE key = ?", ("z",)), keys(db)

    assert await store.write(work) == (2, 0, None, ["a", "b", "c"])


async def test_an_error_undoes_all_of_its_work_and_is_raised_as_it_is(store: Store) -> None:
    class Mine(Exception):
        pass

    def work(db: Db) -> None:
        db.run(INSERT, ("a", ""))
        db.run("DELETE FROM meta")
        raise Mine("stop")

    await store.write(put("before"))
    with pytest.raises(Mine, match="stop"):
        await store.write(work)
    assert await store.read(keys) == ["before"]
    await store.write(put("after"))
    assert await store.read(keys) == ["after", "before"]


@pytest.mark.parametrize("statement", ["SELECT * FROM nothing", "INSERT INTO meta (key) VALUES ('a')", "SELEKT 1"])
async def test_errors_of_the_database_are_typed_and_the_store_goes_on(store: Store, statement: str) -> None:
    def work(db: Db) -> None:
        db.run(INSERT, ("a", ""))
        db.run(statement)

    with pytest.raises(StoreError):
        await store.write(work)
    with pytest.raises(StoreError):
        await store.read(lambda db: db.all("SELECT * FROM nothing"))
    await store.write(put("b"))
    assert await store.read(keys) == ["b"]


async def test_a_failing_work_among_others_undoes_only_its_own(store: Store) -> None:
    """They wait together, so a store that commits in groups has them in one."""

    def broken(n: int) -> Callable[[Db], str]:
        def work(db: Db) -> str:
            db.run(INSERT, (f"{n:02}", ""))
            db.run("UPDATE meta SET value = 'spoiled'")
            if n % 4 == 1:
                raise ValueError(n)
            db.run(INSERT, (f"{n:02}", ""))  # twice: a constraint fails
            raise AssertionError("not reached")

        return work

    release = threading.Event()
    waiting = asyncio.create_task(store.write(busy_for(release)))
    await asyncio.sleep(0.05)
    works = [put(f"{n:02}") if n % 2 == 0 else broken(n) for n in range(40)]
    tasks = [asyncio.create_task(store.write(work)) for work in works]
    await asyncio.sleep(0.05)
    release.set()
    results = await asyncio.gather(waiting, *tasks, return_exceptions=True)
    for n, result in enumerate(results[1:]):
        if n % 2 == 0:
            assert result == f"{n:02}"
        elif n % 4 == 1:
            assert isinstance(result, ValueError)
            assert result.args == (n,)
        else:
            assert isinstance(result, StoreError)
    assert await store.read(lambda db: [tuple(row) for row in db.all("SELECT key, value FROM meta ORDER BY key")]) == [
        (f"{n:02}", "") for n in range(0, 40, 2)
    ]


async def test_writes_run_in_the_order_they_came(store: Store) -> None:
    ran: list[int] = []

    def work(n: int) -> Callable[[Db], int]:
        def run(db: Db) -> int:
            ran.append(n)
            db.run("INSERT INTO meta (key, value) VALUES ('last', ?) ON CONFLICT (key) DO UPDATE SET value = ?", (n, n))
            return n

        return run

    tasks = [asyncio.create_task(store.write(work(n))) for n in range(200)]
    assert await asyncio.gather(*tasks) == list(range(200))
    assert ran == list(range(200))
    assert (await store.read(lambda db: db.one("SELECT value FROM meta")))["value"] == "199"


async def test_a_write_sees_those_before_it_and_a_read_every_acknowledged_one(store: Store) -> None:
    for n in range(30):
        await store.write(put(f"{n:02}"))
        assert await store.write(lambda db: len(keys(db))) == n + 1
        assert await store.read(lambda db: len(keys(db))) == n + 1


# reading --------------------------------------------------------------------------------------------------------------


async def test_a_read_is_one_snapshot(store: Store) -> None:
    await store.write(put("a"))
    begun, written = threading.Event(), threading.Event()

    def look(db: Db) -> tuple[list[str], list[str]]:
        first = keys(db)
        begun.set()
        written.wait(0.5)  # a store that reads and writes in turns writes after this read
        return first, keys(db)

    reading = asyncio.create_task(store.read(look))
    await asyncio.to_thread(begun.wait, 10)
    writing = asyncio.create_task(store.write(put("b")))
    writing.add_done_callback(lambda _: written.set())
    assert await reading == (["a"], ["a"])
    await writing
    assert await store.read(keys) == ["a", "b"]


async def test_a_read_cannot_write(store: Store) -> None:
    with pytest.raises(StoreError):
        await store.read(put("a"))
    assert await store.read(keys) == []
    await store.write(put("b"))
    assert await store.read(keys) == ["b"]


async def test_an_error_in_a_read_is_raised_as_it_is(store: Store) -> None:
    def work(db: Db) -> None:
        keys(db)
        raise LookupError("gone")

    for _ in range(10):  # more often than there are readers
        with pytest.raises(LookupError, match="gone"):
            await store.read(work)
    assert await store.read(keys) == []


async def test_many_readers_at_once(store: Store) -> None:
    await store.write(lambda db: db.many(INSERT, [(f"{n:03}", "x" * 100) for n in range(200)]))
    assert await asyncio.gather(*(store.read(lambda db: len(keys(db))) for _ in range(100))) == [200] * 100


# threads, tasks, cancelling -------------------------------------------------------------------------------------------


def increment(db: Db) -> None:
    """Read, then write: an update is lost where another comes in between."""
    row = db.one("SELECT value FROM meta WHERE key = 'n'")
    value = 0 if row is None else int(row["value"])
    db.run("INSERT INTO meta (key, value) VALUES ('n', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
           (str(value + 1),))  # fmt: skip


async def test_tasks_lose_no_update(store: Store) -> None:
    await asyncio.gather(*(store.write(increment) for _ in range(300)))
    assert (await store.read(lambda db: db.one("SELECT value FROM meta")))["value"] == "300"


async def test_event_loops_of_many_threads_share_a_store(store: Store) -> None:
    errors: list[BaseException] = []

    async def work() -> None:
        for _ in range(25):
            await store.write(increment)
            await store.read(keys)

    def thread() -> None:
        try:
            asyncio.run(work())
        except BaseException as error:  # what a thread raises must reach the test
            errors.append(error)

    threads = [threading.Thread(target=thread) for _ in range(8)]
    for each in threads:
        each.start()
    await asyncio.to_thread(lambda: [each.join() for each in threads])
    assert errors == []
    assert (await store.read(lambda db: db.one("SELECT value FROM meta")))["value"] == "200"


async def test_a_cancelled_caller_does_not_withdraw_its_write_nor_stop_the_store(store: Store) -> None:
    release = threading.Event()
    waiting = asyncio.create_task(store.write(busy_for(release)))
    tasks = [asyncio.create_task(store.write(put(f"{n}"))) for n in range(5)]
    await asyncio.sleep(0.05)
    for task in tasks[:3]:
        task.cancel()
    release.set()
    await waiting
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(result, asyncio.CancelledError) for result in results] == [True, True, True, False, False]
    assert await store.read(keys) == [f"{n}" for n in range(5)]


# closing --------------------------------------------------------------------------------------------------------------


async def test_a_closed_store_says_so(store: Store) -> None:
    await store.write(put("a"))
    await store.close()
    await store.close()
    calls: list[Callable[[], Any]] = [
        lambda: store.read(keys),
        lambda: store.write(put("b")),
        store.scrub,
        store.integrity,
        store.size,
    ]
    for call in calls:
        with pytest.raises(ClosedError):
            await call()


async def test_closing_finishes_what_is_in_hand(store: Store) -> None:
    tasks = [asyncio.create_task(store.write(put(f"{n}"))) for n in range(100)]
    reads = [asyncio.create_task(store.read(keys)) for _ in range(10)]
    await asyncio.sleep(0)
    await store.close()
    assert await asyncio.wait_for(asyncio.gather(*tasks), 10) == [f"{n}" for n in range(100)]
    assert len(await asyncio.wait_for(asyncio.gather(*reads), 10)) == 10


async def test_a_write_that_meets_the_closing_is_done_or_refused_never_forgotten(tmp_path: Path) -> None:
    for kind in KINDS:
        for turn in range(10):
            folder = tmp_path / f"{kind}{turn}"
            folder.mkdir()
            store = KINDS[kind](folder)

            async def write(store: Store = store) -> int:
                done = 0
                try:
                    for n in range(10_000):
                        await asyncio.wait_for(store.write(put(f"{threading.get_ident()}/{n}")), 10)
                        done += 1
                except ClosedError:
                    return done
                raise AssertionError("the store was not closed")

            threads = [asyncio.create_task(asyncio.to_thread(lambda: asyncio.run(write()))) for _ in range(3)]
            await asyncio.sleep(0.02)
            await store.close()
            written = sum(await asyncio.wait_for(asyncio.gather(*threads), 30))
            if kind == "postgres":
                store = KINDS[kind](folder)
                assert len(await store.read(keys)) == written
                await store.close()
            if kind == "file":
                with closing(sqlite3.connect(folder / "store.db")) as db:
                    assert db.execute("SELECT count(*) FROM meta").fetchone() == (written,)


# upkeep ---------------------------------------------------------------------------------------------------------------


async def test_integrity_size_and_scrub(store: Store) -> None:
    assert await store.integrity() == []
    before = await store.size()
    assert before > 0
    await store.write(lambda db: db.many(INSERT, [(f"{n:04}", "y" * 1000) for n in range(500)]))
    assert await store.size() > before + 400_000
    await store.write(lambda db: db.run("DELETE FROM meta"))
    assert await store.scrub() is True
    assert await store.integrity() == []
    assert await store.read(keys) == []


# what is SQLite's own -------------------------------------------------------------------------------------------------


async def test_a_file_keeps_what_it_was_given(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    for n in range(3):
        store = SqliteStore(path)
        await store.write(put(f"{n}"))
        assert await store.read(keys) == [f"{k}" for k in range(n + 1)]
        await store.close()


async def test_stores_in_memory_are_apart() -> None:
    one, two = SqliteStore(":memory:"), SqliteStore(":memory:")
    await one.write(put("a"))
    assert await two.read(keys) == []
    await one.close()
    await two.close()


async def test_waiting_writes_share_a_commit(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    statements: list[str] = []
    release = threading.Event()
    waiting = asyncio.create_task(store.write(busy_for(release)))
    await asyncio.sleep(0.05)
    tasks = [asyncio.create_task(store.write(put(f"{n:03}"))) for n in range(100)]
    await asyncio.sleep(0.05)
    store._writer.set_trace_callback(statements.append)
    release.set()
    await asyncio.gather(waiting, *tasks)
    await store.close()
    assert statements.count("COMMIT") <= 1 + -(-100 // group.GROUP)


async def test_a_slow_writer_blocks_no_reader_of_a_file(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    release = threading.Event()
    waiting = asyncio.create_task(store.write(busy_for(release)))
    for _ in range(8):
        assert await asyncio.wait_for(store.read(keys), 5) == []
    release.set()
    await waiting
    await store.close()


async def test_two_stores_on_one_file_lose_no_update(tmp_path: Path) -> None:
    stores = [SqliteStore(tmp_path / "store.db") for _ in range(3)]
    await asyncio.gather(*(store.write(increment) for _ in range(40) for store in stores))
    for store in stores:
        assert (await store.read(lambda db: db.one("SELECT value FROM meta")))["value"] == "120"
        await store.close()


async def test_a_file_that_another_program_locks_too_long_is_busy(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.1)
    store = SqliteStore(tmp_path / "store.db")
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusyError, match="Repeat the call"):
            await store.write(put("a"))
        assert await store.read(keys) == []
        other.execute("ROLLBACK")
    await store.write(put("b"))
    assert await store.read(keys) == ["b"]
    await store.close()


async def test_scrub_leaves_no_byte_of_what_was_deleted_and_waits_for_no_reader_for_ever(
    tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(sqlite, "SCRUB_WAIT_MS", 50)
    path = tmp_path / "store.db"
    store = SqliteStore(path)
    await store.write(lambda db: db.many(INSERT, [(f"{n}", f"planted-{n}-" + "z" * 500) for n in range(50)]))
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM meta").fetchone() == (50,)
        await store.write(lambda db: db.run("DELETE FROM meta"))
        assert await store.scrub() is False
        reader.execute("COMMIT")
    assert await store.scrub() is True
    for file in tmp_path.iterdir():
        assert b"planted-" not in file.read_bytes(), file.name
    await store.close()


@pytest.mark.parametrize("turn", range(5))
def test_a_new_file_is_made_once_however_many_open_it(tmp_path: Path, turn: int) -> None:
    path, barrier = tmp_path / "store.db", threading.Barrier(12)
    stores: list[SqliteStore] = []
    errors: list[BaseException] = []

    def thread() -> None:
        barrier.wait()
        try:
            stores.append(SqliteStore(path))
        except BaseException as error:  # what a thread raises must reach the test
            errors.append(error)

    threads = [threading.Thread(target=thread) for _ in range(12)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for store in stores:
        asyncio.run(store.close())
    assert errors == []


def test_a_new_file_that_another_process_is_making_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")  # SQLite refuses the switch to WAL at once while this is held
        later = threading.Timer(0.3, other.execute, ("ROLLBACK",))
        later.start()
        asyncio.run(SqliteStore(path).close())
        later.join()


@pytest.mark.parametrize("version", [0, 1, 7])
def test_an_empty_database_of_another_program_is_refused_by_its_version(tmp_path: Path, version: int) -> None:
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {version}")
    if version == 0:  # nothing tells it from a new file
        asyncio.run(SqliteStore(path).close())
        return
    before = path.read_bytes()
    with pytest.raises(StoreFormatError, match="another program"):
        SqliteStore(path)
    assert path.read_bytes() == before


async def test_work_that_need_not_wait_for_the_disk_is_seen_like_any_other(store: Store) -> None:
    await store.write(put("a"), durable=False)
    assert await store.read(keys) == ["a"]
    with pytest.raises(ValueError, match="no"):
        await store.write(lambda db: (put("b")(db), int("no")), durable=False)
    await asyncio.gather(store.write(put("c")), store.write(put("d"), durable=False))
    assert await store.read(keys) == ["a", "c", "d"]
