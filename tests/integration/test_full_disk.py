"""A disk that is full while queued work is done: no job loses an attempt by it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from tests.conftest import Bench

from memstrata.errors import StoreFullError

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
