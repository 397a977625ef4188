"""The shell examples of the service's pages are run as they stand, on a free port."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from memstrata.server.verbs import EXPORT, IMPORT, VERBS

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


@pytest.mark.skipif(shutil.which("curl") is None, reason="the example calls curl")
def test_the_example_of_the_service_runs(tmp_path: Path) -> None:
    block = BLOCK.findall((ROOT / "docs/rest.md").read_text(encoding="utf-8"))[0].replace("8321", str(free_port()))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {name: value for name, value in os.environ.items() if not name.startswith("MEMSTRATA_")} | {"PATH": path}
    script = f"trap 'kill %1 && wait' EXIT\n{block}"
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("I live in Lyon now.") >= 3


def test_every_route_is_in_the_page() -> None:
    text = (ROOT / "docs/rest.md").read_text(encoding="utf-8")
    for verb in (*VERBS, EXPORT, IMPORT):
        last = [part for part in verb.path.split("/") if part and not part.startswith("{")][-1]
        assert last in text, verb.path
        assert verb.name in text or last == verb.name, verb.name
