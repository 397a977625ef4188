"""A disk that is full while queued work is done: no job loses an attempt by it."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Bench

from memstrata import Memory
from memstrata.errors import StoreError, StoreFullError

TEXTS = ["I live in Porto.", "私は京都に住んでいます。", "我妹妹李娜在华为工作。"]
FREE = 1_000_000  # pages


def limit(bench: Bench, pages: int) -> None:
    """Let the file grow to so many pages and no further: SQLite then says what it says of a full disk."""
    store: Any = bench.memory._async._engine.store
    bench.memory._run(store.write(lambda db: db.all(f"PRAGMA max_page_count = {pages}")))


def test_a_full_disk_uses_up_no_attempt(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(job_attempts=2, job_backoff_seconds=10.0)
    bench.memory.add([{"role": "user", "content": f"{text} " * 40} for text in TEXTS * 20], user_id="ana")
    pages = bench.rows("PRAGMA page_count")[0]["page_count"]
    limit(bench, pages)
    for _ in range(5):
        with contextlib.suppress(StoreFullError):  # when not even the delay can be noted
            bench.memory.flush()
        assert {(job["state"], job["attempts"]) for job in bench.rows("SELECT * FROM jobs")} == {("queued", 0)}
        bench.clock.advance(seconds=10)
    (index, *_) = bench.rows("SELECT * FROM jobs WHERE kind = 'index'")
    assert index["error"].startswith("StoreFullError")
    limit(bench, FREE)
    done = bench.memory.flush()
    assert (done["index"], done["failed"]) == (1, 0)
    assert bench.rows("SELECT * FROM jobs") == []
    assert bench.memory.check() == ()


def fill(memory: Memory) -> int:
    """Add long turns until the disk is full; how many were acknowledged."""
    for stored in itertools.count():
        try:
            memory.add(f"{TEXTS[stored % 3]} {stored} " * 400, user_id="ana")
        except StoreFullError:
            return stored
    raise AssertionError("it never filled")


def test_on_a_full_disk_what_was_acknowledged_stays_and_work_goes_on_when_there_is_room(disk: Path) -> None:
    (disk / "filler").write_bytes(b"x" * 8 * 2**20)
    with Memory(disk / "memory.db", embedder="hashing", worker=False) as memory:
        stored = fill(memory)
        assert stored > 0
        assert memory.stats(user_id="ana")["turns"] == stored
        with pytest.raises(StoreError):
            memory.backup(disk / "b.db")
        assert not (disk / "b.db").exists()
        (disk / "filler").unlink()
        memory.add("我住在上海。", user_id="ana")
        assert memory.stats(user_id="ana")["turns"] == stored + 1
        assert memory.check() == ()


@pytest.mark.parametrize("torn", [1, 100, 5000, 40_000])
def test_a_torn_log_is_taken_up_to_the_last_whole_commit(bench: Bench, tmp_path: Path, torn: int) -> None:
    """As a loss of power leaves it: the end of the log is missing, what stands before it is not what was written."""
    for n in range(20):
        bench.memory.add(f"{TEXTS[n % 3]} {n}", user_id="ana")
    path, log = tmp_path / "memory.db", Path(f"{bench.path}-wal").read_bytes()
    path.write_bytes(bench.path.read_bytes())
    Path(f"{path}-wal").write_bytes(log[: -2 * torn] + b"\xff" * torn)
    with Memory(path, embedder="hashing", worker=False) as memory:
        turns = memory.turns(user_id="ana").turns
        assert [turn.text for turn in turns] == [f"{TEXTS[n % 3]} {n}" for n in range(len(turns))]
        assert 0 < len(turns) < 20
        memory.add("I moved to Lisbon.", user_id="ana")
        assert memory.flush()["failed"] == 0
        assert memory.check() == ()
