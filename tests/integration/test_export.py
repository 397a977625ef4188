"""Export and import: byte for byte the same, or a typed error and nothing written."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from memstrata import Memory
from memstrata.clock import SetClock
from memstrata.embed.hashing import HashingEmbedder
from memstrata.errors import ConflictError, EmbedderError, InputError, NotFoundError, ScopeError
from memstrata.ledger.records import OWNER, RECORDS
from memstrata.store.sqlite import SqliteStore
from memstrata.store.tables import TRUTH


class FlakyEmbedder(HashingEmbedder):
    """The hashing embedder, out of order while `broken`."""

    broken = False

    async def embed(self, texts: Any, *, query: bool = False) -> np.ndarray:
        if self.broken:
            raise EmbedderError("out of order")
        return await super().embed(texts, query=query)


def exported(memory: Memory, **scope: str) -> bytes:
    stream = io.BytesIO()
    memory.export(stream, **scope)
    return stream.getvalue()


async def test_every_column_of_the_truth_is_exported_or_derived() -> None:
    derived = {
        "owners": {"changed", "notes_changed", "next_unit", "epoch", "compressed", "lease_holder", "lease_until"}
    }
    store = SqliteStore(":memory:")
    for record in (OWNER, *RECORDS):
        rows = await store.read(lambda db: db.all(f"PRAGMA table_info({record.table})"))  # noqa: B023
        columns = {row["name"] for row in rows} - {"tenant", "owner"} - derived.get(record.table, set())
        assert {field.column for field in record.fields} == columns, record.table
        optional = {row["name"] for row in rows if not row["notnull"]}
        assert {field.column for field in record.fields if field.optional} == optional & columns, record.table
        assert len({field.name for field in record.fields} | {"type"}) == len(record.fields) + 1, record.table
    assert {record.table for record in (OWNER, *RECORDS)} == set(TRUTH)
    await store.close()


def test_a_store_with_a_past_comes_back_byte_for_byte(tmp_path: Path, past: SimpleNamespace) -> None:
    clock, embedder = SetClock(past.START), FlakyEmbedder()
    with past.open_memory(tmp_path / "a.db", clock, embedder=embedder, job_attempts=1) as memory:
        past.live(memory, clock)
        memory.add("This one fails.", user_id="bob", session_id="f")
        embedder.broken = True
        memory.flush()
        embedder.broken = False
        first = exported(memory)
        before = past.answers(memory)
        memory.export(tmp_path / "a.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == first
    assert (tmp_path / "a.jsonl").stat().st_mode & 0o077 == 0
    lines = [json.loads(line) for line in first.splitlines()]
    types = {line["type"] for line in lines}
    assert types == {"header", "owner", "end", *(record.type for record in RECORDS)}
    notes = [line for line in lines if line["type"] == "note"]
    assert {"current", "superseded", "removed", "undone"} <= {note["state"] for note in notes}
    assert any(note["pinned"] for note in notes)
    assert any(line["type"] == "job" and line["state"] == "failed" for line in lines)
    with past.open_memory(tmp_path / "b.db", clock) as other:
        steps: list[tuple[str, int, int]] = []
        counts = other.import_(tmp_path / "a.jsonl", progress=lambda *step: steps.append(step))
        assert counts["turns"] == sum(line["type"] == "turn" for line in lines)
        assert steps == [("owners", n, 3) for n in (1, 2, 3)]
        assert exported(other) == first
        assert other.check() == ()
        assert past.answers(other) == before
        # Life goes on: queued work runs, new ids do not clash.
        other.retry_failed()
        other.flush()
        other.remember("I bought a boat.", user_id="ana")
        other.erase(user_id="ana")
        assert b"boat" not in exported(other)


def test_one_owner_is_exported_alone_and_may_come_back_under_another_name(
    tmp_path: Path, past: SimpleNamespace
) -> None:
    clock = SetClock(past.START)
    with past.open_memory(tmp_path / "a.db", clock) as memory:
        past.talk(memory, past.EN, clock, user_id="ana", session_id="s")
        past.talk(memory, past.JA, clock, user_id="ana2", session_id="s")
        past.talk(memory, past.ZH, clock, agent_id="ana", session_id="s")
        mine = exported(memory, user_id="ana")
        assert "京都に".encode() not in mine
        assert "上海".encode() not in mine
        memory.import_(io.BytesIO(mine), user_id="ana3")
        hits = memory.recall("violin", user_id="ana3", touch=False)
        assert "violin" in hits[0].text
        assert exported(memory, user_id="ana") == mine
        assert exported(memory, user_id="ana3") == mine.replace(b'"user":"ana"', b'"user":"ana3"')
        with pytest.raises(ConflictError, match="memory of user 'ana' already"):
            memory.import_(io.BytesIO(mine))
        with pytest.raises(NotFoundError):
            memory.export(io.BytesIO(), user_id="nobody")
        with pytest.raises(ScopeError):
            memory.export(io.BytesIO(), user_id="ana", agent_id="ana")
        with pytest.raises(InputError, match="only the export of one user"):
            memory.import_(io.BytesIO(exported(memory)), user_id="ana4")
        text = io.StringIO()
        memory.export(text, user_id="ana")
        assert text.getvalue().encode() == mine


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda lines: lines[:-1], None),  # cut off
        (lambda lines: [*lines[:5], lines[5][:20], *lines[6:]], 6),  # cut line
        (lambda lines: [*lines[:4], *lines[5:]], None),  # a line is missing
        (lambda lines: [*lines[:7], lines[6], *lines[7:]], 8),  # a line twice
        (lambda lines: [lines[0].replace(b'"version":1', b'"version":2'), *lines[1:]], 1),
        (lambda lines: [lines[0].replace(b"memstrata", b"other"), *lines[1:]], 1),
        (lambda lines: [*lines[:6], lines[6].replace(b'"number":', b'"number":"'), *lines[7:]], 7),
        (lambda lines: [*lines[:6], lines[6].replace(b'"number":', b'"nummer":'), *lines[7:]], 7),
        (lambda lines: [*lines[:6], lines[6].replace(b'"at":"2025', b'"at":"x2025'), *lines[7:]], 7),
        (lambda lines: [*lines[:6], b'{"type":"table"}', *lines[7:]], 7),
        (lambda lines: [*lines[:6], b"[1]", *lines[7:]], 7),
        (lambda lines: [lines[0], lines[6], *lines[1:]], 2),  # a row before its owner
    ],
)
def test_a_damaged_export_is_refused_and_nothing_is_written(
    damage: Any, line: int | None, past: SimpleNamespace
) -> None:
    clock = SetClock(past.START)
    with past.open_memory(":memory:", clock) as memory:
        past.talk(memory, past.EN, clock, user_id="ana")
        past.talk(memory, past.ZH, clock, user_id="zoe")
        lines = exported(memory).splitlines()
    with past.open_memory(":memory:", clock) as other:
        where = "line" if line is None else f"line {line}:"
        with pytest.raises(InputError, match=where):
            other.import_(io.BytesIO(b"\n".join(damage(lines)) + b"\n"))
        assert other.stats()["turns"] == 0


def test_messages_come_in_line_by_line(past: SimpleNamespace) -> None:
    lines = [
        {"role": "user", "content": past.EN[0], "at": "2025-05-01T09:00:00Z", "session_id": "a", "id": "1"},
        {"role": "assistant", "content": "Nice.", "at": "2025-05-01T09:01:00Z", "session_id": "a", "id": "2"},
        {"role": "user", "content": past.JA[0], "at": "2025-05-02T09:00:00+09:00", "user_id": "taro", "name": "太郎"},
        {"role": "user", "content": past.ZH[0], "at": "2025-05-02T09:00:00+08:00", "agent_id": "helper"},
    ]
    data = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    with past.open_memory(":memory:") as memory:
        assert memory.import_(io.StringIO(data), user_id="ana") == {"messages": 4, "stored": 4}
        assert memory.recall("Porto", user_id="ana")[0].at == datetime(2025, 5, 1, 9, tzinfo=UTC)
        assert memory.recall("京都", user_id="taro")[0].evidence[0].speaker == "太郎"
        assert "上海" not in str(memory.recall("上海", user_id="ana", agent_id="other").hits)
        assert "上海" in memory.recall("上海", user_id="ana", agent_id="helper")[0].text
        assert memory.import_(io.StringIO(data), user_id="ana") == {"messages": 4, "skipped": 4}
        # Another file with the same messages: ids are known, what has none is said again.
        assert memory.import_(io.StringIO(data + "\n"), user_id="ana") == {"messages": 4, "skipped": 2, "stored": 2}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"role": "user", "content": "x"}, "Name a user_id"),
        ({"role": "pirate", "content": "x", "user_id": "u"}, "pirate"),
        ({"role": "user", "content": "x", "user_id": "u", "at": "2025-05-01T09:00:00"}, "line 3"),
        ({"role": "user", "content": "x", "user_id": ""}, "user_id"),
    ],
)
def test_a_bad_message_is_named_by_its_line(bad: dict[str, Any], message: str, past: SimpleNamespace) -> None:
    good = {"role": "user", "content": "fine", "user_id": "u"}
    data = "\n".join(json.dumps(line) for line in (good, good, bad, good))
    with past.open_memory(":memory:") as memory:
        with pytest.raises(InputError, match=message) as caught:
            memory.import_(io.StringIO(data))
        assert "line 3" in str(caught.value)
        assert memory.stats()["turns"] == 0


def test_conversations_of_the_locomo_schema_come_in_session_by_session(tmp_path: Path, past: SimpleNamespace) -> None:
    def turn(n: int, session: int, text: str) -> dict[str, str]:
        return {"speaker": "Ana" if n % 2 else "Ben", "dia_id": f"D{session}:{n}", "text": text}

    conversation = {
        "speaker_a": "Ana",
        "speaker_b": "Ben",
        "session_1": [turn(n, 1, text) for n, text in enumerate(past.EN, 1)],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_2": [turn(1, 2, "We sold the old piano.")],
        "session_2_date_time": "9:00 am on 3 June, 2023",
    }
    path = tmp_path / "talks.json"
    path.write_text(json.dumps([{"sample_id": name, "conversation": conversation} for name in ("c-1", "c-2")]))
    with past.open_memory(":memory:") as memory:
        steps: list[int] = []
        counts = memory.import_(path, progress=lambda what, done, total: steps.append(done))
        assert counts == {"conversations": 2, "sessions": 4, "turns": 18}
        assert steps == [1, 2, 3, 4]
        assert memory.stats(user_id="c-1")["tiers"]["hot_turns"] == 0
        hit = memory.recall("piano", user_id="c-2")[0]
        assert (hit.at.date().isoformat(), hit.evidence[0].session) == ("2023-06-03", "session_2")
        with pytest.raises(InputError, match="2 conversations"):
            memory.import_(path, user_id="one")
        path.write_text(json.dumps([{"sample_id": "c-3", "conversation": {"speaker_a": "Ana"}}]))
        with pytest.raises(InputError, match="speaker_b"):
            memory.import_(path)


@pytest.mark.parametrize("data", [b"", b"hello", b"\x00\x01\xff", b"[1,", b"[]x", b"3"])
def test_a_foreign_file_is_refused(data: bytes, past: SimpleNamespace) -> None:
    with past.open_memory(":memory:") as memory, pytest.raises(InputError, match="line 1"):
        memory.import_(io.BytesIO(data), user_id="ana")


def test_a_file_that_is_not_there_is_an_error_that_says_so(tmp_path: Path, past: SimpleNamespace) -> None:
    with past.open_memory(":memory:") as memory, pytest.raises(InputError, match="No such file"):
        memory.import_(tmp_path / "none.jsonl")


def test_an_import_that_was_cut_is_gone_on_with(past: SimpleNamespace) -> None:
    lines = [{"role": "user", "content": f"Note {n} 茶", "user_id": f"u{n // 150}"} for n in range(310)]
    data = "\n".join(json.dumps(line) for line in lines)
    with past.open_memory(":memory:", SetClock(past.START)) as memory:

        def cut(what: str, done: int, total: int) -> None:
            if done >= 200:
                raise RuntimeError("cut")

        with pytest.raises(RuntimeError, match="cut"):
            memory.import_(io.StringIO(data), progress=cut)
        assert memory.import_(io.StringIO(data)) == {"messages": 310, "skipped": 250, "stored": 60}
        assert memory.import_(io.StringIO(data))["skipped"] == 310
        assert [memory.stats(user_id=f"u{n}")["turns"] for n in range(3)] == [150, 150, 10]
