"""What all commands do: open the store, finish the work, show progress, print the result."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from memstrata.errors import StoreError
from memstrata.store.addresses import is_there
from memstrata.types import Progress

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from memstrata.memory import Memory


def stderr() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False)


@contextlib.contextmanager
def reading(store: str, embedder: str | None = None, *, llm: str | None = None) -> Iterator[Memory]:
    """The memory at a path, which must be there: a mistyped path is told, not made."""
    from memstrata.memory import Memory

    if not is_there(store):
        raise StoreError(f"{store}: no store is there. Name one with --store, or begin one: memstrata remember TEXT")
    with Memory(store, embedder=embedder, llm=llm, worker=False) as memory:
        yield memory


@contextlib.contextmanager
def writing(store: str, embedder: str | None = None) -> Iterator[Memory]:
    """The memory at a path, made when missing; what the command has queued is done before it ends."""
    from memstrata.memory import Memory

    with Memory(store, embedder=embedder, worker=False) as memory:
        yield memory
        with spinner("working off the queue"):
            done = memory.flush()
        if done["failed"]:
            hint = f"{done['failed']} jobs failed and wait for another try; see `memstrata stats`"
            stderr().print(hint, style="yellow")


@contextlib.contextmanager
def spinner(what: str) -> Iterator[None]:
    """Shows on a terminal that something goes on whose length is not known."""
    console = stderr()
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield


@contextlib.contextmanager
def bar(what: str) -> Iterator[Progress]:
    """A progress bar on standard error, when that is a terminal; it is told (what, done, total)."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    console = stderr()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task(what, total=None)
        yield lambda step, done, total: bars.update(task, description=step, completed=done, total=total)


def emit(result: Any, json: bool, view: Callable[[Any], RenderableType] | None = None) -> None:
    """Print a result to standard output; `view` makes of it what is shown, where `show` does not know it."""
    from memstrata.cli import show

    if json:
        show.as_json(result)
    else:
        show.as_tables(result, view=view)
