"""Conflicts with a model: the merged note stands for both, and only what may contradict is merged."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memstrata.llm.fakes import ScriptedLLM

from .scripts import PAIR, at_stage
from .test_llm_stages import receipts, tell

Make = Callable[..., Any]
USER = {"user_id": "mara"}
# What was said first and later, with something beside each (a page of one turn is drafted offline); the merged text.
HOMES = {
    "en": ("I live in Porto.", "I live in Lisbon.", "I like rain.", "I like sun.", "I live in Lisbon, I live in Porto"),
    "ja": (
        "私は京都に住んでいます。",
        "私は大阪に住んでいます。",
        "猫を飼っています。",
        "犬が好きです。",
        "私は大阪に住んでいます、京都に住んでいます",
    ),
    "zh": ("我住在上海。", "我住在北京。", "我喜欢下雨。", "我养了一只猫。", "我住在北京，我住在上海"),
}
# No slot: two statements that differ at their object, and one about another thing.
THINGS = {
    "en": (
        "Tom repairs old clocks.",
        "Tom repairs old radios.",
        "Tom sells old radios.",
        "Tom repairs old clocks, radios",
    ),
    "ja": (
        "トムは古い時計を修理しています。",
        "トムは古いラジオを修理しています。",
        "トムは古いラジオを売っています。",
        "トムは古い時計、ラジオを修理しています",
    ),
    "zh": ("汤姆修理旧钟表。", "汤姆修理旧收音机。", "小王出售旧收音机。", "汤姆修理旧钟表、收音机"),
}


def ruled(decision: str, text: str = "", reason: str = "the same thing") -> Callable[[Any], dict[str, Any]]:
    """The same ruling for every pair that is offered."""

    def notes(request: Any) -> dict[str, Any]:
        pairs = [
            {"pair": pair, "decision": decision, "text": text, "reason": reason}
            for pair, _, _ in PAIR.findall(request.text)
        ]
        return {"links": [], "evolved": [], "conflicts": pairs}

    return notes


def homes(bench: Any, state: str | None = None) -> list[Any]:
    every = bench.notes(**USER, all_states=True)
    found = [note for note in every if note.slot is not None and note.slot.attribute == "lives_in"]
    return [note for note in found if state in (None, note.state)]


@pytest.mark.parametrize("language", HOMES)
def test_the_merged_note_has_what_both_had(make_bench: Make, language: str) -> None:
    first, later, beside, beside_later, text = HOMES[language]
    bench = make_bench(llm=ScriptedLLM(at_stage("notes", [ruled("merge", text)])), policy="open")
    tell(bench, [first, beside], "one", 1)
    [old] = homes(bench)
    bench.clock.advance(days=40)
    assert homes(bench)[0].weight < 1.0
    tell(bench, [later, beside_later], "two", 20)
    [new] = homes(bench, "current")
    [gone] = homes(bench, "superseded")
    assert new.content == f"Mara: {text}"
    assert new.weight == pytest.approx(1.0)
    assert (gone.id, gone.content, gone.superseded_by) == (old.id, old.content, new.id)
    assert (gone.valid_from, gone.valid_to) == (old.valid_from, new.valid_from), "the interval of each is kept"
    assert new.valid_from == datetime(2026, 3, 20, 10, tzinfo=UTC)
    assert new.valid_to is None
    assert {turn.id for turn in gone.evidence} <= {turn.id for turn in new.evidence}
    assert sorted(turn.text for turn in new.evidence) == sorted([first, later])
    then = bench.memory.recall(first, **USER, as_of=old.valid_from + timedelta(days=1), touch=False)
    assert any(hit.note is not None and hit.note.id == old.id for hit in then)
    now = bench.memory.recall(later, **USER, touch=False)
    assert any(hit.note is not None and hit.note.id == new.id for hit in now)
    assert all(hit.note is None or hit.note.id != old.id for hit in now)


@pytest.mark.parametrize("language", HOMES)
def test_what_was_said_before_does_not_win_because_it_comes_later(make_bench: Make, language: str) -> None:
    first, later, beside, beside_later, text = HOMES[language]
    bench = make_bench(llm=ScriptedLLM(at_stage("notes", [ruled("merge", text)])), policy="open")
    tell(bench, [later, beside_later], "two", 20)
    tell(bench, [first, beside], "one", 1)
    [new] = homes(bench, "current")
    [gone] = homes(bench, "superseded")
    assert new.content == f"Mara: {later}"
    assert gone.content == f"Mara: {first}"
    assert (gone.superseded_by, gone.valid_to) == (new.id, new.valid_from)
    assert sorted(turn.text for turn in new.evidence) == sorted([first, later])


@pytest.mark.parametrize("language", THINGS)
@pytest.mark.parametrize(
    ("place", "reason", "merged"), [(1, "both are what he repairs", True), (1, "", False), (2, "I say so", False)]
)
def test_without_a_slot_only_for_a_reason_and_about_the_same_thing(
    make_bench: Make, language: str, place: int, reason: str, merged: bool
) -> None:
    first, beside, text = THINGS[language][0], HOMES[language][2], THINGS[language][3]

    def notes(request: Any) -> dict[str, Any]:
        offered = [f"C{n}" for n in range(1, 6)]  # whatever is offered, and what is not
        pairs = [{"pair": pair, "decision": "merge", "text": text, "reason": reason} for pair in offered]
        return {"links": [], "evolved": [], "conflicts": pairs}

    bench = make_bench(llm=ScriptedLLM(at_stage("notes", [notes])), policy="open")
    tell(bench, [first, beside], "one", 1)
    tell(bench, [THINGS[language][place], HOMES[language][3]], "two", 2)
    every = [note for note in bench.notes(**USER, all_states=True) if note.slot is None]
    contents = {note.content: note.state for note in every}
    if merged:
        assert contents[f"Mara: {first}"] == "superseded"
        assert contents[f"Mara: {text}"] == "current"
    else:
        assert contents[f"Mara: {first}"] == "current"
        assert contents[f"Mara: {THINGS[language][place]}"] == "current"
        if place == 1:
            assert receipts(bench, "distill")[-1]["counts"]["llm_dropped_conflict"] >= 1
