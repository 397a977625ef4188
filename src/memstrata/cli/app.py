"""The commands. Each opens the store, calls one verb, and prints its result as tables or as JSON."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from memstrata._version import __version__

if TYPE_CHECKING:
    from memstrata import Memory

app = typer.Typer(
    name="memstrata",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="Long-term memory for LLM agents that layers, gates and links what it keeps.",
)

Store = Annotated[Path, typer.Option("--store", "-s", envvar="MEMSTRATA_PATH", help="The store's file.")]
User = Annotated[
    Optional[str],  # noqa: UP045 - typer reads the annotation at run time
    typer.Option("--user", "-u", envvar="MEMSTRATA_USER", help="Whose memory: the user."),
]
Agent = Annotated[Optional[str], typer.Option("--agent", "-a", help="Whose memory: the agent.")]  # noqa: UP045
Session = Annotated[Optional[str], typer.Option("--session", help="The session it was said in.")]  # noqa: UP045
At = Annotated[Optional[str], typer.Option("--at", help="When it was said, ISO 8601 with an offset.")]  # noqa: UP045
Json = Annotated[bool, typer.Option("--json", help="Print one JSON value instead of tables.")]
Embedder = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--embedder", envvar="MEMSTRATA_EMBEDDER", help="minilm, multilingual, static, hashing, ..."),
]
Filter = Annotated[Optional[str], typer.Option("--filter", help='A filter as JSON, {"kind": "plan"}.')]  # noqa: UP045
Kinds = Annotated[Optional[list[str]], typer.Option("--kind", help="Only notes of this kind; may repeat.")]  # noqa: UP045
Tags = Annotated[Optional[list[str]], typer.Option("--tag", help="Only notes with this tag; may repeat.")]  # noqa: UP045


@contextlib.contextmanager
def opened(store: Path, embedder: str | None = None) -> Iterator[Memory]:
    """The memory at a path, with its queued work done before the command ends."""
    from memstrata import Memory

    with Memory(store, embedder=embedder, worker=False) as memory:
        yield memory


def emit(result: Any, as_json: bool) -> None:
    from memstrata.cli import show

    show.as_json(result) if as_json else show.as_tables(result)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"memstrata {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Options come after the command; --store and --user may be set as MEMSTRATA_PATH and MEMSTRATA_USER."""


# in -------------------------------------------------------------------------------------------------------------------


