"""A forgotten note's words leave its neighbours, and at a purge every row; undo and restore bring them back."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.conftest import NOW, Bench, of_the_file, tables_at

from memstrata import AsyncMemory, Note
from memstrata.clock import SetClock
from memstrata.errors import UndoError
from memstrata.ledger.export import export
from memstrata.ledger.replay import replay
from memstrata.store.sqlite import SqliteStore

USER = {"user_id": "ana"}
# The second of each is linked with the first, which evolves; the third evolves both.
FAMILIES: Sequence[tuple[str, str, str, str]] = (
    (
        "My sister Clara lives in Porto.",
        "My sister Clara keeps a zebra-marmalade shop in Porto.",
        "My sister Clara is opening a second shop in Braga.",
        "zebra-marmalade",
    ),
    (
        "妹の美咲は京都に住んでいます。",
        "妹の美咲は京都で人工降雨計画の店を開きました。",
        "妹の美咲は京都で犬を飼っています。",
        "人工降雨計画",
    ),
    ("我妹妹李娜住在成都。", "我妹妹李娜在成都开了一家紫色长颈鹿书店。", "我妹妹李娜在成都养了一只猫。", "紫色长颈鹿"),
)


def keep(bench: Bench, text: str, **more: Any) -> str:
    note = bench.memory.remember(text, **USER, **more).candidates[0].note
    assert note is not None
    return note


def kept(bench: Bench) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Context and tags of every note."""
    return {note.id: (note.context, note.tags) for note in bench.notes(all_states=True, **USER)}


def tables_with(bench: Bench, needle: str) -> set[str]:
    """The tables that have the text in some row, as it is or within JSON."""
    return {
        name for name in tables_at(bench.path) if any(needle in str(row) for row in bench.rows(f"SELECT * FROM {name}"))
    }


def words_outside_turns(bench: Bench, needle: str) -> set[str]:
    """The tables with the text, apart from the turn that said it and that turn's own words in the index."""
    turns = {row["no"] for row in bench.rows("SELECT no FROM units WHERE kind = 2")}
    found = tables_with(bench, needle) - {"turns"}
    if "vectors" in found and all(
        row["unit"] in turns for row in bench.rows("SELECT * FROM vectors") if needle in str(row)
    ):
        found.remove("vectors")
    return found


def served(bench: Bench, query: str) -> str:
    """Everything that recall, context, history and explain tell."""
    memory = bench.memory
    notes = bench.notes(**USER)
    told: list[object] = [memory.recall(query, k=50, touch=False, **USER).hits, notes, memory.profile("ana")]
    told += [memory.context(query, touch=False, strategy=way, **USER) for way in ("hybrid", "retrieval", "full")]
    told += [memory.explain(note.id, **USER).note for note in notes]
    return str(told)


@pytest.mark.parametrize(("first", "second", "third", "word"), FAMILIES)
def test_neighbours_lose_the_words_of_a_forgotten_note_and_nothing_else(
    bench: Bench, first: str, second: str, third: str, word: str
) -> None:
    old = keep(bench, first)
    alone = bench.memory.get(old, **USER)
    gone = keep(bench, second)
    assert word in bench.memory.get(old, **USER).context
    keep(bench, third)
    both = bench.memory.get(old, **USER)
    receipt = bench.memory.forget(gone, **USER)
    assert receipt.counts == {"forgotten": 1, "rewritten": 1}
    left = bench.memory.get(old, **USER)
    assert left.context == f"{alone.context}{both.context.removeprefix(alone.context).split(second)[1]}"
    assert third in left.context
    assert left.revision == both.revision + 1
    assert word not in served(bench, first)
    assert bench.memory.check() == (), "re-embedded in the same commit"


