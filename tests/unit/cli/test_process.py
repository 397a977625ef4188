"""The installed command as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

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
