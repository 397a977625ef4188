"""Write the sync face, src/memstrata/sync/ and memory.py, from the async one: face/ and async_memory.py.

`--check` only compares; a test runs that.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src/memstrata"
MADE = "made by tools/make_sync.py: do not edit."


def main() -> int:
    wanted = {PACKAGE / "memory.py": face()}
    for part in sorted((PACKAGE / "face").glob("[a-z]*.py")):
        if part.stem != "base":
            wanted[PACKAGE / "sync" / part.name] = mixin(part)
    formatted = {path: tidy(path, text) for path, text in wanted.items()}
    if "--check" in sys.argv:
        return int(any(not path.exists() or path.read_text(encoding="utf-8") != formatted[path] for path in formatted))
    for path, text in formatted.items():
        path.write_text(text, encoding="utf-8")
    return 0


def face() -> str:
    """`Memory`: `AsyncMemory` with its bases and names put into the sync ones."""
    source = PACKAGE / "async_memory.py"
    text = source.read_text(encoding="utf-8")
    node = class_of(text)
    bases = [ast.unparse(base) for base in node.bases]
    modules = {name.asname or name.name: item.module for item in imports(text) for name in item.names}
    lines = [
        f'"""The face of memstrata without `await`: `Memory`, {MADE}"""',
        "from __future__ import annotations",
        *(f"from {modules[base].replace('.face.', '.sync.')} import {sync_name(base)}" for base in bases),
        f"class Memory({', '.join(map(sync_name, bases))}):",
        f'    """{ast.get_docstring(node, clean=False)}"""',
    ]
    return "\n".join(lines) + "\n"


def mixin(source: Path) -> str:
    """A module of face/ as its sync one: the same methods, each waiting for the async one."""
    text = source.read_text(encoding="utf-8")
    node, lines = class_of(text), text.splitlines()
    doc = ast.get_docstring(node, clean=False)
    made = [f'"""face/{source.name} without `await`, {MADE}"""', *(ast.unparse(item) for item in imports(text))]
    made += ["from memstrata.sync.thread import MemoryThread", f"class {sync_name(node.name)}(MemoryThread):"]
    made.append(f'    """{doc}"""')
    for item in node.body:
        if isinstance(item, ast.AsyncFunctionDef) and not item.name.startswith("_"):
            made += ["", method(item, lines)]
    return "\n".join(made) + "\n"


def class_of(text: str) -> ast.ClassDef:
    """The one class of a module."""
    return next(node for node in ast.parse(text).body if isinstance(node, ast.ClassDef))


def imports(text: str) -> list[ast.ImportFrom]:
    return [node for node in ast.parse(text).body if isinstance(node, ast.ImportFrom)]


def sync_name(name: str) -> str:
    return "Sync" + name.removeprefix("Memory")


def method(node: ast.AsyncFunctionDef, lines: list[str]) -> str:
    """A sync method with the signature and docstring of an async one."""
    head = "\n".join(lines[node.lineno - 1 : node.body[0].end_lineno]).replace("async def", "def", 1)
    arguments = [argument.arg for argument in node.args.args[1:]]
    arguments += [f"{argument.arg}={argument.arg}" for argument in node.args.kwonlyargs]
    return f"{head}\n        return self._run(self._async.{node.name}({', '.join(arguments)}))"


def tidy(path: Path, text: str) -> str:
    """The text without the imports that only the async module needs, formatted."""
    for command in (["check", "--fix", "--quiet", "--select", "F401,I"], ["format"]):
        text = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(path), "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    return text


if __name__ == "__main__":
    raise SystemExit(main())
