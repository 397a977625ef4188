"""Files and disks that cannot be used: a typed error that says what and what to do, and the store as before."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memstrata import Memory
from memstrata.errors import MemstrataError, ModelMismatchError, StoreError, StoreFormatError
from memstrata.store.sqlite import SCHEMA_VERSION

FACTS = ["I live in Porto.", "私は京都に住んでいます。", "我妹妹李娜在华为工作。", "I am allergic to peanuts."]


def open_memory(path: Path | str, **settings: Any) -> Memory:
    return Memory(path, **{"embedder": "hashing", "worker": False, "alpha": 0.5, "beta": 0.55, **settings})


def use(memory: Memory) -> None:
    """Every kind of read and write."""
    memory.add("My cat is called Miso.", user_id="ana", session_id="s")
    memory.flush()
    memory.recall("京都 Porto", user_id="ana", k=50)
    memory.context("Where do I live?", user_id="ana", session_id="s", strategy="full")
    for note in memory.list(user_id="ana", include_superseded=True, include_forgotten=True, limit=500):
        memory.history(note.id, user_id="ana")
        memory.explain(note.id, user_id="ana")
    memory.remember("I moved to Lisbon.", user_id="ana")
    memory.profile("ana")
    memory.stats()
    memory.end_session(user_id="ana", session_id="s")
    memory.flush()
    memory.maintain()
    memory.check()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with turns, pages and notes, in one file (the log is emptied into it)."""
    path = tmp_path_factory.mktemp("filled") / "memory.db"
    with open_memory(path) as memory:
        for n in range(60):
            memory.add(f"{FACTS[n % 4]} ({n})", user_id="ana", session_id=f"s{n % 3}")
        for text in FACTS:
            memory.remember(text, user_id="ana")
        memory.end_session(user_id="ana", session_id="s0")
        memory.flush()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


# not a store ----------------------------------------------------------------------------------------------------------


def foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.executescript("CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('https://example.org');")


