"""The embedded default opens no socket: MiniLM, the worker and every stage run where they are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# An event loop wakes itself through a pair of local sockets; those are not connected, bound or looked up by name.
WATCH = """
import sys
OPENED = ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto",
          "socket.sendmsg", "urllib.Request", "http.client.connect")

def watch(event, args):
    if event in OPENED:
        print("OPENED", event, args, flush=True)

sys.addaudithook(watch)
"""
EVERYTHING = """
from memstrata import Memory

with Memory(sys.argv[1], alpha=0.5, beta=0.55) as memory:
    said = ["I live in Porto.", "I am allergic to peanuts.", "私は京都に住んでいます。", "我妹妹李娜在华为工作。"]
    memory.add([{"role": "user", "content": said[n % 4] + f" ({n})"} for n in range(24)], user_id="ana")
    print(memory.remember("My cat is called Miso.", user_id="ana").candidates[0].outcome)
    memory.end_session(user_id="ana")
    memory.flush()
    print(memory.recall("What is the cat called?", user_id="ana")[0].text)
    print(memory.recall("京都", user_id="ana")[0].text[:2])
    print(memory.context("Where do I live?", user_id="ana").tokens > 0)
    memory.flush()
    memory.preview("I moved to Lisbon.", user_id="ana")
    memory.profile("ana"), memory.maintain(), memory.check()
    print(memory.stats()["vectors"]["model"].startswith("all-MiniLM"))
    memory.erase(user_id="ana")
"""


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMSTRATA_")}
    command = [sys.executable, "-c", WATCH + program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=False)


def test_no_stage_of_the_default_opens_a_socket(tmp_path: Path) -> None:
    done = run(EVERYTHING, str(tmp_path / "memory.db"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["admitted", "My cat is called Miso.", "私は", "True", "True"]


def test_the_command_opens_none_either(tmp_path: Path) -> None:
    store = str(tmp_path / "memory.db")
    for arguments in (["add", "I live in Porto."], ["recall", "Where do I live?"], ["stats"]):
        program = f"from memstrata.cli import main\nsys.argv = ['memstrata', *{arguments!r}, '--user', 'ana']\nmain()"
        done = run(f"import os\nos.environ['MEMSTRATA_PATH'] = {store!r}\n{program}")
        assert done.returncode == 0, done.stderr
        assert "OPENED" not in done.stdout


def test_the_watch_notices() -> None:
    for program in (
        "import socket\nsocket.getaddrinfo('localhost', 80)",
        "import socket\nsocket.socket(socket.AF_INET).bind(('127.0.0.1', 0))",
        "import socket\ntry: socket.create_connection(('127.0.0.1', 1), 1)\nexcept OSError: pass",
    ):
        assert "OPENED" in run(program).stdout
