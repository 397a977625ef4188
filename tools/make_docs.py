"""Write docs/cli.md from the commands' help and docs/settings.md from the settings. `--check` only compares."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from typer.testing import CliRunner

ROOT = Path(__file__).parent.parent


def cli() -> str:
    from memstrata.cli.app import admissions, app, evaluations

    runner = CliRunner()
    lines = ["# The command", "", "Made from `--help`; a test keeps it equal.", ""]
    for group, path in ((app, ()), (admissions, ("admission",)), (evaluations, ("eval",))):
        for command in group.registered_commands:
            name = command.name or str(getattr(command.callback, "__name__", ""))
            shown = runner.invoke(app, [*path, name, "--help"], env={"COLUMNS": "100", "TERM": "dumb"})
            help_text = "\n".join(line.rstrip() for line in shown.output.strip().splitlines())
            lines += [f"## memstrata {' '.join((*path, name))}", "", "```text", help_text, "```", ""]
    return "\n".join(lines)


def settings() -> str:
    from memstrata.settings import PREFIX, Settings

    lines = [
        "# Settings",
        "",
        "Arguments of `Memory(...)`, else `MEMSTRATA_*` variables, else the TOML file that `MEMSTRATA_CONFIG` names.",
        "Made from `memstrata.settings.Settings`; a test keeps it equal.",
        "",
        "| setting | variable | default | meaning |",
        "|---|---|---|---|",
    ]
    for name, field in Settings.model_fields.items():
        default = field.default if not isinstance(field.default, tuple) else ", ".join(field.default)
        lines.append(f"| `{name}` | `{PREFIX}{name.upper()}` | `{default}` | {field.description or ''} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    os.environ["COLUMNS"] = "100"
    stale = 0
    for name, text in (("cli.md", cli()), ("settings.md", settings())):
        target = ROOT / "docs" / name
        if "--check" in sys.argv:
            stale += target.read_text(encoding="utf-8") != text
        else:
            target.write_text(text, encoding="utf-8")
    return int(stale > 0)


if __name__ == "__main__":
    raise SystemExit(main())
