"""The command: the first key is told once, requests under way are finished at SIGTERM, keys are made and revoked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from memstrata.server.fleet import STEADY_SECONDS


def command(*words: str, **how: object) -> subprocess.Popen[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("MEMSTRATA_")}
    env["MEMSTRATA_EMBEDDER"] = "hashing"
    return subprocess.Popen(
        [sys.executable, "-c", "from memstrata.cli import main; main()", *words],
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **how,  # type: ignore[call-overload]
    )


def told(*words: str) -> str:
    out, err = command(*words).communicate(timeout=60)
    assert out, err
    return out


@contextmanager
def running(store: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A service as a process of its own, and its address."""
    process = command("serve", "--store", str(store), "--port", "0", *words)
    assert process.stdout is not None
    line = process.stdout.readline()
    try:
        yield process, line.split()[-1]
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def stopped(process: subprocess.Popen[str]) -> str:
    """End it as an operator would; what it said on standard error."""
    process.send_signal(signal.SIGTERM)
    err = process.communicate(timeout=60)[1]
    assert process.returncode in (0, -signal.SIGTERM), err
    return err


def test_first_start_tells_a_key_once_and_what_was_acknowledged_stays(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    with running(store) as (process, url):
        assert httpx.get(f"{url}/readyz").status_code == 200
        assert httpx.post(f"{url}/v1/turns", json={"messages": "x", "user_id": "ana"}).status_code == 401
        err = stopped(process)
    key = next(word for word in err.split() if word.startswith("ms_"))
    headers = {"Authorization": f"Bearer {key}"}
    with running(store) as (process, url):
        body = {"messages": "好きな食べ物はラーメンです。", "user_id": "ana"}
        assert httpx.post(f"{url}/v1/turns", json=body, headers=headers).status_code == 201
        err = stopped(process)
    assert "ms_" not in err
    assert "ラーメン" not in err
    assert '"verb":"add"' in err
    with running(store) as (process, url):
        found = httpx.post(f"{url}/v1/recall", json={"query": "ラーメン", "user_id": "ana"}, headers=headers).json()
        assert len(found["hits"]) == 1
        stopped(process)


def test_keys_are_made_listed_rotated_revoked_and_audited(tmp_path: Path) -> None:
    store = ["--store", str(tmp_path / "memory.db")]
    made = json.loads(told("keys", "create", "--tenant", "acme", "--right", "read", *store, "--json"))
    with running(tmp_path / "memory.db") as (process, url):

        def asks(key: str, path: str = "/v1/profile?user_id=ana") -> int:
            return httpx.get(f"{url}{path}", headers={"X-API-Key": key}).status_code

        assert asks(made["key"]) == 200
        assert (
            httpx.post(
                f"{url}/v1/turns", json={"messages": "x", "user_id": "ana"}, headers={"X-API-Key": made["key"]}
            ).json()["error"]
            == "ForbiddenError"
        )
        turned = json.loads(told("keys", "rotate", made["id"], *store, "--json"))
        assert (asks(made["key"]), asks(turned["key"])) == (401, 200)
        told("keys", "revoke", turned["id"], *store)
        assert asks(turned["key"]) == 401
        stopped(process)
    keys = json.loads(told("keys", "list", "--tenant", "acme", *store, "--json"))
    assert [key["rights"] for key in keys] == [["read"], ["read"]]
    assert made["key"].rpartition("_")[2] not in json.dumps(keys)
    lines = json.loads(told("keys", "audit", "--user", "ana", *store, "--json"))
    assert [(line["verb"], line["status"]) for line in lines] == [("profile", 200), ("add", 403), ("profile", 200)]
    assert b"ana" not in (tmp_path / "memory.db.access").read_bytes()


def test_without_authentication_only_this_machine_may_call(tmp_path: Path) -> None:
    out, err = command("serve", "--no-auth", "--host", "0.0.0.0", "--store", str(tmp_path / "m.db")).communicate()
    assert not out
    assert "127.0.0.1" in err
    with running(tmp_path / "m.db", "--no-auth") as (process, url):
        assert httpx.get(f"{url}/v1/whoami").json()["tenant"] == "default"
        assert httpx.get(f"{url}/v1/whoami", headers={"Host": "evil.example"}).status_code == 400
        stopped(process)


@pytest.mark.parametrize("right", ["everything", ""])
def test_unknown_rights_are_refused(tmp_path: Path, right: str) -> None:
    out, err = command("keys", "create", "--right", right, "--store", str(tmp_path / "m.db")).communicate()
    assert (out, "read, write, erase, admin" in err) == ("", True)


def test_several_processes_answer_as_one(tmp_path: Path) -> None:
    """Each call may meet another of them; one that is killed is replaced; all end with the one that was started."""
    store, said = (
        tmp_path / "memory.db",
        {"ana": "I moved to Porto.", "健": "京都に住んでいます。", "明": "我住在上海。"},
    )
    with running(store, "--processes", "2", "--no-auth") as (process, url):
        whole = psutil.Process(process.pid)

        def ask(method: str, path: str, **how: Any) -> httpx.Response:
            with httpx.Client(base_url=url, timeout=60) as client:  # a connection of its own
                return client.request(method, path, **how)

        for user, text in said.items():
            answer = ask("POST", "/v1/turns", json={"messages": text, "user_id": user, "session_id": "s"})
            assert answer.status_code == 201
        workers = serving(whole)
        assert len(workers) == 2
        for _ in range(4):
            for user, text in said.items():
                hits = ask("POST", "/v1/recall", json={"query": text, "user_id": user}).json()["hits"]
                assert text in hits[0]["text"]
        time.sleep(max(0.0, workers[0].create_time() + STEADY_SECONDS + 1 - time.time()))
        workers[0].kill()
        while len(now := serving(whole)) < 2 or workers[0] in now:
            assert process.poll() is None, "all ended with one"
            time.sleep(0.05)
        assert ask("GET", "/readyz").status_code == 200
        gone = serving(whole)
        stopped(process)
        assert process.returncode == 0
        assert psutil.wait_procs(gone, timeout=60)[1] == []


def serving(whole: psutil.Process) -> list[psutil.Process]:
    """The processes that answer: those beside the one that follows them all."""
    living = [child for child in whole.children() if child.status() != psutil.STATUS_ZOMBIE]
    return [child for child in living if "spawn_main" in " ".join(child.cmdline())]


def test_a_killed_service_takes_its_processes_along(tmp_path: Path) -> None:
    with running(tmp_path / "memory.db", "--processes", "2", "--no-auth") as (process, url):
        assert httpx.get(f"{url}/readyz", timeout=60).status_code == 200
        workers = serving(psutil.Process(process.pid))
        process.kill()
        assert psutil.wait_procs(workers, timeout=60)[1] == []


def test_a_store_in_memory_has_one_process(tmp_path: Path) -> None:
    out, err = command("serve", "--store", ":memory:", "--processes", "2").communicate(timeout=60)
    assert (out, "--processes 1" in err) == ("", True)
