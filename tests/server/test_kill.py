"""Killed in mid-request at random, and started again: every acknowledged write is there, none twice."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import httpx
import pytest

from memstrata import Memory
from memstrata.server.keys import RIGHTS, AccessFile

from .conftest import SETTINGS
from .test_process import running

WRITERS = 4
SAID = ("I have seen {} whales.", "鯨を{}頭見ました。", "我看到了{}头鲸鱼。")


class Writer(threading.Thread):
    """Adds turns, each under a key of its own, until the service is gone; what was cut goes first at the next start."""

    def __init__(self, name: str, key: str) -> None:
        super().__init__(daemon=True)
        self.owner, self.headers = name, {"Authorization": f"Bearer {key}"}
        self.acknowledged: list[str] = []
        self.sent: list[str] = []
        self.url = ""

    def run(self) -> None:
        with httpx.Client(base_url=self.url, headers=self.headers, timeout=30) as client:
            while True:
                cut = [text for text in self.sent if text not in set(self.acknowledged)]
                text = cut[0] if cut else SAID[len(self.sent) % 3].format(len(self.sent))
                if not cut:
                    self.sent.append(text)
                body = {"messages": text, "user_id": self.owner, "session_id": "s"}
                key = {"Idempotency-Key": str(self.sent.index(text))}
                try:
                    answer = client.post("/v1/turns", json=body, headers=key)
                except httpx.TransportError:
                    return
                assert answer.status_code == 201, answer.text
                self.acknowledged.append(text)

    def again(self, url: str) -> Writer:
        """The same writer at the next start of the service."""
        following = Writer(self.owner, "")
        following.headers, following.url = self.headers, url
        following.acknowledged, following.sent = self.acknowledged, self.sent
        return following


def acknowledged(writers: list[Writer]) -> int:
    return sum(len(writer.acknowledged) for writer in writers)


def killed_again_and_again(folder: Path, rounds: int, seed: int) -> None:
    store, chance = folder / "memory.db", random.Random(seed)
    keys = AccessFile(folder / "memory.db.access")
    key = keys.create("default", RIGHTS)[0]
    keys.close()
    writers = [Writer(f"writer-{n}", key) for n in range(WRITERS)]
    for _ in range(rounds):
        with running(store) as (process, url):
            writers = [writer.again(url) for writer in writers]
            for writer in writers:
                writer.start()
            before = acknowledged(writers)
            while acknowledged(writers) == before and any(writer.is_alive() for writer in writers):
                time.sleep(0.01)
            time.sleep(chance.uniform(0.0, 0.4))
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        for writer in writers:
            writer.join(60)
            assert not writer.is_alive()
    assert acknowledged(writers) >= rounds
    with Memory(store, worker=False, **SETTINGS) as memory:
        for writer in writers:
            found: list[str] = []
            cursor: str | None = None
            while True:
                page = memory.turns(user_id=writer.owner, limit=1000, cursor=cursor)
                found += [turn.text for turn in page]
                if (cursor := page.cursor) is None:
                    break
            assert max(Counter(found).values()) == 1
            assert set(writer.acknowledged) <= set(found) <= set(writer.sent)
        memory.flush()
        assert memory.check() == ()


def test_acknowledged_writes_outlive_a_kill(tmp_path: Path) -> None:
    killed_again_and_again(tmp_path, rounds=3, seed=7)


@pytest.mark.soak
def test_acknowledged_writes_outlive_two_hundred_kills(tmp_path: Path) -> None:
    killed_again_and_again(tmp_path, rounds=200, seed=8)
