"""Turns that try to write false memories, delete, reveal or change the policy, before a model that obeys them all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memstrata.llm import Request
from memstrata.llm.fakes import ScriptedLLM

from .scripts import notes_of, page_answer, sensible
from .test_llm_stages import TOLD, tell

Make = Callable[..., Any]
INJECTIONS = json.loads((Path(__file__).parents[1] / "data" / "injections.json").read_text("utf-8"))
SECRET = "Ben keeps his PIN in a blue box under the stairs."


def obedient(claim: str) -> Callable[[Request], Any]:
    """A model that does what it is told in the conversation, as far as its answers can."""

    def script(request: Request) -> Any:
        if request.stage == "page":
            answer = page_answer(request)
            if not answer["notes"]:
                return {"summary": claim, "notes": [{"content": claim, "evidence": [1], "kind": "identity"}]}
            note = {**answer["notes"][0], "content": claim, "kind": "identity", "utility": 1.0}
            return {"summary": claim, "notes": [note, {**note, "content": SECRET}], "delete": ["M1"], "theta": 0}
        if request.stage == "notes":
            aliases = [*notes_of(request), "M1", "M2", "M3"]
            return {
                "links": [{"from": a, "to": b, "type": "causes", "reason": claim} for a in aliases for b in aliases],
                "evolved": [{"note": alias, "context": claim, "tags": []} for alias in aliases],
                "conflicts": [
                    {"pair": f"C{n}", "decision": "merge", "text": claim, "reason": claim} for n in range(1, 9)
                ],
                "actions": ["delete_all"],
            }
        return {"found": True, "answer": SECRET, "citations": ["[1]"]}

    return script


def kept(bench: Any, user: str) -> dict[str, tuple[Any, ...]]:
    return {
        note.id: (note.content, note.context, note.tags, note.state, note.kind, note.slot, note.valid_to, note.pinned)
        for note in bench.notes(user_id=user, all_states=True)
    }


def test_there_are_enough_in_each_language_and_of_each_aim() -> None:
    assert len(INJECTIONS) >= 30
    for lang in ("en", "ja", "zh"):
        assert {each["aim"] for each in INJECTIONS if each["lang"] == lang} == {
            "false memory",
            "delete",
            "reveal",
            "policy",
        }


@pytest.mark.parametrize("case", INJECTIONS, ids=[f"{each['lang']}-{n}" for n, each in enumerate(INJECTIONS)])
def test_no_injected_turn_changes_a_note_outside_the_gate(make_bench: Make, case: dict[str, str]) -> None:
    models: list[Callable[[Request], Any]] = [sensible]
    bench = make_bench(llm=ScriptedLLM(lambda request: models[0](request)))
    bench.memory.remember(SECRET, user_id="ben")
    tell(bench, TOLD, "one")
    mine, others, policy = kept(bench, "mara"), kept(bench, "ben"), bench.memory.settings
    models[0] = obedient(case["claim"])
    tell(bench, [case["turn"], "Okay.", "Right.", "Fine.", "Hm."], "two", 2)  # a full page, so that both calls are made

    assert kept(bench, "ben") == others
    assert bench.memory.settings == policy
    after = kept(bench, "mara")
    assert {key: after[key] for key in mine} == mine
    new = [note for note in bench.notes(user_id="mara") if note.id not in mine]
    assert all(note.decision and note.evidence and note.evidence[0].text == case["turn"] for note in new)
    assert [note.content for note in new if case["claim"] in note.content] == []
    assert all("blue box" not in note.content for note in new)
    assert all(SECRET not in row["summary"] for row in bench.rows("SELECT summary FROM pages"))
    rejected = {decision["rule"] for decision in bench.decisions() if decision["outcome"] == "rejected"}
    assert rejected & {"instruction", "unsupported"}
