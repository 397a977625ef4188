"""Upkeep: erase who is long gone, end idle sessions, distil what cooled, fold what says the same, forget, purge.

Everything due is found by an index, so that a call costs what it does; and each part decides by stored times and the
clock alone, so that one call equals many at the same time.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from itertools import groupby

from memstrata.clock import SetClock
from memstrata.distil.commit import Stale
from memstrata.distil.compress import compress
from memstrata.distil.condense import condense, condensed
from memstrata.distil.stages import REPLANS
from memstrata.engine import Engine
from memstrata.errors import LLMError
from memstrata.intake.scope import scope_of_owner
from memstrata.intake.times import parse_time
from memstrata.ledger.erase import finish_pending
from memstrata.ledger.purge import purge_closed
from memstrata.ledger.retention import erase_idle
from memstrata.store.base import Db, Row
from memstrata.store.kinds import NOTE
from memstrata.store.rows import to_us
from memstrata.tiers.pages import end_session, queue_pages
from memstrata.trace import tell
from memstrata.types import Receipt, Scope
from memstrata.work.worker import Worker

log = logging.getLogger("memstrata")
BATCH = 200  # sessions or notes that one transaction takes

# Idle: nothing was recorded for `session_idle`, or the scope's newest turn was said that much later. Only open sessions
# with hot turns are looked at, and the first rule ends each of those within `session_idle`.
IDLE_SESSIONS = (
    "SELECT s.owner, s.agent, s.session FROM sessions s"
    " JOIN scopes c ON c.tenant = s.tenant AND c.owner = s.owner AND c.agent = s.agent"
    " WHERE s.tenant = ? AND s.state = 'open' AND s.hot > 0 AND (s.last_recorded < ? OR s.last_at < c.newest_at - ?)"
    " ORDER BY s.last_recorded, s.owner, s.agent, s.session LIMIT ?"
)
CHANGED_OWNERS = (
    "SELECT owner, compressed FROM owners WHERE tenant = ? AND compressed < changed ORDER BY compressed, owner"
)
FADED_NOTES = (
    "SELECT owner, no FROM notes WHERE tenant = ? AND state = 'current' AND forgets_at IS NOT NULL"
    " AND forgets_at <= ? AND pinned = 0 ORDER BY forgets_at, owner, no LIMIT ?"
)

CHANGED_AGENTS = (
    "SELECT DISTINCT n.agent FROM units u JOIN notes n ON n.tenant = u.tenant AND n.owner = u.owner AND n.no = u.ref"
    f" WHERE u.tenant = ? AND u.owner = ? AND u.kind = {NOTE} AND u.changed > ?"
    " AND n.state = 'current' ORDER BY n.agent"
)


async def maintain(engine: Engine, worker: Worker, now: datetime | str | None) -> dict[str, int]:
    """What is due at `now` (the clock's time when None); see `AsyncMemory.maintain`.

    Returns how many sessions were ended, pages made of them, pages distilled, notes folded, forgotten and purged, and
    how many owners were erased.
    """
    if now is not None:
        at = parse_time(now, tz=engine.settings.tz, what="now")
        engine = replace(engine, clock=SetClock(at))  # the same store and indexes, at another time
        worker = Worker(engine)
    at = engine.now()
    erased = await erase_idle(engine, at)  # first: what goes needs no other upkeep
    sessions, pages = await _end_idle_sessions(engine, at)
    done = await worker.run_due()
    forgotten = await sweep(engine, at)
    purged = await purge_closed(engine, at - timedelta(days=engine.settings.grace_days))
    folded = await compress_changed(engine)  # last: what faded is not folded, and what upkeep changed is compared
    await finish_pending(engine)
    for name, count in (("erased", erased), ("forgotten", forgotten), ("purged", purged), ("folded", folded)):
        tell(name, count)
    return {
        "sessions": sessions,
        "pages": pages,
        "distilled": done.distill,
        "folded": folded,
        "forgotten": forgotten,
        "purged": purged,
        "erased": erased,
    }


async def flush(worker: Worker, timeout: float | None = None) -> dict[str, int]:
    """Run everything that is queued and due; waits for what a worker of another living process has in hand.

    After `timeout` seconds no further job is begun, and the one in hand goes on in the background.

    Returns jobs done by kind, failed attempts, and under "waiting" the jobs that are queued still: for a later retry
    (with those behind them), or because the time was up.
    """
    done = await worker.run_due() if timeout is None else await worker.run_within(timeout)
    tenant = worker.engine.settings.tenant
    row = await worker.engine.store.read(
        lambda db: db.one("SELECT count(*) AS n FROM jobs WHERE tenant = ? AND state = 'queued'", (tenant,)), brief=True
    )
    return {**asdict(done), "waiting": row["n"] if row else 0}


async def distil(engine: Engine, worker: Worker, scope: Scope) -> Receipt:
    """Put every warm page of a scope before the gate now; see `AsyncMemory.distil`."""
    receipt = await cool_pages(engine, scope)
    await worker.run_due(owner=scope.owner)
    return receipt


async def cool_pages(engine: Engine, scope: Scope) -> Receipt:
    """Queue the distillation of every warm page of a scope, of all its agents where none is named."""
    operation, now = engine.operation_id(), engine.now()

    def write(db: Db) -> Receipt:
        rec = engine.record(db, scope, "distil", operation=operation, now=now)
        rows = db.all("SELECT agent FROM scopes WHERE tenant = ? AND owner = ? ORDER BY agent", rec.key)
        agents = [row["agent"] for row in rows if scope.agent in (None, row["agent"])]
        pages = sum(queue_pages(rec, agent) for agent in agents)
        receipt = Receipt(operation, "distil", now, counts={"pages": pages})
        rec.finish({}, receipt)
        return receipt

    return await engine.store.write(write)


async def _end_idle_sessions(engine: Engine, now: datetime) -> tuple[int, int]:
    """End idle sessions, each as an operation of its own; returns how many, and how many pages they became."""
    idle = timedelta(hours=engine.settings.session_idle_hours)
    tenant = engine.settings.tenant

    def write(db: Db) -> tuple[int, int]:
        rows = db.all(IDLE_SESSIONS, (tenant, to_us(now - idle), idle // timedelta(microseconds=1), BATCH))
        return len(rows), sum(_end(db, engine, row, now) for row in rows)

    sessions = pages = 0
    while (ended := await engine.store.write(write))[0]:
        sessions, pages = sessions + ended[0], pages + ended[1]
    return sessions, pages


def _end(db: Db, engine: Engine, row: Row, now: datetime) -> int:
    scope = scope_of_owner(engine.settings.tenant, row["owner"], row["agent"], row["session"])
    operation = engine.operation_id()
    rec = engine.record(db, scope, "end_session", operation=operation, now=now)
    pages = end_session(rec, row["agent"], row["session"], engine.settings)
    rec.finish({}, Receipt(operation, "end_session", now, counts={"pages": len(pages)}))
    return len(pages)


async def compress_changed(engine: Engine) -> int:
    """Fold notes that say the same, where notes changed since they were last compared; returns how many."""
    if not engine.settings.compression:
        return 0
    rows = await engine.store.read(lambda db: db.all(CHANGED_OWNERS, (engine.settings.tenant,)))
    return sum([await _compress_owner(engine, row["owner"], row["compressed"]) for row in rows])


async def _compress_owner(engine: Engine, owner: str, since: int) -> int:
    """Compare an owner's changed notes until there is nothing to fold, so that a second call finds nothing."""
    tenant, folded = engine.settings.tenant, 0

    def changed(db: Db) -> tuple[int, list[str]]:
        row = db.one("SELECT changed FROM owners WHERE tenant = ? AND owner = ?", (tenant, owner))
        rows = db.all(CHANGED_AGENTS, (tenant, owner, since))
        return (since if row is None else row["changed"]), [row["agent"] for row in rows]

    for _ in range(REPLANS):
        until, agents = await engine.store.read(changed)
        before = folded
        try:
            for agent in agents:
                folded += await compress(engine, scope_of_owner(tenant, owner, agent), since)
                if engine.llm is not None:
                    folded += await condense(engine, scope_of_owner(tenant, owner, agent), since)
        except Stale:
            continue
        except LLMError as error:  # the notes stay as they were, and are offered again at the next upkeep
            log.warning("notes were not offered to the language model: %s", type(error).__name__)
            return folded
        since = until
        if folded == before:
            await engine.store.write(lambda db: _compared(db, engine, owner, until), durable=False)  # noqa: B023
            return folded
    return folded


def _compared(db: Db, engine: Engine, owner: str, until: int) -> None:
    """Keep up to where an owner's notes were compared."""
    tenant = engine.settings.tenant
    db.run(
        "UPDATE owners SET compressed = ? WHERE tenant = ? AND owner = ? AND compressed < ?",
        (until, tenant, owner, until),
    )
    if engine.llm is not None:
        condensed(db, scope_of_owner(tenant, owner))


async def sweep(engine: Engine, now: datetime) -> int:
    """Forget the notes whose weight has fallen to theta; returns how many.

    A swept note keeps its content and vectors and can be restored; its turns stay open to recall. Pinned notes do not
    fade. Each owner's notes are one operation of the verb "sweep".
    """
    if not engine.settings.forgetting:
        return 0
    tenant = engine.settings.tenant

    def write(db: Db) -> int:
        faded = db.all(FADED_NOTES, (tenant, to_us(now), BATCH))
        for owner, rows in groupby(sorted(faded, key=lambda row: (row["owner"], row["no"])), lambda row: row["owner"]):
            forget_faded(db, engine, scope_of_owner(tenant, owner), [row["no"] for row in rows], now)
        return len(faded)

    forgotten = 0
    while count := await engine.store.write(write):
        forgotten += count
    return forgotten


def forget_faded(db: Db, engine: Engine, scope: Scope, notes: Sequence[int], now: datetime) -> None:
    """Forget these notes of one owner, as one operation."""
    operation = engine.operation_id()
    rec = engine.record(db, scope, "sweep", operation=operation, now=now)
    for no in notes:
        rec.update("notes", (no,), {"state": "forgotten", "closed_at": to_us(now)})
    rec.finish({"notes": notes}, Receipt(operation, "sweep", now, counts={"forgotten": len(notes)}))
