"""The command `memstrata`: the verbs of `Memory`, with `--json` or readable tables."""

from __future__ import annotations

import sys

from memstrata.errors import MemstrataError, ScopeError

WHOSE = ". On the command line: --user NAME (or MEMSTRATA_USER), --agent NAME."


DETAILS = ("index", "part", "blockers", "extra")  # attributes of errors that tell where, or what stands in the way


def main() -> None:
    """Run the command; an error of memstrata is one line that says what to do, not a traceback.

    With `--json` that line, on standard error like every other, is an object: {"error": {"type": ..., "message": ...}}.
    Exit codes: 0 done, 1 an error (or disagreements that `check` found), 2 the command was called wrongly.
    """
    from memstrata.cli.app import app

    try:
        app()
    except MemstrataError as error:
        message = " ".join(str(error).split())
        if isinstance(error, ScopeError):
            message = message.rstrip(".") + WHOSE
        (_as_json if "--json" in sys.argv else _as_line)(error, message)
        sys.exit(1)


def _as_json(error: MemstrataError, message: str) -> None:
    import json

    details = {name: getattr(error, name) for name in DETAILS if getattr(error, name, None) is not None}
    told = {"error": {"type": type(error).__name__, "message": message, **details}}
    print(json.dumps(told, ensure_ascii=False), file=sys.stderr)


def _as_line(error: MemstrataError, message: str) -> None:
    from rich.console import Console
    from rich.text import Text

    line = Text.assemble((f"{type(error).__name__}: ", "bold red"), (message, "red"))
    Console(stderr=True, soft_wrap=True).print(line)
