"""The commands that take long, with progress bars: import, export, reindex, reembed, check, eval, demo."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Optional

import typer

from memstrata.cli.app import Agent, Embedder, Json, Store, User, app, emit, opened

Progress = Callable[[str, int, int], None]


@contextlib.contextmanager
def bar(what: str) -> Iterator[Progress]:
    """A progress bar on standard error, told (what, done, total)."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(what, total=None)
        yield lambda step, done, total: bars.update(task, description=step, completed=done, total=total)


@app.command(name="import")
def import_(
    path: Annotated[Path, typer.Argument(help="An export, JSON Lines of messages, or a file of the LoCoMo schema.")],
    store: Store = Path("memory.db"),
    user: User = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Read an export, or conversations, into the store."""
    with opened(store, embedder) as memory, bar("importing") as progress:
        counts = memory.import_(path, user_id=user, progress=progress)
        memory.flush()
    emit(counts, json)


@app.command()
def export(
    path: Annotated[Path, typer.Argument(help="Where to write it.")],
    store: Store = Path("memory.db"),
    user: User = None,
    agent: Agent = None,
    json: Json = False,
) -> None:
    """Write everything (or one owner's) as JSON Lines; import gives the same store."""
    with opened(store) as memory:
        emit(memory.export(path, user_id=user, agent_id=agent), json)


@app.command()
def reindex(store: Store = Path("memory.db"), embedder: Embedder = None, json: Json = False) -> None:
    """Make terms and vectors anew from the tables."""
    with opened(store, embedder) as memory, bar("indexing") as progress:
        counts = memory.reindex(progress=progress)
    emit(counts, json)


@app.command()
def reembed(
    to: Annotated[str, typer.Option("--embedder", help="The model to move to.")],
    store: Store = Path("memory.db"),
    json: Json = False,
) -> None:
    """Move the store to another embedding model."""
    with opened(store) as memory, bar("embedding") as progress:
        counts = memory.reembed(to, progress=progress)
    emit(counts, json)


@app.command()
def check(store: Store = Path("memory.db"), json: Json = False) -> None:
    """Look for disagreements between the tables and what is derived from them; exit code 1 when there are any."""
    with opened(store) as memory:
        found = memory.check()
    emit({"findings": list(found)} if found else {"findings": 0}, json)
    if found:
        raise typer.Exit(1)


__all__ = ["app", "evaluations"]

evaluations = typer.Typer(no_args_is_help=True, help="Measure recall on public data, in its own definitions.")
app.add_typer(evaluations, name="eval")


@evaluations.command()
def locomo(
    path: Annotated[Path, typer.Argument(help="A file of the LoCoMo schema.")],
    limit: Annotated[Optional[int], typer.Option(help="Only the first conversations.")] = None,  # noqa: UP045
    keep: Annotated[Optional[Path], typer.Option(help="Keep the store that is made here.")] = None,  # noqa: UP045
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Retrieval of evidence turns, beside BM25 in the same run."""
    from dataclasses import replace

    from rich.console import Console

    from memstrata import Memory
    from memstrata.cli.show import as_json
    from memstrata.evaluation.locomo import load_locomo
    from memstrata.evaluation.report import print_report, to_json
    from memstrata.evaluation.run import evaluate

    data = load_locomo(path)
    if limit is not None:
        data = replace(data, conversations=data.conversations[:limit])
    result = evaluate(data, lambda store: Memory(store, embedder=embedder), store=keep)
    as_json(to_json(result)) if json else print_report(result, Console(highlight=False))


@app.command()
def demo() -> None:
    """A conversation goes through the whole path; then questions, a contradiction, an erasure, each with its reason."""
    from memstrata.cli.demo import run

    run()
