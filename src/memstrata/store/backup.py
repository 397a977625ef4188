"""Backups of a file store: one file that holds a whole, verified store, made while others write.

A backup is a store file with a manifest in its `meta` table: when it was made, of which schema, and of each table the
rows and their digest. It is written beside its place, verified, brought to the disk and moved in: it is whole or not
there.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import orjson

from memstrata.errors import StoreBusyError, StoreError, StoreFormatError
from memstrata.store.base import Db
from memstrata.store.connection import SqliteDb, connect, read_only_target, typed_errors
from memstrata.store.digest import Digest, differences, digests
from memstrata.store.rows import dump, from_us, to_us
from memstrata.store.tables import DATA
from memstrata.types import Backup, Progress, Restored

MANIFEST = "backup"  # key in `meta` of a backup file
MADE = "backup/"  # begins a key in `meta` of a store: the path of a backup made of it; its value, when
PAGES = 2048  # copied at once: 8 MB
WAIT_MS = 2000  # how long a restore waits for those who have the old store open


def write_backup(
    source: sqlite3.Connection,
    target: Path,
    now: datetime,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Backup:
    """Copy what `source` sees now to `target`; what others commit meanwhile is not in it, and waits for nothing.

    Raises StoreError when something is at `target` (with `overwrite`: something else than an earlier backup).
    """
    _check_target(target, overwrite)
    with _written_beside(target) as partial:
        source.execute("BEGIN")
        try:
            schema = int(source.execute("PRAGMA user_version").fetchone()[0])  # and the snapshot is taken
            wanted = _counts(SqliteDb(source))
            with contextlib.closing(_scratch(partial)) as made:
                source.backup(made, pages=PAGES, progress=_pages(progress, "copying pages"))
        finally:
            source.execute("COMMIT")
        with contextlib.closing(_scratch(partial)) as made:
            db = SqliteDb(made)
            _check_integrity(db, str(target))
            found = digests(db, DATA, progress)
            if (counts := {table: digest.rows for table, digest in found.items()}) != wanted:
                raise StoreError(f"{target}: the copy has other rows than the store; try again")  # pragma: no cover
            manifest = {
                "at": to_us(now),
                "schema": schema,
                "erasures": counts["erasures"],
                "tables": {table: [digest.rows, digest.sum] for table, digest in found.items()},
            }
            db.run("DELETE FROM meta WHERE key = ?", (MANIFEST,))
            db.run("INSERT INTO meta (key, value) VALUES (?, ?)", (MANIFEST, dump(manifest)))
        size = partial.stat().st_size
        _take_place(partial, target)
    return Backup(str(target), now, schema, size, counts, counts["erasures"])


def read_backup(path: Path, progress: Progress | None = None, *, verify: bool = True) -> Backup:
    """What a backup says it holds; verified: that the file is sound and holds just that.

    Raises StoreFormatError when it is no backup, or is damaged.
    """
    if not path.is_file():
        raise StoreError(f"{path}: there is no file")
    with typed_errors(str(path)), contextlib.closing(_read_only(path)) as connection:
        db = SqliteDb(connection)
        if db.one("SELECT 1 FROM sqlite_schema WHERE name = 'meta'") is None:
            raise _no_backup(path)
        row = db.one("SELECT value FROM meta WHERE key = ?", (MANIFEST,))
        if row is None:
            raise _no_backup(path)
        manifest = orjson.loads(row["value"])
        tables = {table: Digest(*pair) for table, pair in manifest["tables"].items()}
        if verify:
            _check_integrity(db, str(path))
            if found := differences(digests(db, tuple(tables), progress), tables):
                raise StoreFormatError(f"{path} is damaged: {'; '.join(found)}. Take another backup.")
    counts = {table: digest.rows for table, digest in tables.items()}
    return Backup(
        str(path), from_us(manifest["at"]), manifest["schema"], path.stat().st_size, counts, manifest["erasures"]
    )


def restore_backup(
    backup: str | Path, path: str | Path, *, overwrite: bool = False, progress: Progress | None = None
) -> Restored:
    """Make the store at `path` from a backup, which is verified first. The backup stays as it is.

    Nobody may have the store open. Until the last moment the old store is there, then the new one is.

    Args:
        overwrite: replace the store that is at `path`; without it, a file there is an error.
        progress: called as (what, done, total).

    Raises:
        StoreFormatError: it is no backup, or it is damaged; StoreBusyError: another process has the store open;
        StoreError: a store is there already.
    """
    source, target = Path(backup), Path(path)
    if target.exists() and not overwrite:
        raise StoreError(f"{target} exists: pass overwrite=True (--overwrite) to replace it, or name another path")
    held = read_backup(source, progress)
    with _written_beside(target) as partial:
        with typed_errors(str(target)), contextlib.closing(_read_only(source)) as connection:
            with contextlib.closing(_scratch(partial)) as made:
                connection.backup(made, pages=PAGES, progress=_pages(progress, "restoring pages"))
            with contextlib.closing(_scratch(partial)) as made:
                made.execute("DELETE FROM meta WHERE key = ?", (MANIFEST,))
                before = {row["id"] for row in made.execute("SELECT id FROM erasures")}
        with _nobody_else(target) as erasures:
            _take_place(partial, target)
    return Restored(str(target), held, tuple(sorted(erasures - before)))


def holds_owner(path: Path, tenant: str, owner: str) -> bool:
    """Whether a file, if one is there, holds rows of this owner; one that cannot be read may."""
    if not path.is_file():
        return False
    try:
        with typed_errors(str(path)), contextlib.closing(_read_only(path)) as connection:
            row = SqliteDb(connection).one("SELECT 1 FROM owners WHERE tenant = ? AND owner = ?", (tenant, owner))
            return row is not None
    except StoreError:
        return True


def _counts(db: Db) -> dict[str, int]:
    return {table: _count(db, table) for table in DATA}


def _count(db: Db, table: str) -> int:
    row = db.one(f"SELECT count(*) AS n FROM {table}")
    return 0 if row is None else int(row["n"])


def _check_integrity(db: Db, path: str) -> None:
    faults = [str(row[0]) for row in db.all("PRAGMA integrity_check(3)")]
    if faults != ["ok"]:
        raise StoreFormatError(f"{path} is damaged: {'; '.join(faults)}")


def _no_backup(path: Path) -> StoreFormatError:
    return StoreFormatError(f"{path} is no backup: `memstrata backup` makes one")


def _check_target(target: Path, overwrite: bool) -> None:
    """Whether a backup may be written there: a store that is in use must not be lost by a slip."""
    if not target.exists():
        return
    if not overwrite:
        raise StoreError(f"{target} exists: pass overwrite=True (--overwrite) to replace an earlier backup")
    if Path(f"{target}-wal").exists():
        raise StoreError(f"{target} is open as a store; name another path")
    read_backup(target, verify=False)


def _pages(progress: Progress | None, what: str) -> Callable[[int, int, int], None] | None:
    if progress is None:
        return None
    return lambda _, remaining, total: progress(what, total - remaining, total)


def _read_only(path: Path) -> sqlite3.Connection:
    return connect(read_only_target(str(path)))


def _scratch(path: Path) -> sqlite3.Connection:
    """A connection to a file that nobody else has and that is worth nothing before it is whole: no journal."""
    connection = connect(str(path))
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    return connection


@contextlib.contextmanager
def _written_beside(target: Path) -> Iterator[Path]:
    """A file beside `target` to write to and to move in with `_take_place`; what is not moved in is removed."""
    partial = target.with_name(f"{target.name}.partial")
    try:
        handle = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror}") from error
    try:
        _own(handle, partial, target)
        os.ftruncate(handle, 0)  # what a killed run left
        try:
            with typed_errors(str(target)):
                yield partial
        finally:
            if _is_at(handle, partial):
                partial.unlink()
    finally:
        os.close(handle)


def _own(handle: int, partial: Path, target: Path) -> None:
    """Lock the partial file: the lock ends with the process, so that one tells a living writer from a dead one."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise StoreBusyError(f"{target} is being written by another process; wait for it") from error
    if not _is_at(handle, partial):  # another writer has just moved it in
        raise StoreBusyError(f"{target} was written by another process a moment ago; repeat the call")


