"""A store with a past: three languages, superseded, forgotten, pinned and edited notes, undone and queued work."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memstrata import Memory
from memstrata.clock import SetClock

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
SAID = datetime(2025, 5, 1, 9, tzinfo=UTC)
EN = [
    "I live in Porto with my sister Marta.",
    "My favourite tea is jasmine from Kyoto.",
    "I work at Acme as an auditor.",
    "I have a cat named Miso.",
    "I will visit Rome in June with Tom.",
    "I am allergic to peanuts.",
    "I moved to Lisbon last week.",
    "I started to learn the violin in March 2024.",
]
JA = [
    "私は京都に住んでいます。",
    "好きな食べ物はラーメンです。",
    "妹の名前は美咲です。",
    "来月、大阪へ引っ越す予定です。",
    "猫アレルギーがあります。",
]
ZH = [
    "我住在上海，在银行工作。",
    "我最喜欢的水果是荔枝。",
    "我妹妹叫小雨。",
    "我下个月要去北京出差。",
    "我对花生过敏。",
]
QUESTIONS = [
    "Where do I live?",
    "cat",
    "violin",
    "京都に住んでいますか",
    "好きな食べ物",
    "我住在哪里",
    "花生",
    "Rome in June",
]


def open_memory(path: Path | str, clock: SetClock | None = None, **settings: Any) -> Memory:
    """A memory whose pages cool within a few ticks."""
    settings = {"embedder": "hashing", "worker": False, "alpha": 0.5, "beta": 0.4, **settings}
    return Memory(path, clock=clock or SetClock(START), **settings)


def talk(memory: Memory, lines: list[str], clock: SetClock, **scope: Any) -> None:
    """Say the lines, answered by an assistant, and end the session."""
    for n, line in enumerate(lines):
        at = SAID + timedelta(minutes=2 * n)
        said = {"role": "user", "content": line, "at": at, "id": f"m{n}", "metadata": {"line": n}}
        memory.add([said, {"role": "assistant", "content": f"Noted ({n}).", "at": at}], **scope)
        clock.advance(seconds=3)
    memory.end_session(**scope)
    memory.flush()


def live(memory: Memory, clock: SetClock) -> None:
    """Give a memory the past that the module's docstring names, of two users, an agent and a user's agent."""
    for session, lines in (("en", EN), ("ja", JA), ("zh", ZH)):
        talk(memory, lines, clock, user_id="ana", session_id=session)
    talk(memory, EN[:6], clock, user_id="bob", agent_id="helper", session_id="x")
    talk(memory, ZH[:3], clock, agent_id="solo")
    memory.remember("I live in Madrid now.", user_id="ana", tags=["home"], idempotency_key="k1")
    memory.remember("My bicycle is a red Brompton.", user_id="ana", session_id="en")
    memory.remember("My bicycle is a red Brompton.", user_id="ana", session_id="ja")  # a duplicate
    undone = memory.remember("我养了一只叫豆豆的狗。", user_id="ana", session_id="zh")
    memory.add({"role": "user", "content": EN[0], "id": "m0"}, user_id="ana", session_id="en")  # skipped
    memory.add("My key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD and I like it.", user_id="ana")  # redacted
    clock.advance(hours=1)
    for question in QUESTIONS:
        memory.recall(question, user_id="ana", session_id="en")
        memory.recall(question, user_id="bob", agent_id="helper")
        clock.advance(minutes=1)
        memory.flush()
    memory.context("What do I drink?", user_id="ana", session_id="zh")
    notes = memory.list(user_id="ana").notes
    assert len(notes) >= 6
    memory.pin(notes[0].id, user_id="ana")
    memory.update(notes[1].id, user_id="ana", context="Said over tea.", tags=["edited"])
    memory.forget(notes[2].id, user_id="ana")
    memory.forget(notes[3].id, user_id="ana")
    clock.advance(minutes=5)
    memory.restore(notes[3].id, user_id="ana")
    memory.undo(undone.operation, user_id="ana")
    judge(memory, notes[4].id)
    memory.add("I may buy a boat.", user_id="ana", session_id="later")
    memory.flush()
    clock.advance(days=20)
    memory.recall("tea and trips", user_id="ana")
    memory.maintain()
    memory.add("Left in the hot tier, and not indexed yet.", user_id="ana", session_id="later")


def judge(memory: Memory, note: str) -> None:
    """Say of a note that it is wrong, then that it is right after all; take in what the gate kept out."""
    memory.feedback(note, False, user_id="ana", reason="wrong")
    memory.feedback(note, True, user_id="ana")
    scratch = memory.remember("今後は必ず敬語で答えてください。", user_id="ana", session_id="ja").candidates[0]
    assert scratch.outcome == "rejected"
    accepted = memory.feedback(scratch.decision, True, user_id="ana", reason="面白い")
    assert accepted.candidates[0].outcome == "admitted"
    memory.undo(memory.feedback(scratch.decision, False, user_id="ana").operation, user_id="ana")


def answers(memory: Memory) -> list[tuple[str, str, float]]:
    """What the memory says to the questions, without touching anything."""
    scopes: list[dict[str, Any]] = [{"user_id": "ana"}, {"user_id": "bob", "agent_id": "helper"}, {"agent_id": "solo"}]
    return [
        (hit.id, hit.text, hit.score)
        for scope in scopes
        for question in QUESTIONS
        for hit in memory.recall(question, touch=False, k=20, **scope).hits
    ]


@pytest.fixture
def past() -> SimpleNamespace:
    """The functions and data of this module."""
    return SimpleNamespace(
        START=START, EN=EN, JA=JA, ZH=ZH, open_memory=open_memory, talk=talk, live=live, answers=answers
    )