@app.command()
def add(
    text: Annotated[str, typer.Argument(help="What was said; - reads messages as JSON or JSON Lines from stdin.")],
    store: Store = Path("memory.db"),
    user: User = None,
    agent: Agent = None,
    session: Session = None,
    at: At = None,
    role: Annotated[str, typer.Option(help="Who said it.")] = "user",
    name: Annotated[Optional[str], typer.Option(help="The speaker's name.")] = None,  # noqa: UP045
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Store what was said, as turns."""
    from memstrata.cli.read import messages_from

    message: dict[str, Any] = {"role": role, "content": text}
    if name is not None:
        message["name"] = name
    messages = messages_from(typer.get_text_stream("stdin").read()) if text == "-" else message
    with opened(store, embedder) as memory:
        receipt = memory.add(messages, user_id=user, agent_id=agent, session_id=session, at=at)
        memory.flush()
        emit(receipt, json)


@app.command()
def remember(
    text: Annotated[str, typer.Argument(help="The statement.")],
    store: Store = Path("memory.db"),
    user: User = None,
    agent: Agent = None,
    session: Session = None,
    at: At = None,
    kind: Annotated[Optional[str], typer.Option(help="Its kind, when you know better.")] = None,  # noqa: UP045
    tag: Tags = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Put one statement through the gate now."""
    with opened(store, embedder) as memory:
        receipt = memory.remember(
            text,
            user_id=user,
            agent_id=agent,
            session_id=session,
            at=at,
            kind=kind,  # type: ignore[arg-type]
            tags=tag or (),
        )
        emit(receipt, json)


@app.command()
def preview(
    text: Annotated[str, typer.Argument(help="What would be said.")],
    store: Store = Path("memory.db"),
    user: User = None,
    agent: Agent = None,
    at: At = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Show what would become of a text; nothing is written."""
    with opened(store, embedder) as memory:
        emit(memory.preview(text, user_id=user, agent_id=agent, at=at), json)


@app.command(name="end-session")
def end_session(
    store: Store = Path("memory.db"),
    user: User = None,
    agent: Agent = None,
    session: Session = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """End a session: its last turns become pages."""
    with opened(store, embedder) as memory:
        receipt = memory.end_session(user_id=user, agent_id=agent, session_id=session)
        memory.flush()
        emit(receipt, json)


# out ------------------------------------------------------------------------------------------------------------------


@app.command()
def recall(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    store: Store = Path("memory.db"),
    user: User = None,
    agent: Agent = None,
    session: Session = None,
    k: Annotated[int, typer.Option("-k", help="How many hits.")] = 10,
    filters: Filter = None,
    since: Annotated[Optional[str], typer.Option(help="Only from this time on.")] = None,  # noqa: UP045
    until: Annotated[Optional[str], typer.Option(help="Only before this time.")] = None,  # noqa: UP045
    as_of: Annotated[Optional[str], typer.Option(help="What held at this time.")] = None,  # noqa: UP045
    known_at: Annotated[Optional[str], typer.Option(help="Only what was recorded by then.")] = None,  # noqa: UP045
    kind: Kinds = None,
    tag: Tags = None,
    include_superseded: Annotated[bool, typer.Option(help="Also what no longer holds.")] = False,
    min_score: Annotated[float, typer.Option(help="Leave out hits below.")] = 0.0,
    tz: Annotated[Optional[str], typer.Option(help="Your time zone.")] = None,  # noqa: UP045
    touch: Annotated[bool, typer.Option(help="Count as an access.")] = True,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Find the memories that answer a query, with the reason for each."""
    from memstrata.cli.read import filter_from

    with opened(store, embedder) as memory:
        found = memory.recall(
            query,
            user_id=user,
            agent_id=agent,
            session_id=session,
            k=k,
            filters=filter_from(filters),
            since=since,
            until=until,
            as_of=as_of,
            known_at=known_at,
            kinds=kind,  # type: ignore[arg-type]
            tags=tag,
            include_superseded=include_superseded,
            min_score=min_score,
            tz=tz,
            touch=touch,
        )
        emit(found, json)


@app.command()
def context(
    query: Annotated[str, typer.Argument(help="What the model is asked.")],
    store: Store = Path("memory.db"),
    user: User = None,
    agent: Agent = None,
    session: Session = None,
    max_tokens: Annotated[int, typer.Option(help="The budget.")] = 2000,
    strategy: Annotated[str, typer.Option(help="hybrid, window, summary, retrieval or full.")] = "hybrid",
    tz: Annotated[Optional[str], typer.Option(help="The zone of the dates.")] = None,  # noqa: UP045
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Print what to put before a model, within a token budget."""
    with opened(store, embedder) as memory:
        made = memory.context(
            query,
            user_id=user,
            agent_id=agent,
            session_id=session,
            max_tokens=max_tokens,
            strategy=strategy,  # type: ignore[arg-type]
            tz=tz,
        )
        emit(made, json)


@app.command()
def profile(store: Store = Path("memory.db"), user: User = None, agent: Agent = None, json: Json = False) -> None:
    """Who a user is: notes of identity, preference and relation."""
    with opened(store) as memory:
        emit(memory.profile(user, agent_id=agent), json)


# notes ----------------------------------------------------------------------------------------------------------------


@app.command(name="list")
def list_(
    store: Store = Path("memory.db"),
    user: User = None,
    agent: Agent = None,
    filters: Filter = None,
    kind: Kinds = None,
    tag: Tags = None,
    include_superseded: bool = False,
    include_forgotten: bool = False,
    limit: int = 50,
    cursor: Optional[str] = None,  # noqa: UP045
    json: Json = False,
) -> None:
    """List notes, page by page."""
    from memstrata.cli.read import filter_from

    with opened(store) as memory:
        page = memory.list(
            user_id=user,
            agent_id=agent,
            filters=filter_from(filters),
            kinds=kind,  # type: ignore[arg-type]
            tags=tag,
            include_superseded=include_superseded,
            include_forgotten=include_forgotten,
            limit=limit,
            cursor=cursor,
        )
        emit(page, json)


Item = Annotated[str, typer.Argument(help="The id.")]


@app.command()
def show(
    item: Item, store: Store = Path("memory.db"), user: User = None, agent: Agent = None, json: Json = False
) -> None:
    """Show a note with its links and evidence."""
    with opened(store) as memory:
        emit(memory.get(item, user_id=user, agent_id=agent), json)


@app.command()
def explain(
    item: Item, store: Store = Path("memory.db"), user: User = None, agent: Agent = None, json: Json = False
) -> None:
    """Say why a note was kept or a decision taken."""
    with opened(store) as memory:
        emit(memory.explain(item, user_id=user, agent_id=agent), json)


@app.command()
def history(
    item: Item, store: Store = Path("memory.db"), user: User = None, agent: Agent = None, json: Json = False
) -> None:
    """Every change of a note."""
    with opened(store) as memory:
        emit(memory.history(item, user_id=user, agent_id=agent), json)


@app.command()
def receipt(
    item: Item, store: Store = Path("memory.db"), user: User = None, agent: Agent = None, json: Json = False
) -> None:
    """What an operation did, and what became of its candidates."""
    with opened(store) as memory:
        emit(memory.receipt(item, user_id=user, agent_id=agent), json)


@app.command()
def update(
    item: Item,
    content: Annotated[Optional[str], typer.Option(help="The new content.")] = None,  # noqa: UP045
    context: Annotated[Optional[str], typer.Option(help="The new context.")] = None,  # noqa: UP045
    tag: Tags = None,
    kind: Annotated[Optional[str], typer.Option(help="The new kind.")] = None,  # noqa: UP045
    store: Store = Path("memory.db"),
    user: User = None,
    agent: Agent = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Edit a note, as a revision."""
    with opened(store, embedder) as memory:
        note = memory.update(
            item,
            user_id=user,
            agent_id=agent,
            content=content,
            context=context,
            tags=tag,
            kind=kind,  # type: ignore[arg-type]
        )
        emit(note, json)


@app.command()
def pin(
    item: Item,
    off: Annotated[bool, typer.Option("--off", help="Let it fade again.")] = False,
    store: Store = Path("memory.db"),
    user: User = None,
    agent: Agent = None,
    json: Json = False,
) -> None:
    """Keep a note from fading."""
    with opened(store) as memory:
        emit(memory.pin(item, user_id=user, agent_id=agent, pinned=not off), json)


@app.command()
def forget(
    item: Annotated[Optional[str], typer.Argument(help="The note's id.")] = None,  # noqa: UP045
    filters: Filter = None,
    hard: Annotated[bool, typer.Option("--hard", help="For good, at once.")] = False,
    store: Store = Path("memory.db"),
    user: User = None,
    agent: Agent = None,
    json: Json = False,
) -> None:
    """Take notes out of recall; they can be restored for 30 days."""
    from memstrata.cli.read import filter_from

    with opened(store) as memory:
        emit(memory.forget(item, user_id=user, agent_id=agent, filters=filter_from(filters), hard=hard), json)


@app.command()
def restore(
    item: Item, store: Store = Path("memory.db"), user: User = None, agent: Agent = None, json: Json = False
) -> None:
    """Bring a forgotten note back."""
    with opened(store) as memory:
        emit(memory.restore(item, user_id=user, agent_id=agent), json)


@app.command()
def undo(
    item: Annotated[str, typer.Argument(help="The operation's id.")],
    cascade: Annotated[bool, typer.Option("--cascade", help="Also what later changed the same rows.")] = False,
    store: Store = Path("memory.db"),
    user: User = None,
    agent: Agent = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Take an operation back."""
    with opened(store, embedder) as memory:
        emit(memory.undo(item, user_id=user, agent_id=agent, cascade=cascade), json)


@app.command()
def erase(
    store: Store = Path("memory.db"),
    user: User = None,
    agent: Agent = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Remove everything of a user (or of an agent) for good."""
    if not yes:
        typer.confirm(f"Erase all memory of {user or agent!r} in {store}? It cannot be undone", abort=True)
    with opened(store) as memory:
        emit(memory.erase(user_id=user, agent_id=agent), json)


# upkeep ---------------------------------------------------------------------------------------------------------------


@app.command()
def maintain(
    store: Store = Path("memory.db"),
    now: Annotated[Optional[str], typer.Option(help="Stands in for the clock.")] = None,  # noqa: UP045
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """End idle sessions, distil what cooled, forget what faded, purge what was forgotten."""
    with opened(store, embedder) as memory:
        emit(memory.maintain(now), json)


@app.command()
def stats(store: Store = Path("memory.db"), user: User = None, agent: Agent = None, json: Json = False) -> None:
    """Count what is stored and queued."""
    with opened(store) as memory:
        emit(memory.stats(user_id=user, agent_id=agent), json)


@app.command(name="retry-failed")
def retry_failed(store: Store = Path("memory.db"), embedder: Embedder = None, json: Json = False) -> None:
    """Queue failed work again and run it."""
    with opened(store, embedder) as memory:
        count = memory.retry_failed()
        emit({"retried": count, **memory.flush()}, json)
