"""Write docs/cli.md, settings.md and verbs.md from the commands, the settings and the face. `--check` compares."""

from __future__ import annotations

import inspect
import os
import re
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


def verbs() -> str:
    """Every method of the face, part by part, with its signature and docstring."""
    from memstrata.async_memory import AsyncMemory
    from memstrata.memory import Memory

    lines = [
        "# The verbs",
        "",
        "Methods of `Memory`; `AsyncMemory` has the same ones with `await`. Made from their docstrings; a test",
        "keeps it equal.",
        "",
    ]
    for part in AsyncMemory.__bases__:
        lines += [f"## {(part.__doc__ or '').partition('.')[0]}", ""]
        for name, method in vars(part).items():
            if inspect.iscoroutinefunction(method) and not name.startswith("_"):
                shown = inspect.signature(getattr(Memory, name), eval_str=False)
                lines += [f"### {name}", "", "```text", _call(name, shown), "```", "", _prose(method), ""]
    return "\n".join(lines)


def _call(name: str, signature: inspect.Signature) -> str:
    """A signature as it is called, a parameter a line where there are many."""
    shown, keyword_only = [], False
    for parameter in signature.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            shown, keyword_only = [*shown, "*"], True
        shown.append(str(parameter).replace("'", ""))
    short = f"{name}({', '.join(shown)})"
    inner = short if len(short) <= 90 else f"{name}(\n    " + ",\n    ".join(shown) + ",\n)"
    return f"{inner} -> {signature.return_annotation}"


def _prose(method: object) -> str:
    """A docstring as Markdown: its sections as bold words with their lines as a list."""
    text = inspect.getdoc(method) or ""
    made: list[str] = []
    section = ""
    for line in text.splitlines():
        if found := re.fullmatch(r"(Args|Returns|Raises):", line):
            section = found[1]
            made += [f"**{section}**", ""]
        elif section and re.match(r"    \S", line):
            made.append(line.strip() if section == "Returns" else f"* {line.strip()}")
        elif section and line.strip():
            made[-1] += f" {line.strip()}"
        else:
            made.append(line)
    return "\n".join(made)


def main() -> int:
    os.environ["COLUMNS"] = "100"
    stale = 0
    for name, text in (("cli.md", cli()), ("settings.md", settings()), ("verbs.md", verbs())):
        target = ROOT / "docs" / name
        if "--check" in sys.argv:
            stale += target.read_text(encoding="utf-8") != text
        else:
            target.write_text(text, encoding="utf-8")
    return int(stale > 0)


if __name__ == "__main__":
    raise SystemExit(main())
