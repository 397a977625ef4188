"""What is PostgreSQL's own: addresses, other programs' schemas, servers that come and go, writers that meet."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests import servers

from memstrata import Memory
from memstrata.errors import (
    MissingExtraError,
    StoreBusyError,
    StoreError,
    StoreFormatError,
    StoreUnreachableError,
)
from memstrata.journal.jobs import lease
from memstrata.store import migrations, opening, postgres, postgres_link, postgres_schema, sqlite
from memstrata.store.base import Db
from memstrata.store.dialect import postgres_schema as postgres_tables
from memstrata.store.dialect import translated
from memstrata.store.postgres import PostgresStore, split_address

INSERT = "INSERT INTO meta (key, value) VALUES (?, ?)"


@pytest.fixture
def address(tmp_path: Path) -> str:
    return servers.address_for(tmp_path)


@pytest.fixture
def server() -> Iterator[servers.PostgresServer]:
    """A server of its own, which a test may stop."""
    made = servers.PostgresServer()
    yield made
    made.remove()


def put(key: str) -> Callable[[Db], int]:
    return lambda db: db.run(INSERT, (key, ""))


def keys(db: Db) -> list[str]:
    return [row["key"] for row in db.all("SELECT key FROM meta ORDER BY key")]


def direct(address: str, statement: str) -> None:
    """Run a statement as another program would."""
    with psycopg.connect(split_address(address)[0], autocommit=True) as connection:
        connection.execute(statement.encode())


# what is said ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "portable, ours",
    [
        ("SELECT a FROM t WHERE b = ?", "SELECT a FROM t WHERE b = %s"),
        ("SELECT 1 WHERE a LIKE '50%?' AND b = ?", "SELECT 1 WHERE a LIKE '50%%?' AND b = %s"),
        ("SELECT '?''?', ?", "SELECT '?''?', %s"),
        ("SET a = max(t.a, excluded.a)", "SET a = GREATEST(t.a, excluded.a)"),
        ("SELECT max(no) FROM t", "SELECT max(no) FROM t"),
        ("SELECT a % ?", "SELECT a %% %s"),
        ("SELECT a /* FOR UPDATE SKIP LOCKED */", "SELECT a FOR UPDATE SKIP LOCKED"),
    ],
)
def test_portable_sql_is_translated(portable: str, ours: str) -> None:
    assert translated(portable) == ours


def test_every_primary_key_begins_with_the_tenant() -> None:
    tables = [statement for statement in postgres_tables() if statement.startswith("CREATE TABLE")]
    assert len(tables) > 15
    for table in tables:
        if not table.startswith(("CREATE TABLE meta ", "CREATE TABLE writers ")):
            assert re.search(r"PRIMARY KEY \(tenant, ", table), table
    assert not [statement for statement in postgres_tables() if "sqlite" in statement or "ROWID" in statement]


def test_without_psycopg_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, what: str, extra: str) -> None:
        raise MissingExtraError(what, extra)

    monkeypatch.setattr(opening, "require", missing)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'memstrata[postgres]'")):
        opening.open_store("postgresql://localhost/app")


# opening --------------------------------------------------------------------------------------------------------------


def test_a_memory_on_a_server_remembers_in_three_languages(address: str) -> None:
    said = ["I live in Porto with my sister Marta.", "好きな食べ物はラーメンです。", "我对花生过敏。"]
    with Memory(address, embedder="hashing", worker=False) as memory:
        memory.add([{"role": "user", "content": text} for text in said], user_id="ana")
        memory.remember("我养了一只叫豆豆的狗。", user_id="ana")
        memory.end_session(user_id="ana")
        memory.flush()
    with Memory(address, embedder="hashing", worker=False) as memory:
        for question, word in (("Porto", "Porto"), ("ラーメン", "ラーメン"), ("花生", "花生"), ("豆豆", "豆豆")):
            assert word in memory.recall(question, user_id="ana").hits[0].text
        assert memory.recall("Porto", user_id="bob").hits == ()
        assert memory.check() == ()


def test_a_schema_of_another_program_is_refused_and_left_as_it_is(address: str) -> None:
    schema = split_address(address)[1]
    direct(address, f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.notes (id int)")
    with pytest.raises(StoreFormatError, match="another program"):
        PostgresStore(address)
    direct(address, f"SELECT id FROM {schema}.notes")


def test_a_newer_schema_is_refused(address: str) -> None:
    asyncio.run(PostgresStore(address).close())
    direct(address, f"COMMENT ON SCHEMA {split_address(address)[1]} IS 'memstrata schema 99'")
    with pytest.raises(StoreFormatError, match="has schema 99"):
        PostgresStore(address)


def test_a_database_of_another_encoding_is_refused(address: str) -> None:
    name, address = split_address(address)[1], address.replace("memory@", "postgres@")
    direct(address, f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(StoreFormatError, match="LATIN1"):
        PostgresStore(address.replace("/postgres?", f"/{name}?"))


@pytest.mark.parametrize(
    "change, error",
    [
        (("/postgres?", "/no_such_database?"), StoreError),
        ((f"host={servers.SCRATCH}", f"host={servers.SCRATCH}/nowhere"), StoreUnreachableError),
        (("memory@", "memory:s3cret@"), None),
    ],
)
def test_where_it_cannot_be_opened_it_says_why_and_shows_no_password(
    address: str, change: tuple[str, str], error: type[StoreError] | None
) -> None:
    changed = address.replace(*change)
    if error is None:
        asyncio.run(PostgresStore(changed).close())
        assert "s3cret" not in PostgresStore(changed).name
        return
    with pytest.raises(error) as raised:
        PostgresStore(changed)
    assert "check" in str(raised.value).lower()


def test_a_new_schema_is_made_once_however_many_open_it(address: str) -> None:
    barrier, stores, failed = threading.Barrier(8), [], []

    def thread() -> None:
        barrier.wait()
        try:
            stores.append(PostgresStore(address))
        except BaseException as error:  # what a thread raises must reach the test
            failed.append(error)

    threads = [threading.Thread(target=thread) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for store in stores:
        asyncio.run(store.close())
    assert failed == []


# the second wall ------------------------------------------------------------------------------------------------------

TABLES = ("owners", "turns", "sessions", "operations", "units", "vectors", "jobs", "decisions", "notes", "evidence")


async def test_the_database_itself_keeps_tenants_apart(address: str) -> None:
    for tenant in ("left", "right"):
        with Memory(address, embedder="hashing", worker=False, tenant=tenant) as memory:
            memory.remember("私は京都に住んでいます。", user_id="ana")
            memory.add("I may buy a boat.", user_id="ana")
    where, schema = split_address(address)
    with psycopg.connect(where, autocommit=True) as connection:
        connection.execute(f"SET search_path TO {schema}".encode())

        def tenants(table: str) -> list[str]:
            query = f"SELECT DISTINCT tenant FROM {table} ORDER BY tenant"
            return [row[0] for row in connection.execute(query.encode())]

        for said, seen in ((None, []), ("of left", ["left"]), ("of nobody", []), ("all", ["left", "right"])):
            if said is not None:
                connection.execute("SELECT set_config('memstrata.rows', %s, false)", (said,))
            for table in TABLES:
                assert tenants(table) == seen, (said, table)
        connection.execute("SET memstrata.rows TO 'of left'")
        assert connection.execute("DELETE FROM turns WHERE tenant = 'right'").rowcount == 0
        assert connection.execute("UPDATE owners SET seq = 0 WHERE tenant = 'right'").rowcount == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("INSERT INTO owners (tenant, owner) VALUES ('right', 'u:eve')")
        bare = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'r'"
            " AND NOT (relrowsecurity AND relforcerowsecurity)", (schema,)).fetchall()  # fmt: skip
        assert sorted(bare) == [("meta",), ("writers",)]


async def test_a_statement_that_forgets_its_tenant_meets_the_wall(address: str) -> None:
    store = PostgresStore(address)
    await store.write(
        lambda db: db.many("INSERT INTO owners (tenant, owner) VALUES (?, ?)", [("a", "u:x"), ("b", "u:x")])
    )

    def count(db: Db) -> int:
        return int(db.all("SELECT count(*) AS n FROM owners")[0]["n"])

    views = [store.within("a"), store, store.within("none")]
    assert [await view.read(count) for view in views] == [1, 2, 0]
    # Written together in one commit, each within its own.
    assert await asyncio.gather(*(view.write(count) for view in views * 5)) == [1, 2, 0] * 5
    with pytest.raises(StoreError, match="row-level security"):
        await store.within("a").write(lambda db: db.run("INSERT INTO owners (tenant, owner) VALUES ('b', 'u:y')"))
    await store.close()


def test_reembed_reaches_every_tenant(address: str) -> None:
    for tenant in ("left", "right"):
        with Memory(address, embedder="hashing", worker=False, tenant=tenant) as memory:
            memory.remember("我对花生过敏。", user_id="ana")
    with Memory(address, embedder="hashing", worker=False, tenant="left") as memory:
        memory.reembed("static")
    for tenant in ("left", "right"):
        with Memory(address, embedder="static", worker=False, tenant=tenant) as memory:
            assert memory.check() == ()
            assert "花生" in memory.recall("花生", user_id="ana").hits[0].text


# from one schema to the next ------------------------------------------------------------------------------------------

STEP = """
-- A table, a column, an index and rows, as a step may have them.
CREATE TABLE moods (tenant TEXT NOT NULL, owner TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (tenant, owner));
ALTER TABLE notes ADD COLUMN mood TEXT NOT NULL DEFAULT '';
ALTER TABLE notes ADD COLUMN moved INTEGER;
CREATE INDEX notes_mood ON notes (tenant, owner, mood);
UPDATE notes SET mood = 'calm', moved = 9000000000;
-- SQLite only
PRAGMA no_such_thing;
"""


def with_steps(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """As if this were the version after this one."""
    made = (*migrations.migrations(), migrations.Migration(postgres_schema.SCHEMA_VERSION + 1, "moods", script))
    monkeypatch.setattr(migrations, "migrations", lambda: made)
    monkeypatch.setattr(postgres_schema, "SCHEMA_VERSION", postgres_schema.SCHEMA_VERSION + 1)


def test_both_kinds_of_store_have_one_version() -> None:
    assert postgres_schema.SCHEMA_VERSION == sqlite.SCHEMA_VERSION


def test_an_older_schema_is_brought_to_the_newest_by_one_of_many(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for tenant in ("left", "right"):
        with Memory(address, embedder="hashing", worker=False, tenant=tenant) as memory:
            memory.remember("我住在上海。", user_id="ana")
    with_steps(monkeypatch, STEP)
    opened: list[PostgresStore] = []
    threads = [threading.Thread(target=lambda: opened.append(PostgresStore(address))) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(opened) == 4, "those that waited found it made"
    rows = asyncio.run(opened[0].read(lambda db: db.all("SELECT tenant, mood, moved FROM notes ORDER BY tenant")))
    assert [tuple(row) for row in rows] == [("left", "calm", 9000000000), ("right", "calm", 9000000000)]
    assert len(asyncio.run(opened[0].within("left").read(lambda db: db.all("SELECT * FROM notes")))) == 1
    with pytest.raises(StoreError, match="row-level security"):
        asyncio.run(opened[0].within("left").write(lambda db: db.run("INSERT INTO moods VALUES ('right', 'u:x', 1)")))
    for store in opened:
        asyncio.run(store.close())
    with Memory(address, embedder="hashing", worker=False, tenant="left") as memory:
        assert "上海" in memory.recall("上海", user_id="ana").hits[0].text
        assert memory.check() == ()


def test_a_step_that_fails_leaves_the_schema_as_it_was(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(PostgresStore(address).close())
    with monkeypatch.context() as patched:
        with_steps(patched, f"{STEP.partition('-- SQLite')[0]} INSERT INTO nowhere VALUES (1);")
        with pytest.raises(StoreFormatError, match=r"(?s)nowhere.*as before"):
            PostgresStore(address)
    store = PostgresStore(address)  # still of this version
    row = asyncio.run(store.read(lambda db: db.one("SELECT to_regclass('moods') AS moods")))
    assert row is not None
    assert row["moods"] is None
    asyncio.run(store.close())


# workers --------------------------------------------------------------------------------------------------------------


async def test_a_job_of_one_process_wakes_the_worker_of_another(address: str) -> None:
    writer, worker = PostgresStore(address), PostgresStore(address).within("t")
    assert await worker.wait_for_jobs(0.0), "what came before somebody listened is worth a look"
    assert not await worker.wait_for_jobs(0.0)
    job = (
        "INSERT INTO jobs (tenant, owner, no, kind, agent, payload, op, state, run_after)"
        " VALUES ('t', 'u:a', ?, 'page', '', '{}', 'o', 'queued', 0)"
    )
    await writer.write(put("nothing that is queued"))
    assert not await worker.wait_for_jobs(0.0)
    waiting = asyncio.create_task(worker.wait_for_jobs(600.0))
    await writer.write(lambda db: db.run(job, (1,)))
    assert await waiting
    await writer.write(lambda db: db.run(job, (2,)))  # nobody waits: it is told at the next wait
    assert await worker.wait_for_jobs(600.0)
    await writer.close()
    await worker.close()


async def test_an_owner_that_somebody_has_in_hand_is_passed_over(address: str) -> None:
    stores = [PostgresStore(address) for _ in range(2)]
    await stores[0].write(lambda db: db.run("INSERT INTO owners (tenant, owner) VALUES ('t', 'u:a')"))
    taken, go = threading.Event(), threading.Event()

    def hold(db: Db) -> bool:
        held = lease(db, "t", "u:a", "host|1|1|a", 60)
        taken.set()
        assert go.wait(60)
        return held

    first = asyncio.create_task(stores[0].write(hold))
    assert await asyncio.to_thread(taken.wait, 60)
    assert not await stores[1].write(lambda db: lease(db, "t", "u:a", "host|2|1|b", 60)), "and nobody waits for it"
    go.set()
    assert await first
    assert not await stores[1].write(lambda db: lease(db, "t", "u:a", "host|2|1|b", 60)), "the first holds it"
    for store in stores:
        await store.close()


# writers that meet ----------------------------------------------------------------------------------------------------


async def test_stores_of_many_processes_lose_no_update(address: str) -> None:
    def increment(db: Db) -> None:
        row = db.one("SELECT value FROM meta WHERE key = 'n'")
        value = 0 if row is None else int(row["value"])
        db.run("INSERT INTO meta (key, value) VALUES ('n', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
               (str(value + 1),))  # fmt: skip

    stores = [PostgresStore(address) for _ in range(3)]
    await asyncio.gather(*(store.write(increment) for _ in range(40) for store in stores))
    for store in stores:
        assert (await store.read(lambda db: db.one("SELECT value FROM meta")))["value"] == "120"
        await store.close()


async def test_two_writes_that_each_read_what_the_other_writes_are_one_after_the_other(address: str) -> None:
    """Neither writes what the other read in its own row: only a serializable transaction keeps them apart."""
    stores = [PostgresStore(address) for _ in range(2)]
    await stores[0].write(lambda db: db.many(INSERT, [("a", "1"), ("b", "1")]))
    met = threading.Barrier(2)

    def leave(key: str) -> Callable[[Db], bool]:
        def work(db: Db) -> bool:
            present = len(db.all("SELECT key FROM meta WHERE value = '1'"))
            with contextlib.suppress(threading.BrokenBarrierError):  # run again: the other is done
                met.wait(1)
            if present < 2:
                return False
            db.run("UPDATE meta SET value = '0' WHERE key = ?", (key,))
            return True

        return work

    left = await asyncio.gather(stores[0].write(leave("a")), stores[1].write(leave("b")))
    assert sorted(left) == [False, True]
    for store in stores:
        await store.close()


async def test_the_error_that_is_told_is_the_first_not_what_followed_from_it(address: str) -> None:
    store = PostgresStore(address)

    def work(db: Db) -> None:
        db.run(INSERT, ("waits", ""))  # for a statement about its table, which does not come
        db.one("SELECT 1 / 0 FROM owners UNION SELECT 1 / 0")

    for several in (1, 3):
        errors = await asyncio.gather(*(store.write(work) for _ in range(several)), return_exceptions=True)
        assert {type(error) for error in errors} == {StoreError}
        assert all("division by zero" in str(error) for error in errors)
        assert await store.read(keys) == []
    await store.close()


async def test_many_rows_go_in_one_statement_as_they_are(address: str) -> None:
    store = PostgresStore(address)
    texts = ["", 'o\'clock, {"a"}', "漢字かな", "a\\b\n", "NULL", None]
    rows = [("t", f"u:{n}", f"i{n}", 2**40 + n, "s", "", "", "o", None, None, "m", "p", "x", n, 0, True, 1, n / 3, text)
            for n, text in enumerate(texts)]  # fmt: skip
    columns = (
        "tenant, owner, id, at, stage, agent, session, op, job, page, model, prompt, outcome, input_tokens,"
        " output_tokens, cached_tokens, seconds, cost, answer"
    )
    insert = f"INSERT INTO calls ({columns}) VALUES ({', '.join('?' * 19)})"
    await store.write(lambda db: [db.run(insert, row) for row in rows])
    found = await store.read(lambda db: db.all(f"SELECT {columns} FROM calls ORDER BY input_tokens"))
    assert [tuple(row) for row in found] == [tuple(row) for row in rows]
    await store.close()


async def test_a_table_that_another_program_locks_too_long_is_busy(address: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(postgres_link, "BUSY_SECONDS", 0.2)
    store = PostgresStore(address)
    with psycopg.connect(split_address(address)[0]) as other:
        other.execute(f"LOCK TABLE {split_address(address)[1]}.meta IN EXCLUSIVE MODE".encode())
        with pytest.raises(StoreBusyError, match="Repeat"):
            await store.write(put("a"))
        assert await store.read(keys) == []
    await store.write(put("b"))
    assert await store.read(keys) == ["b"]
    await store.close()


# servers that come and go ---------------------------------------------------------------------------------------------


async def test_a_restart_in_mid_transaction_loses_and_doubles_nothing(server: servers.PostgresServer) -> None:
    store = PostgresStore(server.address())
    begun, done = threading.Event(), []

    async def write() -> None:
        for n in range(2000):
            await store.write(put(f"{n:04}"))
            done.append(f"{n:04}")
            if n == 20:
                begun.set()
            if len(done) > 20 and stopped.is_set() and n > stopped_at[0] + 20:
                return

    stopped, stopped_at = threading.Event(), [0]

    def restart() -> None:
        assert begun.wait(30)
        for mode in ("immediate", "fast"):
            server.stop(mode)
            server.start()
            time.sleep(0.1)
        stopped_at[0] = len(done)
        stopped.set()

    await asyncio.gather(write(), asyncio.to_thread(restart))
    assert await store.read(keys) == done  # each once, or the insert would have failed
    assert len(done) > 40
    await store.close()


async def test_a_commit_whose_answer_is_lost_is_looked_up(address: str, monkeypatch: Any) -> None:
    """The server commits and the connection breaks before it says so; and breaks before it commits."""
    store = PostgresStore(address)
    runs = 0

    def work(key: str) -> Callable[[Db], str]:
        def run(db: Db) -> str:
            nonlocal runs
            runs += 1
            db.run(INSERT, (key, ""))
            return key

        return run

    for key, commits in (("committed", True), ("cut", False)):
        real, cut = store._writer.execute, []  # type: ignore[union-attr]

        def execute(query: Any, *args: Any, _of: Any = (real, cut, commits), **more: Any) -> Any:
            real, cut, commits = _of
            if query == "COMMIT" and not cut:
                cut.append(True)
                if commits:
                    real(query, *args, **more)
                raise psycopg.OperationalError("server closed the connection unexpectedly")
            return real(query, *args, **more)

        monkeypatch.setattr(store._writer, "execute", execute)
        runs = 0
        assert await store.write(work(key)) == key
        assert runs == (1 if commits else 2)
    assert await store.read(keys) == ["committed", "cut"]
    await store.close()


async def test_a_server_that_stays_away_is_told_and_found_again(
    server: servers.PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "RECONNECT_SECONDS", 0.3)
    monkeypatch.setattr(postgres_link, "BUSY_SECONDS", 0.5)
    store = PostgresStore(server.address())
    await store.write(put("a"))
    server.stop()
    with pytest.raises(StoreUnreachableError, match="nothing of this call was written"):
        await store.write(put("b"))
    with pytest.raises(StoreUnreachableError):
        await store.read(keys)
    server.start()
    await store.write(put("c"))
    assert await store.read(keys) == ["a", "c"]
    await store.close()


CHILD = """
import os, sys
from memstrata import Memory
memory = Memory(sys.argv[1], embedder="hashing", worker=False)
print("open", flush=True)
for n in range(100000):
    memory.add(f"Turn {n}: 今日は京都。", user_id="ana", session_id="s")
    print(n, flush=True)
