"""The command that works off the queue in a process of its own."""

from __future__ import annotations

import signal
import threading
import time
from typing import Annotated

import typer

from memstrata.cli.options import DEFAULT_STORE, Embedder, Store


def worker(
    store: Store = DEFAULT_STORE,
    poll: Annotated[float, typer.Option(min=0.01, help="Seconds between two looks at the queue.")] = 1.0,
    upkeep: Annotated[float, typer.Option(min=0, help="Seconds between two rounds of upkeep; 0: none.")] = 300.0,
    embedder: Embedder = None,
) -> None:
    """Work off the queue until SIGTERM or SIGINT; then finish the job in hand.

    For programs that open the store with worker=False. Several workers may share a store: each owner's jobs are done
    by one of them at a time, in their order.
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
                stop.wait(poll)  # nothing is due
