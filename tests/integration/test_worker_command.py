"""`memstrata worker`: several processes on one store, one owner's jobs in their order, the job in hand finished."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests import servers
from tests.conftest import ON_POSTGRES

from memstrata import Memory
from memstrata.server.keys import AccessFile, Rules

USERS = ("ana", "綾子", "王芳")
SAID = ("I moved to Porto in May.", "東京で看護師として働いています。", "我住在上海。", "I play the cello.", "ok")


def start(store: str, poll: str, *more: str) -> subprocess.Popen[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("MEMSTRATA_")}
    words = ["worker", "--store", store, "--poll", poll, "--upkeep", "0", *more]
    worker = subprocess.Popen(
        [sys.executable, "-c", "from memstrata.cli import main; main()", *words],
        env={**env, "MEMSTRATA_EMBEDDER": "hashing"},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert worker.stderr is not None
    assert "works off" in worker.stderr.readline()
    return worker


def test_two_workers_share_a_store_and_stop_when_told(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    # PostgreSQL wakes them: nobody looks again in the time of this test.
    at, poll = (servers.address_for(store), "1000") if ON_POSTGRES else (str(store), "0.05")
    with Memory(store, embedder="hashing", worker=False) as memory:
        memory.stats()  # the store is there before the workers
    workers = [start(at, poll), start(at, poll)]
    try:
        with Memory(store, embedder="hashing", worker=False) as memory:
            for user in USERS:
                for text in SAID:
                    memory.add({"role": "user", "content": text}, user_id=user)
                memory.end_session(user_id=user)
            deadline = time.monotonic() + 60
            while memory.stats()["jobs"].get("queued"):
                assert time.monotonic() < deadline, memory.stats()["jobs"]
                time.sleep(0.05)
            for worker in workers:
                worker.send_signal(signal.SIGTERM)
            for worker in workers:
                err = worker.communicate(timeout=60)[1]
                assert worker.returncode == 0, err
            assert memory.stats()["jobs"]["failed"] == 0
            for user in USERS:
                pages = memory.operations(user_id=user, verb="page").operations
                assert len(pages) == 1, "a page is summarised once"
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()


def test_one_worker_works_for_all_tenants_each_under_its_own_settings(tmp_path: Path) -> None:
    store, tenants = tmp_path / "memory.db", ("acme", "東京", "上海")
    keys = AccessFile(tmp_path / "access")
    keys.set_rules("東京", Rules({"erase_after_days": 1e-9}))
    for tenant in tenants:
        with Memory(store, embedder="hashing", worker=False, tenant=tenant) as memory:
            for text in SAID:
                memory.add({"role": "user", "content": text}, user_id="ana")
            memory.end_session(user_id="ana")
    at = servers.address_for(store) if ON_POSTGRES else str(store)
    worker = start(at, "0.05", "--upkeep", "0.2", "--all-tenants", "--access", keys.path)
    try:
        deadline = time.monotonic() + 60
        for tenant in tenants:
            with Memory(store, embedder="hashing", worker=False, tenant=tenant) as memory:
                while memory.stats()["jobs"].get("queued") or (tenant == "東京" and memory.stats()["turns"]):
                    assert time.monotonic() < deadline, memory.stats()
                    time.sleep(0.05)
                pages = memory.operations(user_id="ana", verb="page").operations
                assert len(pages) == (tenant != "東京"), tenant
        worker.send_signal(signal.SIGTERM)
        err = worker.communicate(timeout=60)[1]
        assert worker.returncode == 0, err
    finally:
        worker.kill()
        worker.communicate()
        keys.close()
