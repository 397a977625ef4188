"""Looking around in what is stored: owners, sessions, turns, pages, operations, jobs. Nothing here changes anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from memstrata.engine import Engine
from memstrata.errors import InputError
from memstrata.ledger.cursors import cursor_at, limit_of, place_of
from memstrata.recall.material import SHOWN, page_texts
from memstrata.store.base import Db, Row
from memstrata.store.read import key_of
from memstrata.store.rows import from_us, turn_of
from memstrata.types import Scope
from memstrata.views import (
    Operation,
    OperationPage,
    Owner,
    OwnerPage,
    PagePage,
    QueuedJob,
    Session,
    SessionPage,
    TurnPage,
)

PAGE_STATES = ("new", "warm", "distilled")


def wall(scope: Scope, column: str = "agent") -> tuple[str, tuple[str, ...]]:
    """The condition that keeps to the rows that the scope's agent may see, and its parameters."""
    return ("", ()) if scope.agent is None else (f" AND {column} IN ('', ?)", (scope.agent,))


def _whose(owner: str) -> tuple[str | None, str | None]:
    """The user and the agent that an owner's key stands for."""
    kind, _, name = owner.partition(":")
    return (name, None) if kind == "u" else (None, name)


async def owners(engine: Engine, *, limit: int, cursor: str | None) -> OwnerPage:
    """See `AsyncMemory.owners`."""
    limit_of(limit)
    place, tenant = place_of(cursor, str), engine.settings.tenant
    after = ("", ()) if place is None else (" AND o.owner > ?", place)

    def read(db: Db) -> OwnerPage:
        rows = db.all(
            "SELECT o.owner,"
            " (SELECT count(*) FROM turns t WHERE t.tenant = o.tenant AND t.owner = o.owner) AS turns,"
            " (SELECT count(*) FROM notes n WHERE n.tenant = o.tenant AND n.owner = o.owner AND n.state = 'current')"
            " AS notes,"
            " (SELECT max(s.last_at) FROM sessions s WHERE s.tenant = o.tenant AND s.owner = o.owner) AS last_at"
            f" FROM owners o WHERE o.tenant = ?{after[0]} ORDER BY o.owner LIMIT ?",
            (tenant, *after[1], limit + 1),
        )
        found = tuple(
            Owner(
                *_whose(row["owner"]),
                row["turns"],
                row["notes"],
                None if row["last_at"] is None else from_us(row["last_at"]),
            )
            for row in rows[:limit]
        )
        return OwnerPage(found, cursor_at(rows[limit - 1]["owner"]) if len(rows) > limit else None)

    return await engine.store.read(read)


async def sessions(engine: Engine, scope: Scope, *, limit: int, cursor: str | None) -> SessionPage:
    """See `AsyncMemory.sessions`."""
    limit_of(limit)
    place = place_of(cursor, int, str, str)
    seen, agents = wall(scope)
    before = "" if place is None else " AND (last_at, agent, session) < (?, ?, ?)"

    def read(db: Db) -> SessionPage:
        rows = db.all(
            f"SELECT * FROM sessions WHERE tenant = ? AND owner = ?{seen}{before}"
            " ORDER BY last_at DESC, agent DESC, session DESC LIMIT ?",
            (*key_of(scope), *agents, *(place or ()), limit + 1),
        )
        last = rows[limit - 1] if len(rows) > limit else None
        return SessionPage(
            tuple(map(_session_of, rows[:limit])),
            None if last is None else cursor_at(last["last_at"], last["agent"], last["session"]),
        )

    return await engine.store.read(read)


def _session_of(row: Row) -> Session:
    return Session(
        row["session"],
        row["agent"] or None,
        row["next_position"] - 1,
        row["hot"],
        row["state"],
        from_us(row["started_at"]),
        from_us(row["last_at"]),
    )


async def turns(engine: Engine, scope: Scope, *, session: str | None, limit: int, cursor: str | None) -> TurnPage:
    """See `AsyncMemory.turns`. What its user forgot or took back is left out, as in a context."""
    limit_of(limit)
    place = place_of(cursor, int)
    seen, agents = wall(scope)
    named = "" if session is None else " AND session = ?"
    only = () if session is None else (session,)

    def read(db: Db) -> TurnPage:
        rows = db.all(
            f"SELECT * FROM turns WHERE tenant = ? AND owner = ?{seen}{named} AND {SHOWN} AND no > ?"
            " ORDER BY no LIMIT ?",
            (*key_of(scope), *agents, *only, (place or (0,))[0], limit + 1),
        )
        cursor = cursor_at(rows[limit - 1]["no"]) if len(rows) > limit else None
        return TurnPage(tuple(map(turn_of, rows[:limit])), cursor)

    return await engine.store.read(read)


