"""Erasing a subject: every row of its owner goes, and then every byte of those rows leaves the store's files.

The rows go in one transaction, which also notes that a scrub is due. A crash, or a reader that still holds old pages,
therefore loses nothing: the next erasure or `maintain` ends what is pending.
"""

from __future__ import annotations

import asyncio
import contextlib
from datetime import datetime

from memstrata.engine import Engine
from memstrata.errors import StoreError
from memstrata.ledger.backup import backups_with
from memstrata.store.base import Db
from memstrata.store.read import key_of
from memstrata.store.rows import dump, to_us
from memstrata.store.tables import OWNED, reindex_mark
from memstrata.types import Erasure, Scope

PENDING = "scrub_pending"  # key in `meta`; its value is the last erasure that waits


async def erase(engine: Engine, scope: Scope) -> Erasure:
    """Remove everything of the scope's owner. See `AsyncMemory.erase`.

    What stays is an erasure record with the number of rows of each table and nothing of the subject.
    """
    operation, now = engine.operation_id(), engine.now()
    counts = await engine.store.write(lambda db: erase_rows(db, scope, operation, now))
    await forget_index(engine, scope)
    complete = await finish_pending(engine)
    return Erasure(operation, now, counts, complete, backups=await backups_with(engine, scope))


def erase_rows(db: Db, scope: Scope, operation: str, now: datetime) -> dict[str, int]:
    """Remove the rows of the scope's owner, record that, and note that a scrub is due; returns how many went."""
    counts = delete_owner(db, key_of(scope))
    db.run("DELETE FROM meta WHERE key = ? AND value = ?", (reindex_mark(scope.tenant), scope.owner))
    db.run(
        "INSERT INTO erasures (tenant, id, at, counts) VALUES (?, ?, ?, ?)",
        (scope.tenant, operation, to_us(now), dump(counts)),
    )
    db.run(
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (PENDING, operation),
    )
    return counts


async def forget_index(engine: Engine, scope: Scope) -> None:
    """Drop the owner's index and its file; what cannot be removed now is swept as part of what is pending."""
    with contextlib.suppress(StoreError):
        await engine.drop_index(scope)


def delete_owner(db: Db, key: tuple[str, str]) -> dict[str, int]:
    """Delete every row of a (tenant, owner); returns how many went, by table."""
    return {table: db.run(f"DELETE FROM {table} WHERE tenant = ? AND owner = ?", key) for table in OWNED}


async def finish_pending(engine: Engine) -> bool:
    """Scrub the files when an erasure still waits for it; True when none waits any more."""
    row = await engine.store.read(lambda db: db.one("SELECT value FROM meta WHERE key = ?", (PENDING,)))
    if row is None:
        return True
    try:
        await sweep_index_files(engine)
    except StoreError:
        return False
    if engine.hot is not None and not await engine.hot.clear(engine.store):
        return False
    if not await engine.store.scrub():
        return False
    # A later erasure that came during the scrub has written its own id: it stays pending.
    await engine.store.write(lambda db: db.run("DELETE FROM meta WHERE key = ? AND value = ?", (PENDING, row["value"])))
    return True


async def sweep_index_files(engine: Engine) -> None:
    """Overwrite and remove the index files of owners that are gone, or of a state before something was removed.

    Raises StoreError.
    """
    if engine.files is None:
        return
    tenant = engine.settings.tenant
    rows = await engine.store.read(lambda db: db.all("SELECT owner, epoch FROM owners WHERE tenant = ?", (tenant,)))
    await asyncio.to_thread(engine.files.sweep, tenant, {row["owner"]: row["epoch"] for row in rows})
