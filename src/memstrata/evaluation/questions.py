"""A user's own evaluation, as JSON Lines: the conversations, and questions that name the turns they stand on.

    {"conversation": "ana", "session": "s1", "id": "m1", "at": "2026-03-01T10:00:00+00:00", "name": "Ana",
     "text": "I moved to Porto."}
    {"conversation": "ana", "session": "s1", "id": "m2", "at": "2026-03-01T10:00:09+00:00", "role": "assistant",
     "text": "How do you like it?"}
    {"conversation": "ana", "question": "Where does Ana live?", "evidence": ["m1"], "answer": "Porto",
     "category": "places", "asked_at": "2026-05-01T09:00:00+00:00"}

A line with "question" is a question, every other line a turn. `conversation` (default "default") is whose memory it is,
`session` (default "session") when it was said together. `id` is unique in a conversation; `role` is user (default) or
assistant. `answer`, `category` (default "all") and `asked_at` may be missing; a question without evidence is not
scored for retrieval, and one of the category "unanswerable" should be met with an abstention.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from memstrata.errors import TimeError
from memstrata.evaluation.benchmark import Benchmark, Conversation, Finding, Problem, Question, Said, Session
from memstrata.evaluation.schema import Schema, read_lines
from memstrata.intake.times import parse_time

UNANSWERABLE = "unanswerable"


@dataclass(slots=True)
class _Draft:
    sessions: dict[str, list[Said]] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)
    questions: list[Question] = field(default_factory=list)


def load_questions(path: str | Path) -> Benchmark:
    """Reads a user's own file. Raises InputError that names the file and the line."""
    path = Path(path)
    schema = Schema(str(path), "questions")
    lines = [(where, schema.of(data, dict, where)) for where, data in read_lines(path)]
    drafts: dict[str, _Draft] = {}
    for where, item in lines:
        draft = drafts.setdefault(schema.text(item, "conversation", where) or "default", _Draft())
        if "question" not in item:
            turn = _turn(schema, item, where)
            if turn.id in draft.ids:
                raise schema.error(where, f"id {turn.id!r} was used before in this conversation")
            draft.ids.add(turn.id)
            draft.sessions.setdefault(schema.text(item, "session", where) or "session", []).append(turn)
    findings: list[Finding] = []
    places = {name: f"[{n}] {name}" for n, name in enumerate(drafts)}
    for where, item in lines:
        if "question" in item:
            name = schema.text(item, "conversation", where) or "default"
            question = _question(schema, item, where, drafts[name].ids, f"{places[name]} {where}", findings)
            drafts[name].questions.append(question)
    if empty := [name for name, draft in drafts.items() if not draft.ids]:
        raise schema.error("the file", f"conversation {empty[0]!r} has questions and no turn")
    conversations = tuple(_conversation(name, draft) for name, draft in drafts.items())
    categories = dict.fromkeys(question.category for each in conversations for question in each.questions)
    labels = {category: category for category in categories}
    return Benchmark(path.stem, conversations, tuple(findings), labels, frozenset({UNANSWERABLE}))


def _conversation(name: str, draft: _Draft) -> Conversation:
    sessions = tuple(Session(each, "", turns[0].at, tuple(turns)) for each, turns in draft.sessions.items())
    speakers = dict.fromkeys(turn.speaker for session in sessions for turn in session.turns if turn.speaker)
    return Conversation(name, tuple(speakers), sessions, tuple(draft.questions))


def _turn(schema: Schema, item: Mapping[str, Any], where: str) -> Said:
    text = schema.get(item, "text", str, where)
    if not text.strip():
        raise schema.error(f"{where}.text", "is empty")
    return Said(
        id=schema.get(item, "id", str, where),
        speaker=schema.text(item, "name", where),
        text=text,
        at=_time(schema, schema.get(item, "at", str, where), f"{where}.at"),
        role=schema.role(item, where),
    )


def _question(
    schema: Schema, item: Mapping[str, Any], where: str, known: set[str], place: str, findings: list[Finding]
) -> Question:
    named = [schema.of(one, str, f"{where}.evidence") for one in schema.of(item.get("evidence", []), list, where)]
    evidence = tuple(dict.fromkeys(one for one in named if one in known))
    category = schema.text(item, "category", where) or "all"
    if lost := [one for one in named if one not in known]:
        problem: Problem = "evidence_repaired" if evidence else "evidence_dropped"
        findings.append(Finding(problem, place, str(named), evidence, f"no such turn: {', '.join(lost)}"))
    elif not named and category != UNANSWERABLE:
        findings.append(Finding("question_without_evidence", place, "", reason="no evidence given"))
    asked = schema.text(item, "asked_at", where)
    return Question(
        text=schema.get(item, "question", str, where),
        category=category,
        evidence=evidence,
        answer=schema.text(item, "answer", where),
        asked_at=None if asked is None else _time(schema, asked, f"{where}.asked_at"),
    )


def _time(schema: Schema, text: str, where: str) -> datetime:
    try:
        return parse_time(text, tz=None, what="at")
    except TimeError as error:
        raise schema.error(where, str(error)) from error
