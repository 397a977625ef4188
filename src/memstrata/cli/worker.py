"""The command that works off the queue in a process of its own."""

from __future__ import annotations

import signal
import threading
import time
from typing import TYPE_CHECKING, Annotated

import typer

from memstrata.cli.options import DEFAULT_STORE, Embedder, Store

if TYPE_CHECKING:
    from memstrata.memory import Memory

LOOK_SECONDS = 30.0  # between two looks at a queue of which the store tells
STOP_SECONDS = 0.5  # how long a signal may wait meanwhile


def worker(
    store: Store = DEFAULT_STORE,
    poll: Annotated[float, typer.Option(min=0.01, help="Seconds between two looks at a file's queue.")] = 1.0,
    upkeep: Annotated[float, typer.Option(min=0, help="Seconds between two rounds of upkeep; 0: none.")] = 300.0,
    embedder: Embedder = None,
) -> None:
    """Work off the queue until SIGTERM or SIGINT; then finish the job in hand.

    For programs that open the store with worker=False. Several workers may share a store: each owner's jobs are done
    by one of them at a time, in their order. A store in PostgreSQL wakes them when a job is queued.
    """
    from memstrata.memory import Memory

    stop = threading.Event()
    for told in (signal.SIGTERM, signal.SIGINT):
        signal.signal(told, lambda *_: stop.set())
    maintained = time.monotonic()
    with Memory(store, embedder=embedder, worker=False) as memory:
        typer.echo(f"memstrata works off {store}", err=True)
        while not stop.is_set():
            done = memory.flush(timeout=poll)
            if upkeep and time.monotonic() - maintained >= upkeep:
                memory.maintain()
                maintained = time.monotonic()
            if not any(count for kind, count in done.items() if kind != "waiting"):
                _rest(memory, stop, poll, 0.0 if done["waiting"] else min(LOOK_SECONDS, upkeep or LOOK_SECONDS))


def _rest(memory: Memory, stop: threading.Event, poll: float, longest: float) -> None:
    """Wait for work: until the store tells of a job (at most `longest`), or where it does not tell, for `poll`."""
    until = time.monotonic() + max(longest, poll)
    while not stop.is_set() and time.monotonic() < until:
        woken = memory._run(memory._async._worker.rest(min(poll, STOP_SECONDS)))
        if woken is None:
            stop.wait(poll)
        if woken is not False:
            return
