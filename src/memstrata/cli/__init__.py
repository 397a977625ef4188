"""The command `memstrata`: the verbs of `Memory`, with `--json` or readable tables."""

from __future__ import annotations

import sys

from memstrata.errors import MemstrataError, ScopeError

WHOSE = ". On the command line: --user NAME (or MEMSTRATA_USER), --agent NAME."


def main() -> None:
    """Run the command; an error of memstrata is one line that says what to do, not a traceback.

    Exit codes: 0 done, 1 an error (or disagreements that `check` found), 2 the command was called wrongly.
    """
    from memstrata.cli.app import app

    try:
        app()
    except MemstrataError as error:
        from rich.console import Console
        from rich.text import Text

        message = " ".join(str(error).split())
        if isinstance(error, ScopeError):
            message = message.rstrip(".") + WHOSE
        line = Text.assemble((f"{type(error).__name__}: ", "bold red"), (message, "red"))
        Console(stderr=True, soft_wrap=True).print(line)
        sys.exit(1)