@pytest.mark.parametrize(("first", "second", "third", "word"), FAMILIES)
@pytest.mark.parametrize("way", ["restore", "undo"])
def test_what_was_taken_out_comes_back(bench: Bench, first: str, second: str, third: str, word: str, way: str) -> None:
    for text in (first, second, third):
        keep(bench, text)
    before = kept(bench)
    gone = bench.notes(**USER)[1].id
    receipt = bench.memory.forget(gone, **USER)
    assert kept(bench) != before
    if way == "undo":
        bench.memory.undo(receipt.operation, **USER)
    else:
        bench.memory.restore(gone, **USER)
    assert kept(bench) == before
    assert bench.memory.check() == ()
    bench.memory.undo(bench.rows("SELECT id FROM operations ORDER BY seq DESC LIMIT 1")[0]["id"], **USER)
    assert word not in served(bench, first)
    assert bench.memory.check() == ()


def test_notes_forgotten_together_come_back_one_by_one(bench: Bench) -> None:
    first, second, third, _ = FAMILIES[0]
    ids = [keep(bench, text) for text in (first, second, third)]
    before = bench.memory.get(ids[0], **USER).context
    bench.memory.forget(filters={"id": {"in": ids[1:]}}, **USER)
    assert bench.memory.get(ids[0], **USER).context == "2026-06-01"
    bench.memory.restore(ids[2], **USER)
    assert bench.memory.get(ids[0], **USER).context == f"2026-06-01 | 2026-06-01: {third}"
    bench.memory.restore(ids[1], **USER)
    assert bench.memory.get(ids[0], **USER).context == before


def test_a_later_piece_stands_in_the_way_of_nothing(bench: Bench) -> None:
    first, second, third = FAMILIES[0][0], FAMILIES[0][1], "My sister Clara lives in Porto beside the old harbour."
    old, gone = keep(bench, first), keep(bench, second)
    bench.memory.forget(gone, **USER)
    keep(bench, third)
    bench.memory.restore(gone, **USER)
    context = bench.memory.get(old, **USER).context
    assert context.index(second) < context.index(third)


def test_an_edited_context_is_left_alone_by_restore_and_cleaned_of_the_piece_by_forget(bench: Bench) -> None:
    first, second, _, word = FAMILIES[0]
    old, gone = keep(bench, first), keep(bench, second)
    mine = f"{bench.memory.get(old, **USER).context} | my own words"
    bench.memory.update(old, context=mine, **USER)
    bench.memory.forget(gone, **USER)
    assert bench.memory.get(old, **USER).context == "2026-06-01 | my own words"
    bench.memory.update(old, context="only mine", **USER)
    bench.memory.restore(gone, **USER)
    assert bench.memory.get(old, **USER).context == "only mine"
    bench.memory.forget(gone, hard=True, **USER)
    assert words_outside_turns(bench, word) == set()


@pytest.mark.parametrize(("first", "second", "third", "word"), FAMILIES)
@pytest.mark.parametrize("way", ["hard", "soft, then hard", "grace", "faded", "undone", "edited"])
def test_a_purged_note_leaves_no_word_in_any_row_but_its_turn(
    bench: Bench, first: str, second: str, third: str, word: str, way: str
) -> None:
    memory = bench.memory
    keep(bench, first)
    alone = bench.memory.get(bench.notes(**USER)[0].id, **USER)
    receipt = memory.remember(second, tags=["planted tag"], **USER)
    gone = receipt.candidates[0].note
    assert gone is not None
    keep(bench, third)
    assert {"notes", "changes", "decisions"} <= words_outside_turns(bench, word)
    assert {"notes", "changes", "operations"} <= tables_with(bench, "planted tag")
    if way == "edited":
        memory.update(gone, content="Something else altogether.", tags=["another"], **USER)
    if way in ("hard", "edited"):
        memory.forget(gone, hard=True, **USER)
    elif way == "soft, then hard":
        memory.forget(gone, **USER)
        memory.forget(gone, hard=True, **USER)
    elif way == "grace":
        memory.forget(gone, **USER)
        bench.clock.advance(days=31)
        memory.maintain()
    elif way == "undone":
        memory.undo(receipt.operation, cascade=True, **USER)
        bench.clock.advance(days=31)
        memory.maintain()
    else:
        for note in bench.notes(**USER):
            memory.pin(note.id, pinned=note.id != gone, **USER)
        bench.clock.advance(days=2000)
        memory.maintain()
        bench.clock.advance(days=31)
        memory.maintain()
    assert gone not in {note.id for note in bench.notes(all_states=True, **USER)}
    assert words_outside_turns(bench, word) == set()
    assert tables_with(bench, "planted tag") == set()
    assert memory.check() == ()
    left = memory.get(alone.id, **USER)
    assert left.context.startswith(alone.context)
    history = memory.history(alone.id, **USER)
    assert history[0].after is not None
    assert history[0].after["context"] == alone.context