async def pages(
    engine: Engine, scope: Scope, *, session: str | None, state: str | None, limit: int, cursor: str | None
) -> PagePage:
    """See `AsyncMemory.pages`."""
    limit_of(limit)
    if state is not None and state not in PAGE_STATES:
        raise InputError(f"no such state of a page: {state!r:.60} (one of {', '.join(PAGE_STATES)})")
    place = place_of(cursor, int)
    seen, agents = wall(scope)
    conditions = seen + ("" if state is None else " AND state = ?") + ("" if place is None else " AND no < ?")
    named = "" if session is None else " AND session = ?"
    params: tuple[Any, ...] = (*agents, *(() if state is None else (state,)), *(place or ()))
    only = () if session is None else (session,)

    def read(db: Db) -> PagePage:
        rows = db.all(
            f"SELECT * FROM pages WHERE tenant = ? AND owner = ?{conditions}{named} ORDER BY no DESC LIMIT ?",
            (*key_of(scope), *params, *only, limit + 1),
        )
        found = tuple(each.page for each in page_texts(db, scope, rows[:limit], engine.settings))
        return PagePage(found, cursor_at(rows[limit - 1]["no"]) if len(rows) > limit else None)

    return await engine.store.read(read)


async def operations(
    engine: Engine, scope: Scope, *, verb: str | None, limit: int, cursor: str | None
) -> OperationPage:
    """See `AsyncMemory.operations`."""
    limit_of(limit)
    place = place_of(cursor, int)
    seen, agents = wall(scope)
    only = "" if verb is None else " AND verb = ?"
    before = "" if place is None else " AND seq < ?"

    def read(db: Db) -> OperationPage:
        rows = db.all(
            "SELECT id, seq, verb, agent, session, at, receipt, undone_by FROM operations"
            f" WHERE tenant = ? AND owner = ?{seen}{only}{before} ORDER BY seq DESC LIMIT ?",
            (*key_of(scope), *agents, *(() if verb is None else (verb,)), *(place or ()), limit + 1),
        )
        cursor = cursor_at(rows[limit - 1]["seq"]) if len(rows) > limit else None
        return OperationPage(tuple(map(_operation_of, rows[:limit])), cursor)

    return await engine.store.read(read)


def _operation_of(row: Row) -> Operation:
    counts = orjson.loads(row["receipt"])["counts"]
    return Operation(
        row["id"],
        row["verb"],
        from_us(row["at"]),
        row["agent"] or None,
        row["session"] or None,
        counts,
        row["undone_by"],
    )


@dataclass(frozen=True, slots=True)
class Waiting:
    """How much work waits: queued jobs, all and by kind, failed ones, and when the first of those queued fell due."""

    queued: int
    failed: int
    by_kind: Mapping[str, int]
    oldest: datetime | None


async def waiting(engine: Engine, scope: Scope | None) -> Waiting:
    """What of an owner's work waits, or of the tenant's. Counted by an index, without reading a job."""
    where, params = _of(engine, scope)

    def read(db: Db) -> Waiting:
        rows = db.all(
            f"SELECT state, kind, count(*) AS n, min(run_after) AS first FROM jobs WHERE {where}"
            " GROUP BY state, kind ORDER BY kind",
            params,
        )
        queued = [row for row in rows if row["state"] == "queued"]
        return Waiting(
            queued=sum(row["n"] for row in queued),
            failed=sum(row["n"] for row in rows if row["state"] == "failed"),
            by_kind={row["kind"]: row["n"] for row in queued},
            oldest=from_us(min(row["first"] for row in queued)) if queued else None,
        )

    return await engine.store.read(read)


def _of(engine: Engine, scope: Scope | None) -> tuple[str, tuple[object, ...]]:
    """The condition on jobs of one owner, or of the whole tenant."""
    if scope is None:
        return "tenant = ?", (engine.settings.tenant,)
    seen, agents = wall(scope)
    return f"tenant = ? AND owner = ?{seen}", (*key_of(scope), *agents)


async def jobs(engine: Engine, scope: Scope | None, *, limit: int) -> tuple[QueuedJob, ...]:
    """See `AsyncMemory.jobs`."""
    limit_of(limit)
    where, params = _of(engine, scope)

    def read(db: Db) -> tuple[QueuedJob, ...]:
        rows = db.all(
            f"SELECT * FROM jobs WHERE {where} ORDER BY state, run_after, owner, no LIMIT ?", (*params, limit)
        )
        return tuple(map(_job_of, rows))

    return await engine.store.read(read)


def _job_of(row: Row) -> QueuedJob:
    user, agent = _whose(row["owner"])
    return QueuedJob(
        row["kind"],
        row["state"],
        user,
        row["agent"] or agent,
        row["op"],
        row["attempts"],
        from_us(row["run_after"]),
        row["error"],
    )
