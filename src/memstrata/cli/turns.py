"""The commands of the way in and the way out: add, remember, preview, end-session, recall, context, profile."""

from __future__ import annotations

from typing import Annotated

import typer

from memstrata.cli import read
from memstrata.cli.common import emit, reading, writing
from memstrata.cli.options import (
    DEFAULT_STORE,
    Agent,
    Asking,
    At,
    Cursor,
    Embedder,
    File,
    Filter,
    Json,
    Key,
    Kinds,
    Metadata,
    Name,
    Now,
    OwnTags,
    Role,
    Session,
    Store,
    Superseded,
    Tags,
    User,
    Zone,
)
from memstrata.store.addresses import is_there

Said = Annotated[
    str | None, typer.Argument(help="What was said; - or nothing: messages as JSON or JSON Lines from stdin.")
]


def add(
    text: Said = None,
    file: File = None,
    store: Store = DEFAULT_STORE,
    user: User = None,
    agent: Agent = None,
    session: Session = None,
    at: At = None,
    role: Role = "user",
    name: Name = None,
    metadata: Metadata = None,
    key: Key = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Store what was said, as turns."""
    messages = read.messages(text, file, role, name)
    kept = read.object_from(metadata, "--metadata")
    with writing(store, embedder) as memory:
        receipt = memory.add(
            messages, user_id=user, agent_id=agent, session_id=session, at=at, metadata=kept, idempotency_key=key
        )
    emit(receipt, json)


def remember(
    text: Annotated[str, typer.Argument(help="The statement.")],
    store: Store = DEFAULT_STORE,
    user: User = None,
    agent: Agent = None,
    session: Session = None,
    at: At = None,
    kind: Annotated[str | None, typer.Option(help="Its kind, when you know better.")] = None,
    tag: OwnTags = None,
    name: Name = None,
    metadata: Metadata = None,
    key: Key = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Put one statement through the gate now."""
    kept = read.object_from(metadata, "--metadata")
    with writing(store, embedder) as memory:
        receipt = memory.remember(
            text,
            user_id=user,
            agent_id=agent,
            session_id=session,
            at=at,
            kind=kind,  # type: ignore[arg-type]  # checked by the call
            tags=tag or (),
            speaker=name,
            metadata=kept,
            idempotency_key=key,
        )
    emit(receipt, json)


def preview(
    text: Said = None,
    file: File = None,
    store: Store = DEFAULT_STORE,
    user: User = None,
    agent: Agent = None,
    session: Session = None,
    at: At = None,
    role: Role = "user",
    name: Name = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Show what would become of it; nothing is written."""
    from memstrata.memory import Memory

    messages = read.messages(text, file, role, name)
    with Memory(store if is_there(store) else ":memory:", embedder=embedder, worker=False) as memory:
        emit(memory.preview(messages, user_id=user, agent_id=agent, session_id=session, at=at), json)


def end_session(
    store: Store = DEFAULT_STORE,
    user: User = None,
    agent: Agent = None,
    session: Session = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """End a session: its last turns become pages."""
    with reading(store, embedder) as memory:
        receipt = memory.end_session(user_id=user, agent_id=agent, session_id=session)
        memory.flush()
    emit(receipt, json)


def recall(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    store: Store = DEFAULT_STORE,
    user: User = None,
    agent: Agent = None,
    session: Asking = None,
    k: Annotated[int, typer.Option("-k", help="How many hits.")] = 10,
    filters: Filter = None,
    since: Annotated[str | None, typer.Option(help="Only from this time on.")] = None,
    until: Annotated[str | None, typer.Option(help="Only before this time.")] = None,
    as_of: Annotated[str | None, typer.Option(help="What held at this time.")] = None,
    known_at: Annotated[str | None, typer.Option(help="Only what was recorded by then.")] = None,
    kind: Kinds = None,
    tag: Tags = None,
    include_superseded: Superseded = False,
    min_score: Annotated[float, typer.Option(help="Leave out hits below.")] = 0.0,
    cursor: Cursor = None,
    now: Now = None,
    tz: Zone = None,
    touch: Annotated[bool, typer.Option(help="Count as an access.")] = True,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Find the memories that answer a query, with the reason for each."""
    wanted = read.filter_from(filters)
    with reading(store, embedder) as memory:
        found = memory.recall(
            query,
            user_id=user,
            agent_id=agent,
            session_id=session,
            k=k,
            filters=wanted,
            since=since,
            until=until,
            as_of=as_of,
            known_at=known_at,
            kinds=kind,  # type: ignore[arg-type]  # checked by the call
            tags=tag,
            include_superseded=include_superseded,
            min_score=min_score,
            cursor=cursor,
            now=now,
            tz=tz,
            touch=touch,
        )
    emit(found, json)


def context(
    query: Annotated[str, typer.Argument(help="What the model is asked.")],
    store: Store = DEFAULT_STORE,
    user: User = None,
    agent: Agent = None,
    session: Asking = None,
    max_tokens: Annotated[int, typer.Option(help="The budget.")] = 2000,
    strategy: Annotated[str, typer.Option(help="hybrid, window, summary, retrieval or full.")] = "hybrid",
    k: Annotated[int | None, typer.Option("-k", help="Most memories; by the settings k and model_size else.")] = None,
    now: Now = None,
    tz: Zone = None,
    touch: Annotated[bool, typer.Option(help="Count as an access.")] = True,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Print what to put before a model, within a token budget."""
    with reading(store, embedder) as memory:
        made = memory.context(
            query,
            user_id=user,
            agent_id=agent,
            session_id=session,
            max_tokens=max_tokens,
            strategy=strategy,  # type: ignore[arg-type]  # checked by the call
            k=k,
            now=now,
            tz=tz,
            touch=touch,
        )
    emit(made, json)


def profile(store: Store = DEFAULT_STORE, user: User = None, agent: Agent = None, json: Json = False) -> None:
    """Who a user is: notes of identity, preference and relation."""
    with reading(store) as memory:
        emit(memory.profile(user, agent_id=agent), json)
