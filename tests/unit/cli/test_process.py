"""The installed command as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memstrata.cli import main

COMMAND = Path(sys.executable).with_name("memstrata")


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['memstrata', '--help']\n"
        "from memstrata.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'onnxruntime', 'pydantic', 'sqlite3', 'orjson', 'asyncio', 'memstrata.async_memory'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_the_entry_point_runs_and_a_closed_pipe_is_no_traceback(tmp_path: Path) -> None:
    env = {**os.environ, "MEMSTRATA_EMBEDDER": "hashing", "MEMSTRATA_USER": "ana"}
    store = ["--store", str(tmp_path / "m.db")]
    for n in range(3):
        subprocess.run([COMMAND, "remember", f"I visited Porto in {2000 + n}.", *store], env=env, check=True, stdout=-3)
    whole = subprocess.run([COMMAND, "list", "--json", *store], env=env, capture_output=True, check=True)
    assert len(json.loads(whole.stdout)["notes"]) == 3
    with subprocess.Popen(
        [COMMAND, "list", "--json", *store], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as cut:
        assert cut.stdout is not None
        assert cut.stderr is not None
        cut.stdout.close()
        assert b"Traceback" not in cut.stderr.read()


def test_with_json_an_error_is_one_object_on_standard_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ["--store", str(tmp_path / "m.db")]
    monkeypatch.setenv("MEMSTRATA_EMBEDDER", "hashing")

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["memstrata", *words])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, err

    assert run("remember", "私は京都に住んでいます。", "--user", "ana", *store)[0] == 0
    code, out, err = run("show", "n_none", "--user", "ana", "--json", *store)
    assert (code, out) == (1, "")
    assert json.loads(err) == {"error": {"type": "NotFoundError", "message": "no note 'n_none' in this scope"}}
    operation = json.loads(run("remember", "我住在成都。", "--user", "ana", "--json", *store)[1])["operation"]
    assert run("remember", "我住在成都。", "--user", "ana", *store)[0] == 0
    error = json.loads(run("undo", operation, "--user", "ana", "--json", *store)[2])["error"]
    assert error["type"] == "UndoError"
    assert len(error["blockers"]) == 1
    code, _, err = run("show", "n_none", "--user", "ana", *store)
    assert (code, err.strip()) == (1, "NotFoundError: no note 'n_none' in this scope")
