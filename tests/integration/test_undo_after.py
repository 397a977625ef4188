"""Undo after something else happened: a purge, an access, a duplicate, work that ran or was still to run."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import NOW, Bench

from memstrata import AsyncMemory, SetClock
from memstrata.distil.stages import Work, run_remember
from memstrata.embed.base import Vector
from memstrata.embed.hashing import HashingEmbedder
from memstrata.errors import EmbedderError, UndoError
from memstrata.journal.jobs import job_of_operation
from memstrata.ledger.export import export
from memstrata.ledger.replay import replay
from memstrata.store.sqlite import SqliteStore
from memstrata.types import Scope

USER = {"user_id": "ana"}
KNOWN = (
    ("I work at Acme as an auditor.", "Acme"),
    ("妹の名前は美咲です。", "美咲"),
    ("我最喜欢的水果是荔枝。", "荔枝"),
)


def keep(bench: Bench, text: str) -> tuple[str, str]:
    """The note that a statement becomes, and the operation."""
    receipt = bench.memory.remember(text, **USER)
    note = receipt.candidates[0].note
    assert note is not None
    return note, receipt.operation


def last(bench: Bench, verb: str) -> str:
    """The newest operation of a verb."""
    found: str = bench.rows("SELECT id FROM operations WHERE verb = ? ORDER BY seq DESC", verb)[0]["id"]
    return found


# a purge --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "word"), KNOWN)
def test_a_purged_note_does_not_come_back_by_its_turns(bench: Bench, text: str, word: str) -> None:
    note, born = keep(bench, text)
    forgotten = bench.memory.forget(note, **USER)
    bench.clock.advance(days=31)
    assert bench.memory.maintain()["purged"] == 1
    with pytest.raises(UndoError, match="purged"):
        bench.memory.undo(forgotten.operation, **USER)
    with pytest.raises(UndoError, match="purged"):
        bench.memory.undo(born, cascade=True, **USER)
    assert bench.memory.recall(word, **USER).hits == ()
    assert bench.memory.check() == ()


def test_what_was_purged_after_an_undo_is_not_redone(bench: Bench) -> None:
    _, born = keep(bench, "I work at Acme as an auditor.")
    undone = bench.memory.undo(born, **USER)
    bench.clock.advance(days=31)
    assert bench.memory.maintain()["purged"] == 1
    with pytest.raises(UndoError, match="purged"):
        bench.memory.undo(undone.operation, **USER)
    assert bench.memory.check() == ()


def test_forgetting_and_restoring_before_the_purge_of_another_stays_undoable(bench: Bench) -> None:
    gone, _ = keep(bench, "I work at Acme as an auditor.")
    stays, _ = keep(bench, "I was born in Porto in 1984.")
    bench.memory.forget(gone, **USER)
    bench.clock.advance(days=31)
    forgotten = bench.memory.forget(stays, **USER)
    assert bench.memory.maintain()["purged"] == 1
    bench.memory.undo(forgotten.operation, **USER)
    assert bench.memory.get(stays, **USER).state == "current"


# an access ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["pin", "update"])
def test_an_access_is_not_undone(bench: Bench, verb: str) -> None:
    note, _ = keep(bench, "I work at Acme as an auditor.")
    if verb == "pin":
        bench.memory.pin(note, **USER)
    else:
        bench.memory.update(note, kind="ephemeral", **USER)
    bench.clock.advance(days=5)
    bench.memory.recall("Acme auditor", **USER)
    bench.memory.flush()
    bench.memory.undo(last(bench, verb), **USER)
    undone = bench.memory.get(note, **USER)
    assert undone.weight == 1.0
    bench.memory.pin(note, **USER)
    assert undone.forgets_at == bench.memory.pin(note, pinned=False, **USER).forgets_at


# a duplicate ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "word"), KNOWN)
def test_who_said_it_again_keeps_the_note(bench: Bench, text: str, word: str) -> None:
    note, born = keep(bench, text)
    again = bench.memory.remember(text, **USER)
    assert again.candidates[0].outcome == "duplicate"
    with pytest.raises(UndoError) as refused:
        bench.memory.undo(born, **USER)
    assert refused.value.blockers == (again.operation,)
    assert bench.memory.recall(word, **USER)[0].id == note
    assert bench.memory.undo(born, cascade=True, **USER).counts["remember"] == 2
    assert bench.notes(**USER) == []
    assert bench.memory.check() == ()


def test_a_duplicate_is_undone_alone(bench: Bench) -> None:
    note, _ = keep(bench, "I work at Acme as an auditor.")
    keep(bench, "I was born in Porto in 1984.")  # note 2: evidence "2/2" is not that of note 1
    again = bench.memory.remember("I work at Acme as an auditor.", **USER)
    bench.memory.undo(again.operation, **USER)
    assert len(bench.memory.get(note, **USER).evidence) == 1


# queued work ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ran", [True, False])
def test_a_page_that_was_undone_and_redone_has_its_summary(bench: Bench, ran: bool) -> None:
    for n in range(12):
        bench.memory.add(f"I saw film number {n}.", **USER, session_id="s")
    overflow = bench.memory.add("I saw one more film.", **USER, session_id="s")
    if ran:
        bench.memory.flush()
    undone = bench.memory.undo(overflow.operation, **USER)
    bench.memory.flush()
    assert bench.rows("SELECT hot FROM sessions") == [{"hot": 12}]
    bench.memory.undo(undone.operation, **USER)
    bench.memory.flush()
    pages = bench.rows("SELECT state, summary FROM pages")
    assert [page["state"] for page in pages] == ["warm"]
    assert "film" in pages[0]["summary"]
    assert bench.rows("SELECT hot FROM sessions") == [{"hot": 8}]
    assert bench.memory.check() == ()


def test_a_page_that_was_due_is_due_again_when_that_is_redone(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(hot_capacity=5)
    for n in range(6):
        bench.memory.add(f"I work at firm number {n}.", **USER, session_id="a")
    bench.memory.flush()
    for n in range(5):
        bench.memory.add(f"I live in town number {n}.", **USER, session_id="b")
    overflow = bench.memory.add("I live in one more town.", **USER, session_id="b")  # its tick cools the first page
    due = bench.rows("SELECT no FROM pages WHERE due_at IS NOT NULL")
    assert due
    undone = bench.memory.undo(overflow.operation, **USER)
    bench.memory.flush()
    assert bench.rows("SELECT no FROM pages WHERE due_at IS NOT NULL") == []
    assert bench.rows("SELECT 1 FROM pages WHERE state = 'distilled'") == []
    bench.memory.undo(undone.operation, **USER)
    bench.memory.flush()
    assert bench.rows("SELECT no FROM pages WHERE state = 'distilled'") == due
    assert bench.memory.check() == ()


def test_a_summary_is_no_change_to_undo(bench: Bench) -> None:
    bench.memory.add("I saw a film.", **USER, session_id="s")
    bench.memory.end_session(**USER, session_id="s")
    bench.memory.flush()
    with pytest.raises(UndoError, match="cannot be undone"):
        bench.memory.undo(last(bench, "page"), **USER)
    assert bench.memory.check() == ()


class Interrupted(HashingEmbedder):
    """An embedder that fails, or lets something else happen first, when it is told to."""

    fails = False
    meanwhile: Callable[[], Awaitable[None]] | None = None

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vector:
        if self.fails:
            raise EmbedderError("no model")
        if self.meanwhile is not None:
            happens, self.meanwhile = self.meanwhile, None
            await happens()
        return await super().embed(texts, query=query)


async def test_a_decision_that_lands_while_its_operation_is_undone_is_undone_too(tmp_path: Path) -> None:
    embedder = Interrupted()
    async with AsyncMemory(tmp_path / "memory.db", embedder=embedder, worker=False) as memory:
        embedder.fails = True
        receipt = await memory.remember("I live in Porto.", **USER)
        assert receipt.candidates[0].outcome == "deferred"
        embedder.fails = False
        engine = memory._engine
        job = await engine.store.read(lambda db: job_of_operation(db, ("default", "u:ana"), receipt.operation))
        assert job is not None

        async def decide() -> None:
            await run_remember(engine, Work(job, None))
            assert len(await memory.list(**USER)) == 1

        embedder.meanwhile = decide
        await memory.undo(receipt.operation, **USER)
        assert embedder.meanwhile is None
        assert len(await memory.list(**USER)) == 0
        assert await memory.check() == ()


async def test_an_operation_that_was_undone_before_it_was_decided_makes_no_note(tmp_path: Path) -> None:
    embedder = Interrupted()
    async with AsyncMemory(tmp_path / "memory.db", embedder=embedder, worker=False) as memory:
        embedder.fails = True
        receipt = await memory.remember("我住在上海。", **USER)
        embedder.fails = False
        await memory.undo(receipt.operation, **USER)
        await memory.retry_failed()
        await memory.flush()
        assert len(await memory.list(**USER)) == 0
        assert len(await memory.recall("上海", **USER)) == 0


async def test_the_log_of_undone_and_redone_pages_repeats_itself(tmp_path: Path) -> None:
    async with AsyncMemory(
        tmp_path / "memory.db", embedder="hashing", worker=False, clock=SetClock(NOW), hot_capacity=5
    ) as memory:
        for n in range(5):
            await memory.add(f"I work at firm number {n}.", **USER, session_id="s")
        overflow = await memory.add("I live in Porto.", **USER, session_id="s")
        undone = await memory.undo(overflow.operation, **USER)
        await memory.flush()
        redone = await memory.undo(undone.operation, **USER)
        await memory.flush()
        await memory.distil(**USER)
        first = await memory.remember("我住在上海。", **USER)
        await memory.remember("我住在上海。", **USER)
        await memory.undo(first.operation, cascade=True, **USER)
        store, scope = SqliteStore(":memory:"), Scope("default", "ana")
        await replay(memory._engine, store, scope)
        ours, theirs = io.BytesIO(), io.BytesIO()
        await export(memory._engine, ours, scope)
        await export(memory._engine.with_seams(store=store), theirs, scope)
        await store.close()
        assert redone.operation.encode() in ours.getvalue()
        assert ours.getvalue().splitlines() == theirs.getvalue().splitlines()


# there and back -------------------------------------------------------------------------------------------------------


def rows(bench: Bench) -> dict[str, list[dict[str, Any]]]:
    """Everything of the notes but their revisions, those that were undone left out."""
    notes = bench.rows("SELECT * FROM notes WHERE state <> 'undone' ORDER BY no")
    return {
        "notes": [{name: value for name, value in row.items() if name != "revision"} for row in notes],
        "links": bench.rows("SELECT source, target, type, score FROM links ORDER BY source, target, type"),
        "evidence": bench.rows("SELECT note, turn FROM evidence ORDER BY note, turn"),
        "names": bench.rows(
            "SELECT x.name, x.note FROM names x JOIN notes n ON n.no = x.note AND n.state <> 'undone'"
            " ORDER BY x.name, x.note"
        ),
        "turns": bench.rows("SELECT no, tier, hidden FROM turns WHERE hidden < 4 ORDER BY no"),
    }


SAYINGS = ("I live in Porto.", "I moved to Lyon with Clara.", "私は京都に住んでいます。", "我住在上海。")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["remember", "update", "tag", "pin", "forget", "restore"]),
        st.integers(0, 4),
        st.sampled_from(
            ["I live in Porto.", "I moved to Lyon with Clara.", "私は京都に住んでいます。", "我住在上海。"]
        ),
    ),
    min_size=1,
    max_size=7,
)


def step(bench: Bench, verb: str, which: int, text: str) -> None:
    notes = bench.notes(all_states=True, **USER)
    note = notes[which % len(notes)]
    in_force = note.state in ("current", "superseded")
    bench.clock.advance(hours=1)
    if verb == "remember" and text not in [each.content for each in notes]:  # a duplicate is an access: not undone
        bench.memory.remember(text, **USER)
    elif verb == "update" and in_force:
        bench.memory.update(note.id, content=text, kind="state", **USER)
    elif verb == "tag" and in_force:
        bench.memory.update(note.id, tags=["one", text], metadata={"n": which}, **USER)
    elif verb == "pin" and in_force:
        bench.memory.pin(note.id, pinned=not note.pinned, **USER)
    elif verb == "forget" and in_force:
        bench.memory.forget(note.id, **USER)
    elif verb == "restore" and not in_force:
        bench.memory.restore(note.id, **USER)


@settings(max_examples=20, deadline=None)
@given(STEPS)
def test_undone_newest_first_and_redone_newest_first(steps: list[tuple[str, int, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder) / "memory.db")
        bench.memory.remember("I live in Oslo.", **USER)
        first = rows(bench)
        for verb, which, text in steps:
            step(bench, verb, which, text)
        then = rows(bench)
        done = bench.rows("SELECT id FROM operations ORDER BY seq DESC")[:-1]
        undone = [bench.memory.undo(row["id"], **USER).operation for row in done]
        assert rows(bench) == first
        for operation in reversed(undone):
            bench.memory.undo(operation, **USER)
        assert rows(bench) == then
        assert bench.memory.check() == ()
        bench.memory.close()


@settings(max_examples=10, deadline=None)
@given(STEPS)
def test_a_cascade_from_the_first_takes_all_that_stands_on_it(steps: list[tuple[str, int, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder) / "memory.db")
        receipt = bench.memory.remember("I live in Oslo.", **USER)
        for verb, which, text in steps:
            step(bench, verb, which, text)
        bench.memory.undo(receipt.operation, cascade=True, **USER)
        left = rows(bench)
        gone = bench.rows("SELECT no FROM notes WHERE state = 'undone'")
        assert {"no": 1} in gone
        assert not [link for link in left["links"] if 1 in (link["source"], link["target"])]
        assert not [row for row in left["evidence"] if row["note"] == 1]
        assert bench.memory.check() == ()
        bench.memory.close()
