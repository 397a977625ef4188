"""Answers from memory with citations, and what all calls cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from memstrata.errors import InputError, LLMUnavailableError, LLMUnreadableError, SettingsError
from memstrata.llm import Request
from memstrata.llm.base import Completion, Usage
from memstrata.llm.fakes import ScriptedLLM

from .scripts import at_stage, sensible
from .test_llm_stages import LATER, TOLD, calls, tell

Make = Callable[..., Any]


def answering(**answer: Any) -> ScriptedLLM:
    return ScriptedLLM(at_stage("ask", [json.dumps({"found": True, "answer": "", "citations": [], **answer})]))


def test_an_answer_with_its_citations(make_bench: Make) -> None:
    def ask(request: Any) -> str:
        line = next(line for line in request.text.splitlines() if "bakes bread" in line)
        mark = line[line.index("[") : line.index("]") + 1]
        return json.dumps({"found": True, "answer": "In Alfama.", "citations": [mark, "[77]"]})

    bench = make_bench(llm=ScriptedLLM(at_stage("ask", [ask])))
    tell(bench, TOLD, "one")
    before = {note.id: note.last_access for note in bench.notes(user_id="mara")}
    bench.clock.advance(days=3)
    answer = bench.memory.ask("Where does Lena bake bread?", user_id="mara")
    assert (answer.text, answer.found) == ("In Alfama.", True)
    [hit] = answer.citations.values()
    assert "bakes bread" in hit.text
    assert hit.evidence[0].text == TOLD[1]
    assert answer.counts["llm_dropped_citation"] == 1
    assert answer.versions["prompt"].startswith("ask.full 1 ")
    bench.memory.flush()
    after = {note.id: note.last_access for note in bench.notes(user_id="mara")}
    assert [key for key in after if after[key] != before[key]] == ([hit.note.id] if hit.note else [])


@pytest.mark.parametrize(
    "answer",
    [
        {"found": False, "answer": "In Alfama."},
        {"found": True, "answer": ""},
        {"found": True, "answer": "The treasure lies under the old oak.", "citations": ["[99]"]},
    ],
)
def test_not_in_memory(make_bench: Make, answer: dict[str, Any]) -> None:
    bench = make_bench(llm=answering(**answer))
    tell(bench, TOLD, "one")
    found = bench.memory.ask("Where is the treasure?", user_id="mara")
    assert (found.text, found.found, dict(found.citations)) == ("not in memory", False, {})


def test_nothing_stored_asks_nobody(make_bench: Make) -> None:
    llm = answering(answer="x")
    bench = make_bench(llm=llm)
    assert bench.memory.ask("Anything?", user_id="nobody").text == "not in memory"
    assert llm.requests == []


def test_an_answer_from_the_last_turns_needs_no_mark(make_bench: Make) -> None:
    bench = make_bench(llm=answering(answer="Momo the cat"))
    bench.memory.add([{"role": "user", "content": "My cat is called Momo."}], user_id="mara", session_id="now")
    assert bench.memory.ask("Who is Momo?", user_id="mara", session_id="now").found


def test_ask_never_makes_up_an_answer(make_bench: Make) -> None:
    with pytest.raises(SettingsError, match="llm"):
        make_bench().memory.ask("Anything?", user_id="mara")
    bench = make_bench(llm=ScriptedLLM(at_stage("ask", ["prose", LLMUnavailableError("down")])))
    tell(bench, TOLD, "one")
    with pytest.raises(LLMUnreadableError):
        bench.memory.ask("Where does Lena bake bread?", user_id="mara")
    with pytest.raises(LLMUnavailableError):
        bench.memory.ask("Where does Lena bake bread?", user_id="mara")
    assert [call["outcome"] for call in calls(bench) if call["stage"] == "ask"] == ["unreadable"]


def test_costs_by_stage_session_user_and_day(make_bench: Make) -> None:
    bench = make_bench(llm=ScriptedLLM(sensible))
    tell(bench, TOLD, "one")
    bench.clock.advance(days=1)
    tell(bench, LATER, "two", 2)
    bench.memory.ask("Where does Lena bake bread?", user_id="mara", touch=False)
    costs = bench.memory.cost()
    assert {line.group[0]: line.calls for line in costs.lines} == {"ask": 1, "notes": 2, "page": 2}
    assert costs.total.calls == 5
    assert costs.total.input_tokens == sum(call["input_tokens"] for call in calls(bench))
    assert costs.total.money == 0.0
    assert costs.calls_a_turn == pytest.approx(0.5)
    assert {line.group for line in bench.memory.cost(by=["user", "session"]).lines} == {
        ("mara", ""),
        ("mara", "one"),
        ("mara", "two"),
    }
    assert [line.group for line in bench.memory.cost(by=["day"]).lines] == [("2026-06-01",), ("2026-06-02",)]
    assert bench.memory.cost(user_id="someone").total.calls == 0
    stats = bench.memory.stats()["llm"]
    assert (stats["model"], stats["calls"], stats["calls_a_turn"]) == ("fake:scripted", 5, pytest.approx(0.5))
    assert {name: line["calls"] for name, line in stats["stages"].items()} == {"ask": 1, "notes": 2, "page": 2}
    assert sum(line["input_tokens"] for line in stats["stages"].values()) == costs.total.input_tokens
    for wrong in ("stage", [], ["owner"]):
        with pytest.raises(InputError, match="told apart"):
            bench.memory.cost(by=wrong)


def test_every_call_of_a_session_is_its_own_cost(make_bench: Make) -> None:
    """Cached tokens too; an answer's rewritten query belongs to who asked."""

    def script(request: Any) -> Completion:
        text = json.dumps({"words": ["bread"]}) if request.stage == "rewrite" else sensible(request)
        return Completion(text, Usage(100, 10, 40, 0.5))

    bench = make_bench(llm=Counted(script), rewrite=True)
    tell(bench, TOLD, "one")
    bench.memory.recall("Who bakes bread?", user_id="mara", session_id="now", touch=False)
    bench.memory.context("Who bakes bread?", user_id="mara", session_id="now", touch=False)
    bench.memory.ask("Who bakes bread?", user_id="mara", session_id="now", touch=False)
    lines = {line.group: line for line in bench.memory.cost(by=["session", "stage"]).lines}
    assert {group: line.calls for group, line in lines.items()} == {
        ("now", "ask"): 1,
        ("now", "rewrite"): 3,
        ("", "rewrite"): 1,  # of the recall by which the test lets the page cool
        ("one", "notes"): 1,
        ("one", "page"): 1,
    }
    rewrite = lines["now", "rewrite"]
    assert (rewrite.input_tokens, rewrite.output_tokens, rewrite.cached_tokens, rewrite.money) == (300, 30, 120, 1.5)
    [receipt] = [json.loads(row["receipt"]) for row in bench.rows("SELECT receipt FROM operations WHERE verb = 'page'")]
    assert (receipt["counts"]["llm_input_tokens"], receipt["counts"]["llm_cached_tokens"]) == (100, 40)
    assert receipt["counts"]["llm_microdollars"] == 500_000
    [seconds] = [call["seconds"] for call in bench.rows("SELECT seconds FROM calls WHERE stage = 'page'")]
    assert receipt["counts"]["llm_milliseconds"] == round(1000 * seconds)


