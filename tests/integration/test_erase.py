"""Erasure: no byte of the subject in any file (invariant 8), everybody else untouched, nothing comes back."""

from __future__ import annotations

import asyncio
import io
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.conftest import bytes_at, of_the_file

from memstrata import AsyncMemory, Memory
from memstrata.clock import SetClock
from memstrata.embed.hashing import HashingEmbedder
from memstrata.errors import ScopeError
from memstrata.store.sqlite import SqliteStore
from memstrata.store.tables import OWNED

PLANTS = [
    "quokka-marmalade-7714",
    "Wrzeszczykowski-Planted",
    "人工降雨計画第八百四十二号",
    "紫色的长颈鹿在月球上跳舞",
]
USER = "planted-user-0001-xyzzy"
SESSION = "planted-session-abcdef"


def files_with(store: Path, needles: list[str]) -> list[tuple[str, str]]:
    """Which of the strings stand in which file of the store, as UTF-8 or inside JSON escapes."""
    return [
        (name, needle)
        for name, data in bytes_at(store).items()
        for needle in needles
        if needle.encode() in data or needle.encode("utf-16-le") in data
    ]


def plant(memory: Memory, clock: SetClock, past: SimpleNamespace, user: str = USER) -> None:
    """Leave the strings everywhere that a caller can put them."""
    scope: dict[str, Any] = {"user_id": user, "session_id": SESSION}
    for n, text in enumerate(PLANTS):
        memory.add(
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": f"My friend {PLANTS[1]} lives at {text}."},
                    {"type": "image_url", "image_url": {"url": f"https://x.test/{PLANTS[0]}"}, "caption": PLANTS[3]},
                ],
                "name": PLANTS[1],
                "id": f"{PLANTS[0]}-{n}",
                "metadata": {"project": PLANTS[2], PLANTS[0]: 1},
            },
            idempotency_key=f"{PLANTS[0]}-{n}",
            **scope,
        )
    past.talk(memory, [*past.EN, *past.JA, *past.ZH], clock, user_id=user, agent_id="planted-agent-7", session_id="s")
    memory.remember(f"I own the {PLANTS[0]} patent.", tags=[PLANTS[3]], metadata={"a": PLANTS[2]}, **scope)
    memory.end_session(**scope)
    memory.flush()
    for text in PLANTS:
        memory.recall(f"what about {text}?", **scope)
        memory.context(text, **scope)
        memory.flush()
    note = memory.list(user_id=user).notes[-1]
    memory.update(note.id, user_id=user, context=PLANTS[1], tags=[PLANTS[0]])
    memory.forget(note.id, user_id=user)
    memory.add(f"Still queued: {PLANTS[2]}", **scope)


async def test_every_table_with_an_owner_is_in_the_list() -> None:
    store = SqliteStore(":memory:")
    tables = await store.read(lambda db: db.all("SELECT name FROM sqlite_schema WHERE type = 'table'"))
    owned = set()
    for row in tables:
        columns = await store.read(lambda db: db.all(f"PRAGMA table_info({row['name']})"))  # noqa: B023
        if "owner" in {column["name"] for column in columns}:
            owned.add(row["name"])
    assert owned == set(OWNED)
    await store.close()


def test_no_planted_string_stays_in_any_file(tmp_path: Path, past: SimpleNamespace) -> None:
    clock, path = SetClock(past.START), tmp_path / "m.db"
    needles = [*PLANTS, USER, SESSION, "planted-agent-7"]
    with past.open_memory(path, clock) as memory:
        past.talk(memory, past.EN, clock, user_id="other", session_id="s")
        before = io.BytesIO()
        memory.export(before, user_id="other")
        plant(memory, clock, past)
        assert {needle for _, needle in files_with(path, needles)} == set(needles)
        mine = memory.stats(user_id=USER)
        result = memory.erase(user_id=USER)
        assert result.complete
        assert result.counts["turns"] == mine["turns"]
        assert result.counts["notes"] > 0
        assert result.counts["jobs"] > 0
        assert files_with(path, needles) == []
        assert memory.recall(PLANTS[0], user_id=USER).hits == ()
        after = io.BytesIO()
        memory.export(after, user_id="other")
        assert after.getvalue() == before.getvalue()
        assert memory.check() == ()
        assert "violin" in memory.recall("violin", user_id="other")[0].text
        again = memory.erase(user_id=USER)
        assert again.complete
        assert sum(again.counts.values()) == 0
        assert USER not in str(result)
    assert files_with(path, needles) == []


def test_of_whom_nothing_came_for_long_enough_no_byte_stays(tmp_path: Path, past: SimpleNamespace) -> None:
    clock, path = SetClock(past.START), tmp_path / "m.db"
    needles = [*PLANTS, USER, SESSION, "planted-agent-7"]
    with past.open_memory(path, clock, erase_after_days=90) as memory:
        plant(memory, clock, past)
        gone = clock.now()
        clock.set(gone + timedelta(days=89))
        past.talk(memory, past.EN, clock, user_id="other", session_id="s")
        assert memory.maintain(now=gone + timedelta(days=90))["erased"] == 0
        clock.set(gone + timedelta(days=90, seconds=1))
        assert memory.maintain()["erased"] == 1
        assert files_with(path, needles) == []
        assert memory.stats(user_id=USER)["turns"] == 0
        assert memory.stats(user_id="other")["turns"] > 0
        assert memory.check() == ()
        assert memory.maintain()["erased"] == 0


