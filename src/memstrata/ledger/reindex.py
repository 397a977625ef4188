"""Reindex: units, terms and vectors of every owner made anew from the truth, owner by owner."""

from __future__ import annotations

from collections.abc import Sequence

from memstrata.engine import Engine
from memstrata.index.encode import Encoded, encode
from memstrata.index.units import Document
from memstrata.intake.scope import scope_of_owner
from memstrata.ledger.documents import documents_of, read_sources, rebuild
from memstrata.store.base import Db
from memstrata.store.kinds import TURN
from memstrata.store.tables import reindex_mark
from memstrata.types import Progress

BATCH = 128  # texts that the embedder gets at once


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
    encoded: dict[tuple[str, ...], Encoded] = {}
    while True:
        documents = await engine.store.read(lambda db: documents_of(read_sources(db, key)))
        await embed_missing(engine, documents, encoded)

        def write(db: Db) -> int | None:
            if db.one("SELECT 1 FROM owners WHERE tenant = ? AND owner = ?", key) is None:
                return 0  # erased in between
            current = documents_of(read_sources(db, key))
            if any(document.dense not in encoded for document in current):
                return None  # something was added or edited meanwhile: embed that too
            rebuild(engine, db, scope, current, encoded)
            db.run(
                "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                (reindex_mark(scope.tenant), owner),
            )
            return len(current)

        count = await engine.store.write(write)
        if count is not None:
            await engine.drop_index(scope)
            return count


async def embed_missing(engine: Engine, documents: Sequence[Document], encoded: dict[tuple[str, ...], Encoded]) -> None:
    """Add the vectors of documents that are not there yet, BATCH documents a call; of turns, of their tokens too."""
    late = engine.settings.late_interaction
    turns = {document.dense for document in documents if document.kind == TURN and late}
    others = {document.dense for document in documents} - turns
    for wanted, tokens in ((turns, True), (others, False)):
        missing = list(wanted - encoded.keys())
        for start in range(0, len(missing), BATCH):
            part = missing[start : start + BATCH]
            made = await encode(engine.embedder, [text for dense in part for text in dense], late=tokens)
            end = 0
            for dense in part:
                end, begin = end + len(dense), end
                encoded[dense] = Encoded(made.vectors[begin:end], made.tokens[begin:end])
