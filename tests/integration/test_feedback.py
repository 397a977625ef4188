"""What people say of decisions: kept, done, undone, exported, imported, replayed, erased; no wall is crossed."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from memstrata.errors import ConflictError, InputError, NotFoundError

KEPT = ["I moved to Porto in March 2024.", "私は京都の小さなパン屋で働いています。", "我妹妹李娜在华为工作。"]


def decision_of(bench: Any, text: str) -> dict[str, Any]:
    return next(each for each in reversed(bench.decisions()) if each["candidate"]["text"] == text)


def contents(bench: Any, **more: Any) -> set[str]:
    return {note.content for note in bench.notes(user_id="ana", **more)}


@pytest.fixture
def strict(make_bench: Callable[..., Any]) -> Any:
    """A gate that keeps nothing on its score alone."""
    return make_bench(policy="strict")


@pytest.mark.parametrize("text", KEPT)
def test_a_rejected_note_is_forgotten_and_one_undo_takes_it_all_back(bench: Any, text: str) -> None:
    bench.tell(text)
    note = bench.notes(user_id="ana")[0]
    receipt = bench.memory.feedback(note.id, False, reason="not true", user_id="ana")
    assert (receipt.verb, receipt.counts["forgotten"]) == ("feedback", 1)
    assert contents(bench) == set()
    assert text not in [hit.text for hit in bench.memory.recall(text, user_id="ana", touch=False)]
    said = bench.rows("SELECT * FROM feedback")
    assert [(row["decision"], row["accept"], row["reason"]) for row in said] == [(note.decision, 0, "not true")]
    assert "Its user said that this is wrong: not true." in bench.memory.explain(note.id, user_id="ana").sentence
    bench.memory.undo(receipt.operation, user_id="ana")
    assert contents(bench) == {note.content}
    assert bench.rows("SELECT * FROM feedback") == []
    assert bench.memory.check() == ()


@pytest.mark.parametrize(
    "text",
    [
        "The weather was cool over there, I guess.",
        "今日はちょっと寒かったかもしれないですね。",
        "今天可能有点冷吧，我觉得。",
    ],
)
def test_an_accepted_statement_that_was_kept_out_becomes_a_note(
    make_bench: Callable[..., Any], text: str, tmp_path: Any
) -> None:
    never = tmp_path / "never.toml"
    never.write_text('base = "memstrata"\nname = "never"\ntheta = 1.0\n[theta_by_kind]\nephemeral = 1.0\n')
    bench = make_bench(policy=str(never))
    bench.tell(text)
    assert contents(bench) == set()
    decision = decision_of(bench, text)
    receipt = bench.memory.feedback(decision["id"], True, user_id="ana")
    assert [each.outcome for each in receipt.candidates] == ["admitted"]
    note = bench.notes(user_id="ana")[0]
    assert note.content == text
    assert [turn.text for turn in note.evidence] == [text]
    explained = bench.memory.explain(note.id, user_id="ana")
    assert (explained.decision.rule, explained.decision.computed_from["accepted"]) == ("user", decision["id"])
    assert "its user accepted it" in explained.sentence.lower()
    assert bench.memory.recall(text, user_id="ana", touch=False)[0].note == bench.memory.get(note.id, user_id="ana")
    # The last word counts: rejecting the same decision takes out what accepting it made.
    again = bench.memory.feedback(decision["id"], False, user_id="ana")
    assert contents(bench) == set()
    back = bench.memory.feedback(decision["id"], True, user_id="ana")
    assert back.counts == {"restored": 1}
    assert contents(bench) == {text}
    for operation in (back, again, receipt):
        bench.memory.undo(operation.operation, user_id="ana")
    assert contents(bench) == set()
    assert bench.rows("SELECT * FROM feedback") == []
    assert bench.memory.check() == ()


def test_what_a_rule_kept_out_can_be_accepted_too(bench: Any) -> None:
    text = "From now on you must always answer in French."
    bench.tell(text)
    decision = decision_of(bench, text)
    assert decision["rule"] == "instruction"
    receipt = bench.memory.feedback(decision["id"], True, reason="my wish", user_id="ana")
    assert receipt.candidates[0].outcome == "admitted"
    assert contents(bench) == {text}


def test_feedback_may_only_be_kept(bench: Any) -> None:
    bench.tell(KEPT[0])
    note = bench.notes(user_id="ana")[0]
    receipt = bench.memory.feedback(note.id, False, apply=False, user_id="ana")
    assert receipt.counts == {"noted": 1}
    assert contents(bench) == {note.content}
    assert bench.memory.feedback(note.id, True, user_id="ana").counts == {"noted": 1}
    assert [row["accept"] for row in bench.rows("SELECT accept FROM feedback")] == [1]


def test_a_duplicate_that_is_rejected_takes_no_note_away(bench: Any) -> None:
    bench.tell(KEPT[0])
    bench.tell(KEPT[0], session_id="later")
    duplicate = next(each for each in bench.decisions() if each["outcome"] == "duplicate")
    bench.memory.feedback(duplicate["id"], False, user_id="ana")
    assert len(contents(bench)) == 1


def test_walls_and_mistakes(bench: Any) -> None:
    bench.tell(KEPT[0])
    note = bench.notes(user_id="ana")[0]
    for scope in ({"user_id": "ben"}, {"user_id": "ana", "agent_id": "coach"}):
        for item in (note.id, note.decision):
            with pytest.raises(NotFoundError):
                bench.memory.feedback(item, False, **scope)
    with pytest.raises(InputError, match="accept must be True or False"):
        bench.memory.feedback(note.id, "yes", user_id="ana")
    with pytest.raises(InputError, match="reason"):
        bench.memory.feedback(note.id, True, reason="x" * 2001, user_id="ana")
    with pytest.raises(InputError, match="reason must be text"):
        bench.memory.feedback(note.id, True, reason=3, user_id="ana")
    made = bench.rows("SELECT op FROM decisions")[0]["op"]
    bench.memory.undo(made, user_id="ana")
    with pytest.raises(ConflictError, match="was undone"):
        bench.memory.feedback(note.decision, True, user_id="ana")
    assert bench.rows("SELECT * FROM feedback") == []
    assert bench.memory.labelled(user_id="ben") == ()


def test_a_secret_in_a_reason_is_redacted(bench: Any) -> None:
    bench.tell(KEPT[0])
    note = bench.notes(user_id="ana")[0]
    bench.memory.feedback(note.id, True, reason="my card is 4111 1111 1111 1111", user_id="ana")
    bench.memory.close()
    assert all(b"4111 1111" not in data for data in bench.files().values())


def test_feedback_is_labelled_data(bench: Any) -> None:
    texts = [*KEPT, "Wow, nice!"]
    bench.tell(*texts)
    notes = {note.content: note for note in bench.notes(user_id="ana")}
    bench.memory.feedback(notes[KEPT[1]].id, True, user_id="ana")
    bench.memory.feedback(notes[KEPT[2]].id, False, reason="没有", user_id="ana")
    lines = {line["text"]: line for line in bench.memory.labelled(user_id="ana")}
    assert {text: line["label"] for text, line in lines.items()} == {KEPT[1]: 1, KEPT[2]: 0}
    line = lines[KEPT[1]]
    assert (line["group"], line["role"], line["kind"]) == (
        "u:ana",
        "user",
        decision_of(bench, KEPT[1])["candidate"]["kind"],
    )
    assert [turn["text"] for turn in line["previous"]] == [KEPT[0]]
    assert [turn["text"] for turn in line["next"]] == texts[2:]
    assert set(line["signals"]) == {"utility", "confidence", "novelty", "recency", "type_prior"}
    assert json.loads(json.dumps(line)) == line


def test_feedback_is_exported_imported_replayed_and_erased(bench: Any, make_bench: Callable[..., Any]) -> None:
    bench.tell(*KEPT, "Haha, the rain over there is crazy.")
    first, second, *_ = bench.notes(user_id="ana")
    bench.memory.feedback(first.id, False, reason="wrong", user_id="ana")
    bench.memory.feedback(second.id, True, user_id="ana")
    for decision in bench.decisions():
        if decision["outcome"] == "rejected":
            bench.memory.feedback(decision["id"], True, user_id="ana")
    bench.memory.feedback(first.id, True, user_id="ana")
    exported = io.BytesIO()
    bench.memory.export(exported, user_id="ana")
    other = make_bench()
    other.memory.import_(io.BytesIO(exported.getvalue()))
    assert other.rows("SELECT * FROM feedback") == bench.rows("SELECT * FROM feedback")
    again = io.BytesIO()
    other.memory.export(again, user_id="ana")
    assert again.getvalue() == exported.getvalue()
    bench.memory.erase(user_id="ana")
    assert bench.rows("SELECT * FROM feedback") == bench.rows("SELECT * FROM decisions") == []
    assert all(b"wrong" not in data for name, data in bench.files().items() if name == "memory.db")


def test_a_note_that_goes_for_good_takes_what_was_said_of_it(bench: Any) -> None:
    bench.tell(KEPT[0], "I think the Zanzibar weather may be nice.")
    for note in bench.notes(user_id="ana"):
        bench.memory.feedback(note.id, True, reason=f"about {note.content}", user_id="ana")
        bench.memory.forget(note.id, hard=True, user_id="ana")
    assert bench.rows("SELECT * FROM feedback") == []
    assert bench.rows("SELECT * FROM operations WHERE payload LIKE '%about%'") == []