def test_nobody_is_erased_where_no_rule_says_so(tmp_path: Path, past: SimpleNamespace) -> None:
    clock = SetClock(past.START)
    with past.open_memory(tmp_path / "m.db", clock) as memory:
        past.talk(memory, past.JA, clock, user_id="健", session_id="s")
        assert memory.maintain(now=past.START + timedelta(days=9999))["erased"] == 0


def test_ids_are_not_patterns(tmp_path: Path, past: SimpleNamespace) -> None:
    ids = [
        "ana",
        "ana1",
        "an",
        "a%",
        "%",
        "_na",
        "a.a",
        "ANA",
        "ana ",
        "アナ",
        "u:ana",
        "ana/../bob",
        "'; DROP TABLE turns; --",
    ]
    clock = SetClock(past.START)
    with past.open_memory(tmp_path / "m.db", clock) as memory:
        for name in ids:
            memory.remember(past.EN[0], user_id=name)
            memory.remember(past.JA[0], agent_id=name)
        for n, name in enumerate(ids):
            assert memory.erase(user_id=name).counts["turns"] == 1
            left = [other for other in ids if memory.list(user_id=other).notes]
            assert left == ids[n + 1 :]
            assert memory.list(agent_id=name).notes, "an agent of the same name is another owner"
        assert memory.erase(agent_id="%").counts["notes"] == 1
        assert memory.list(agent_id="ana").notes


def test_a_subject_must_be_named(past: SimpleNamespace) -> None:
    with past.open_memory(":memory:") as memory:
        with pytest.raises(ScopeError):
            memory.erase()
        with pytest.raises(ScopeError):
            memory.erase(user_id="ana", agent_id="helper")


READER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("BEGIN")
print(connection.execute("SELECT count(*) FROM turns").fetchone()[0], flush=True)
sys.stdin.readline()
connection.execute("COMMIT")
connection.close()
"""


@of_the_file  # tests/contract/test_postgres.py has a reader of its own
def test_a_reader_of_old_pages_delays_the_end_of_an_erasure(tmp_path: Path, past: SimpleNamespace) -> None:
    clock, path = SetClock(past.START), tmp_path / "m.db"
    with past.open_memory(path, clock) as memory:
        plant(memory, clock, past)
        reader = subprocess.Popen(
            [sys.executable, "-c", READER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert reader.stdout is not None
        assert int(reader.stdout.readline()) > 0
        result = memory.erase(user_id=USER)
        assert not result.complete
        assert memory.recall(PLANTS[0], user_id=USER).hits == ()
        reader.communicate("go\n", timeout=30)
        memory.maintain()
        assert files_with(path, [*PLANTS, USER, SESSION]) == []
        row = memory._run(
            memory._async._engine.store.read(lambda db: db.one("SELECT key FROM meta WHERE key = 'scrub_pending'"))
        )
        assert row is None


class WaitingEmbedder(HashingEmbedder):
    """Lets a test do something while texts are being embedded."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.go = asyncio.Event(), asyncio.Event()
        self.go.set()

    async def embed(self, texts: Any, *, query: bool = False) -> np.ndarray:
        self.reached.set()
        await self.go.wait()
        return await super().embed(texts, query=query)


@pytest.mark.parametrize("again", [False, True])
async def test_work_in_hand_does_not_bring_rows_back(again: bool, tmp_path: Path, past: SimpleNamespace) -> None:
    """Jobs that were running when the owner was erased write nothing, not even when the owner came back meanwhile."""
    embedder, path = WaitingEmbedder(), tmp_path / "m.db"
    memory = AsyncMemory(path, embedder=embedder, worker=False, alpha=0.5, beta=0.4, clock=SetClock(past.START))
    for text in PLANTS * 4:
        await memory.add(f"I live at {text} now.", user_id=USER, session_id=SESSION)
    embedder.go.clear()
    embedder.reached.clear()
    work = [
        asyncio.create_task(memory.flush()),
        asyncio.create_task(memory.remember(f"Mine: {PLANTS[0]}", user_id=USER)),
    ]
    await embedder.reached.wait()
    await asyncio.sleep(0.05)
    assert (await memory.erase(user_id=USER)).complete
    if again:
        for text in past.EN:
            await memory.add(text, user_id=USER, session_id="new")
    embedder.go.set()
    await asyncio.gather(*work, return_exceptions=True)
    await memory.flush()
    assert files_with(path, PLANTS) == []
    if again:
        assert (await memory.stats(user_id=USER))["turns"] == len(past.EN)
        assert await memory.check() == ()
        assert "violin" in (await memory.recall("violin", user_id=USER, session_id="else"))[0].text
    else:
        assert files_with(path, [USER, SESSION]) == []
    await memory.close()


def test_another_process_forgets_what_it_had_in_memory(tmp_path: Path, past: SimpleNamespace) -> None:
    """An owner that comes back is not mixed with what a second open memory still holds of the first one."""
    path, clock = tmp_path / "m.db", SetClock(past.START)
    with past.open_memory(path, clock) as first, past.open_memory(path, clock) as second:
        past.talk(first, past.EN, clock, user_id=USER, session_id="s")
        assert second.recall("violin", user_id=USER, touch=False).hits
        first.erase(user_id=USER)
        past.talk(first, [*past.ZH, *past.JA, *past.ZH], clock, user_id=USER, session_id="s")
        for question in ("violin in Porto", "花生", "京都"):
            hits = [
                [(hit.id, hit.text, hit.score) for hit in memory.recall(question, user_id=USER, touch=False)]
                for memory in (first, second)
            ]
            assert hits[0] == hits[1]
