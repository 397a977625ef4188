"""The command `memstrata`: the verbs of `Memory`, with `--json` or readable tables."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command; an error of memstrata is one line that says what to do, not a traceback."""
    from memstrata.cli.bulk import app  # with every command registered
    from memstrata.errors import MemstrataError

    try:
        app()
    except MemstrataError as error:
        from rich.console import Console

        Console(stderr=True, soft_wrap=True).print(f"[bold red]{type(error).__name__}[/]: {error}", highlight=False)
        sys.exit(1)