@of_the_file  # a server leaves the bytes of deleted rows to its vacuum, until an erasure writes its tables anew
def test_bytes_of_a_purged_note_stand_only_where_its_turn_stands(bench: Bench) -> None:
    first, second, third, word = FAMILIES[0]
    for text in (first, second, third):
        keep(bench, text)
    bench.memory.forget(bench.notes(**USER)[1].id, hard=True, **USER)
    rows = sum(str(row).count(word) for name in ("turns", "vectors") for row in bench.rows(f"SELECT * FROM {name}"))
    bench.memory.close()  # the log is emptied into the file
    assert sum(content.count(word.encode()) for content in bench.files().values()) <= rows


# quotations and summaries ---------------------------------------------------------------------------------------------

TALKS = (
    (
        ("Ana", "My sister Clara lives in Porto."),
        ("Ben", "I work with Clara at the harbour, she is a zebra-marmalade diver."),
        ("Ana", "My brother Tom bought a sailing boat last May."),
    ),
    (
        ("アナ", "妹の美咲は京都に住んでいます。"),
        ("ベン", "私は美咲と人工降雨計画の研究所で働いています。"),
        ("アナ", "兄の健太は去年の五月にヨットを買いました。"),
    ),
    (
        ("安娜", "我妹妹李娜住在成都。"),
        ("小本", "我和李娜在紫色长颈鹿书店工作。"),
        ("安娜", "我哥哥去年五月买了一艘帆船。"),
    ),
)
WORDS = ("zebra-marmalade", "人工降雨計画", "紫色长颈鹿")


def talk(bench: Bench, said: Sequence[tuple[str, str]], session: str = "s") -> None:
    messages = [{"role": "user", "name": who, "content": text} for who, text in said]
    bench.memory.add(messages, session_id=session, **USER)


def of(bench: Bench, word: str) -> Note:
    return next(note for note in bench.notes(**USER) if word in note.content)


@pytest.mark.parametrize(("said", "word"), list(zip(TALKS, WORDS, strict=True)))
def test_quotations_and_summaries_lose_the_words_too(bench: Bench, said: Sequence[tuple[str, str]], word: str) -> None:
    talk(bench, said)
    bench.distil(**USER)
    before = kept(bench)
    assert any(word in context for context, _ in before.values()), "the next turn's note quotes it"
    assert word in bench.rows("SELECT summary FROM pages")[0]["summary"]
    gone = of(bench, word)
    receipt = bench.memory.forget(gone.id, **USER)
    assert word not in served(bench, said[0][1])
    bench.memory.undo(receipt.operation, **USER)
    assert kept(bench) == before
    bench.memory.forget(gone.id, **USER)
    bench.memory.restore(gone.id, **USER)
    assert kept(bench) == before
    bench.memory.forget(gone.id, hard=True, **USER)
    assert words_outside_turns(bench, word) == set()
    summary = bench.rows("SELECT summary FROM pages")[0]["summary"]
    assert said[0][1] in summary
    assert bench.memory.check() == ()
    assert word not in served(bench, said[0][1])


