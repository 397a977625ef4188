"""Erase: everything of a subject goes, from every table and from the bytes of the files."""

from __future__ import annotations

from memstrata.engine import Engine
from memstrata.store.base import Db
from memstrata.store.read import key_of
from memstrata.store.rows import dump, to_us
from memstrata.types import Erasure, Scope

# Every table that holds rows of an owner, as the receipt counts them. A test holds it against the schema.
OWNED = (
    "turns",
    "notes",
    "pages",
    "sessions",
    "evidence",
    "links",
    "names",
    "decisions",
    "operations",
    "changes",
    "jobs",
    "served",
    "units",
    "postings",
    "vectors",
    "scopes",
    "owners",
)
PENDING = "scrub_pending"  # in `meta`: deleted bytes wait for another reader to leave


async def erase(engine: Engine, scope: Scope) -> Erasure:
    operation, now = engine.operation_id(), engine.now()

    def write(db: Db) -> dict[str, int]:
        counts = {
            table: db.run(f"DELETE FROM {table} WHERE tenant = ? AND owner = ?", key_of(scope)) for table in OWNED
        }
        db.run(
            "INSERT INTO erasures (tenant, id, at, counts) VALUES (?, ?, ?, ?)",
            (scope.tenant, operation, to_us(now), dump(counts)),
        )
        db.run("INSERT INTO meta (key, value) VALUES (?, '1') ON CONFLICT DO NOTHING", (PENDING,))
        return counts

    counts = await engine.store.write(write)
    engine.drop_index(scope)
    return Erasure(operation, now, counts, await finish_pending(engine))


async def finish_pending(engine: Engine) -> bool:
    """Rewrite the files where an erasure still waits for it; False while another reader pins the old pages."""
    pending = await engine.store.read(lambda db: db.one("SELECT 1 FROM meta WHERE key = ?", (PENDING,)))
    if pending is None:
        return True
    if not await engine.store.scrub():
        return False
    await engine.store.write(lambda db: db.run("DELETE FROM meta WHERE key = ?", (PENDING,)))
    return await engine.store.scrub()
