"""Write src/memstrata/memory.py, the sync face, from the async one. `--check` only compares; a test runs that."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src/memstrata"
SOURCES = [
    PACKAGE / "face" / f"{name}.py" for name in ("intake", "recall", "model", "notes", "log", "decisions", "upkeep")
]
TARGET = PACKAGE / "memory.py"

HEAD = '''"""The sync face, made from the async one by tools/make_sync.py: do not edit.

A memory has an event loop in a thread of its own; each call runs there and waits.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Any, TypeVar

from memstrata.async_memory import AsyncMemory
from memstrata.clock import Clock
from memstrata.embed import Embedder
from memstrata.errors import ClosedError
from memstrata.gate.policy import Policy
from memstrata.ledger.check import Disagreement
from memstrata.ledger.cost import Costs
from memstrata.ledger.decisions import PolicyReplay
from memstrata.ledger.reindex import Progress
from memstrata.llm import LLM
from memstrata.recall.ask import Answer
from memstrata.settings import Settings
from memstrata.store.base import Store
from memstrata.types import (
    Context,
    ContextStrategy,
    Decision,
    Erasure,
    Explanation,
    Kind,
    Note,
    NotePage,
    Preview,
    Profile,
    Recall,
    Receipt,
    Revision,
    Trust,
)

T = TypeVar("T")


class Memory:
    __DOC__

    __INIT__
        self._async = AsyncMemory(path, embedder=embedder, clock=clock, store=store, llm=llm, **settings)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="memstrata", daemon=True)
        self._thread.start()
        self._guard = threading.Lock()
        self._closed = False

    def _run(self, call: Coroutine[Any, Any, T]) -> T:
        with self._guard:  # nothing is handed to a loop that stops
            if self._closed:
                call.close()
                raise ClosedError
            future = asyncio.run_coroutine_threadsafe(call, self._loop)
        return future.result()

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._async.settings

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Finish the job in hand and close the store; what is queued goes on at the next opening."""
        with self._guard:
            if self._closed:
                return
            self._closed = True
            future = asyncio.run_coroutine_threadsafe(self._finish(), self._loop)
        try:
            future.result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _finish(self) -> None:
        """Close, and let the calls of other threads come to their ends: nobody waits for a loop that stopped."""
        try:
            await self._async.close()
        finally:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            if others:
                await asyncio.wait(others)
'''


def main() -> int:
    face, _ = class_of(PACKAGE / "async_memory.py")
    base, lines = class_of(PACKAGE / "face/base.py")
    doc = ast.get_docstring(face, clean=False) or ""
    init = next(node for node in base.body if isinstance(node, ast.FunctionDef) and node.name == "__init__")
    signature = "\n".join(lines[init.lineno - 1 : init.body[0].lineno - 1]).strip()
    text = HEAD.replace("__DOC__", f'"""{doc}"""').replace("__INIT__", signature)
    for source in SOURCES:
        part, lines = class_of(source)
        for node in part.body:
            if isinstance(node, ast.AsyncFunctionDef) and not node.name.startswith("_"):
                text += "\n" + method(node, lines) + "\n"
    formatted = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TARGET), "-"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    if "--check" in sys.argv:
        return 0 if TARGET.read_text(encoding="utf-8") == formatted else 1
    TARGET.write_text(formatted, encoding="utf-8")
    return 0


def class_of(path: Path) -> tuple[ast.ClassDef, list[str]]:
    """The one class of a module, and the module's lines."""
    text = path.read_text(encoding="utf-8")
    return next(node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)), text.splitlines()


def method(node: ast.AsyncFunctionDef, lines: list[str]) -> str:
    """A sync method with the signature and docstring of an async one."""
    head = "\n".join(lines[node.lineno - 1 : node.body[0].end_lineno]).replace("async def", "def", 1)
    arguments = [argument.arg for argument in node.args.args[1:]]
    arguments += [f"{argument.arg}={argument.arg}" for argument in node.args.kwonlyargs]
    return f"{head}\n        return self._run(self._async.{node.name}({', '.join(arguments)}))"


if __name__ == "__main__":
    raise SystemExit(main())
