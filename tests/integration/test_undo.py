"""Undo: what an operation changed is as it was before it, unless later operations changed it too."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import Bench

from memstrata.errors import NotFoundError, UndoError

USER = {"user_id": "ana"}
NOTE_COLUMNS = "id, state, content, context, tags, valid_to, superseded_by, pinned, edited"


def state(bench: Bench) -> dict[str, list[dict[str, Any]]]:
    """What an undo must restore: notes that are not undone, their links and evidence, and where the turns are."""
    return {
        "notes": bench.rows(f"SELECT {NOTE_COLUMNS} FROM notes WHERE state <> 'undone' ORDER BY no"),
        "links": bench.rows("SELECT source, target, type FROM links ORDER BY owner, source, target, type"),
        "turns": bench.rows("SELECT no, tier, page, hidden FROM turns WHERE hidden < 4 ORDER BY no"),
        "pages": bench.rows("SELECT no, state FROM pages WHERE state <> 'undone' ORDER BY no"),
        "sessions": bench.rows("SELECT session, hot FROM sessions WHERE hot > 0 ORDER BY session"),
    }


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("My favourite player is Alice.", "My favourite player is now Bob."),
        ("私は東京に住んでいます。", "私は京都に住んでいます。"),
        ("我住在北京。", "我现在住在上海。"),
    ],
)
def test_undoing_a_supersession_brings_the_old_note_back(bench: Bench, first: str, second: str) -> None:
    bench.memory.remember(first, **USER)
    before = state(bench)
    receipt = bench.memory.remember(second, **USER)
    assert receipt.candidates[0].outcome == "admitted_superseding"
    bench.memory.undo(receipt.operation, **USER)
    assert state(bench) == before
    assert [note.content for note in bench.notes(**USER)] == [first]
    assert bench.memory.check() == ()


def test_undoing_an_undo_is_a_redo(bench: Bench) -> None:
    bench.memory.remember("My favourite player is Alice.", **USER)
    receipt = bench.memory.remember("My favourite player is now Bob.", **USER)
    after = state(bench)
    undone = bench.memory.undo(receipt.operation, **USER)
    bench.memory.undo(undone.operation, **USER)
    assert state(bench) == after
    again = bench.memory.undo(receipt.operation, **USER)
    assert again.counts["operations"] == 1


def test_an_edit_is_undone_and_found_by_its_old_words(bench: Bench) -> None:
    note = bench.memory.remember("I like the tea of Kyoto.", **USER).candidates[0].note
    bench.memory.update(note, content="I like the coffee of Lisbon.", **USER)
    operation = bench.memory.history(note, **USER)[-1].operation
    bench.memory.undo(operation, **USER)
    assert bench.memory.get(note, **USER).content == "I like the tea of Kyoto."
    assert bench.memory.recall("Kyoto", **USER, k=1)[0].score > bench.memory.recall("Lisbon", **USER, k=1)[0].score
    assert bench.memory.check() == ()


def test_later_changes_stand_in_the_way_and_cascade_takes_them_too(bench: Bench) -> None:
    before = state(bench)
    first = bench.memory.remember("I live in Porto.", **USER)
    second = bench.memory.remember("I live in Lyon.", **USER)
    third = bench.memory.remember("I live in Oslo.", **USER)
    with pytest.raises(UndoError) as refused:
        bench.memory.undo(first.operation, **USER)
    assert refused.value.blockers == (third.operation, second.operation)
    receipt = bench.memory.undo(first.operation, cascade=True, **USER)
    assert receipt.counts["operations"] == 3
    assert state(bench) == before


def test_undoing_an_add_takes_its_turns_out_of_the_hot_window(bench: Bench) -> None:
    bench.memory.add("I live in Porto.", **USER, session_id="s")
    before = state(bench)
    receipt = bench.memory.add("Forget it.", **USER, session_id="s")
    bench.memory.undo(receipt.operation, **USER)
    assert state(bench) == before
    assert not [hit for hit in bench.memory.recall("Forget it", **USER) if "Forget" in hit.text]
    assert not [
        hit for hit in bench.memory.recall("Forget it", **USER, include_superseded=True) if "Forget" in hit.text
    ]
    for n in range(14):
        bench.memory.add(f"turn {n}", **USER, session_id="s")
    assert bench.memory.check() == ()


def test_undoing_the_end_of_a_session_makes_its_turns_hot_again(bench: Bench) -> None:
    for n in range(7):
        bench.memory.add(f"I saw film number {n}.", **USER, session_id="s")
    before = state(bench)
    receipt = bench.memory.end_session(**USER, session_id="s")
    assert receipt.counts == {"pages": 2}
    bench.memory.undo(receipt.operation, **USER)
    assert state(bench) == before
    bench.memory.flush()
    assert bench.memory.check() == ()


def test_undoing_a_distillation_makes_the_page_warm_again(bench: Bench) -> None:
    bench.tell("I live in Porto.", "My sister is called Rosa.", "I work at Acme.")
    operation = bench.rows("SELECT id FROM operations WHERE verb = 'distill'")[0]["id"]
    bench.memory.undo(operation, **USER)
    assert bench.notes(**USER) == []
    assert bench.rows("SELECT state FROM pages") == [{"state": "warm"}]
    assert bench.memory.recall("Rosa", **USER, k=1)[0].kind == "turn"


def test_what_cannot_be_undone(bench: Bench) -> None:
    receipt = bench.memory.remember("I live in Porto.", **USER)
    note = receipt.candidates[0].note
    bench.memory.undo(receipt.operation, **USER)
    with pytest.raises(UndoError, match="undone already"):
        bench.memory.undo(receipt.operation, **USER)
    with pytest.raises(NotFoundError):
        bench.memory.undo("op_none", **USER)
    with pytest.raises(NotFoundError):
        bench.memory.undo(receipt.operation, user_id="ben")
    kept = bench.memory.remember("I live in Lyon.", **USER).candidates[0].note
    purged = bench.memory.forget(kept, hard=True, **USER)
    with pytest.raises(UndoError):
        bench.memory.undo(purged.operation, **USER)
    assert note is not None


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["remember", "update", "pin", "forget", "restore"]),
        st.integers(0, 4),
        st.sampled_from(["Porto", "Lyon", "京都", "上海"]),
    ),
    max_size=8,
)


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_undoing_all_newest_first_gives_the_first_state(steps: list[tuple[str, int, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder) / "memory.db")
        bench.memory.remember("I live in Oslo.", **USER)
        before = state(bench)
        for verb, which, place in steps:
            notes = bench.notes(all_states=True, **USER)
            note = notes[which % len(notes)]
            if verb == "remember":
                bench.memory.remember(f"I live in {place}.", **USER)
            elif verb == "update" and note.state in ("current", "superseded"):
                bench.memory.update(note.id, content=f"I moved to {place}.", **USER)
            elif verb == "pin" and note.state in ("current", "superseded"):
                bench.memory.pin(note.id, pinned=not note.pinned, **USER)
            elif verb == "forget" and note.state in ("current", "superseded"):
                bench.memory.forget(note.id, **USER)
            elif verb == "restore" and note.state in ("forgotten", "removed"):
                bench.memory.restore(note.id, **USER)
        operations = bench.rows("SELECT id FROM operations WHERE verb <> 'touch' ORDER BY seq DESC")
        for row in operations[:-1]:
            bench.memory.undo(row["id"], **USER)
        assert state(bench) == before
        assert bench.memory.check() == ()
        bench.memory.close()


def test_an_agent_undoes_and_reads_only_its_own(bench: Bench) -> None:
    bill = bench.memory.remember("The code word is mangrove.", **USER, agent_id="bill")
    for verb in (bench.memory.receipt, bench.memory.undo):
        with pytest.raises(NotFoundError):
            verb(bill.operation, **USER, agent_id="cleo")
    common = bench.memory.remember("The door code is on the fridge.", **USER)
    assert bench.memory.receipt(common.operation, **USER, agent_id="cleo").candidates
    with pytest.raises(UndoError, match="name only the user"):
        bench.memory.undo(common.operation, **USER, agent_id="cleo")
    note = common.candidates[0].note
    for change in (bench.memory.forget, bench.memory.pin, bench.memory.restore):
        with pytest.raises(NotFoundError, match="name only the user"):
            change(note, **USER, agent_id="cleo")
    assert bench.memory.forget(filters={"text": {"contains": "code"}}, **USER, agent_id="cleo").counts == {
        "forgotten": 0
    }
    assert bench.memory.undo(bill.operation, **USER, agent_id="bill").counts["remember"] == 1


def test_what_was_undone_can_be_said_again(bench: Bench) -> None:
    message = {"role": "user", "content": "I live in Porto.", "id": "m1"}
    first = bench.memory.add(message, **USER, session_id="s", idempotency_key="k")
    undone = bench.memory.undo(first.operation, **USER)
    again = bench.memory.add(message, **USER, session_id="s", idempotency_key="k")
    assert not again.repeated
    assert again.messages[0].outcome == "stored"
    assert bench.memory.recall("Porto", **USER)[0].evidence[0].id == "m1"
    with pytest.raises(UndoError, match="added anew"):
        bench.memory.undo(undone.operation, **USER)
    assert bench.memory.check() == ()


def test_the_summary_of_a_page_stands_in_no_way(bench: Bench) -> None:
    for n in range(4):
        bench.memory.add(f"I saw film number {n}.", **USER, session_id="s")
    before = state(bench)
    ended = bench.memory.end_session(**USER, session_id="s")
    bench.memory.flush()
    undone = bench.memory.undo(ended.operation, **USER)
    assert state(bench) == before
    assert bench.memory.check() == ()
    bench.memory.undo(undone.operation, **USER)
    assert bench.memory.check() == ()
    bench.distil(**USER)
    assert bench.notes(**USER)
