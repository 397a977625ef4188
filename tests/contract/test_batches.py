"""Pages in a provider's batches: sent together, paid once, committed in their order, whatever comes back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memstrata import Memory, SetClock
from memstrata.errors import SettingsError
from memstrata.llm.fakes import ScriptedLLM

from .chat_server import ChatServer, chat_server

PROVIDERS = {"openai": "openai:gpt-5-mini", "anthropic": "anthropic:claude-sonnet-5"}
SAID = {
    "en": ["I moved to Porto last May.", "My sister Lena bakes bread in Alfama."],
    "ja": ["先月、大阪から札幌に引っ越しました。", "猫を二匹飼っています。"],
    "zh": ["我在上海的一家设计公司工作。", "我妹妹小雨喜欢喝绿茶。"],
}
TURN = re.compile(r"\[(\d+)\] \d{4}-\d\d-\d\d (?:user: )?(.*)")
KEY = "sk-test-0123456789abcdef"


def answer(body: dict[str, Any]) -> str:
    """A note of each turn, or nothing to say of notes."""
    text = json.dumps(body, ensure_ascii=False).replace("\\n", "\n").split("<turns>")[-1].split("</turns>")[0]
    notes = [{"content": said, "evidence": [int(n)], "kind": "fact"} for n, said in TURN.findall(text)]
    found = {"summary": "What was told.", "notes": notes, "links": [], "evolved": [], "conflicts": []}
    return json.dumps(found, ensure_ascii=False)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with chat_server() as made:
        made.answer = made.batches.answer = answer
        yield made


class Store:
    """A store that is opened again and again, with a clock of its own."""

    def __init__(self, path: Path, server: ChatServer, provider: str) -> None:
        self.path, self.clock = path, SetClock(datetime(2026, 6, 1, 12, tzinfo=UTC))
        self.settings: dict[str, Any] = {
            "embedder": "hashing",
            "worker": False,
            "policy": "open",
            "llm": PROVIDERS[provider],
            "llm_base_url": server.url if provider == "openai" else server.root,
            "llm_batch_seconds": 60,
        }

    def open(self) -> Memory:
        return Memory(self.path, clock=self.clock, **self.settings)


def tell(memory: Memory) -> None:
    for language, texts in SAID.items():
        for session in ("one", "two"):
            said = [{"role": "user", "content": f"{text} ({session})"} for text in texts]
            memory.add(said, user_id=language, session_id=session)
            memory.end_session(user_id=language, session_id=session)


PAGES = 2 * len(SAID)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_pages_of_all_users_go_in_one_batch_that_is_paid_once(
    server: ChatServer, provider: str, tmp_path: Path
) -> None:
    store = Store(tmp_path / "m.db", server, provider)
    with store.open() as memory:
        tell(memory)
        assert memory.flush()["waiting"] == PAGES
        (batch,) = server.batches.sent.values()
        assert len(batch) == PAGES
        assert memory.recall("Porto", user_id="en"), "recall works meanwhile"
        memory.flush()
        assert server.batches.looked == 0, "it is not asked for all the time"
        store.clock.advance(seconds=61)
        memory.flush()
        assert server.batches.looked == 1
    server.batches.ended = True
    with store.open() as memory:  # another process
        memory.flush()
        assert server.batches.looked == 1
        store.clock.advance(seconds=61)
        assert memory.flush()["page"] == PAGES
        assert len(server.batches.sent) == 1
        assert server.requests == []
        cost = memory.cost(by=["user"])
        assert [line.calls for line in cost.lines] == [2, 2, 2]
        assert cost.total.cached_tokens > 0
        assert cost.total.input_tokens > cost.total.cached_tokens
        for language in SAID:
            memory.distil(user_id=language)
            notes = [note.content for note in memory.list(user_id=language)]
            assert notes == [f"{text} ({session})" for session in ("one", "two") for text in SAID[language]]
    assert all(KEY.encode() not in file.read_bytes() for file in tmp_path.iterdir() if file.is_file())


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_fails_in_its_batch_is_asked_at_once(server: ChatServer, provider: str, tmp_path: Path) -> None:
    store = Store(tmp_path / "m.db", server, provider)
    with store.open() as memory:
        tell(memory)
        memory.flush()
        server.batches.ended, server.batches.failing = True, 2
        store.clock.advance(seconds=61)
        assert memory.flush()["page"] == PAGES
        assert len(server.batches.sent) == 1
        assert len(server.requests) == 2
        assert memory.cost().total.calls == PAGES


def test_an_answer_that_cannot_be_read_is_paid_and_asked_at_once(server: ChatServer, tmp_path: Path) -> None:
    store = Store(tmp_path / "m.db", server, "anthropic")
    server.batches.answer = lambda body: "I would rather not."
    with store.open() as memory:
        tell(memory)
        memory.flush()
        server.batches.ended = True
        store.clock.advance(seconds=61)
        assert memory.flush()["page"] == PAGES
        assert (memory.cost().total.calls, memory.cost().total.unreadable) == (2 * PAGES, PAGES)


def test_a_batch_that_is_lost_is_asked_at_once(server: ChatServer, tmp_path: Path) -> None:
    store = Store(tmp_path / "m.db", server, "openai")
    with store.open() as memory:
        tell(memory)
        memory.flush()
        server.batches.sent.clear()
        store.clock.advance(seconds=61)
        assert memory.flush()["page"] == PAGES
        assert len(server.requests) == PAGES


def test_nothing_is_kept_of_who_was_erased_meanwhile(server: ChatServer, tmp_path: Path) -> None:
    store = Store(tmp_path / "m.db", server, "anthropic")
    with store.open() as memory:
        tell(memory)
        memory.flush()
        memory.erase(user_id="en")
        server.batches.ended = True
        store.clock.advance(seconds=61)
        assert memory.flush()["page"] == PAGES - 2
        assert {line.group for line in memory.cost(by=["user"]).lines} == {("ja",), ("zh",)}
    assert all(b"Alfama" not in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


def test_a_model_without_batches_says_so(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="llm_batch_seconds"):
        Memory(tmp_path / "m.db", llm=ScriptedLLM([]), llm_batch_seconds=60)