def _is_at(handle: int, path: Path) -> bool:
    """Whether an open file is the one at a path."""
    return path.exists() and os.path.samestat(os.fstat(handle), path.stat())


def _take_place(partial: Path, target: Path) -> None:
    """Bring a file to the disk and move it in."""
    try:
        _to_disk(partial)
        partial.replace(target)
        _to_disk(target.parent)
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror}") from error


def _to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _nobody_else(target: Path) -> Iterator[set[str]]:
    """Hold the store at `target`, if one is there, while it is replaced; its erasures.

    Of a damaged one the log goes, which would otherwise be played into the new file.
    """
    if not target.exists():
        yield set()
        return
    try:
        with typed_errors(str(target)), contextlib.closing(connect(str(target))) as connection:
            connection.execute(f"PRAGMA busy_timeout = {WAIT_MS}")
            db = SqliteDb(connection)
            ours = db.one("SELECT 1 FROM sqlite_schema WHERE name = 'erasures'")
            if ours is None and db.one("SELECT 1 FROM sqlite_schema") is not None:
                raise StoreError(f"{target} is a SQLite file of another program; choose another path.")
            erased = {row["id"] for row in db.all("SELECT id FROM erasures")} if ours else set()
            connection.execute("PRAGMA journal_mode = DELETE")  # refused while anybody has it open
            connection.execute("BEGIN EXCLUSIVE")
            yield erased
    except StoreBusyError as error:
        raise StoreBusyError(f"{target} is open in another process: close it there, then restore") from error
    except StoreFormatError:
        for suffix in ("-wal", "-shm", "-journal"):
            Path(f"{target}{suffix}").unlink(missing_ok=True)
        yield set()
