"""A file of an older schema made one of the newest: a backup first, then every step in one transaction."""

from __future__ import annotations

import contextlib
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from memstrata.errors import StoreFormatError
from memstrata.store import migrations
from memstrata.store.backup import MADE, write_backup
from memstrata.store.connection import connect
from memstrata.store.dialect import statements
from memstrata.store.rows import dump, to_us


def upgrade(connection: sqlite3.Connection, path: Path, wanted: int) -> None:
    """Bring the store at `path`, which `connection` has open, to schema `wanted`.

    Before anything is changed, the store as it is goes to `PATH.schemaN.backup` beside it, verified; an erasure names
    that file like every other backup. Of several processes one does the work, the others wait for it. Whatever fails,
    the store is as before.

    Raises StoreFormatError when a step fails, StoreError when the backup cannot be written.
    """
    connection.execute("BEGIN IMMEDIATE")  # nobody else writes, or upgrades, from here on
    version = version_of(connection)
    kept, now = path.absolute().with_name(f"{path.name}.schema{version}.backup"), datetime.now(UTC)
    try:
        if version < wanted:  # else another process was faster
            with contextlib.closing(connect(str(path))) as reader:
                write_backup(reader, kept, now, overwrite=True)
            for step in migrations.between(version, wanted):
                for statement in statements(step.script):
                    connection.execute(statement)
            connection.execute(
                "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                (MADE + str(kept), dump(to_us(now))),
            )
            connection.execute(f"PRAGMA user_version = {wanted}")
        connection.execute("COMMIT")
    except BaseException as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        full = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
        if full or not isinstance(error, sqlite3.Error | LookupError):
            raise
        raise StoreFormatError(
            f"{path} could not be brought from schema {version} to {wanted} ({error}); it is as before, and a backup "
            f"of it is {kept}. Go on with the memstrata that wrote it, and report this."
        ) from error


def version_of(connection: sqlite3.Connection) -> int:
    """The schema of a file; 0 of an empty one."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
