"""What many tests share: a memory on a set clock whose pages cool at the first recall, and a look at its raw rows."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests import servers
from tests.servers import SCRATCH, RedisServer

from memstrata import Memory, Note, Receipt, SetClock
from memstrata.face import base
from memstrata.store.opening import open_store
from memstrata.store.postgres import PostgresStore, split_address
from memstrata.store.postgres_link import PostgresDb, connect

os.environ["TMPDIR"] = tempfile.tempdir = SCRATCH  # of this process, and of those that tests start

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
SOON_COOL = {"alpha": 0.5, "beta": 0.55}  # a page is due one tick after it was made


# TEST_STORE=postgres: every path that a test opens is a schema of its own on a PostgreSQL server.
ON_POSTGRES = os.environ.get("TEST_STORE") == "postgres"
if ON_POSTGRES:
    base.open_store = lambda path: (  # type: ignore[attr-defined]
        open_store(path) if str(path) == ":memory:" else PostgresStore(servers.address_for(path))
    )


def rows_of(path: Path, sql: str, *params: object) -> list[dict[str, Any]]:
    """Rows as they lie in the store at a path."""
    if ON_POSTGRES:
        with closing(connect(*split_address(servers.address_for(path)))) as connection:
            connection.execute("SET memstrata.rows TO 'all'")
            return [dict(row) for row in PostgresDb(connection).all(sql, params)]
    with closing(sqlite3.connect(path)) as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute(sql, params)]


def tables_at(path: Path) -> list[str]:
    """The names of all tables of the store at a path."""
    if ON_POSTGRES:
        schema = split_address(servers.address_for(path))[1]
        return [row["t"] for row in rows_of(path, "SELECT tablename AS t FROM pg_tables WHERE schemaname = ?", schema)]
    return [row["name"] for row in rows_of(path, "SELECT name FROM sqlite_schema WHERE type = 'table'")]


def bytes_at(path: Path) -> dict[str, bytes]:
    """The raw bytes of the store at a path, by file: those beside it, or the server's files of its tables."""
    if ON_POSTGRES:
        return servers.postgres().files(split_address(servers.address_for(path))[1])
    beside = [*path.parent.glob(f"{path.name}*"), *Path(f"{path}-index").rglob("*")]
    return {str(file.relative_to(path.parent)): file.read_bytes() for file in sorted(beside) if file.is_file()}


# What asks for SQLite's own files, locks or pragmas.
of_the_file = pytest.mark.skipif(ON_POSTGRES, reason="this is about a file: its bytes, its locks or its pragmas")


@dataclass
class Bench:
    """A memory in a file of its own. `worker=False`: queued work is done by `flush` and `distil`, never in between."""

    path: Path
    clock: SetClock = field(default_factory=lambda: SetClock(NOW))
    settings: dict[str, Any] = field(default_factory=dict)
    memory: Memory = field(init=False)

    def __post_init__(self) -> None:
        self.memory = self.open()

    def open(self, **other: Any) -> Memory:
        """One more memory on the same file."""
        settings = {"embedder": "hashing", "worker": False, "clock": self.clock, **SOON_COOL, **self.settings, **other}
        return Memory(self.path, **settings)

    def reopen(self, **other: Any) -> None:
        self.memory.close()
        self.memory = self.open(**other)

    def rows(self, sql: str, *params: object) -> list[dict[str, Any]]:
        """Rows as they lie in the store."""
        return rows_of(self.path, sql, *params)

    def decisions(self) -> list[dict[str, Any]]:
        """Every stored decision, as it was written."""
        return [json.loads(row["body"]) for row in self.rows("SELECT body FROM decisions ORDER BY decided_at, op, n")]

    def distil(self, **scope: Any) -> None:
        """End the scope's sessions, cool its pages by touching recalls, and do all queued work."""
        owner = f"u:{scope['user_id']}" if scope.get("user_id") else f"a:{scope['agent_id']}"
        for row in self.rows("SELECT agent, session FROM sessions WHERE owner = ? AND hot > 0", owner):
            of_user = scope.get("user_id") is not None
            self.memory.end_session(
                user_id=scope.get("user_id"),
                agent_id=(row["agent"] or None) if of_user else scope["agent_id"],
                session_id=row["session"] or None,
            )
        self.memory.flush()
        for _ in range(20):
            warm = self.rows("SELECT agent FROM pages WHERE owner = ? AND state = 'warm'", owner)
            if not warm:
                return
            agent = scope.get("agent_id") or warm[0]["agent"] or None
            self.memory.recall("?", user_id=scope.get("user_id"), agent_id=agent, k=1)
            self.memory.flush()
        raise AssertionError(f"pages of {owner} did not cool")

    def notes(self, *, all_states: bool = False, **scope: Any) -> list[Note]:
        """All notes of a scope, in the order they were made."""
        found: list[Note] = []
        cursor = None
        while True:
            page = self.memory.list(
                **scope, include_superseded=all_states, include_forgotten=all_states, limit=100, cursor=cursor
            )
            found.extend(page)
            cursor = page.cursor
            if cursor is None:
                return found

    def tell(self, *texts: str, user_id: str = "ana", **more: Any) -> Receipt:
        """A user's turns, distilled at once."""
        receipt = self.memory.add([{"role": "user", "content": text} for text in texts], user_id=user_id, **more)
        self.distil(user_id=user_id)
        return self.memory.receipt(receipt.operation, user_id=user_id)

    def files(self) -> dict[str, bytes]:
        """The raw bytes of the store and everything beside it."""
        if ON_POSTGRES:
            return bytes_at(self.path)
        return {file.name: file.read_bytes() for file in self.path.parent.iterdir() if file.is_file()}


def pytest_unconfigure() -> None:
    if servers.postgres.cache_info().currsize:
        servers.postgres().remove()


@pytest.fixture
def make_bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    """Opens benches, each in a folder of its own; settings by keyword."""
    benches: list[Bench] = []

    def make(**settings: Any) -> Bench:
        folder = tmp_path / f"bench{len(benches)}"
        folder.mkdir()
        clock = settings.pop("clock", None) or SetClock(NOW)
        benches.append(Bench(folder / "memory.db", clock, settings))
        return benches[-1]

    yield make
    for bench in benches:
        bench.memory.close()


@pytest.fixture
def bench(make_bench: Callable[..., Bench]) -> Bench:
    """A new memory with the hashing embedder on a set clock."""
    return make_bench()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "none", folder], capture_output=True).returncode:
        pytest.skip("mounting a disk is refused here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with tempfile.TemporaryDirectory(prefix="mrd-", dir=SCRATCH) as folder:  # a socket's path must be short
        server = RedisServer(Path(folder))
        server.start()
        yield server
        server.kill()
