"""Backups: whole, verified, made while others write; restored only where nothing is lost by a slip."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Bench

from memstrata import Memory, restore_backup
from memstrata.errors import StoreBusyError, StoreError, StoreFormatError
from memstrata.store.backup import read_backup
from memstrata.store.connection import SqliteDb
from memstrata.store.digest import differences, digests
from memstrata.store.tables import DATA, KEYS

TEXTS = ("I live in Porto.", "私は京都に住んでいます。", "我妹妹李娜在华为工作。", "I am allergic to peanuts.")


def contents(path: Path) -> dict[str, Any]:
    with closing(sqlite3.connect(path)) as db:
        db.row_factory = sqlite3.Row
        return digests(SqliteDb(db), DATA)


def open_at(path: Path) -> Memory:
    return Memory(path, embedder="hashing", worker=False)


def test_every_table_has_its_key_in_the_list(bench: Bench) -> None:
    found = {}
    for row in bench.rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"):
        indexes = bench.rows(f"PRAGMA index_list({row['name']})")
        # The first unique index: the primary key of a table without rowids, or the one constraint.
        index = next(each["name"] for each in reversed(indexes) if each["origin"] in ("pk", "u"))
        found[row["name"]] = tuple(each["name"] for each in bench.rows(f"PRAGMA index_info({index})"))
    assert found == KEYS


def test_a_restored_backup_is_the_store_as_it_was(bench: Bench, tmp_path: Path) -> None:
    bench.tell(*TEXTS)
    steps: list[tuple[str, int, int]] = []
    made = bench.memory.backup(tmp_path / "b.db", progress=lambda *step: steps.append(step))
    assert made.counts["turns"] == len(TEXTS)
    assert made.counts["notes"] == len(bench.rows("SELECT no FROM notes"))
    assert {what for what, _, _ in steps} == {"copying pages", "verifying tables"}
    assert read_backup(tmp_path / "b.db") == made
    assert (tmp_path / "b.db").stat().st_mode & 0o077 == 0
    was = contents(bench.path)
    bench.memory.remember("I moved to Lisbon.", user_id="ana")
    restored = restore_backup(tmp_path / "b.db", tmp_path / "again.db")
    assert restored.backup == made
    assert contents(tmp_path / "again.db") == was != contents(bench.path)
    with open_at(tmp_path / "again.db") as memory:
        assert memory.check() == ()
        assert "京都" in memory.recall("京都", user_id="ana")[0].text
        memory.remember("I moved to Braga.", user_id="ana")
    assert sorted(file.name for file in tmp_path.iterdir() if file.is_file()) == ["again.db", "b.db"]


def test_a_backup_is_made_while_others_write(bench: Bench, tmp_path: Path) -> None:
    """Each backup holds whole calls only: as many turns as its receipts say."""
    stop, failures = threading.Event(), []

    def write(n: int) -> None:
        with bench.open() as memory:
            while not stop.is_set():
                try:
                    memory.add([{"role": "user", "content": text} for text in TEXTS[:3]], user_id=f"u{n}")
                except Exception as error:
                    failures.append(error)
                    return

    writers = [threading.Thread(target=write, args=(n,)) for n in range(2)]
    for writer in writers:
        writer.start()
    counts = []
    try:
        for n in range(6):
            made = bench.memory.backup(tmp_path / f"{n}.db")
            counts.append(made.counts["turns"])
            assert made.counts["turns"] == 3 * made.counts["operations"]
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert failures == []
    assert counts == sorted(counts)
    assert counts[-1] > counts[0]


def test_what_is_there_is_not_overwritten_by_a_slip(make_bench: Callable[..., Bench], tmp_path: Path) -> None:
    one, two = make_bench(), make_bench()
    one.tell(TEXTS[0])
    two.tell(TEXTS[1])
    one.memory.backup(tmp_path / "b.db")
    with pytest.raises(StoreError, match="overwrite"):
        one.memory.backup(tmp_path / "b.db")
    one.memory.backup(tmp_path / "b.db", overwrite=True)
    with pytest.raises(StoreError, match="open as a store"):
        one.memory.backup(two.path, overwrite=True)
    two.memory.close()
    with pytest.raises(StoreFormatError, match="no backup"):
        one.memory.backup(two.path, overwrite=True)
    with pytest.raises(StoreError, match="overwrite"):
        restore_backup(tmp_path / "b.db", two.path)
    with pytest.raises(StoreFormatError, match="no backup"):
        restore_backup(two.path, tmp_path / "c.db")
    assert not (tmp_path / "c.db").exists()
    assert two.rows("SELECT text FROM turns")[0]["text"] == TEXTS[1]


def test_a_store_in_use_is_not_replaced(bench: Bench, tmp_path: Path) -> None:
    bench.tell(TEXTS[0])
    bench.memory.backup(tmp_path / "b.db")
    bench.tell(TEXTS[1])
    with pytest.raises(StoreBusyError, match="close it"):
        restore_backup(tmp_path / "b.db", bench.path, overwrite=True)
    assert len(bench.rows("SELECT * FROM turns")) == 2
    bench.memory.close()
    restore_backup(tmp_path / "b.db", bench.path, overwrite=True)
    assert [row["text"] for row in bench.rows("SELECT text FROM turns")] == [TEXTS[0]]
    bench.memory = bench.open()
    assert bench.memory.check() == ()


def test_a_damaged_store_is_replaced_with_its_log(bench: Bench, tmp_path: Path) -> None:
    bench.tell(*TEXTS)
    bench.memory.backup(tmp_path / "b.db")
    was = contents(bench.path)
    bench.memory.close()
    bench.path.write_bytes(b"\0" * 5000)
    Path(f"{bench.path}-wal").write_bytes(b"torn")
    restore_backup(tmp_path / "b.db", bench.path, overwrite=True)
    assert contents(bench.path) == was


def test_a_database_of_another_program_is_not_replaced(bench: Bench, tmp_path: Path) -> None:
    bench.memory.backup(tmp_path / "b.db")
    with closing(sqlite3.connect(tmp_path / "other.db")) as db:
        db.execute("CREATE TABLE bills (id)")
    with pytest.raises(StoreError, match="another program"):
        restore_backup(tmp_path / "b.db", tmp_path / "other.db", overwrite=True)


@pytest.mark.parametrize("fault", ["value", "row", "page", "cut"])
def test_a_damaged_backup_is_refused(bench: Bench, tmp_path: Path, fault: str) -> None:
    bench.tell(*TEXTS)
    path = tmp_path / "b.db"
    bench.memory.backup(path)
    if fault in ("value", "row"):
        with closing(sqlite3.connect(path)) as db:
            db.execute({"value": "UPDATE turns SET text = 'x' WHERE no = 2", "row": "DELETE FROM links"}[fault])
            db.execute("DELETE FROM evidence WHERE note = 1") if fault == "row" else None
            db.commit()
    else:
        data = bytearray(path.read_bytes())
        if fault == "page":
            data[20480:24576] = b"\xff" * 4096
        path.write_bytes(data if fault == "page" else data[: len(data) // 2])
    with pytest.raises(StoreFormatError, match="damaged"):
        restore_backup(path, tmp_path / "again.db")
    assert not (tmp_path / "again.db").exists()


def test_what_a_killed_backup_left_is_in_nobodys_way(bench: Bench, tmp_path: Path) -> None:
    bench.tell(TEXTS[0])
    (tmp_path / "b.db.partial").write_bytes(b"half a file" * 1000)
    bench.memory.backup(tmp_path / "b.db")
    assert read_backup(tmp_path / "b.db").counts["turns"] == 1
    assert not (tmp_path / "b.db.partial").exists()


def test_an_erasure_names_the_backups_that_hold_the_subject(bench: Bench, tmp_path: Path) -> None:
    bench.tell(TEXTS[0], user_id="ana")
    bench.memory.backup(tmp_path / "first.db")
    bench.tell(TEXTS[1], user_id="花子")
    bench.memory.backup(tmp_path / "second.db")
    bench.memory.backup(tmp_path / "gone.db")
    (tmp_path / "gone.db").unlink()
    assert bench.memory.erase(user_id="花子").backups == (str(tmp_path / "second.db"),)
    bench.memory.backup(tmp_path / "second.db", overwrite=True)
    erased = bench.memory.erase(user_id="ana")
    assert erased.backups == (str(tmp_path / "first.db"), str(tmp_path / "second.db"))
    assert "花子".encode() not in (tmp_path / "second.db").read_bytes()
    bench.memory.close()
    restored = restore_backup(tmp_path / "second.db", bench.path, overwrite=True)
    assert restored.erased_since == (erased.operation,)
    bench.memory = bench.open()


def test_a_store_in_memory_says_that_it_has_no_file(tmp_path: Path) -> None:
    with open_at(Path(":memory:")) as memory, pytest.raises(StoreError, match="export"):
        memory.backup(tmp_path / "b.db")


def test_the_time_of_a_backup_is_the_clocks(bench: Bench, tmp_path: Path) -> None:
    assert bench.memory.backup(tmp_path / "b.db").at == datetime(2026, 6, 1, 12, tzinfo=UTC)


def test_digests_tell_which_table_differs(bench: Bench) -> None:
    bench.tell(*TEXTS)
    was = contents(bench.path)
    bench.memory.remember("I moved to Lisbon.", user_id="ana")
    told = differences(contents(bench.path), was)
    assert any(each.startswith("turns: 5 rows, not 4") for each in told)
    assert "owners: other values" in told
    assert not any(each.startswith("erasures") for each in told)
