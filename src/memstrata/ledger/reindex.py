"""Reindex: units, terms and vectors of every owner made anew from the truth, owner by owner."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from memstrata.embed.base import sound
from memstrata.engine import Engine
from memstrata.index.units import Document, Vectors
from memstrata.ledger.documents import documents_of, read_sources, rebuild
from memstrata.ledger.maintain import scope_of_owner
from memstrata.store.base import Db
from memstrata.store.tables import reindex_mark

BATCH = 128  # texts that the embedder gets at once
Progress = Callable[[str, int, int], None]  # what is counted, how many are done, of how many


def report(progress: Progress | None, what: str, done: int, total: int) -> None:
    if progress is not None:
        progress(what, done, total)


async def reindex(engine: Engine, progress: Progress | None = None) -> dict[str, int]:
    """Rebuild what is derived, of all owners of the tenant. See `AsyncMemory.reindex`."""
    tenant = engine.settings.tenant

    def remaining(db: Db) -> list[str]:
        engine.check_model(db)
        mark = db.one("SELECT value FROM meta WHERE key = ?", (reindex_mark(tenant),))
        rows = db.all("SELECT owner FROM owners WHERE tenant = ?", (tenant,))
        return sorted(row["owner"] for row in rows if mark is None or row["owner"] > mark["value"])

    owners = await engine.store.read(remaining)
    units = 0
    for n, owner in enumerate(owners, 1):
        units += await _reindex_owner(engine, owner)
        report(progress, "owners", n, len(owners))
    await engine.store.write(lambda db: db.run("DELETE FROM meta WHERE key = ?", (reindex_mark(tenant),)))
    return {"owners": len(owners), "units": units}


async def _reindex_owner(engine: Engine, owner: str) -> int:
    """One owner in one transaction: readers see the old index or the new one. Returns the number of units."""
    scope = scope_of_owner(engine.settings.tenant, owner)
    key = (scope.tenant, scope.owner)
    vectors: dict[tuple[str, ...], Vectors] = {}
    while True:
        documents = await engine.store.read(lambda db: documents_of(read_sources(db, key)))
        await embed_missing(engine, documents, vectors)

        def write(db: Db) -> int | None:
            if db.one("SELECT 1 FROM owners WHERE tenant = ? AND owner = ?", key) is None:
                return 0  # erased in between
            current = documents_of(read_sources(db, key))
            if any(document.dense not in vectors for document in current):
                return None  # something was added or edited meanwhile: embed that too
            rebuild(engine, db, scope, current, vectors)
            db.run(
                "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                (reindex_mark(scope.tenant), owner),
            )
            return len(current)

        count = await engine.store.write(write)
        if count is not None:
            return count


async def embed_missing(engine: Engine, documents: Sequence[Document], vectors: dict[tuple[str, ...], Vectors]) -> None:
    """Add the vectors of documents that are not there yet, BATCH documents a call."""
    missing = list({document.dense for document in documents} - vectors.keys())
    for start in range(0, len(missing), BATCH):
        part = missing[start : start + BATCH]
        texts = [text for dense in part for text in dense]
        rows = sound(await engine.embedder.embed(texts), texts, engine.embedder)
        ends = np.cumsum([len(dense) for dense in part])
        vectors.update(zip(part, np.split(rows, ends[:-1]), strict=True))
