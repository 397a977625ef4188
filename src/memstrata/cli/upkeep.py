"""The commands about a whole store, with progress on standard error: maintain to check, and the demo."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from memstrata.cli.common import bar, emit, reading, spinner, stderr, writing
from memstrata.cli.options import DEFAULT_STORE, Agent, Embedder, Json, NamedUser, Now, Session, Store, User

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memstrata.moving.move import System

Everybody = Annotated[str | None, typer.Option("--user", "-u", help="Only this user; all when none is named.")]


def maintain(store: Store = DEFAULT_STORE, now: Now = None, embedder: Embedder = None, json: Json = False) -> None:
    """End idle sessions, distil what cooled, fold what says the same, forget what faded, purge what was forgotten."""
    with reading(store, embedder) as memory, spinner("upkeep"):
        counts = memory.maintain(now)
    emit(counts, json)


def flush(
    store: Store = DEFAULT_STORE,
    timeout: Annotated[
        float | None, typer.Option(min=0, help="Begin no job after so many seconds; the one in hand is finished.")
    ] = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Run what is queued and due; count what was done and what still waits."""
    with reading(store, embedder) as memory, spinner("working off the queue"):
        done = memory.flush(timeout=timeout)
    emit(done, json)


def distil(
    store: Store = DEFAULT_STORE, user: User = None, agent: Agent = None, embedder: Embedder = None, json: Json = False
) -> None:
    """Put every warm page before the gate now, without waiting for it to cool."""
    with reading(store, embedder) as memory, spinner("distilling"):
        receipt = memory.distil(user_id=user, agent_id=agent)
    emit(receipt, json)


def stats(store: Store = DEFAULT_STORE, user: Everybody = None, agent: Agent = None, json: Json = False) -> None:
    """Count what is stored and queued."""
    with reading(store) as memory:
        emit(memory.stats(user_id=user, agent_id=agent), json)


def retry_failed(store: Store = DEFAULT_STORE, embedder: Embedder = None, json: Json = False) -> None:
    """Queue failed work again and run it."""
    with reading(store, embedder) as memory:
        count = memory.retry_failed()
        with spinner("working off the queue"):
            done = memory.flush()
    emit({"retried": count, **done}, json)


def import_(
    path: Annotated[
        Path,
        typer.Argument(
            help="An export, messages as JSON Lines, or a file of the LoCoMo schema; - reads standard input. With "
            "--from: a file or folder of that system.",
        ),
    ],
    system: Annotated[
        str | None, typer.Option("--from", help="Move in from another system: mem0, a-mem or memoryos.")
    ] = None,
    tz: Annotated[str | None, typer.Option(help="With --from: the zone of times that name none.")] = None,
    store: Store = DEFAULT_STORE,
    user: NamedUser = None,
    agent: Agent = None,
    session: Session = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Read an export, or conversations, into the store."""
    place = {"user_id": user, "agent_id": agent, "session_id": session}
    source = sys.stdin.buffer if str(path) == "-" else path
    with writing(store, embedder) as memory, bar("importing") as progress:
        if system is None:
            taken: object = memory.import_(source, **place, progress=progress)
        else:
            taken = memory.import_from(cast("System", system), path, **place, tz=tz, progress=progress)
    emit(taken, json, _moved if system is not None else None)


def _moved(result: Any) -> RenderableType:
    """What became of another system's memories, and a line for all that was not taken over."""
    from rich.console import Group
    from rich.text import Text

    from memstrata.cli.show import mapping

    counts = {"statements": result.statements or "none", "messages": result.messages or "none"}
    lost = [Text(f"not taken: {each.where}: {each.why}", style="yellow") for each in result.unread]
    return Group(mapping(counts, f"moved in from {result.system}"), *lost)


def export(
    path: Annotated[Path, typer.Argument(help="Where to write it; - is standard output.")],
    store: Store = DEFAULT_STORE,
    user: Everybody = None,
    agent: Agent = None,
    json: Json = False,
) -> None:
    """Write everything (or one owner's) as JSON Lines; import gives the same store."""
    with reading(store) as memory, spinner("exporting"):
        if str(path) == "-":
            counts = memory.export(sys.stdout.buffer, user_id=user, agent_id=agent)
            sys.stdout.buffer.flush()
            stderr().print(f"{sum(counts.values()):,} lines")
        else:
            emit(memory.export(path, user_id=user, agent_id=agent), json)


def reindex(store: Store = DEFAULT_STORE, embedder: Embedder = None, json: Json = False) -> None:
    """Make terms and vectors anew from the tables."""
    with reading(store, embedder) as memory, bar("indexing") as progress:
        counts = memory.reindex(progress=progress)
    emit(counts, json)


def reembed(
    to: Annotated[str, typer.Option("--embedder", help="The model to move to.")],
    store: Store = DEFAULT_STORE,
    json: Json = False,
) -> None:
    """Move the store to another embedding model."""
    with reading(store) as memory, bar("embedding") as progress:
        counts = memory.reembed(to, progress=progress)
    emit(counts, json)


def check(store: Store = DEFAULT_STORE, json: Json = False) -> None:
    """Look for disagreements between the tables and what is derived from them; exit code 1 when there are any."""
    with reading(store) as memory, spinner("checking"):
        found = memory.check()
    emit({"disagreements": found}, json)
    if found:
        raise typer.Exit(1)


def backup(
    path: Annotated[Path, typer.Argument(help="The file to write.")],
    store: Store = DEFAULT_STORE,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier backup.")] = False,
    json: Json = False,
) -> None:
    """Write a verified copy of the whole store, while others use it."""
    with reading(store) as memory, bar("copying pages") as progress:
        made = memory.backup(path, overwrite=overwrite, progress=progress)
    emit(made, json)


def restore_backup(
    path: Annotated[Path, typer.Argument(help="A file that `memstrata backup` wrote.")],
    store: Store = DEFAULT_STORE,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the store that is there.")] = False,
    json: Json = False,
) -> None:
    """Verify a backup and make the store of it; nobody may have the store open."""
    from memstrata.store.backup import restore_backup

    with bar("verifying") as progress:
        restored = restore_backup(path, store, overwrite=overwrite, progress=progress)
    emit(restored, json)


def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="A store: its file, or postgresql://...")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Where there is none yet, or an unfinished copy.")],
    json: Json = False,
) -> None:
    """Copy a whole store to another, verified; one that was cut goes on where it was."""
    import asyncio

    from memstrata.store.copying import copy_store

    with bar("copying tables") as progress:
        copied = asyncio.run(copy_store(source, target, progress=progress))
    emit(copied, json)


def demo() -> None:
    """A conversation goes through the whole path; then questions, a contradiction, an erasure, each with its reason."""
    from memstrata.cli.demo import run

    run()
