"""The commands that look around: owners, sessions, turns, pages, decisions, operations, jobs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from memstrata.cli.common import emit, reading
from memstrata.cli.options import DEFAULT_STORE, Agent, Cursor, Json, NamedUser, Session, Store, User
from memstrata.cli.parts import records

Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="So many, at most.")]


def owners(store: Store = DEFAULT_STORE, limit: Limit = 50, cursor: Cursor = None, json: Json = False) -> None:
    """List of whom there is memory: users, and agents without a user."""
    with reading(store) as memory:
        page = memory.owners(limit=limit, cursor=cursor)
    emit(page, json, lambda page: records(page.owners, page.cursor))


def sessions(
    store: Store = DEFAULT_STORE,
    user: User = None,
    agent: Agent = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    json: Json = False,
) -> None:
    """List conversations, the last spoken in first."""
    with reading(store) as memory:
        page = memory.sessions(user_id=user, agent_id=agent, limit=limit, cursor=cursor)
    emit(page, json, lambda page: records(page.sessions, page.cursor))


def turns(
    store: Store = DEFAULT_STORE,
    user: User = None,
    agent: Agent = None,
    session: Session = None,
    limit: Limit = 100,
    cursor: Cursor = None,
    json: Json = False,
) -> None:
    """List turns in the order they were said, each with its tier."""
    with reading(store) as memory:
        page = memory.turns(user_id=user, agent_id=agent, session_id=session, limit=limit, cursor=cursor)
    emit(page, json, lambda page: records(page.turns, page.cursor, "id", "at", "tier", "trust", "said"))


def pages(
    store: Store = DEFAULT_STORE,
    user: User = None,
    agent: Agent = None,
    session: Session = None,
    state: Annotated[str | None, typer.Option(help="Only new, warm or distilled ones.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    json: Json = False,
) -> None:
    """List pages with their summary and heat, the newest first."""
    asked: dict[str, Any] = {"user_id": user, "agent_id": agent, "session_id": session, "state": state}
    with reading(store) as memory:
        page = memory.pages(**asked, limit=limit, cursor=cursor)
    columns = ("id", "session", "state", "heat", "recalls", "summary")
    emit(page, json, lambda page: records(page.pages, page.cursor, *columns))


def decisions(
    store: Store = DEFAULT_STORE,
    user: User = None,
    agent: Agent = None,
    outcome: Annotated[str | None, typer.Option(help="Only of this outcome, such as rejected.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    json: Json = False,
) -> None:
    """List the gate's decisions, the newest first."""
    asked: dict[str, Any] = {"user_id": user, "agent_id": agent, "outcome": outcome}
    with reading(store) as memory:
        page = memory.decisions(**asked, limit=limit, cursor=cursor)
    emit(page, json, lambda page: records(page.decisions, page.cursor, "id", "outcome", "score", "theta", "reason"))


def operations(
    store: Store = DEFAULT_STORE,
    user: User = None,
    agent: Agent = None,
    verb: Annotated[str | None, typer.Option(help="Only of this verb, such as remember.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    json: Json = False,
) -> None:
    """List the operation log, the newest first."""
    with reading(store) as memory:
        page = memory.operations(user_id=user, agent_id=agent, verb=verb, limit=limit, cursor=cursor)
    emit(page, json, lambda page: records(page.operations, page.cursor))


def jobs(
    store: Store = DEFAULT_STORE, user: NamedUser = None, agent: Agent = None, limit: Limit = 100, json: Json = False
) -> None:
    """List failed and queued work."""
    with reading(store) as memory:
        found = memory.jobs(user_id=user, agent_id=agent, limit=limit)
    emit(found, json, lambda found: records(found, None))
