"""The command of MCP: serve over stdio, and write the block that tells a client about it."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from memstrata.cli.common import stderr
from memstrata.cli.options import DEFAULT_STORE, Embedder
from memstrata.errors import MissingExtraError

StoreOrService = Annotated[
    str,
    typer.Option("--store", "-s", envvar="MEMSTRATA_PATH", help="The store's file, or the address of a service."),
]
Whose = Annotated[str | None, typer.Option("--user", "-u", envvar="MEMSTRATA_USER", help="The user it is about.")]
WhoseAgent = Annotated[str | None, typer.Option("--agent", "-a", help="The agent it is about.")]
ReadOnly = Annotated[bool, typer.Option("--read-only", help="Offer nothing that changes the memory.")]

app = typer.Typer(no_args_is_help=False, help="Give the memory to a client of the Model Context Protocol.")


@app.callback(invoke_without_command=True)
def mcp(
    context: typer.Context,
    store: StoreOrService = str(DEFAULT_STORE),
    user: Whose = None,
    agent: WhoseAgent = None,
    read_only: ReadOnly = False,
    embedder: Embedder = None,
) -> None:
    """Serve the memory of one user over standard input and output.

    --store may be the address of a service; MEMSTRATA_API_KEY is then its key. `memstrata serve` itself speaks MCP over
    HTTP, at /mcp.
    """
    if context.invoked_subcommand is not None:
        return
    try:
        from memstrata.server.mcp_stdio import serve_stdio
    except ImportError as error:
        raise MissingExtraError("MCP", "mcp") from error
    import asyncio

    from memstrata.async_memory import AsyncMemory

    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)  # standard output is the client's
    if store.startswith(("http://", "https://")):
        memory = AsyncMemory(store, api_key=os.environ.get("MEMSTRATA_API_KEY"))
    else:
        memory = AsyncMemory(store, embedder=embedder)
    asyncio.run(serve_stdio(memory, user=user, agent=agent, read_only=read_only))


@app.command()
def install(
    client: Annotated[
        str,
        typer.Argument(
            help="claude-desktop, claude-code, cursor, vscode, windsurf, gemini or codex.", show_default=False
        ),
    ],
    store: StoreOrService = str(DEFAULT_STORE),
    user: Whose = None,
    agent: WhoseAgent = None,
    read_only: ReadOnly = False,
    config: Annotated[
        Path | None, typer.Option("--config", dir_okay=False, help="The client's file, where it lies elsewhere.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
) -> None:
    """Tell a client about this memory: shows what would change in its file, asks, keeps a backup."""
    from rich.syntax import Syntax

    from memstrata.cli import mcp_clients

    block = mcp_clients.block(store, user=user, agent=agent, read_only=read_only)
    change = mcp_clients.prepare(client, block, config)
    if not change.diff:
        typer.echo(f"{change.path} has it already")
        return
    stderr().print(Syntax(change.diff, "diff", background_color="default"))
    if not yes and not typer.confirm(f"Write {change.path}?", err=True):
        raise typer.Exit(1)
    backup = mcp_clients.write(change)
    typer.echo(f"{change.path} is written{'' if backup is None else f'; what it was is in {backup}'}")
