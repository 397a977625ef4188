"""Backups and what the store knows of them: an erasure names those that still hold the subject."""

from __future__ import annotations

import asyncio
from pathlib import Path

from memstrata.engine import Engine
from memstrata.errors import StoreError
from memstrata.store.backup import MADE, holds_owner
from memstrata.store.base import FileStore
from memstrata.store.rows import dump, to_us
from memstrata.types import Backup, Progress, Scope


async def backup(engine: Engine, target: str | Path, overwrite: bool, progress: Progress | None) -> Backup:
    """Write a backup and note where it lies. See `AsyncMemory.backup`."""
    store, now = engine.store, engine.now()
    if not isinstance(store, FileStore):
        raise StoreError("this store is no file: back it up with its server's own tools, or `memstrata copy` it to one")
    path = await asyncio.to_thread(Path(target).absolute)
    made = await store.backup(path, now, overwrite=overwrite, progress=progress)
    if engine.read_only:  # an erasure must be done where it can be written, by who knows of this backup
        return made
    await engine.store.write(
        lambda db: db.run(
            "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (MADE + str(path), dump(to_us(now))),
        )
    )
    return made


async def backups_with(engine: Engine, scope: Scope) -> tuple[str, ...]:
    """The backups made of this store that lie where they were written and hold the scope's owner."""
    rows = await engine.store.read(lambda db: db.all("SELECT key FROM meta WHERE key LIKE ?", (f"{MADE}%",)))
    paths = sorted(row["key"].removeprefix(MADE) for row in rows)

    def search() -> tuple[str, ...]:
        return tuple(path for path in paths if holds_owner(Path(path), scope.tenant, scope.owner))

    return await asyncio.to_thread(search) if paths else ()
