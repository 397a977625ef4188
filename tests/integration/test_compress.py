"""Compression: what says the same is one note again, whatever way the copies came, and nothing else is folded."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memstrata import Note
from memstrata.ledger.export import export
from memstrata.ledger.maintain import CHANGED_AGENTS, CHANGED_OWNERS
from memstrata.ledger.replay import replay
from memstrata.store.sqlite import SqliteStore

Make = Callable[..., Any]
USER = {"user_id": "ana"}
START = datetime(2026, 6, 1, 12, tzinfo=UTC)
SAID = [
    (
        "I have a brown dog, two grey cats, a green parrot and four old goldfish.",
        "I actually have a brown dog, two grey cats, a green parrot and four old goldfish.",
    ),
    ("私は落花生アレルギーがあります。", "私は落花生アレルギーがあります！"),
    ("我对花生过敏。", "我对花生过敏！"),
]
DISTINCT = [
    "I went hiking near the lake with Tom on 3 May 2023.",
    "I went hiking near the lake with Tom on 4 May 2023.",
    "I went hiking near the lake with Tim on 3 May 2023.",
    "I ran five miles before work.",
    "I ran six miles before work.",
    "My daughter Mia plays the violin.",
    "My daughter Mia plays the viola.",
    "I like my new pottery class a lot.",
    "I do not like my new pottery class a lot.",
    "私は東京で働いています。",
    "私は京都で働いています。",
    "私は肉を食べます。",
    "私は肉を食べません。",
    "我妹妹喜欢茶。",
    "我妹妹喜欢咖啡。",
    "我有两只猫。",
    "我有三只猫。",
]


def twice(bench: Any, first: str, second: str | None = None, **more: Any) -> tuple[Note, Note]:
    """Two notes that say the same: the first was away when the second came."""
    one = bench.memory.remember(first, **USER, **more).candidates[0].note
    bench.memory.forget(one, **USER)
    bench.clock.advance(days=1)
    two = bench.memory.remember(second or first, **USER, **more).candidates[0].note
    assert two is not None
    assert two != one
    bench.memory.restore(one, **USER)
    return bench.memory.get(one, **USER), bench.memory.get(two, **USER)


def state(bench: Any) -> dict[str, list[dict[str, Any]]]:
    """Everything but whose lease it is."""
    tables = ("notes", "links", "evidence", "changes", "operations", "owners", "units", "vectors", "turns", "decisions")
    return {table: bench.rows(f"SELECT * FROM {table} ORDER BY 1, 2, 3, 4") for table in tables}


def standing_on(note: Note) -> set[str]:
    return {turn.id for turn in note.evidence}


@pytest.mark.parametrize(("first", "second"), SAID)
def test_copies_become_one_note_with_the_evidence_of_both(make_bench: Make, first: str, second: str) -> None:
    bench = make_bench()
    for other in (first, second):
        one, two = twice(bench, first, other)
        assert bench.memory.maintain()["folded"] == 1
        kept, folded = bench.memory.get(one.id, **USER), bench.memory.get(two.id, **USER)
        assert (kept.state, folded.state, folded.superseded_by) == ("current", "superseded", kept.id)
        assert standing_on(kept) == standing_on(one) | standing_on(two)
        assert kept.content == one.content
        assert folded.valid_to == folded.valid_from  # every moment is answered by the other
        assert [note.id for note in bench.memory.list(**USER)] == [kept.id]
        link = next(link for link in kept.links if link.type == "supersedes")
        assert (link.source, link.target) == (kept.id, folded.id)
        assert link.reason.startswith("the same")
        turns = bench.memory.recall(first, **USER, touch=False)
        assert standing_on(kept) <= {turn.id for hit in turns for turn in hit.evidence}
        assert bench.memory.check() == ()
        bench.memory.forget(kept.id, **USER, hard=True)
        assert bench.notes(all_states=True, **USER) == []


def test_the_receipt_tells_and_undo_takes_it_back(bench: Any) -> None:
    one, two = twice(bench, SAID[0][0])
    bench.memory.maintain()
    [operation] = bench.rows("SELECT * FROM operations WHERE verb = 'compress'")
    receipt = bench.memory.receipt(operation["id"], **USER)
    assert (receipt.verb, receipt.counts) == ("compress", {"folded": 1})
    assert bench.memory.history(two.id, **USER)[-1].verb == "compress"
    bench.memory.undo(operation["id"], **USER)
    for before in (one, two):
        after = bench.memory.get(before.id, **USER)
        assert (after.state, after.valid_to, after.superseded_by) == ("current", None, None)
        assert standing_on(after) == standing_on(before)
    assert bench.memory.check() == ()


def test_one_run_equals_many_and_costs_nothing_when_nothing_changed(make_bench: Make) -> None:
    bench = make_bench()
    for first, second in SAID:
        twice(bench, first, second)
    assert bench.memory.maintain()["folded"] == 3
    once = state(bench)
    for _ in range(3):
        assert bench.memory.maintain()["folded"] == 0
    assert state(bench) == once
    assert bench.rows("SELECT owner FROM owners WHERE compressed < changed") == []


def test_many_copies_become_one(bench: Any) -> None:
    notes = [bench.memory.remember(SAID[0][0], **USER).candidates[0].note]
    for _ in range(11):
        bench.memory.forget(notes[-1], **USER)
        bench.clock.advance(hours=1)
        notes.append(bench.memory.remember(SAID[0][0], **USER).candidates[0].note)
    for note in notes[:-1]:
        bench.memory.restore(note, **USER)
    assert len(bench.memory.list(**USER).notes) == 12
    assert bench.memory.maintain()["folded"] == 11
    [kept] = bench.memory.list(**USER)
    assert (kept.id, len(kept.evidence)) == (notes[0], 12)


@pytest.mark.parametrize("embedder", ["hashing", "static"])
def test_distinct_facts_are_not_folded(make_bench: Make, embedder: str) -> None:
    bench = make_bench(embedder=embedder, policy="open")
    for text in DISTINCT:
        bench.memory.remember(text, **USER)
        bench.clock.advance(hours=1)
    before = {note.id: note.state for note in bench.notes(all_states=True, **USER)}
    assert len(before) == len(DISTINCT)
    assert bench.memory.maintain()["folded"] == 0
    assert {note.id: note.state for note in bench.notes(all_states=True, **USER)} == before


@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("how", ["pin", "update"])
def test_what_a_person_pinned_or_edited_is_left_alone(bench: Any, end: int, how: str) -> None:
    note = twice(bench, SAID[0][0])[end]
    if how == "pin":
        bench.memory.pin(note.id, **USER)
    else:
        bench.memory.update(note.id, context="as the doctor said", **USER)
    assert bench.memory.maintain()["folded"] == 0
    assert len(bench.memory.list(**USER).notes) == 2


def test_what_would_lose_something_is_left_alone(make_bench: Make) -> None:
    for one, two in (
        ({"tags": ["health"]}, {"tags": ["school"]}),
        ({"metadata": {"app": 1}}, {"metadata": {"app": 2}}),
        ({"kind": "fact"}, {"kind": "state"}),
        ({"agent_id": "bot"}, {}),
    ):
        bench = make_bench()
        first = bench.memory.remember(SAID[0][0], **USER, **one).candidates[0].note
        bench.memory.forget(first, **USER)
        assert bench.memory.remember(SAID[0][0], **USER, **two).candidates[0].outcome == "admitted"
        bench.memory.restore(first, **USER)
        assert bench.memory.maintain()["folded"] == 0


def test_two_spells_of_one_fact_stay_two(bench: Any) -> None:
    for place in ("Porto", "Lisbon", "Porto"):
        bench.memory.remember(f"I live in {place}.", **USER)
        bench.clock.advance(days=30)
    before = [(note.content, note.state) for note in bench.notes(all_states=True, **USER)]
    assert len(before) == 3
    assert bench.memory.maintain()["folded"] == 0
    assert [(note.content, note.state) for note in bench.notes(all_states=True, **USER)] == before


def test_forgetting_takes_the_folded_copies_along(bench: Any) -> None:
    one, two = twice(bench, SAID[0][0])
    bench.memory.maintain()
    assert bench.memory.forget(one.id, **USER).counts["forgotten"] == 2
    assert not bench.memory.list(**USER, include_superseded=True).notes
    bench.clock.advance(days=31)
    assert bench.memory.maintain()["purged"] == 2
    assert "parrot" not in json.dumps(bench.rows("SELECT * FROM notes") + bench.rows("SELECT * FROM decisions"))
    assert two.id


def test_the_later_access_of_both_counts(bench: Any) -> None:
    one, two = twice(bench, "I am tired and hungry today", kind="ephemeral")
    bench.clock.advance(days=3)
    bench.memory.remember("I am tired and hungry today", **USER, kind="ephemeral")
    latest = max(bench.memory.get(note.id, **USER).last_access for note in (one, two))
    bench.memory.maintain()
    kept = bench.memory.get(one.id, **USER)
    assert kept.last_access == latest
    assert kept.forgets_at is not None
    assert kept.forgets_at > START


def test_an_import_is_compared_once(make_bench: Make) -> None:
    bench = make_bench(compression=False)
    twice(bench, SAID[2][0])
    assert bench.memory.maintain()["folded"] == 0
    written = io.BytesIO()
    bench.memory.export(written, **USER)
    other = make_bench(clock=bench.clock)
    other.memory.import_(io.BytesIO(written.getvalue()))
    assert other.memory.maintain()["folded"] == 1
    assert len(other.memory.list(**USER).notes) == 1


def test_a_replay_folds_the_same(bench: Any) -> None:
    for first, second in SAID:
        twice(bench, first, second)
    bench.memory.maintain()
    [operation] = bench.rows("SELECT id FROM operations WHERE verb = 'compress'")
    bench.memory.undo(operation["id"], **USER)
    bench.clock.advance(hours=1)
    bench.memory.maintain()
    bench.memory.forget(bench.memory.list(**USER).notes[0].id, **USER)
    engine = bench.memory._async._engine

    async def both() -> tuple[bytes, bytes]:
        store = SqliteStore(":memory:")
        await replay(engine, store)
        first, second = io.BytesIO(), io.BytesIO()
        await export(engine, first, None)
        await export(engine.with_seams(store=store), second, None)
        await store.close()
        return first.getvalue(), second.getvalue()

    first, second = bench.memory._run(both())
    assert b'"verb":"compress"' in first
    assert first.splitlines() == second.splitlines()


def test_owners_and_tenants_are_compared_for_themselves(make_bench: Make) -> None:
    bench = make_bench()
    for user in ("ana", "ben", "eve"):
        bench.memory.remember(SAID[1][0], user_id=user)
    other = bench.open(tenant="other")
    other.remember(SAID[1][0], **USER)
    assert bench.memory.maintain()["folded"] == 0
    assert other.maintain()["folded"] == 0
    other.close()


@pytest.mark.parametrize(("sql", "params"), [(CHANGED_OWNERS, ("default",)), (CHANGED_AGENTS, ("default", "u", 0))])
def test_what_changed_is_found_by_an_index(bench: Any, sql: str, params: tuple[object, ...]) -> None:
    plan = [row["detail"] for row in bench.rows(f"EXPLAIN QUERY PLAN {sql}", *params)]
    index = "owners_compress" if "FROM owners" in sql else "units_changed"
    assert any(index in step for step in plan), plan
    assert not any(step.startswith("SCAN") for step in plan), plan


def test_time_between_runs_does_not_matter(make_bench: Make) -> None:
    ends = []
    for runs in (1, 5):
        bench = make_bench()
        for first, second in SAID:
            twice(bench, first, second)
            for _ in range(runs - 1):
                bench.memory.maintain()
        bench.clock.set(START + timedelta(days=5))
        bench.memory.maintain()
        ends.append([(note.content, note.state, len(note.evidence)) for note in bench.notes(all_states=True, **USER)])
    assert ends[0] == ends[1]
