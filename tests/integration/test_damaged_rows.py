"""Rows that cannot be as they were written: a typed error that says what to do, wherever they are read."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from contextlib import closing

import pytest
from tests.conftest import Bench

from memstrata import Memory
from memstrata.errors import MemstrataError, StoreFormatError

USER = {"user_id": "ana"}
TEXTS = ["I live in Porto.", "私は京都の妹を訪ねました。", "我妹妹李娜在华为工作。", "My sister Clara lives in Porto."]
DAMAGE = (
    "UPDATE notes SET tags = '5'",
    "UPDATE notes SET names = '[' || names",
    "UPDATE notes SET said_at = 'yesterday'",
    "UPDATE notes SET said_at = 9000000000000000000",
    "UPDATE turns SET at = 'now'",
    "UPDATE turns SET parts = '[1]'",
    "UPDATE evidence SET turn = turn + 1000",
    "INSERT INTO links SELECT tenant, owner, 1, 1000, 'related', 1.0, '', op FROM notes WHERE no = 1",
    "UPDATE decisions SET body = '[]'",
    "UPDATE decisions SET body = '{}'",
    "ALTER TABLE notes RENAME COLUMN tags TO tbgs",
)


def fill(bench: Bench) -> None:
    for text in TEXTS:
        bench.memory.remember(text, **USER)
    bench.memory.add([{"role": "user", "content": text} for text in TEXTS], session_id="s", **USER)
    bench.memory.end_session(session_id="s", **USER)
    bench.memory.flush()


def read_all(memory: Memory) -> None:
    memory.recall("京都 Porto", k=50, **USER)
    memory.context("Where does Clara live?", strategy="full", session_id="s", **USER)
    memory.profile("ana")
    memory.stats()
    for note in memory.list(include_superseded=True, include_forgotten=True, **USER):
        memory.history(note.id, **USER)
        memory.explain(note.id, **USER)


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_row_that_cannot_be_read_is_told_with_what_to_do(bench: Bench, damage: str) -> None:
    fill(bench)
    read_all(bench.memory)
    bench.memory.close()
    with closing(sqlite3.connect(bench.path)) as db:
        db.execute(damage)
        db.commit()
    bench.memory = bench.open()
    with pytest.raises(StoreFormatError, match="damaged") as caught:
        read_all(bench.memory)
    assert "backup" in str(caught.value)


@pytest.mark.parametrize("seed", range(30))
def test_flipped_bits_give_typed_errors_only(bench: Bench, seed: int) -> None:
    fill(bench)
    bench.memory.close()
    rng, content = random.Random(seed), bytearray(bench.path.read_bytes())
    for _ in range(rng.choice((1, 3, 10, 30))):
        content[rng.randrange(100, len(content))] ^= 1 << rng.randrange(8)
    bench.path.write_bytes(content)
    with contextlib.suppress(MemstrataError), bench.open() as memory:
        for work in (lambda: read_all(memory), memory.check, memory.maintain):
            with contextlib.suppress(MemstrataError):
                work()
