"""The stages with a model: two calls a page at most, its notes, its links, and its faults."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memstrata import SetClock
from memstrata.errors import LLMRefusedError, LLMUnavailableError
from memstrata.llm.fakes import ScriptedLLM

from .scripts import at_stage, notes_of, page_answer, sensible

Make = Callable[..., Any]
TOLD = [
    "I moved to Porto last May.",
    "My sister Lena bakes bread in Alfama.",
    "I play the cello in an orchestra.",
    "My cat is called Momo.",
    "I work at the harbour museum.",
]
LATER = [
    "Lena opened a second bakery in Alfama.",
    "The orchestra plays Mahler this winter.",
    "Momo had three kittens in March.",
    "The harbour museum closes on Mondays.",
    "I bought a new bow for my cello.",
]


def tell(bench: Any, texts: list[str], session: str, day: int = 1) -> None:
    at = datetime(2026, 3, day, 10, tzinfo=UTC)
    messages = [
        {"role": "user", "name": "Mara", "content": text, "at": at + timedelta(minutes=n)}
        for n, text in enumerate(texts)
    ]
    bench.memory.add(messages, user_id="mara", session_id=session)
    bench.distil(user_id="mara")


def calls(bench: Any) -> list[dict[str, Any]]:
    return bench.rows("SELECT * FROM calls ORDER BY at, rowid")


def receipts(bench: Any, verb: str) -> list[dict[str, Any]]:
    return [json.loads(row["receipt"]) for row in bench.rows(f"SELECT receipt FROM operations WHERE verb = '{verb}'")]


def test_two_calls_a_page_and_none_for_what_is_not_admitted(make_bench: Make) -> None:
    llm = ScriptedLLM(sensible)
    bench = make_bench(llm=llm)
    tell(bench, TOLD, "one")
    tell(bench, LATER, "two", 2)
    assert [call["stage"] for call in calls(bench)].count("page") == 2
    assert [call["stage"] for call in calls(bench)].count("notes") == 2
    assert len(llm.requests) == 4
    tell(bench, TOLD, "three", 3)  # nothing new: no second call
    assert len(llm.requests) == 5
    tell(bench, ["HEARTBEAT_OK"] * 5, "four", 4)  # nothing that may be a source: no call at all
    assert len(llm.requests) == 5
    tell(bench, ["Lena bakes cakes, too.", "Momo likes fish."], "five", 5)  # a short page: the first call only
    assert len(llm.requests) == 6


def test_notes_are_what_the_model_made_of_the_turns(make_bench: Make) -> None:
    def page(request: Any) -> dict[str, Any]:
        note = {
            "content": "Mara moved to Porto last May.",
            "evidence": [1],
            "kind": "event",
            "context": "where she lives now",
            "keywords": ["Porto"],
            "tags": ["home"],
            "utility": 0.9,
            "when": "2025-05",
            "slot": {"subject": "Mara", "attribute": "lives_in", "value": "Porto"},
        }
        return {"summary": "Mara moved to Porto and plays the cello.", "notes": [note]}

    bench = make_bench(llm=ScriptedLLM(at_stage("page", [page])))
    tell(bench, TOLD, "one")
    [note] = bench.notes(user_id="mara")
    assert note.content == "Mara: Mara moved to Porto last May."
    assert note.kind == "event"
    assert note.context == "where she lives now · 2026-03-01"
    assert note.keywords == ("Porto",)
    assert note.tags[:2] == ("home", "event")
    assert note.slot is not None
    assert (note.slot.subject, note.slot.attribute, note.slot.value) == ("mara", "lives_in", "porto")
    assert note.event is not None
    assert f"{note.event.start:%Y-%m}" == "2025-05"
    [page_row] = bench.rows("SELECT summary FROM pages")
    assert page_row["summary"] == "Mara moved to Porto and plays the cello."
    [decision] = bench.decisions()
    assert decision["versions"]["model"] == "fake:scripted"
    assert decision["versions"]["prompt"].startswith("page.full 1 ")
    assert decision["computed_from"]["utility"] == 0.9
    [receipt] = receipts(bench, "page")
    assert receipt["versions"]["prompt"].startswith("page.full 1 ")
    assert receipt["counts"]["llm_calls"] == 1


def test_what_a_small_model_passes_over_is_read_offline(make_bench: Make) -> None:
    told = [*TOLD[:3], "我在里斯本的港口博物馆工作。", "週末は兄と海でヨットに乗ります。"]
    vague = {"content": "Mara talks about her family and her work.", "evidence": [1, 2, 3, 4, 5], "kind": "identity"}
    moved = {"content": "Mara moved to Porto last May.", "evidence": [1], "kind": "event"}
    answer = {"summary": vague["content"], "notes": [vague, moved]}
    found = {}
    for profile in ("small", "full"):
        bench = make_bench(llm=ScriptedLLM(at_stage("page", [answer]), profile=profile), policy="open")
        tell(bench, told, "one")
        found[profile] = [note.content for note in bench.notes(user_id="mara")]
        [receipt] = receipts(bench, "page")
        counts = receipt["counts"]
        assert (counts.get("llm_passed_over"), counts.get("llm_dropped_summary_again")) == (
            (4, 1) if profile == "small" else (None, None)
        )
    assert not any("Lena" in text for text in found["full"])  # what a larger model leaves out is its judgement
    small = " ".join(found["small"])
    assert all(word in small for word in ("Porto", "Lena", "cello", "里斯本", "ヨット"))
    assert small.count("Porto") == 1  # the model's note took the place of the statement


def test_what_a_summary_says_again_and_again_is_kept_once(make_bench: Make) -> None:
    looped = "Mara moved to Porto. " + "Lena bakes bread in Alfama. " * 20
    bench = make_bench(llm=ScriptedLLM(at_stage("page", [{"summary": looped, "notes": []}])))
    tell(bench, TOLD, "one")
    [page] = bench.rows("SELECT summary FROM pages")
    assert page["summary"] == "Mara moved to Porto. Lena bakes bread in Alfama."


def test_what_is_not_in_the_turns_does_not_pass_the_gate(make_bench: Make) -> None:
    def page(request: Any) -> dict[str, Any]:
        answer = page_answer(request)
        answer["summary"] = "The quarterly figures of Acme look splendid."
        note = answer["notes"][0]
        answer["notes"] = [
            {**note, "content": "Mara owns a yacht in Monaco and hates seafood.", "evidence": [1]},
            {**note, "content": "玛拉去年五月搬到了波尔图。", "evidence": [1]},  # another language
            {**note, "content": "I moved to Porto last May.", "evidence": [99]},
            {**note, "content": "I moved to Porto last May.", "evidence": []},
            {**note, "evidence": [1, 77], "slot": {"subject": "Mara", "attribute": "age", "value": "44"}},
        ]
        return answer

    bench = make_bench(llm=ScriptedLLM(at_stage("page", [page])))
    tell(bench, TOLD, "one")
    [note] = bench.notes(user_id="mara")
    assert "Porto" in note.content
    assert note.slot is None or note.slot.attribute != "age"
    rejected = [decision for decision in bench.decisions() if decision["outcome"] == "rejected"]
    assert {decision["rule"] for decision in rejected} == {"unsupported"}
    [receipt] = receipts(bench, "page")
    assert receipt["counts"]["llm_dropped_unknown_turn"] == 2
    assert receipt["counts"]["llm_dropped_no_evidence"] == 1
    assert receipt["counts"]["llm_dropped_malformed"] == 1
    assert "Acme" not in bench.rows("SELECT summary FROM pages")[0]["summary"]


@pytest.mark.parametrize(
    ("said", "made"),
    [
        ("I like rain very much.", "Mara hates rain very much."),
        ("I never eat meat at home.", "Mara eats meat at home."),
        ("Tom owes me 20 euros for the tickets.", "Tom owes Mara 900 euros for the tickets."),
        ("My brother lives in Porto.", "Mara's brother Pedro lives in Porto."),
        ("私は納豆が好きです。", "私は納豆が嫌いです。"),
        ("我每天都喝绿茶。", "我每天都不喝绿茶。"),
    ],
)
def test_the_contrary_and_the_invented_do_not_pass(make_bench: Make, said: str, made: str) -> None:
    def page(request: Any) -> dict[str, Any]:
        answer = page_answer(request)
        answer["notes"] = [{**answer["notes"][0], "content": made}]
        return answer

    bench = make_bench(llm=ScriptedLLM(at_stage("page", [page])))
    tell(bench, [said, "Okay."], "one")
    assert bench.notes(user_id="mara") == []
    assert [decision["rule"] for decision in bench.decisions()] == ["unsupported"]


def test_links_and_evolution_touch_only_what_was_offered(make_bench: Make) -> None:
    def notes(request: Any) -> dict[str, Any]:
        known = notes_of(request)
        bakery = next((alias for alias, content in known.items() if alias[0] == "M" and "bakes" in content), "M1")
        return {
            "links": [
                {"from": "N1", "to": bakery, "type": "continues", "reason": "the same bakery"},
                {"from": "N1", "to": "M77", "type": "related", "reason": "invented"},
                {"from": "M1", "to": "M2", "type": "related", "reason": "not new"},
                {"from": "N1", "to": "N1", "type": "related", "reason": "itself"},
            ],
            "evolved": [
                {
                    "note": bakery,
                    "context": "Lena, the sister, bakes bread and opened a second bakery in Alfama",
                    "tags": [],
                },
                {"note": "M99", "context": "invented", "tags": ["x"]},
                {
                    "note": "M1" if bakery != "M1" else "M2",
                    "context": "She is secretly the queen of France",
                    "tags": [],
                },
            ],
            "conflicts": [{"pair": "C9", "decision": "supersede", "text": "", "reason": "invented"}],
        }

    bench = make_bench(llm=ScriptedLLM(at_stage("notes", [{"links": [], "evolved": [], "conflicts": []}, notes])))
    tell(bench, TOLD, "one")
    before = {note.id: note for note in bench.notes(user_id="mara")}
    tell(bench, LATER, "two", 2)
    after = {note.id: note for note in bench.notes(user_id="mara")}
    changed = [
        key for key, note in before.items() if (note.context, note.tags) != (after[key].context, after[key].tags)
    ]
    assert len(changed) == 1
    assert "bakes" in before[changed[0]].content
    assert "second bakery" in after[changed[0]].context
    assert all(after[key].tags == note.tags for key, note in before.items())  # an empty list wipes nothing
    assert all(after[key].content == note.content for key, note in before.items())
    assert any(link.type == "continues" and link.reason == "the same bakery" for link in after[changed[0]].links)
    history = bench.memory.history(changed[0], user_id="mara")
    assert len(history) >= 2
    receipt = receipts(bench, "distill")[-1]
    assert receipt["counts"]["llm_dropped_unknown_id"] == 5
    assert receipt["counts"]["llm_dropped_evolution"] == 1
    hit = bench.memory.recall("second bakery Alfama", user_id="mara", touch=False)
    assert any(each.note is not None and each.note.id == changed[0] for each in hit)  # its new vector is searched


def test_evolution_leaves_what_a_person_edited(make_bench: Make) -> None:
    def notes(request: Any) -> dict[str, Any]:
        aliases = [alias for alias in notes_of(request) if alias[0] == "M"]
        evolved = [
            {"note": alias, "context": "Lena opened a second bakery in Alfama", "tags": ["bread"]} for alias in aliases
        ]
        return {"links": [], "evolved": evolved, "conflicts": []}

    bench = make_bench(llm=ScriptedLLM(at_stage("notes", [{"links": [], "evolved": [], "conflicts": []}, notes])))
    tell(bench, TOLD, "one")
    mine = next(note for note in bench.notes(user_id="mara") if "bakes" in note.content)
    bench.memory.update(mine.id, user_id="mara", context="my own words")
    tell(bench, LATER, "two", 2)
    after = bench.memory.get(mine.id, user_id="mara")
    assert after.context == "my own words"
    assert after.tags == ("bread",)


def ruling(decision: str, text: str = "", reason: str = "the same flat") -> Callable[[Any], dict[str, Any]]:
    def notes(request: Any) -> dict[str, Any]:
        pairs = [{"pair": "C1", "decision": decision, "text": text, "reason": reason}] if "C1:" in request.text else []
        return {"links": [], "evolved": [], "conflicts": pairs}

    return notes


HOMES = (["I live in Porto.", "I like rain."], ["I live in Lisbon.", "I like sun."])


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize(
    ("decision", "text", "reason"),
    [("supersede", "", "moved"), ("merge", "Mara owns nine castles.", "lies"), ("keep", "", "")],
)
def test_a_slot_has_one_value_whatever_the_order(
    make_bench: Make, first: int, decision: str, text: str, reason: str
) -> None:
    """The later said wins, also when it arrives first; an invented merge and a groundless keep change nothing."""
    bench = make_bench(llm=ScriptedLLM(at_stage("notes", [ruling(decision, text, reason)])))
    for place in (first, 1 - first):
        tell(bench, list(HOMES[place]), f"s{place}", 1 + place)
    current = [note for note in bench.notes(user_id="mara") if note.slot and note.slot.attribute == "lives_in"]
    assert [note.slot.value for note in current] == ["lisbon"]
    every = bench.notes(user_id="mara", all_states=True)
    old = next(note for note in every if note.slot and note.slot.value == "porto")
    assert old.state == "superseded"
    assert old.valid_to == current[0].valid_from


def test_a_merged_note_takes_the_place_of_both(make_bench: Make) -> None:
    text = "I live in Lisbon, before I live in Porto"
    bench = make_bench(llm=ScriptedLLM(at_stage("notes", [ruling("merge", text)])))
    for place in (0, 1):
        tell(bench, list(HOMES[place]), f"s{place}", 1 + place)
    [note] = [note for note in bench.notes(user_id="mara") if "Lisbon" in note.content]
    assert note.content == f"Mara: {text}"
    assert len(note.evidence) == 2
    assert note.weight == pytest.approx(1.0)
    assert note.slot is not None
    assert note.slot.value == "lisbon"
    every = bench.notes(user_id="mara", all_states=True)
    old = next(each for each in every if each.content == "Mara: I live in Porto.")
    assert (old.state, old.superseded_by, old.valid_to) == ("superseded", note.id, note.valid_from)
    undone = bench.rows("SELECT id FROM operations WHERE verb = 'distill' ORDER BY seq")[-1]["id"]
    bench.memory.undo(undone, user_id="mara", cascade=True)
    assert bench.memory.get(old.id, user_id="mara").state == "current"


def test_keep_needs_a_reason(make_bench: Make) -> None:
    bench = make_bench(llm=ScriptedLLM(at_stage("notes", [ruling("keep", "", "one is the summer house")])))
    for place in (0, 1):
        tell(bench, list(HOMES[place]), f"s{place}", 1 + place)
    current = [
        note.slot.value for note in bench.notes(user_id="mara") if note.slot and note.slot.attribute == "lives_in"
    ]
    assert sorted(current) == ["lisbon", "porto"]


def test_another_thing_is_not_superseded_on_the_models_word(make_bench: Make) -> None:
    def notes(request: Any) -> dict[str, Any]:
        pairs = [{"pair": f"C{n}", "decision": "supersede", "text": "", "reason": "I say so"} for n in range(1, 6)]
        return {"links": [], "evolved": [], "conflicts": pairs}

    bench = make_bench(llm=ScriptedLLM(at_stage("notes", [notes])))
    tell(bench, ["Tom works at Acme.", "I like rain."], "one")
    tell(bench, ["Tom audits Beta.", "I like sun."], "two", 2)
    assert all(note.state == "current" for note in bench.notes(user_id="mara", all_states=True))


# faults ---------------------------------------------------------------------------------------------------------------


def test_an_outage_leaves_the_job_queued_and_recall_working(make_bench: Make) -> None:
    down = LLMUnavailableError("down", retry_after=120)
    llm = ScriptedLLM([down, down, down, down, down])
    bench = make_bench(llm=llm, job_backoff_seconds=1.0)
    bench.memory.add([{"role": "user", "content": text} for text in TOLD], user_id="mara")
    bench.memory.end_session(user_id="mara")
    bench.memory.flush()
    [job] = bench.rows("SELECT * FROM jobs")
    assert (job["kind"], job["state"], job["attempts"]) == ("page", "queued", 1)
    assert job["run_after"] - int(bench.clock.now().timestamp() * 1e6) == 120_000_000  # as the model asked
    hits = bench.memory.recall("Where does Lena bake bread?", user_id="mara")
    assert "Lena" in hits[0].text
    bench.memory.flush()
    assert len(llm.requests) == 1


def test_it_fails_visibly_after_its_attempts_and_can_be_retried(make_bench: Make) -> None:
    answers: list[Any] = ["I cannot answer that."] * 3 + [LLMRefusedError("no")] * 2
    llm = ScriptedLLM(lambda request: answers.pop(0) if answers else sensible(request))
    bench = make_bench(llm=llm)
    bench.memory.add([{"role": "user", "content": text} for text in TOLD], user_id="mara")
    bench.memory.end_session(user_id="mara")
    for _ in range(8):
        bench.memory.flush()
        bench.clock.advance(hours=1)
    stats = bench.memory.stats()
    assert stats["jobs"]["failed"] == 1
    assert "LLMRefusedError" in stats["errors"][0]["error"]
    assert bench.rows("SELECT state FROM pages") == [{"state": "warm"}]
    assert bench.rows("SELECT count(*) AS n FROM notes") == [{"n": 0}]
    assert [call["outcome"] for call in calls(bench)] == ["unreadable"] * 3
    assert bench.memory.retry_failed() == 1
    bench.distil(user_id="mara")
    assert len(bench.notes(user_id="mara")) == 5


def test_offline_completion_only_by_setting_recorded_and_redoable(make_bench: Make) -> None:
    answers: list[Any] = ["prose"] * 5
    llm = ScriptedLLM(lambda request: answers.pop(0) if answers else sensible(request))
    bench = make_bench(llm=llm, llm_fallback="offline")
    bench.memory.add([{"role": "user", "content": text} for text in TOLD], user_id="mara")
    bench.memory.end_session(user_id="mara")
    for _ in range(5):
        bench.memory.flush()
        bench.clock.advance(hours=1)
    [receipt] = receipts(bench, "page")
    assert receipt["versions"] == {"fallback": "LLMUnreadableError"}
    assert receipt["counts"]["llm_fallback"] == 1
    bench.distil(user_id="mara")
    assert {decision["versions"]["extraction"] for decision in bench.decisions()} == {"offline"}
    made = bench.rows("SELECT id FROM operations WHERE verb = 'distill'")[0]["id"]
    bench.memory.undo(made, user_id="mara")
    bench.memory.distil(user_id="mara")
    bench.memory.flush()
    again = [decision for decision in bench.decisions() if decision["operation"] != made]
    assert {decision["versions"]["model"] for decision in again} == {"fake:scripted"}
    assert all("told" in note.tags for note in bench.notes(user_id="mara"))


def test_a_model_that_failed_often_is_given_a_rest(make_bench: Make) -> None:
    llm = ScriptedLLM(lambda request: LLMUnavailableError("down"))
    bench = make_bench(llm=llm, job_backoff_seconds=0.0)
    bench.memory.add([{"role": "user", "content": text} for text in TOLD], user_id="mara")
    bench.memory.end_session(user_id="mara")
    for _ in range(6):
        bench.memory.flush()
    assert len(llm.requests) == 3  # then it is not even asked, and no attempt is counted
    [job] = bench.rows("SELECT * FROM jobs")
    assert (job["state"], job["attempts"]) == ("queued", 3)


def test_the_budget_of_a_day(make_bench: Make) -> None:
    llm = ScriptedLLM(sensible)
    bench = make_bench(llm=llm, llm_tokens_a_day=10, clock=SetClock(datetime(2026, 6, 1, 23, 0, tzinfo=UTC)))
    for session in ("one", "two"):
        bench.memory.add([{"role": "user", "content": text} for text in TOLD], user_id="mara", session_id=session)
        bench.memory.end_session(user_id="mara", session_id=session)
    bench.memory.flush()
    assert len(llm.requests) == 1  # the first call used it up
    job = bench.rows("SELECT * FROM jobs")[0]
    assert (job["state"], job["attempts"]) == ("queued", 0)
    assert job["run_after"] == int(datetime(2026, 6, 2, tzinfo=UTC).timestamp() * 1e6)
    bench.clock.advance(hours=2)
    bench.memory.flush()
    assert len(llm.requests) == 2


def test_a_warning_at_four_fifths_of_the_budget(make_bench: Make, caplog: pytest.LogCaptureFixture) -> None:
    bench = make_bench(llm=ScriptedLLM(sensible))
    tell(bench, TOLD, "one")
    used = sum(call["input_tokens"] + call["output_tokens"] for call in calls(bench))
    bench.reopen(llm=ScriptedLLM(sensible), llm_tokens_a_day=int(used / 0.85))
    with caplog.at_level("WARNING", "memstrata"):
        bench.memory.add([{"role": "user", "content": text} for text in LATER], user_id="mara", session_id="two")
        bench.memory.end_session(user_id="mara", session_id="two")
        bench.memory.flush()
    assert "85 % of the language model's budget" in caplog.text


def test_answers_are_redacted_again(make_bench: Make) -> None:
    secret = "sk-proj-" + "a1B2c3D4" * 6

    def page(request: Any) -> dict[str, Any]:
        answer = page_answer(request)
        answer["notes"][0]["context"] = f"the key is {secret}"
        answer["summary"] += f" {secret}"
        return answer

    bench = make_bench(llm=ScriptedLLM(at_stage("page", [page])))
    tell(bench, TOLD, "one")
    assert all(secret.encode() not in data for data in bench.files().values())


def test_remember_makes_one_call_when_something_is_near(make_bench: Make) -> None:
    llm = ScriptedLLM(sensible)
    bench = make_bench(llm=llm)
    bench.memory.remember("Lena bakes bread in Alfama.", user_id="mara")
    assert llm.requests == []  # nothing is near it
    receipt = bench.memory.remember("Lena sells bread in Alfama.", user_id="mara")
    assert [request.stage for request in llm.requests] == ["notes"]
    assert receipt.counts["llm_calls"] == 1
    assert receipt.versions["notes_prompt"].startswith("notes.full 1 ")
    [_, second] = bench.notes(user_id="mara")
    assert any(link.type == "continues" for link in second.links)


def test_answers_wait_for_their_commit_and_are_gone_after_it(make_bench: Make) -> None:
    bench = make_bench(llm=ScriptedLLM(sensible))
    tell(bench, TOLD, "one")
    assert {call["answer"] for call in calls(bench)} == {None}


def test_without_a_model_nothing_is_asked(make_bench: Make) -> None:
    bench = make_bench()
    tell(bench, TOLD, "one")
    assert calls(bench) == []
    assert {decision["versions"]["extraction"] for decision in bench.decisions()} == {"offline"}


@pytest.mark.parametrize(
    "texts",
    [
        ["先月、大阪から札幌に引っ越しました。", "猫を二匹飼っています。"],
        ["我在上海的一家设计公司工作。", "我喜欢喝绿茶。"],
    ],
)
def test_other_languages(make_bench: Make, texts: list[str]) -> None:
    bench = make_bench(llm=ScriptedLLM(sensible))
    tell(bench, texts, "one")
    assert sorted(note.content for note in bench.notes(user_id="mara")) == sorted(f"Mara: {text}" for text in texts)