class Counted(ScriptedLLM):
    """A model whose script tells the usage, too."""

    def __init__(self, script: Callable[[Request], Completion]) -> None:
        super().__init__([])
        self._completion = script

    async def complete(self, request: Request) -> Completion:
        return self._completion(request)


def test_erasing_takes_the_calls_along(make_bench: Make) -> None:
    bench = make_bench(llm=ScriptedLLM(sensible))
    tell(bench, TOLD, "one")
    assert bench.memory.erase(user_id="mara").counts["calls"] == 2
    assert calls(bench) == []


def test_the_table_of_costs(make_bench: Make) -> None:
    from memstrata.cli.app import app

    bench = make_bench(llm=ScriptedLLM(sensible))
    tell(bench, TOLD, "one")
    shown = CliRunner().invoke(app, ["cost", "--store", str(bench.path), "--by", "stage", "--by", "session"])
    assert shown.exit_code == 0, shown.output
    assert "0.40 calls" in shown.output
    assert "page" in shown.output
    as_json = CliRunner().invoke(app, ["cost", "--store", str(bench.path), "--json"])
    assert json.loads(as_json.output)["total"]["calls"] == 2


async def test_what_a_model_did_is_not_replayed(make_bench: Make) -> None:
    from memstrata.errors import ReplayError
    from memstrata.ledger.replay import replay
    from memstrata.store.sqlite import SqliteStore

    bench = make_bench(llm=ScriptedLLM(sensible))
    tell(bench, TOLD, "one")
    target = SqliteStore(":memory:")
    try:
        with pytest.raises(ReplayError, match="language model"):
            await replay(bench.memory._async._engine, target)
    finally:
        await target.close()
