"""Several statements in one `remember`: one operation, each decided by itself, one call of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.conftest import Bench

from memstrata.errors import LimitError, MessageError
from memstrata.llm.fakes import ScriptedLLM

from .scripts import sensible

SAID = ["I live in Porto.", "私の猫の名前はミソです。", "我对花生过敏。"]
USER = {"user_id": "ana"}


def test_each_is_decided_by_itself(bench: Bench) -> None:
    bench.memory.remember(SAID[0], **USER)
    receipt = bench.memory.remember([*SAID, "I live in Lyon now."], tags=["told"], **USER)
    assert [each.outcome for each in receipt.candidates] == [
        "duplicate",
        "admitted",
        "admitted",
        "admitted_superseding",
    ]
    notes = {note.content: note for note in bench.memory.list(**USER).notes}
    assert set(notes) == {SAID[1], SAID[2], "I live in Lyon now."}
    assert all("told" in note.tags for note in notes.values())
    assert [turn.text for turn in notes[SAID[1]].evidence] == [SAID[1]]
    assert bench.memory.receipt(receipt.operation, **USER).candidates == receipt.candidates


def test_they_are_one_operation_that_is_repeated_and_undone_as_one(bench: Bench) -> None:
    first = bench.memory.remember(SAID, idempotency_key="k", **USER)
    again = bench.memory.remember(SAID, idempotency_key="k", **USER)
    assert (again.repeated, again.operation, len(bench.memory.list(**USER).notes)) == (True, first.operation, 3)
    bench.memory.undo(first.operation, **USER)
    assert bench.memory.list(**USER).notes == ()


def test_they_share_one_call_of_the_model(make_bench: Callable[..., Any]) -> None:
    llm = ScriptedLLM(sensible)
    bench = make_bench(llm=llm)
    receipt = bench.memory.remember(["My sister Lena bakes bread.", *SAID], **USER)
    assert {each.outcome for each in receipt.candidates} == {"admitted"}
    assert bench.memory.cost(**USER).total.calls <= 1


@pytest.mark.parametrize(
    ("text", "error", "told"),
    [
        ([], MessageError, "list of texts"),
        (["a", 1], MessageError, "not int"),
        ({"role": "user"}, MessageError, "use add"),
        (["x"] * 6, LimitError, "at most 5"),
        (["fine", ""], MessageError, "empty"),
    ],
)
def test_what_cannot_be_taken_leaves_nothing(bench: Bench, text: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        bench.memory.remember(text, **USER)
    assert bench.memory.stats(**USER)["turns"] == 0