def of_another_application(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA application_id = 1196444487")  # GeoPackage
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


FOREIGN: dict[str, Callable[[Path], Any]] = {
    "text": lambda path: path.write_text("Dear diary, 京都 was lovely.\n" * 50, "utf-8"),
    "zeros": lambda path: path.write_bytes(bytes(8192)),
    "noise": lambda path: path.write_bytes(random.Random(7).randbytes(10_000)),
    "a few bytes": lambda path: path.write_bytes(b"hi"),  # SQLite takes a file of one byte for an empty one
    "another SQLite file": foreign,
    "another application's file": of_another_application,
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "memory.db"
    FOREIGN[kind](path)
    before = path.read_bytes()
    with pytest.raises(StoreFormatError, match="another path") as caught:
        open_memory(path)
    assert str(path) in str(caught.value)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {"memory.db": before}


def test_an_empty_file_is_a_new_store(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.touch()
    with open_memory(path) as memory:
        use(memory)
        assert memory.check() == ()


def test_a_newer_version_is_refused_with_what_to_do(filled: Path, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    shutil.copy(filled, path)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = path.read_bytes()
    with pytest.raises(StoreFormatError, match="pip install --upgrade memstrata"):
        open_memory(path)
    assert path.read_bytes() == before
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    with open_memory(path) as memory:
        assert memory.check() == ()


@pytest.mark.parametrize("where", ["a folder", "no such folder", "below a file"])
def test_a_path_that_cannot_be_a_file_is_a_typed_error(tmp_path: Path, where: str) -> None:
    (tmp_path / "file").touch()
    path = {
        "a folder": tmp_path,
        "no such folder": tmp_path / "no" / "m.db",
        "below a file": tmp_path / "file" / "m.db",
    }
    with pytest.raises(StoreError, match="Check the folder") as caught:
        open_memory(path[where])
    assert str(path[where]) in str(caught.value)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


UNWRITABLE = """
import os, sys
from memstrata import Memory
from memstrata.errors import StoreError
from memstrata.store.sqlite import SqliteStore

Memory(":memory:", embedder="hashing").close()  # loads all modules: the next user may not read where they lie
if os.geteuid() == 0:
    os.seteuid(65534)  # rights do not bind root
try:
    with Memory(sys.argv[1], embedder="hashing") as memory:  # what is there can be read
        memory.remember("I live in Porto.", user_id="ana")
except StoreError as error:
    print(error)
"""


@pytest.mark.parametrize("is_there", [False, True])
def test_a_folder_that_may_not_be_written_is_a_typed_error(filled: Path, is_there: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if is_there:
            shutil.copy(filled, folder / "memory.db")
            (folder / "memory.db").chmod(0o444)
        folder.chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", UNWRITABLE, str(folder / "memory.db")], capture_output=True, text=True, check=False
        )
        folder.chmod(0o755)
        assert done.returncode == 0, done.stderr
        assert ("can only be read" if is_there else "Check the folder and its rights") in done.stdout
        if is_there:
            assert (folder / "memory.db").read_bytes() == filled.read_bytes()


# damage ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.001, 0.02, 0.3, 0.7, 0.99])
def test_a_truncated_store_is_told(filled: Path, tmp_path: Path, share: float) -> None:
    path = tmp_path / "memory.db"
    content = filled.read_bytes()
    path.write_bytes(content[: max(1, int(len(content) * share))])
    with pytest.raises(StoreFormatError, match="backup"), open_memory(path) as memory:
        use(memory)


def test_an_overwritten_header_is_told(filled: Path, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    content = bytearray(filled.read_bytes())
    content[:100] = os.urandom(100)
    path.write_bytes(content)
    with pytest.raises(StoreFormatError, match="backup"):
        open_memory(path)
    assert path.read_bytes() == bytes(content)


def damage(path: Path, seed: int) -> None:
    """Overwrite a stretch of some pages with noise, zeros or each other, as a bad disk does."""
    rng = random.Random(seed)
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 3, 20))):
        start, length = rng.randrange(4096, len(content)), rng.choice((1, 16, 512, 4096))
        noise = rng.choice((rng.randbytes(length), bytes(length), bytes(content[4096 : 4096 + length])))
        content[start : start + length] = noise[: len(content) - start]
    path.write_bytes(content)


@pytest.mark.parametrize("seed", range(25))
def test_damage_gives_typed_errors_and_no_crash(filled: Path, tmp_path: Path, seed: int) -> None:
    """Damage that nothing looks at may pass; what is met is told by a typed error, and no process dies or hangs."""
    path = tmp_path / "memory.db"
    shutil.copy(filled, path)
    damage(path, seed)
    with contextlib.suppress(MemstrataError), open_memory(path) as memory:
        use(memory)


def test_check_tells_damage(filled: Path, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    shutil.copy(filled, path)
    with closing(sqlite3.connect(path)) as db:
        (page,) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'vectors'").fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(os.urandom(size))
    with contextlib.suppress(StoreFormatError), open_memory(path) as memory:
        assert memory.check() != (), "neither an error nor a disagreement"


# a full disk ----------------------------------------------------------------------------------------------------------

FULL = """
import json, resource, signal, sys
from memstrata import Memory
from memstrata.errors import StoreFullError

path, way = sys.argv[1], sys.argv[2]
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
filler = None

def fill():
    global filler
    if way == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, resource.RLIM_INFINITY))
        return
    filler = open(path + ".filler", "wb", buffering=0)
    try:
        while filler.write(bytes(4096)):
            pass
    except OSError:
        pass

def free():
    if way == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    else:
        filler.truncate(0)

LIMIT = 300_000
memory = Memory(path, embedder="hashing", alpha=0.5, beta=0.55, job_backoff_seconds=0.0, worker=False)
said = 0

def add():
    global said
    text = f"Turn {said}: " + "I live in Porto, 京都, 成都. " * 20
    receipt = memory.add(text, user_id="ana", session_id="s")
    said += 1
    return receipt.operation

operations = [add() for _ in range(3)]
memory.remember("I am allergic to peanuts.", user_id="ana")
memory.flush()
fill()
errors = []
for _ in range(500):
    try:
        operations.append(add())
    except StoreFullError as error:
        errors.append(str(error))
        if len(errors) == 3:
            break
assert len(errors) == 3, "the disk never filled"
acknowledged = said
try:
    receipt = memory.remember("I moved to Lisbon.", user_id="ana")
    assert receipt.candidates[0].outcome in ("failed", "admitted", "admitted_superseding"), receipt
    remembered = 1
except StoreFullError:
    remembered = 0
found = memory.recall("peanuts", user_id="ana", touch=False)[0].text if not memory.stats()["jobs"]["queued"] else None
stored = memory.stats()["turns"]
free()
assert stored == acknowledged + 1 + remembered, (stored, acknowledged, remembered)
for _ in range(5):
    operations.append(add())
memory.retry_failed()
for _ in range(10):
    done = memory.flush()
assert done["waiting"] == 0, done
assert memory.stats()["jobs"]["failed"] == 0, memory.stats()["errors"]
assert memory.check() == (), memory.check()
assert memory.stats()["turns"] == said + 1 + remembered
for operation in operations:
    assert memory.receipt(operation, user_id="ana").messages
assert "peanuts" in memory.recall("peanuts", user_id="ana")[0].text
memory.close()
print(json.dumps({"acknowledged": acknowledged, "said": said, "errors": errors}))
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of four megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("this user may not mount a file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def run_full(path: Path, way: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FULL, str(path), way],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "repeat the call" in done.stdout
    assert "never retrieved" not in done.stderr


def test_a_full_disk_takes_nothing_half_and_goes_on_when_there_is_space(small_disk: Path) -> None:
    run_full(small_disk / "memory.db", "disk")


def test_a_limit_on_the_size_of_files_is_a_full_disk(tmp_path: Path) -> None:
    run_full(tmp_path / "memory.db", "limit")


def test_a_full_disk_at_the_opening_is_a_typed_error(small_disk: Path) -> None:
    path = small_disk / "memory.db"
    with (small_disk / "filler").open("wb", buffering=0) as filler:
        for _ in range(1000):
            try:
                filler.write(bytes(4096))
            except OSError:
                break
    with pytest.raises(StoreError):
        open_memory(path)
    (small_disk / "filler").unlink()
    with open_memory(path) as memory:
        use(memory)
        assert memory.check() == ()


def test_closing_on_a_full_disk_closes_all_the_same(small_disk: Path) -> None:
    path = small_disk / "memory.db"
    memory = open_memory(path, worker=True)
    memory.add(FACTS[0], user_id="ana")
    memory.flush()
    with (small_disk / "filler").open("wb", buffering=0) as filler:
        for _ in range(1000):
            try:
                filler.write(bytes(4096))
            except OSError:
                break
    for _ in range(300):
        try:
            memory.add("x" * 5000, user_id="ana")
        except MemstrataError:
            break
    try:
        memory.recall("Porto", user_id="ana")  # a touch that cannot be written
        memory.close()
    except StoreError:
        memory.close()
    (small_disk / "filler").unlink()
    with open_memory(path) as again:
        again.flush()
        assert again.check() == ()


# another model --------------------------------------------------------------------------------------------------------


def test_another_model_is_refused_by_every_verb_that_needs_vectors(filled: Path, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    shutil.copy(filled, path)

    def dump() -> list[str]:
        with closing(sqlite3.connect(path)) as db:
            return list(db.iterdump())

    before = dump()
    calls: dict[str, Callable[[Memory], object]] = {
        "add": lambda memory: memory.add("I live in Rome.", user_id="ana"),
        "add for a new user": lambda memory: memory.add("I live in Rome.", user_id="new"),
        "remember": lambda memory: memory.remember("I live in Rome.", user_id="ana"),
        "recall": lambda memory: memory.recall("Where do I live?", user_id="ana"),
        "context": lambda memory: memory.context("Where do I live?", user_id="ana"),
        "preview": lambda memory: memory.preview("I live in Rome.", user_id="ana"),
    }
    for name, call in calls.items():
        with open_memory(path, embedder="minilm") as other, pytest.raises(ModelMismatchError) as caught:
            call(other)
        for told in ("'hashing-128'", "all-MiniLM", "`memstrata reembed --embedder minilm`"):
            assert told in str(caught.value), name
    assert dump() == before
    with open_memory(path, embedder="minilm") as other:  # what needs no vectors works
        assert other.list(user_id="ana").notes
        assert other.stats()["turns"] == 64
    with open_memory(path) as memory:
        assert memory.recall("Where do I live?", user_id="ana").hits
