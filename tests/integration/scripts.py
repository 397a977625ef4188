"""Scripts for `ScriptedLLM`: what a sensible model answers, and what a bad one does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from memstrata.llm import Request

TURN = re.compile(r"^\[(\d+)\]( \(context\))? \d{4}-\d\d-\d\d ([^:]+): (.*)$", re.MULTILINE)
NOTE = re.compile(r"^([NM]\d+) \d{4}-\d\d-\d\d (\w+): (.*?)(?: \| context: (.*?))?(?: \| tags: (.*))?$", re.MULTILINE)
PAIR = re.compile(r"^(C\d+): (N\d+) against (M\d+)", re.MULTILINE)


def turns_of(request: Request) -> list[tuple[int, str, str]]:
    """The numbers, speakers and texts of the turns that may be cited."""
    return [(int(n), speaker, text) for n, context, speaker, text in TURN.findall(request.text) if not context]


def notes_of(request: Request) -> dict[str, str]:
    """The offered notes by alias."""
    return {alias: content for alias, _, content, _, _ in NOTE.findall(request.text)}


def page_answer(request: Request, **more: Any) -> dict[str, Any]:
    """A note for each turn, in its own words."""
    notes = [
        {
            "content": text,
            "evidence": [number],
            "kind": "fact",
            "context": "",
            "keywords": [],
            "tags": ["told"],
            "utility": 0.8,
            "when": None,
            "slot": None,
            **more,
        }
        for number, _, text in turns_of(request)
    ]
    summary = " ".join(f"{speaker}: {text}" for _, speaker, text in turns_of(request))
    return {"summary": " ".join(summary.split()[:40]), "notes": notes}


def notes_answer(request: Request) -> dict[str, Any]:
    """The first new note linked to the first known one, nothing evolved, each pair superseded."""
    notes = notes_of(request)
    links = [{"from": "N1", "to": "M1", "type": "continues", "reason": "told later"}] if "M1" in notes else []
    pairs = [
        {"pair": pair, "decision": "supersede", "text": "", "reason": "the newer one"}
        for pair, _, _ in PAIR.findall(request.text)
    ]
    return {"links": links, "evolved": [], "conflicts": pairs}


def sensible(request: Request) -> str:
    """What a good model answers at each stage."""
    if request.stage == "page":
        return json.dumps(page_answer(request), ensure_ascii=False)
    if request.stage == "notes":
        return json.dumps(notes_answer(request), ensure_ascii=False)
    return json.dumps({"found": False, "answer": "", "citations": []})


def at_stage(stage: str, answers: Sequence[Any]) -> Callable[[Request], Any]:
    """Sensible but for one stage, which gives these answers in turn, the last one from then on."""
    left = list(answers)

    def script(request: Request) -> Any:
        if request.stage != stage:
            return sensible(request)
        answer = left.pop(0) if len(left) > 1 else left[0]
        return answer(request) if callable(answer) else answer

    return script


def folding(text: str, notes: Sequence[str] | None = None) -> Callable[[Request], str]:
    """A model that folds all it is offered (or these notes) into a text, and says nothing else."""

    def answer(request: Request) -> str:
        if request.stage == "fold":
            offered = [line.split(" ", 1)[0] for line in request.text.split("\n") if line.startswith("M")]
            return json.dumps({"folds": [{"notes": notes or offered, "text": text}]}, ensure_ascii=False)
        return json.dumps({"summary": "", "notes": [], "links": [], "evolved": [], "conflicts": []})

    return answer
