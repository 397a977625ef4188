"""Compression by a model: what is nearly the same becomes one note by the gate, undoably; a bad answer does nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memstrata import Memory, SetClock
from memstrata.errors import LLMUnavailableError
from memstrata.llm import Request
from memstrata.llm.base import Completion
from memstrata.llm.fakes import ScriptedLLM

from .scripts import folding
from .test_replay import replayed

AT = datetime(2026, 6, 1, 12, tzinfo=UTC)
USER = {"user_id": "mara"}
SAID = {
    "en": (
        "My daughter Mia plays the violin in the youth orchestra.",
        "My daughter Mia plays the violin and the viola in the youth orchestra.",
        "My daughter Mia plays the violin and the viola in the youth orchestra.",
    ),
    "ja": (
        "娘のミアは青年オーケストラでバイオリンを弾いています。",
        "娘のミアは青年オーケストラでバイオリンとビオラを弾いています。",
        "娘のミアは青年オーケストラでバイオリンとビオラを弾いています。",
    ),
    "zh": (
        "我女儿米娅在青年乐团拉小提琴。",
        "我女儿米娅在青年乐团拉小提琴和中提琴。",
        "我女儿米娅在青年乐团拉小提琴和中提琴。",
    ),
}


def memory_with(path: Path, script: Any, language: str = "en", **settings: Any) -> Memory:
    """Two notes that are nearly the same, remembered without a model; then one is there."""
    first, second, _ = SAID[language]
    common: dict[str, Any] = {"embedder": "hashing", "worker": False, "policy": "open"} | settings
    with Memory(path, clock=SetClock(AT), **common) as memory:
        for text in (first, second, "I bought a red bicycle."):
            memory.remember(text, **USER)
    return Memory(
        path, clock=SetClock(AT), llm=script if isinstance(script, ScriptedLLM) else ScriptedLLM(script), **common
    )


@pytest.mark.parametrize("language", SAID)
def test_nearly_the_same_becomes_one_note(tmp_path: Path, language: str) -> None:
    text = SAID[language][2]
    with memory_with(tmp_path / "m.db", folding(text), language) as memory:
        before = {note.id: note for note in memory.list(**USER)}
        assert memory.maintain()["folded"] == 2
        after = {note.id: note for note in memory.list(**USER)}
        (new,) = [note for note in after.values() if note.id not in before]
        assert new.content == text
        assert len(after) == len(before) - 1
        old = [memory.get(note_id, **USER) for note_id in before if note_id not in after]
        assert {note.superseded_by for note in old} == {new.id}
        assert {each.id for each in new.evidence} == {each.id for note in old for each in note.evidence}
        assert new.valid_from == min(note.valid_from for note in old)
        (operation,) = memory.operations(verb="condense", **USER).operations
        receipt = memory.receipt(operation.id, **USER)
        assert receipt.counts["folded"] == 2
        assert receipt.counts["llm_calls"] == 1
        assert receipt.versions["prompt"].startswith("fold.full")
        assert memory.explain(new.id, **USER).decision.versions["model"] == "fake:scripted"
        assert memory.cost(by=["stage"]).total.calls == 1
        assert memory.maintain()["folded"] == 0, "and nothing is asked again"
        assert memory.cost().total.calls == 1
        memory.undo(operation.id, **USER)
        assert {note.id: note.content for note in memory.list(**USER)} == {
            n: each.content for n, each in before.items()
        }


@pytest.mark.parametrize(
    "answer",
    [
        {"folds": []},
        {"folds": [{"notes": ["M1", "M9"], "text": SAID["en"][2]}]},
        {"folds": [{"notes": ["M1"], "text": SAID["en"][2]}]},
        {"folds": [{"notes": ["M1", "M2"], "text": ""}]},
        {"folds": [{"notes": ["M1", "M2"], "text": "My daughter Mia won 3 prizes with the violin and the viola."}]},
        {"folds": [{"notes": ["M1", "M2"], "text": "My daughter Mia does not play the violin or the viola in it."}]},
        {"folds": [{"notes": ["M1", "M2"], "text": "My daughter Mia plays."}]},
        {"folds": [{"notes": ["M1", "M2"], "text": "The user loves Acme and moved to Paris with a dog."}]},
        {"folds": [{"notes": ["M1", "M2"], "text": SAID["en"][2] * 20}]},
        "I would rather not.",
        LLMUnavailableError("down"),
    ],
)
def test_a_bad_answer_leaves_the_notes_as_they_were(tmp_path: Path, answer: Any) -> None:
    with memory_with(tmp_path / "m.db", lambda request: answer) as memory:
        before = [(note.id, note.content, note.revision) for note in memory.list(**USER)]
        assert memory.maintain()["folded"] == 0
        assert [(note.id, note.content, note.revision) for note in memory.list(**USER)] == before
        assert not memory.operations(verb="condense", **USER).operations


def test_pinned_edited_and_dated_notes_are_not_offered(tmp_path: Path) -> None:
    asked: list[Request] = []

    def script(request: Request) -> str:
        asked.append(request)
        return folding(SAID["en"][2])(request)

    with memory_with(tmp_path / "m.db", script) as memory:
        (first,) = [note for note in memory.list(**USER) if note.content == SAID["en"][0]]
        memory.pin(first.id, **USER)
        assert memory.maintain()["folded"] == 0
        assert not asked


def test_fading_notes_about_one_name_become_one(tmp_path: Path) -> None:
    said = [
        f"My sister Lena {what}." for what in ("runs a bakery in Alfama", "keeps two grey cats", "sings in a choir")
    ]
    text = "My sister Lena runs a bakery in Alfama, keeps two grey cats and sings in a choir."
    common: dict[str, Any] = {"embedder": "hashing", "worker": False, "policy": "open"}
    with Memory(tmp_path / "m.db", clock=SetClock(AT), **common) as memory:
        for each in said:
            memory.remember(each, kind="fact", **USER)
        assert memory.maintain()["folded"] == 0
    later = SetClock(AT + timedelta(days=210))  # a fact is forgotten after 230
    with Memory(tmp_path / "m.db", clock=later, llm=ScriptedLLM(folding(text)), **common) as memory:
        assert memory.maintain()["folded"] == 0, "nothing changed"
        memory.remember("I bought a red bicycle.", **USER)
        assert memory.maintain()["folded"] == 3
        (new,) = [note for note in memory.list(**USER) if note.content == text]
        assert len(new.evidence) == 3
        assert memory.maintain(AT + timedelta(days=240))["forgotten"] == 0, "it begins anew"


class Interrupted(ScriptedLLM):
    """While it thinks for the first time another thing is said: the commit finds other notes than it read."""

    memory: Memory | None = None

    async def complete(self, request: Request) -> Completion:
        memory, self.memory = self.memory, None
        if memory is not None:
            await memory._async.remember("三毛猫は縁側で眠っています。", **USER)
        return await super().complete(request)


def test_an_answer_that_is_paid_for_waits_for_its_commit(tmp_path: Path) -> None:
    llm = Interrupted(folding(SAID["en"][2]))
    with memory_with(tmp_path / "m.db", llm) as memory:
        llm.memory = memory
        assert memory.maintain()["folded"] == 2
        assert [request.stage for request in llm.requests].count("fold") == 1


def test_answers_that_came_to_nothing_do_not_wait_for_ever(tmp_path: Path) -> None:
    with memory_with(tmp_path / "m.db", folding("The user loves Acme.")) as memory:
        assert memory.maintain()["folded"] == 0
        store = memory._async._engine.store
        rows = memory._run(store.read(lambda db: db.all("SELECT answer FROM calls")))
        assert [row["answer"] for row in rows] == [None]


@pytest.mark.parametrize("language", SAID)
def test_what_was_condensed_is_replayed_with_the_text_of_the_log(tmp_path: Path, language: str) -> None:
    with memory_with(tmp_path / "m.db", folding(SAID[language][2]), language) as memory:
        assert memory.maintain()["folded"] == 2
        first, second, _ = replayed(memory)
        assert b'"verb":"condense"' in first
        assert first.splitlines() == second.splitlines()


def test_a_purge_takes_the_text_out_of_the_log(tmp_path: Path) -> None:
    with memory_with(tmp_path / "m.db", folding(SAID["en"][2])) as memory:
        memory.maintain()
        (new,) = [note for note in memory.list(**USER) if note.content == SAID["en"][2]]
        memory.forget(new.id, hard=True, **USER)
        store = memory._async._engine.store
        rows = memory._run(store.read(lambda db: db.all("SELECT payload FROM operations WHERE verb = 'condense'")))
        assert all("Mia" not in row["payload"] for row in rows)
