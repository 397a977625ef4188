"""The command that works off the queue in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memstrata.cli.options import DEFAULT_STORE, Embedder, Store
from memstrata.errors import InputError


def worker(
    store: Store = DEFAULT_STORE,
    poll: Annotated[float, typer.Option(min=0.01, help="Seconds between two looks at a file's queue.")] = 1.0,
    upkeep: Annotated[float, typer.Option(min=0, help="Seconds between two rounds of upkeep; 0: none.")] = 300.0,
    all_tenants: Annotated[bool, typer.Option("--all-tenants", help="Work for all tenants of a service.")] = False,
    access: Annotated[
        Path | None, typer.Option("--access", help="With it: the service's file, where tenants' own settings are.")
    ] = None,
    embedder: Embedder = None,
) -> None:
    """Work off the queue until SIGTERM or SIGINT; then finish the job in hand.

    For programs that open the store with worker=False. Several workers may share a store: each owner's jobs are done
    by one of them at a time, in their order. A store in PostgreSQL wakes them when a job is queued.
    """
    if access is not None and not all_tenants:
        raise InputError("--access has the settings of a service's tenants: it goes with --all-tenants")
    import asyncio

    from memstrata.work.process import work_off

    asyncio.run(work_off(store, poll, upkeep, all_tenants, access, embedder))
