"""The commands about single notes and about the log: list to restore, explain to erase."""

from __future__ import annotations

from typing import Annotated

import typer

from memstrata.cli.common import emit, reading, spinner, writing
from memstrata.cli.options import (
    DEFAULT_STORE,
    Agent,
    Cursor,
    Embedder,
    Filter,
    Item,
    Json,
    Kinds,
    Metadata,
    NamedUser,
    OwnTags,
    Store,
    Superseded,
    Tags,
    User,
)
from memstrata.cli.read import filter_from, object_from

Operation = Annotated[str, typer.Argument(help="The operation's id.")]


def list_(
    store: Store = DEFAULT_STORE,
    user: User = None,
    agent: Agent = None,
    filters: Filter = None,
    kind: Kinds = None,
    tag: Tags = None,
    include_superseded: Superseded = False,
    include_forgotten: Annotated[bool, typer.Option("--include-forgotten", help="Also what was forgotten.")] = False,
    limit: Annotated[int, typer.Option(help="How many at most.")] = 50,
    cursor: Cursor = None,
    json: Json = False,
) -> None:
    """List notes, page by page."""
    wanted = filter_from(filters)
    with reading(store) as memory:
        page = memory.list(
            user_id=user,
            agent_id=agent,
            filters=wanted,
            kinds=kind,  # type: ignore[arg-type]  # checked by the call
            tags=tag,
            include_superseded=include_superseded,
            include_forgotten=include_forgotten,
            limit=limit,
            cursor=cursor,
        )
    emit(page, json)


def show(item: Item, store: Store = DEFAULT_STORE, user: User = None, agent: Agent = None, json: Json = False) -> None:
    """Show a note with its links, evidence and history."""
    from memstrata.cli.show import Shown

    with reading(store) as memory:
        note = memory.get(item, user_id=user, agent_id=agent)
        history = memory.history(item, user_id=user, agent_id=agent)
    emit(Shown(note, history), json)


def history(
    item: Item, store: Store = DEFAULT_STORE, user: User = None, agent: Agent = None, json: Json = False
) -> None:
    """Every change of a note, oldest first."""
    with reading(store) as memory:
        emit(memory.history(item, user_id=user, agent_id=agent), json)


def update(
    item: Item,
    content: Annotated[str | None, typer.Option(help="The new content.")] = None,
    context: Annotated[str | None, typer.Option(help="The new context.")] = None,
    keyword: Annotated[list[str] | None, typer.Option(help="A keyword of the note; may repeat.")] = None,
    tag: OwnTags = None,
    kind: Annotated[str | None, typer.Option(help="The new kind.")] = None,
    metadata: Metadata = None,
    revision: Annotated[int | None, typer.Option(help="Refuse when the note has changed since this one.")] = None,
    store: Store = DEFAULT_STORE,
    user: User = None,
    agent: Agent = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Edit a note, as a revision."""
    kept = object_from(metadata, "--metadata")
    with writing(store, embedder) as memory:
        note = memory.update(
            item,
            user_id=user,
            agent_id=agent,
            content=content,
            context=context,
            keywords=keyword,
            tags=tag,
            kind=kind,  # type: ignore[arg-type]  # checked by the call
            metadata=kept,
            revision=revision,
        )
    emit(note, json)


def pin(
    item: Item,
    off: Annotated[bool, typer.Option("--off", help="Let it fade again.")] = False,
    store: Store = DEFAULT_STORE,
    user: User = None,
    agent: Agent = None,
    json: Json = False,
) -> None:
    """Keep a note from fading."""
    with reading(store) as memory:
        emit(memory.pin(item, user_id=user, agent_id=agent, pinned=not off), json)


def forget(
    item: Annotated[str | None, typer.Argument(help="The note's id.")] = None,
    filters: Filter = None,
    hard: Annotated[bool, typer.Option("--hard", help="For good, at once.")] = False,
    store: Store = DEFAULT_STORE,
    user: User = None,
    agent: Agent = None,
    json: Json = False,
) -> None:
    """Take notes out of recall; they can be restored for 30 days."""
    wanted = filter_from(filters)
    with reading(store) as memory:
        emit(memory.forget(item, user_id=user, agent_id=agent, filters=wanted, hard=hard), json)


def restore(
    item: Item, store: Store = DEFAULT_STORE, user: User = None, agent: Agent = None, json: Json = False
) -> None:
    """Bring a forgotten note back."""
    with reading(store) as memory:
        emit(memory.restore(item, user_id=user, agent_id=agent), json)


def explain(
    item: Annotated[str, typer.Argument(help="The id of a note or of a decision.")],
    store: Store = DEFAULT_STORE,
    user: User = None,
    agent: Agent = None,
    json: Json = False,
) -> None:
    """Say why a note was kept or a decision taken."""
    with reading(store) as memory:
        emit(memory.explain(item, user_id=user, agent_id=agent), json)


def receipt(
    item: Operation, store: Store = DEFAULT_STORE, user: User = None, agent: Agent = None, json: Json = False
) -> None:
    """What an operation did, and what became of its candidates."""
    with reading(store) as memory:
        emit(memory.receipt(item, user_id=user, agent_id=agent), json)


def undo(
    item: Operation,
    cascade: Annotated[bool, typer.Option("--cascade", help="Also what later changed the same rows.")] = False,
    store: Store = DEFAULT_STORE,
    user: User = None,
    agent: Agent = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Take an operation back."""
    with reading(store, embedder) as memory:
        emit(memory.undo(item, user_id=user, agent_id=agent, cascade=cascade), json)


def erase(
    store: Store = DEFAULT_STORE,
    user: NamedUser = None,
    agent: Agent = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Remove everything of a user (or of an agent) for good."""
    if (user is None) == (agent is None):
        raise typer.BadParameter("name the subject whose memory goes: --user or --agent")
    with reading(store) as memory:
        if not yes:
            subject = f"user {user!r}" if user is not None else f"agent {agent!r}"
            typer.confirm(f"Erase all memory of {subject} in {store}? It cannot be undone", abort=True, err=True)
        with spinner("erasing"):
            receipt = memory.erase(user_id=user, agent_id=agent)
    emit(receipt, json)