def test_a_page_of_nothing_but_the_forgotten_turn_has_no_summary(bench: Bench) -> None:
    talk(bench, [("Ben", "I am a zebra-marmalade diver at the harbour.")])
    bench.distil(**USER)
    bench.memory.forget(of(bench, "zebra-marmalade").id, hard=True, **USER)
    assert words_outside_turns(bench, "zebra-marmalade") == set()
    assert bench.memory.check() == ()
    bench.memory.reindex()
    assert bench.memory.check() == ()


@pytest.mark.parametrize("hard", [False, True])
def test_a_waiting_page_does_not_quote_what_was_forgotten_meanwhile(
    make_bench: Callable[..., Bench], hard: bool
) -> None:
    bench = make_bench(hot_capacity=1, page_size=1)
    for one in TALKS[0]:
        talk(bench, [one])
    bench.memory.end_session(session_id="s", **USER)
    bench.memory.flush()
    notes = bench.notes(**USER)
    waiting = [row["no"] for row in bench.rows("SELECT no FROM pages WHERE state = 'warm'")]
    assert waiting, "the turn after the note's is still on a warm page"
    gone = notes[-1]
    word = WORDS[0]
    assert word in bench.rows("SELECT drafts FROM pages WHERE no = ?", min(waiting))[0]["drafts"]
    bench.memory.forget(gone.id, hard=hard, **USER)
    bench.memory.distil(**USER)
    assert len(bench.notes(**USER)) > len(notes) - 1
    assert all(word not in note.context for note in bench.notes(**USER))


def test_the_reason_of_a_revision_no_longer_names_the_value_that_was(bench: Bench) -> None:
    old = keep(bench, "I live in Zanzibarovo.")
    keep(bench, "I live in Lisbon now.")
    assert "decisions" in words_outside_turns(bench, "anzibarovo")
    bench.memory.forget(old, hard=True, **USER)
    assert words_outside_turns(bench, "anzibarovo") == set()
    assert bench.memory.check() == ()


# the log --------------------------------------------------------------------------------------------------------------


async def test_replay_gives_the_same_store(tmp_path: Any) -> None:
    clock = SetClock(NOW)
    memory = AsyncMemory(tmp_path / "m.db", embedder="hashing", worker=False, clock=clock, alpha=0.5, beta=0.55)
    for first, second, third, _ in FAMILIES:
        ids = [(await memory.remember(text, **USER)).candidates[0].note for text in (first, second, third)]
        clock.advance(minutes=1)
        await memory.forget(ids[1], **USER)
        await memory.remember(f"{first} Indeed.", **USER)
        await memory.forget(ids[2], **USER)
        await memory.restore(ids[1], **USER)
    for said in TALKS:
        messages = [{"role": "user", "name": who, "content": text} for who, text in said]
        await memory.add(messages, session_id="s", **USER)
    await memory.end_session(session_id="s", **USER)
    await memory.flush()
    await memory.distil(**USER)
    newest = (await memory.list(limit=100, **USER)).notes[-2]
    forgotten = await memory.forget(newest.id, **USER)
    undone = await memory.undo(forgotten.operation, **USER)
    await memory.undo(undone.operation, **USER)
    target = SqliteStore(tmp_path / "again.db")
    source, copy = io.BytesIO(), io.BytesIO()
    await replay(memory._engine, target)
    await export(memory._engine, source, None)
    await export(memory._engine.with_seams(store=target), copy, None)
    assert copy.getvalue() == source.getvalue()
    await target.close()
    await memory.close()


def test_the_birth_of_the_pair_can_still_be_undone_after_a_hard_forget(bench: Bench) -> None:
    """What the log says of a neighbour is as if the note had never touched it: nothing stands in the way."""
    first, second, *_ = FAMILIES[0]
    old = bench.memory.remember(first, **USER)
    gone = keep(bench, second)
    bench.memory.forget(gone, hard=True, **USER)
    bench.memory.undo(old.operation, **USER)
    assert bench.notes(**USER) == []
    assert bench.memory.check() == ()
    with pytest.raises(UndoError):
        bench.memory.undo(bench.rows("SELECT id FROM operations WHERE verb = 'forget'")[0]["id"], **USER)