"""


def test_a_client_killed_in_mid_transaction_loses_nothing_it_acknowledged(address: str) -> None:
    told = 0
    for _ in range(3):
        command = [sys.executable, "-c", CHILD, address]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
        assert child.stdout is not None
        with child, child.stdout:
            for line in child.stdout:
                told += line.strip().isdigit()
                if told % 25 == 24:
                    child.send_signal(signal.SIGKILL)
                    break
            told += sum(line.strip().isdigit() for line in child.stdout)
        with Memory(address, embedder="hashing", worker=False) as memory:
            memory.flush()
            turns = memory.turns(user_id="ana", session_id="s", limit=1000)
            assert told <= len(list(turns)) <= told + 1  # one may have been written and not told
            assert memory.check() == ()
            told = len(list(turns))


def test_a_primary_that_is_killed_under_load_loses_nothing_acknowledged_to_its_standby(
    server: servers.PostgresServer,
) -> None:
    """Its clients have the addresses of both and go on with the other, once that one was promoted."""
    standby = servers.PostgresServer(of=server)
    address = server.address().replace(
        f"host={server.folder}", f"host={server.folder},{standby.folder}&target_session_attrs=read-write"
    )
    said: list[list[str]] = [[] for _ in range(3)]
    enough, over = threading.Event(), threading.Event()

    def talk(memory: Memory, n: int) -> None:
        for k in itertools.count():
            text = ("I live in Town{}.", "私は第{}町に住んでいます。", "我住在第{}区。")[n].format(k)
            memory.add({"role": "user", "content": text, "id": f"m{k}"}, user_id=f"u{n}", session_id="s")
            said[n].append(text)
            if all(len(each) >= 10 for each in said):
                enough.set()
            if over.is_set() and k > 20:
                return

    try:
        with Memory(address, embedder="hashing", worker=False) as memory, ThreadPoolExecutor(3) as threads:
            talks = [threads.submit(talk, memory, n) for n in range(3)]
            assert enough.wait(100)
            server.kill()
            at_kill = [len(each) for each in said]
            standby.promote()
            deadline = time.monotonic() + 100
            while any(len(each) < before + 5 for each, before in zip(said, at_kill)):  # they go on
                assert not any(each.done() for each in talks)
                assert time.monotonic() < deadline
                time.sleep(0.02)
            over.set()
            for each in talks:
                each.result()
        with Memory(standby.address(), embedder="hashing", worker=False) as memory:
            for n, texts in enumerate(said):
                turns = memory.context("", user_id=f"u{n}", session_id="s", strategy="full", max_tokens=100_000).turns
                assert [turn.text for turn in turns] == texts, "each once, in order"
            memory.flush()
            assert memory.check() == ()
    finally:
        over.set()
        standby.remove()
