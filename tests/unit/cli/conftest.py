"""Runs the command in this process, on a store of its own, with the fast embedder."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memstrata.cli import main


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """`run("recall", "tea", stdin=...)`: exit code and what was printed, at 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMSTRATA_PATH", str(tmp_path / "memory.db"))
    monkeypatch.setenv("MEMSTRATA_USER", "ana")
    monkeypatch.setenv("MEMSTRATA_EMBEDDER", "hashing")
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: str, stdin: str = "") -> Ran:
        monkeypatch.setattr(sys, "argv", ["memstrata", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        sys.stdout.flush()
        sys.stderr.flush()
        captured = capfdbinary.readouterr()
        return Ran(code, captured.out.decode(), captured.err.decode())

    return call
