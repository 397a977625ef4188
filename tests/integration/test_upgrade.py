"""A store of an older schema is backed up and brought to the newest, whole or not at all.

`tests/data/schemaN.db.gz` are stores as the versions that had schema N first wrote them; they are never changed.
"""

from __future__ import annotations

import gzip
import io
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memstrata import Memory, SetClock, restore_backup
from memstrata.errors import StoreFormatError
from memstrata.store import migrations, sqlite
from memstrata.store.backup import read_backup
from memstrata.store.migrations import Migration
from memstrata.store.sqlite import SCHEMA_VERSION

DATA = Path(__file__).parents[1] / "data"
NEXT = SCHEMA_VERSION + 1
STEP = """
-- What a step may look like: a column, an index; on new rows and old.
ALTER TABLE notes ADD COLUMN mood TEXT NOT NULL DEFAULT '';
CREATE INDEX notes_mood ON notes (tenant, owner, mood);
UPDATE notes SET mood = 'calm' WHERE kind = 'preference';
"""


def released(folder: Path, version: int) -> Path:
    path = folder / "memory.db"
    path.write_bytes(gzip.decompress((DATA / f"schema{version}.db.gz").read_bytes()))
    return path


def open_at(path: Path) -> Memory:
    return Memory(path, embedder="hashing", worker=False, clock=SetClock(datetime(2026, 6, 2, tzinfo=UTC)))


def shape(path: Path) -> dict[str, Any]:
    """Tables and indexes of a file, as far as their meaning goes: the order of columns is none."""
    with closing(sqlite3.connect(path)) as db:
        tables = {}
        for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"):
            tables[name] = sorted(row[1:] for row in db.execute(f"PRAGMA table_info({name})"))
        indexes = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL").fetchall()
        return {"tables": tables, "indexes": {name: " ".join(sql.split()) for name, sql in indexes}}


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


@pytest.fixture
def next_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if this were the version after this one."""
    made = (*migrations.migrations(), Migration(NEXT, "mood", STEP))
    monkeypatch.setattr(migrations, "migrations", lambda: made)
    monkeypatch.setattr(sqlite, "SCHEMA_VERSION", NEXT)


def test_every_schema_before_the_newest_has_its_store_and_its_way_up() -> None:
    assert [each.version for each in migrations.migrations()] == list(range(2, SCHEMA_VERSION + 1))
    kept = {f"schema{version}.db.gz" for version in range(1, SCHEMA_VERSION + 1)}
    assert {file.name for file in DATA.glob("schema*.db.gz")} == kept


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION + 1))
def test_a_store_of_every_released_schema_becomes_the_newest_and_answers(tmp_path: Path, version: int) -> None:
    path = released(tmp_path, version)
    with open_at(path) as memory:
        assert memory.check() == ()
        assert "violin" in memory.recall("violin", user_id="ana")[0].text
        assert "华为" in memory.recall("华为", user_id="ana")[0].text
        assert "奈良" in memory.recall("奈良", user_id="ana")[0].text
        assert memory.flush()["failed"] == 0
        memory.remember("I moved to Braga.", user_id="ana")
        assert memory.export(io.BytesIO())["note"] > 0
        memory.erase(user_id="ana")
    with open_at(tmp_path / "new.db"):
        assert shape(tmp_path / "new.db") == shape(path)
    assert (tmp_path / f"memory.db.schema{version}.backup").exists() == (version < SCHEMA_VERSION)


@pytest.mark.usefixtures("next_schema")
def test_the_next_schema_comes_with_a_backup_of_the_one_before(tmp_path: Path) -> None:
    path = released(tmp_path, SCHEMA_VERSION)
    before = shape(path)
    with open_at(path) as memory:
        kept = tmp_path / f"memory.db.schema{SCHEMA_VERSION}.backup"
        held = read_backup(kept)
        assert (held.schema, held.counts["turns"]) == (SCHEMA_VERSION, 16)
        assert memory.erase(user_id="ana").backups == (str(kept),)
    assert version_of(path) == NEXT
    assert "mood" in str(shape(path)["tables"]["notes"])
    restore_backup(kept, path, overwrite=True)
    assert shape(path) == before
    with open_at(path) as memory:  # and up again
        assert memory.check() == ()
        assert memory.stats(user_id="ana")["turns"] == 15
    with closing(sqlite3.connect(path)) as db:
        moods = dict(db.execute("SELECT mood, count(*) FROM notes GROUP BY mood").fetchall())
    assert moods.keys() == {"", "calm"}


def test_a_step_that_fails_leaves_the_store_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, next_schema: None
) -> None:
    bad = Migration(NEXT, "bad", STEP + "INSERT INTO nowhere VALUES (1);")
    monkeypatch.setattr(migrations, "migrations", lambda: (bad,))
    path = released(tmp_path, SCHEMA_VERSION)
    before = shape(path)
    with pytest.raises(StoreFormatError, match=r"nowhere.*as before.*backup"):
        open_at(path)
    assert shape(path) == before
    assert version_of(path) == SCHEMA_VERSION
    monkeypatch.undo()
    with open_at(path) as memory:
        assert memory.check() == ()


def test_a_newer_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = released(tmp_path, SCHEMA_VERSION)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {NEXT}")
    before = path.read_bytes()
    with pytest.raises(StoreFormatError, match=r"upgrade memstrata"):
        open_at(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["memory.db"]


KILLED = f"""
import os, signal, sys
from memstrata.store import migrations, sqlite, upgrade
from memstrata.store.migrations import Migration
left = int(sys.argv[2])
def step(*_):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
connect = sqlite.connect
def traced(*arguments, **named):
    made = connect(*arguments, **named)
    made.set_trace_callback(step)
    return made
