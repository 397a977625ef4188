"""Retention: of whom nothing was stored for long enough, everything is erased."""

from __future__ import annotations

from datetime import datetime, timedelta

from memstrata.engine import Engine
from memstrata.intake.scope import scope_of_owner
from memstrata.ledger.erase import erase_rows, forget_index
from memstrata.store.base import Db
from memstrata.store.read import Key, key_of
from memstrata.store.rows import to_us

NEWEST = "SELECT t.recorded_at FROM turns t WHERE t.tenant = {tenant} AND t.owner = {owner} ORDER BY t.no DESC LIMIT 1"
IDLE_OWNERS = (
    f"SELECT o.owner FROM owners o WHERE o.tenant = ? AND ({NEWEST.format(tenant='o.tenant', owner='o.owner')}) < ?"
    " ORDER BY o.owner"
)


async def erase_idle(engine: Engine, now: datetime) -> int:
    """Erase the owners whose newest turn was recorded more than `erase_after_days` before `now`; returns how many.

    Each is an erasure with a record of its own. Their bytes leave the files with what else is pending, see
    `ledger.erase.finish_pending`. Looks up one row an owner, and nothing where the setting is None.
    """
    days = engine.settings.erase_after_days
    if days is None:
        return 0
    tenant, before = engine.settings.tenant, to_us(now - timedelta(days=days))
    rows = await engine.store.read(lambda db: db.all(IDLE_OWNERS, (tenant, before)))
    erased = 0
    for row in rows:
        scope = scope_of_owner(tenant, row["owner"])
        operation = engine.operation_id()

        def write(db: Db, operation: str = operation) -> bool:
            if not _is_idle(db, key_of(scope), before):  # noqa: B023 - somebody spoke meanwhile
                return False
            erase_rows(db, scope, operation, now)  # noqa: B023
            return True

        if await engine.store.write(write):
            erased += 1
            await forget_index(engine, scope)
            if engine.retired is not None:
                engine.retired(scope, operation)
    return erased


def _is_idle(db: Db, key: Key, before: int) -> bool:
    row = db.one(NEWEST.format(tenant="?", owner="?"), key)
    return row is not None and row["recorded_at"] < before
