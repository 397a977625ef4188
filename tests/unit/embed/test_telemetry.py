"""No library of the default install reports home: onnxruntime keeps a device id and a queue of events when it does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

LOAD = """
import asyncio
from memstrata.embed import create_embedder
asyncio.run(create_embedder("minilm").embed(["hello"]))
"""


def test_the_default_embedder_leaves_no_telemetry(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    clean = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    subprocess.run([sys.executable, "-c", LOAD], env={**clean, **home}, check=True)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