sqlite.connect = upgrade.connect = traced
migrations.migrations = lambda: (Migration({NEXT}, "mood", {STEP!r}),)
sqlite.SCHEMA_VERSION = {NEXT}
sqlite.SqliteStore(sys.argv[1])
print({10**6} - left)
"""


def run_killed(path: Path, statement: int) -> int:
    ran = subprocess.run([sys.executable, "-c", KILLED, str(path), str(statement)], capture_output=True, check=False)
    assert ran.returncode in (0, -signal.SIGKILL), ran.stderr.decode()
    return int(ran.stdout) if ran.returncode == 0 else ran.returncode


def whole_migration(tmp_path: Path) -> int:
    """How many statements a migration runs."""
    folder = tmp_path / "whole"
    folder.mkdir()
    return run_killed(released(folder, SCHEMA_VERSION), 10**6)


def killed_at(tmp_path: Path, statement: int) -> None:
    """A migration killed at this statement leaves the old schema or the new one, and the next opening ends it."""
    folder = tmp_path / str(statement)
    folder.mkdir()
    path = released(folder, SCHEMA_VERSION)
    before = shape(path)
    assert run_killed(path, statement) == -signal.SIGKILL
    if version_of(path) == SCHEMA_VERSION:
        assert shape(path) == before
    with open_at(path) as memory:
        assert memory.check() == ()
        assert memory.stats(user_id="ana")["turns"] == 15
    assert version_of(path) == NEXT
    assert read_backup(folder / f"memory.db.schema{SCHEMA_VERSION}.backup").schema == SCHEMA_VERSION


def test_a_kill_in_mid_migration_leaves_the_old_schema_or_the_new_one(tmp_path: Path, next_schema: None) -> None:
    statements = whole_migration(tmp_path)
    assert statements > 20
    for statement in sorted({1, statements // 3, statements - 12, *range(statements - 7, statements + 1)}):
        killed_at(tmp_path, statement)


@pytest.mark.soak
def test_kills_at_every_statement_of_a_migration(tmp_path: Path, next_schema: None) -> None:
    statements = whole_migration(tmp_path)
    for statement in range(1, statements + 1):
        killed_at(tmp_path, statement)
    print(f"\nmigration  kills {statements}  half schemas 0", end="")
