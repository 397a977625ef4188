"""Decay: computed when read, never accumulated; forgetting takes nothing of what a note is."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memstrata.tiers.weight import FORGETTING_RATES

MONDAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
STATEMENTS: list[tuple[str, str]] = [
    ("identity", "My name is Ana Ribeiro."),
    ("preference", "私はコーヒーが好きです。"),
    ("relation", "我妹妹李娜在华为工作。"),
    ("event", "I adopted a cat called Miso in Porto."),
    ("plan", "来月、ペルーに行きます。"),
    ("fact", "The office is on the fourth floor."),
    ("procedure", "先把水烧开，再放面条。"),
    ("state", "I am very tired this week."),
    ("ephemeral", "今日はとても暑いですね、アイスを食べました。"),
]


def _filled(bench: Any) -> Any:
    for kind, text in STATEMENTS:
        given = "fact" if kind == "ephemeral" else kind  # small talk would not be admitted
        (candidate,) = bench.memory.remember(text, user_id="ana", kind=given, at=MONDAY).candidates
        if kind != given:
            bench.memory.update(candidate.note, user_id="ana", kind=kind)
    bench.memory.flush()
    assert len(bench.notes(user_id="ana")) == len(STATEMENTS)
    return bench


def _state(bench: Any) -> list[dict[str, Any]]:
    columns = "content, context, kind, state, last_access, rate, forgets_at, closed_at, revision, valid_to"
    return bench.rows(f"SELECT {columns} FROM notes ORDER BY no")


@pytest.mark.parametrize("days", [10, 47, 120, 231, 470])
def test_one_sweep_or_a_hundred_at_the_same_clock(make_bench: Callable[..., Any], days: int) -> None:
    once, often = _filled(make_bench(grace_days=10_000)), _filled(make_bench(grace_days=10_000))
    for each in (once, often):
        each.clock.advance(days=days)
    once.memory.maintain()
    for _ in range(100):
        often.memory.maintain()
    assert _state(once) == _state(often)
    assert [n.weight for n in once.notes(user_id="ana")] == [n.weight for n in often.notes(user_id="ana")]
    sweeps = often.rows("SELECT id FROM operations WHERE verb = 'sweep'")
    assert len(sweeps) <= 1, "a sweep that forgets nothing is no operation"


@pytest.mark.parametrize("days", [10, 47, 231])
def test_sweeps_on_the_way_change_nothing_at_the_end(make_bench: Callable[..., Any], days: int) -> None:
    once, daily = _filled(make_bench(grace_days=10_000)), _filled(make_bench(grace_days=10_000))
    once.clock.advance(days=days)
    once.memory.maintain()
    for _ in range(days):
        daily.clock.advance(days=1)
        daily.memory.maintain()

    def what_holds(bench: Any) -> list[dict[str, Any]]:
        return [{**row, "closed_at": None} for row in _state(bench)]  # when it was swept may differ

    assert what_holds(once) == what_holds(daily)
    for one, other in zip(once.notes(user_id="ana"), daily.notes(user_id="ana"), strict=True):
        assert one.weight == other.weight


def test_weight_is_a_function_of_last_access_and_the_clock(bench: Any) -> None:
    _filled(bench)
    for days in (0, 1, 7, 30, 11):  # the last one goes back in time: still the closed form
        bench.clock.set(bench.notes(user_id="ana")[0].last_access + timedelta(days=days))
        for note in bench.notes(user_id="ana"):
            assert note.weight == pytest.approx(math.exp(-FORGETTING_RATES[note.kind] * days), abs=1e-12)
            assert note.forgets_at == note.last_access + timedelta(days=math.log(10) / FORGETTING_RATES[note.kind])


@pytest.mark.parametrize("kind", sorted(FORGETTING_RATES))
def test_a_note_is_forgotten_when_its_closed_form_says_so(bench: Any, kind: str) -> None:
    _filled(bench)
    (note,) = [each for each in bench.notes(user_id="ana") if each.kind == kind]
    assert note.forgets_at is not None
    bench.clock.set(note.forgets_at - timedelta(seconds=1))
    bench.memory.maintain()
    assert bench.memory.get(note.id, user_id="ana").state == "current"
    bench.clock.set(note.forgets_at + timedelta(seconds=1))
    bench.memory.maintain()
    assert bench.memory.get(note.id, user_id="ana").state == "forgotten"


def test_an_access_sets_the_weight_to_one_and_reading_does_not(bench: Any) -> None:
    _filled(bench)
    bench.clock.advance(days=20)
    before = _state(bench)
    bench.memory.recall("コーヒー", user_id="ana", k=1, touch=False)
    bench.memory.context("コーヒー", user_id="ana", touch=False)
    bench.memory.profile("ana")
    bench.notes(user_id="ana")
    bench.memory.flush()
    assert _state(bench) == before
    (hit,) = bench.memory.recall("コーヒーが好き", user_id="ana", k=1)
    bench.memory.flush()
    assert bench.memory.get(hit.id, user_id="ana").weight == 1.0
    others = [note.weight for note in bench.notes(user_id="ana") if note.id != hit.id]
    assert all(weight < 1.0 for weight in others)


def test_only_what_was_used_counts_as_accessed(bench: Any) -> None:
    _filled(bench)
    bench.clock.advance(days=20)
    hits = bench.memory.recall("Ana Porto office コーヒー", user_id="ana", k=5, touch=False)
    used = hits[1].id
    bench.memory.recall("Ana Porto office コーヒー", user_id="ana", k=5, used=[used])
    bench.memory.flush()
    assert [note.id for note in bench.notes(user_id="ana") if note.weight == 1.0] == [used]


def test_a_pinned_note_does_not_fade(bench: Any) -> None:
    _filled(bench)
    note = next(each for each in bench.notes(user_id="ana") if each.kind == "ephemeral")
    bench.memory.pin(note.id, user_id="ana")
    bench.clock.advance(days=3650)
    bench.memory.maintain()
    kept = bench.memory.get(note.id, user_id="ana")
    assert (kept.state, kept.weight, kept.forgets_at) == ("current", 1.0, None)


# 21. Forgetting takes nothing of what a note is


def _vectors(bench: Any) -> list[dict[str, Any]]:
    return bench.rows("SELECT unit, chunk, model, dim, vector FROM vectors ORDER BY unit, chunk")


def _terms(bench: Any) -> list[dict[str, Any]]:
    return bench.rows("SELECT terms, unit, chunk FROM vectors ORDER BY unit, chunk")


def _ranking(bench: Any, query: str) -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for hit in bench.memory.recall(query, user_id="ana", k=50, touch=False)]


QUERIES = ["Ana Ribeiro", "コーヒーは好きですか？", "李娜在哪里工作？", "Miso the cat", "ペルー", "水烧开"]


@pytest.mark.parametrize("how", ["forget", "sweep"])
def test_a_restored_note_is_and_ranks_as_before(bench: Any, how: str) -> None:
    _filled(bench)
    rankings = [_ranking(bench, query) for query in QUERIES]
    notes = bench.notes(user_id="ana")
    vectors, terms = _vectors(bench), _terms(bench)
    start = bench.clock.now()
    if how == "forget":
        for note in notes:
            bench.memory.forget(note.id, user_id="ana")
    else:
        bench.memory.maintain(now=start + timedelta(days=5000))
    bench.memory.flush()
    assert bench.notes(user_id="ana") == []
    assert all(hit.kind != "note" for hit in bench.memory.recall("Miso", user_id="ana", k=50, touch=False))
    forgotten = bench.notes(user_id="ana", all_states=True)
    assert [note.content for note in forgotten] == [note.content for note in notes]
    assert (_vectors(bench), _terms(bench)) == (vectors, terms), "no vector is replaced, none pooled"
    for note in notes:
        restored = bench.memory.restore(note.id, user_id="ana")
        assert (restored.content, restored.context, restored.tags) == (note.content, note.context, note.tags)
        assert restored.weight == 1.0
    bench.memory.flush()
    assert (_vectors(bench), _terms(bench)) == (vectors, terms)
    for query, before in zip(QUERIES, rankings, strict=True):
        assert _ranking(bench, query) == before


def test_what_the_sweep_forgot_does_not_hide_its_turns(bench: Any) -> None:
    bench.tell("I adopted a cat called Miso.", "私は京都に住んでいます。", at=MONDAY)
    bench.memory.maintain(now=bench.clock.now() + timedelta(days=5000))
    assert bench.notes(user_id="ana") == []
    for query in ("Miso", "京都"):
        assert any(query in hit.text for hit in bench.memory.recall(query, user_id="ana", touch=False))


def test_what_its_user_forgot_is_hidden_with_its_turns_until_restored(bench: Any) -> None:
    bench.tell("I adopted a cat called Miso.", at=MONDAY)
    (note,) = bench.notes(user_id="ana")
    bench.memory.forget(note.id, user_id="ana")
    assert not [hit for hit in bench.memory.recall("Miso", user_id="ana", k=50, touch=False) if "Miso" in hit.text]
    assert "Miso" not in bench.memory.context("Miso", user_id="ana", strategy="retrieval", touch=False).text
    bench.memory.restore(note.id, user_id="ana")
    assert "Miso" in bench.memory.recall("Miso", user_id="ana", touch=False)[0].text
