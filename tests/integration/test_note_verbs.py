"""The verbs on notes where they are easily got wrong: metadata of edits, successors, cursors, explanations."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import NOW, Bench

from memstrata import AsyncMemory, SetClock
from memstrata.errors import ConflictError, InputError, NotFoundError, UndoError

USER = {"user_id": "ana"}
SECRET = "hunter2xyz"
REVISIONS = (
    ("My favourite player is Alice.", "My favourite player is now Bob.", "My favourite player is now Cleo."),
    ("私は東京に住んでいます。", "私は京都に住んでいます。", "私は大阪に住んでいます。"),
    ("我住在北京。", "我现在住在上海。", "我现在住在广州。"),
)


def keep(bench: Bench, text: str) -> str:
    """The id of the note that a statement becomes."""
    note = bench.memory.remember(text, **USER).candidates[0].note
    assert note is not None
    return note


# metadata of an edit --------------------------------------------------------------------------------------------------


def test_metadata_of_an_edit_is_redacted_like_that_of_a_message(bench: Bench) -> None:
    note = keep(bench, "I work at Acme as an auditor.")
    metadata = {"db_password": 123456789, "deep": {"api_key": ["abcdefgh12345"]}, "said": f"password: {SECRET}", "n": 3}
    edited = bench.memory.update(note, metadata=metadata, **USER).metadata
    assert edited["n"] == 3
    assert edited["db_password"].startswith("[REDACTED:")
    bench.memory.close()
    for data in bench.files().values():
        for secret in (SECRET, "abcdefgh12345", "123456789"):
            assert secret.encode() not in data


@pytest.mark.parametrize(
    "metadata",
    [
        [1, 2],
        "text",
        5,
        {"a": object()},
        {"a": "x\0y"},
        {"a": "\ud800"},
        {1: 2},
        {"a": float("nan")},
        {"a": "y" * 2**21},
    ],
)
def test_metadata_that_cannot_be_taken_changes_nothing(bench: Bench, metadata: Any) -> None:
    note = keep(bench, "I work at Acme as an auditor.")
    with pytest.raises(InputError, match="metadata"):
        bench.memory.update(note, metadata=metadata, **USER)
    assert bench.memory.get(note, **USER).revision == 1


# successors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "second", "third"), REVISIONS)
def test_of_a_chain_only_one_is_ever_current(bench: Bench, first: str, second: str, third: str) -> None:
    chain = [keep(bench, text) for text in (first, second, third)]
    assert [note.id for note in bench.notes(**USER)] == chain[2:]
    bench.memory.forget(chain[2], **USER)
    assert bench.notes(**USER) == [], "forgetting the successor brings nothing back"
    for note in chain[:2]:
        bench.memory.forget(note, **USER)
    assert bench.memory.restore(chain[0], **USER).state == "current"
    assert bench.memory.restore(chain[2], **USER).state == "current"
    assert [note.id for note in bench.notes(**USER)] == chain[2:]
    assert bench.memory.get(chain[0], **USER).state == "superseded"
    assert bench.memory.restore(chain[1], **USER).state == "superseded"
    last = bench.rows("SELECT id FROM operations WHERE verb = 'restore' ORDER BY seq DESC")
    for row in last[:2]:
        bench.memory.undo(row["id"], **USER)
    assert [note.id for note in bench.notes(**USER)] == chain[:1]
    assert bench.memory.check() == ()


def test_a_middle_that_is_gone_still_leads_to_its_successor(bench: Bench) -> None:
    first, middle, last = [keep(bench, text) for text in REVISIONS[0]]
    bench.memory.forget(first, **USER)
    bench.memory.forget(middle, **USER)
    assert bench.memory.restore(first, **USER).state == "superseded"
    assert [note.id for note in bench.notes(**USER)] == [last]


# what was undone ------------------------------------------------------------------------------------------------------


def test_what_was_undone_is_taken_by_no_verb(bench: Bench) -> None:
    receipt = bench.memory.remember("I work at Acme as an auditor.", **USER)
    note = receipt.candidates[0].note
    assert note is not None
    undone = bench.memory.undo(receipt.operation, **USER)
    assert bench.memory.forget(note, **USER).counts == {"forgotten": 0}
    for verb in (
        lambda: bench.memory.restore(note, **USER),
        lambda: bench.memory.pin(note, **USER),
        lambda: bench.memory.update(note, content="x", **USER),
    ):
        with pytest.raises(ConflictError, match="undone"):
            verb()
    assert bench.notes(all_states=True, **USER) == []
    bench.memory.undo(undone.operation, **USER)
    assert bench.memory.get(note, **USER).state == "current"


def test_what_was_undone_can_be_purged_at_once(bench: Bench) -> None:
    receipt = bench.memory.remember("我最喜欢的水果是荔枝。", **USER)
    undone = bench.memory.undo(receipt.operation, **USER)
    assert bench.memory.forget(receipt.candidates[0].note, hard=True, **USER).counts == {"forgotten": 0, "purged": 1}
    with pytest.raises(UndoError):
        bench.memory.undo(undone.operation, **USER)
    assert bench.memory.check() == ()


# lists ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [str(10**30), str(2**63), "-5", "abc", "", "1.5"])
def test_a_cursor_that_was_made_up_is_refused(bench: Bench, place: str) -> None:
    keep(bench, "I work at Acme as an auditor.")
    with pytest.raises(InputError, match="cursor"):
        bench.memory.list(**USER, cursor=base64.urlsafe_b64encode(place.encode()).decode())


@pytest.mark.parametrize("cursor", [5, b"MQ==", "é"])
def test_a_cursor_that_is_no_cursor_is_refused(bench: Bench, cursor: Any) -> None:
    with pytest.raises(InputError, match="cursor"):
        bench.memory.list(**USER, cursor=cursor)


# explanations ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "second", "_third"), REVISIONS)
def test_an_explanation_tells_what_why_and_what_became_of_it(
    bench: Bench, first: str, second: str, _third: str
) -> None:
    old = keep(bench, first)
    new = bench.memory.remember(second, **USER)
    again = bench.memory.remember(second, **USER).candidates[0]
    about_old = bench.memory.explain(old, **USER).sentence
    assert about_old.startswith(f'Kept: "{first}"')
    assert "turn t1" in about_old
    assert new.candidates[0].note in about_old, "it names its successor"
    assert about_old.count("ept: ") == 1, "kept is said once"
    assert old in bench.memory.explain(new.candidates[0].decision, **USER).sentence
    duplicate = bench.memory.explain(again.decision, **USER)
    assert duplicate.sentence.startswith("Not kept again")
    assert duplicate.note is not None
    assert duplicate.note.id == new.candidates[0].note
    bench.memory.forget(old, **USER)
    assert "taken out of recall" in bench.memory.explain(old, **USER).sentence
    bench.memory.undo(new.operation, cascade=True, **USER)
    assert bench.memory.explain(new.candidates[0].decision, **USER).sentence.endswith("This was undone since.")


@pytest.mark.parametrize("item", ["n_none", "d_none", "op_1", "", "x", "%", "n_"])
def test_what_is_not_there_is_not_explained(bench: Bench, item: str) -> None:
    keep(bench, "I work at Acme as an auditor.")
    with pytest.raises(NotFoundError):
        bench.memory.explain(item, **USER)


# the async face -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        ("I like the tea of Kyoto.", "I like the coffee of Lisbon.", "coffee"),
        ("好きな飲み物は抹茶です。", "好きな飲み物は焙じ茶です。", "焙じ茶"),
        ("我喜欢喝乌龙茶。", "我喜欢喝普洱茶。", "普洱茶"),
    ],
)
async def test_the_life_of_a_note_on_the_async_face(tmp_path: Path, before: str, after: str, word: str) -> None:
    async with AsyncMemory(tmp_path / "memory.db", embedder="hashing", worker=False, clock=SetClock(NOW)) as memory:
        note = (await memory.remember(before, **USER)).candidates[0].note
        assert note is not None
        edited = await memory.update(note, content=after, tags=["drink"], revision=1, **USER)
        with pytest.raises(ConflictError):
            await memory.update(note, tags=["late"], revision=1, **USER)
        assert [each.id for each in await memory.list(**USER, tags=["drink"])] == [note]
        assert (await memory.recall(word, **USER, touch=False))[0].id == note
        pinned = await memory.pin(note, **USER)
        assert pinned.forgets_at is None
        assert (await memory.pin(note, pinned=False, **USER)).forgets_at == edited.forgets_at
        forgotten = await memory.forget(filters={"text": {"contains": word}}, **USER)
        assert forgotten.counts == {"forgotten": 1}
        assert len(await memory.recall(word, **USER, touch=False)) == 0
        assert len(await memory.list(**USER)) == 0
        assert [each.state for each in await memory.list(**USER, include_forgotten=True)] == ["removed"]
        await memory.restore(note, **USER)
        verbs = [revision.verb for revision in await memory.history(note, **USER)]
        assert verbs == ["remember", "update", "pin", "pin", "forget", "restore"]
        update = (await memory.history(note, **USER))[1].operation
        with pytest.raises(UndoError) as refused:
            await memory.undo(update, **USER)
        assert len(refused.value.blockers) == 4
        await memory.undo(update, cascade=True, **USER)
        undone = await memory.get(note, **USER)
        assert (undone.content, undone.edited, undone.state) == (before, (), "current")
        assert (await memory.explain(note, **USER)).note == undone
        assert await memory.check() == ()


def test_an_edit_takes_the_place_of_what_was_said_for_the_gate(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench()
    note = keep(bench, "I like the tea of Kyoto.")
    bench.memory.update(note, content="I like the coffee of Lisbon.", **USER)
    again = bench.memory.remember("I like the coffee of Lisbon.", **USER).candidates[0]
    assert (again.outcome, again.note) == ("duplicate", note)
    assert bench.memory.remember("I like the tea of Kyoto.", **USER).candidates[0].note != note
