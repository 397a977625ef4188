"""The BEAM schema: one folder a chat, with `chat.json` and `probing_questions/probing_questions.json`.

`chat.json` is a list of batches, each with `turns`: groups of messages with `id` (a number), `role`, `content` and
sometimes `time_anchor` ("March-15-2024"). A batch is a session. The questions lie by kind; `source_chat_ids`, a list or
an object of lists, name the messages that a question stands on. Questions of the kind "abstention" have no answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memstrata.errors import InputError
from memstrata.evaluation.benchmark import TURN_GAP, Benchmark, Conversation, Finding, Problem, Question, Said, Session
from memstrata.evaluation.schema import Schema, read_json

CATEGORIES = (
    "information_extraction",
    "multi_session_reasoning",
    "temporal_reasoning",
    "knowledge_update",
    "contradiction_resolution",
    "event_ordering",
    "preference_following",
    "instruction_following",
    "summarization",
    "abstention",
)
ADVERSARIAL = frozenset({"abstention"})

_DATE_FORMAT = "%B-%d-%Y"
_UNDATED = datetime(2024, 1, 1, tzinfo=UTC)  # a chat whose first batch has no anchor begins here
_ORDER_MARK = re.compile(r"\s*->->\s*[\w ,.-]*$")  # "->-> 1,1": where the generator placed the message, nobody said it


def load_beam(path: str | Path) -> Benchmark:
    """Reads every chat in a folder, or the one that the folder is. Raises InputError."""
    root = Path(path)
    folders = [root] if (root / "chat.json").is_file() else sorted(file.parent for file in root.glob("*/chat.json"))
    if not folders:
        raise InputError(f"{root}: no chat.json in it or in its folders; a folder of BEAM chats is needed")
    folders.sort(key=lambda folder: (len(folder.name), folder.name))  # 2 before 10
    findings: list[Finding] = []
    chats = tuple(_chat(folder, f"[{n}] {folder.name}", findings) for n, folder in enumerate(folders))
    labels = {name: name.replace("_", " ") for name in CATEGORIES}
    return Benchmark("BEAM", chats, tuple(findings), labels, ADVERSARIAL)


def _chat(folder: Path, where: str, findings: list[Finding]) -> Conversation:
    file = folder / "chat.json"
    schema = Schema(str(file), "BEAM")
    sessions: list[Session] = []
    at = _UNDATED
    for number, batch in enumerate(schema.of(read_json(file), list, "the file"), start=1):
        turns: list[Said] = []
        place = f"batch {number}"
        for group in schema.get(schema.of(batch, dict, place), "turns", list, place):
            for message in schema.of(group, list, f"{place}.turns"):
                item = schema.of(message, dict, f"{place}.turns")
                at = _time(schema, item, place) or at + TURN_GAP
                turns.append(_message(schema, item, place, at))
        if turns:
            sessions.append(Session(f"batch_{number}", "", turns[0].at, tuple(turns)))
    known = {turn.id for session in sessions for turn in session.turns}
    return Conversation(folder.name, ("user",), tuple(sessions), tuple(_questions(folder, where, known, findings)))


def _message(schema: Schema, item: Mapping[str, Any], where: str, at: datetime) -> Said:
    text = _ORDER_MARK.sub("", schema.get(item, "content", str, where))
    return Said(str(schema.get(item, "id", int, where)), None, text, at, role=schema.role(item, where))


def _time(schema: Schema, item: Mapping[str, Any], where: str) -> datetime | None:
    anchor = schema.text(item, "time_anchor", where)
    if anchor is None:
        return None
    try:
        return datetime.strptime(anchor, _DATE_FORMAT).replace(tzinfo=UTC)
    except ValueError as error:
        raise schema.error(f"{where}.time_anchor", f'{anchor!r} is not written as "March-15-2024"') from error


def _questions(folder: Path, where: str, known: set[str], findings: list[Finding]) -> Iterator[Question]:
    file = folder / "probing_questions" / "probing_questions.json"
    schema = Schema(str(file), "BEAM")
    for category, items in schema.of(read_json(file), dict, "the file").items():
        for number, data in enumerate(schema.of(items, list, category)):
            place = f"{where} {category}[{number}]"
            item = schema.of(data, dict, place)
            named = [str(one) for one in _flat(item.get("source_chat_ids"))]
            evidence = tuple(dict.fromkeys(one for one in named if one in known))
            if not named and category not in ADVERSARIAL:
                findings.append(Finding("question_without_evidence", place, "", reason="no evidence given"))
            elif len(evidence) < len(set(named)):
                lost = ", ".join(sorted(set(named) - known))
                problem: Problem = "evidence_repaired" if evidence else "evidence_dropped"
                findings.append(Finding(problem, place, str(named), evidence, f"no such message: {lost}"))
            yield Question(
                text=schema.get(item, "question", str, place),
                category=category,
                evidence=evidence,
                answer=next((item[key] for key in ("answer", "ideal_answer") if isinstance(item.get(key), str)), None),
            )


def _flat(value: object) -> Iterator[object]:
    """The ids in a list, in an object of lists, or alone."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _flat(one)
    elif value is not None:
        yield value
