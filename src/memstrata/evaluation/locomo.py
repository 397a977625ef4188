"""The LoCoMo schema: long conversations of many dated sessions, with questions that name their evidence turns.

A file is a JSON list of conversations. `conversation` holds `speaker_a`, `speaker_b`, `session_N` (turns with
`speaker`, `dia_id`, `text`, and sometimes `img_url` and `blip_caption`) and `session_N_date_time`; `qa` holds
`question`, `answer` or `adversarial_answer`, `evidence` (turn ids) and `category`. A file of another schema is an
`InputError` that names the file and the place. Dirt in the labels is not: it is repaired or dropped, and each such
`Finding` is kept so that a report can say so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memstrata.evaluation.benchmark import TURN_GAP, Benchmark, Conversation, Finding, Problem, Question, Said, Session
from memstrata.evaluation.evidence import EvidenceReader
from memstrata.evaluation.schema import Schema, read_json

CATEGORIES: Mapping[str, str] = {
    "1": "multi-hop",
    "2": "temporal",
    "3": "open-domain",
    "4": "single-hop",
    "5": "adversarial",
}
ADVERSARIAL = frozenset({"5"})  # questions whose answer the conversation does not hold

_DATE_FORMAT = "%I:%M %p on %d %B, %Y"  # "1:56 pm on 8 May, 2023"
_SESSION_KEY = re.compile(r"session_(\d+)(_date_time)?")


def load_locomo(path: str | Path) -> Benchmark:
    """Reads a file of the LoCoMo schema.

    Raises InputError, naming the file and the place, for a file that cannot be read or is of another schema.
    """
    path = Path(path)
    return read_locomo(read_json(path), str(path))


def read_locomo(data: object, name: str) -> Benchmark:
    """Reads what a file of the LoCoMo schema holds; `name` is what errors call it."""
    return _Reader(Schema(name, "LoCoMo")).file(data)


def parse_session_date(text: str) -> datetime:
    """The time a session began, in UTC; ValueError when it is not written as "1:56 pm on 8 May, 2023"."""
    return datetime.strptime(" ".join(text.split()), _DATE_FORMAT).replace(tzinfo=UTC)


@dataclass(slots=True)
class _Reader:
    """One pass over a file; `where` is the path of keys to what is being read, for errors and findings."""

    schema: Schema
    findings: list[Finding] = field(default_factory=list)

    def file(self, data: object) -> Benchmark:
        items = self.schema.of(data, list, "the file")
        conversations = tuple(self._conversation(item, f"[{index}]", index) for index, item in enumerate(items))
        ids = Counter(conversation.id for conversation in conversations)
        if repeated := [name for name, count in ids.items() if count > 1]:
            raise self.schema.error("the file", f"two conversations have the sample_id {repeated[0]!r}")
        return Benchmark("LoCoMo", conversations, tuple(self.findings), CATEGORIES, ADVERSARIAL)

    def _conversation(self, data: object, where: str, index: int) -> Conversation:
        item = self.schema.of(data, dict, where)
        name = self.schema.text(item, "sample_id", where) or f"conversation-{index}"
        body = self.schema.get(item, "conversation", dict, where)
        where = f"{where} {name}"
        sessions = self._sessions(body, f"{where}.conversation")
        evidence = EvidenceReader(turn.id for session in sessions for turn in session.turns)
        questions = self.schema.of(item.get("qa", []), list, f"{where}.qa")
        return Conversation(
            id=name,
            speakers=(
                self.schema.get(body, "speaker_a", str, f"{where}.conversation"),
                self.schema.get(body, "speaker_b", str, f"{where}.conversation"),
            ),
            sessions=sessions,
            questions=tuple(self._question(q, f"{where}.qa[{i}]", evidence) for i, q in enumerate(questions)),
        )

    def _sessions(self, body: Mapping[str, Any], where: str) -> tuple[Session, ...]:
        numbers = sorted({int(match[1]) for key in body if (match := _SESSION_KEY.fullmatch(key))})
        seen: set[str] = set()
        sessions = []
        for number in numbers:
            key = f"session_{number}"
            turns = self.schema.of(body.get(key, []), list, f"{where}.{key}")
            if not turns:
                self._found("empty_session", f"{where}.{key}", key, reason="a date or a session without turns")
                continue
            date = self.schema.get(body, f"{key}_date_time", str, where)
            try:
                at = parse_session_date(date)
            except ValueError as error:
                message = f'{date!r} is not written as "1:56 pm on 8 May, 2023"'
                raise self.schema.error(f"{where}.{key}_date_time", message) from error
            sessions.append(Session(key, date, at, self._turns(turns, at, f"{where}.{key}", seen)))
        return tuple(sessions)

    def _turns(self, data: Sequence[object], at: datetime, where: str, seen: set[str]) -> tuple[Said, ...]:
        turns = []
        for index, item in enumerate(data):
            turn = self._turn(item, at + index * TURN_GAP, f"{where}[{index}]")
            if turn.id in seen:
                self._found("turn_dropped", f"{where}[{index}]", turn.id, reason="its id was used before")
            elif not (turn.text.strip() or turn.caption):
                self._found("turn_dropped", f"{where}[{index}]", turn.id, reason="neither text nor caption")
            else:
                seen.add(turn.id)
                turns.append(turn)
        return tuple(turns)

    def _turn(self, data: object, at: datetime, where: str) -> Said:
        item = self.schema.of(data, dict, where)
        images = item.get("img_url") or []
        images = [images] if isinstance(images, str) else self.schema.of(images, list, f"{where}.img_url")
        return Said(
            id=self.schema.get(item, "dia_id", str, where),
            speaker=self.schema.get(item, "speaker", str, where),
            text=self.schema.get(item, "text", str, where),
            at=at,
            caption=(self.schema.text(item, "blip_caption", where) or "").strip(),
            images=tuple(self.schema.of(url, str, f"{where}.img_url") for url in images),
        )

    def _question(self, data: object, where: str, evidence: EvidenceReader) -> Question:
        item = self.schema.of(data, dict, where)
        category = str(self.schema.get(item, "category", int, where))
        if category not in CATEGORIES:
            raise self.schema.error(f"{where}.category", f"{category} is none of {', '.join(CATEGORIES)}")
        labels = item.get("evidence") or []
        turns: list[str] = []
        for label in labels if isinstance(labels, list) else [labels]:
            read = evidence.read(label)
            if read.reason:
                problem: Problem = "evidence_repaired" if read.turns else "evidence_dropped"
                self._found(problem, where, str(label), read.turns, read.reason)
            turns += read.turns
        if not labels:
            self._found("question_without_evidence", where, "", reason="no evidence given")
        return Question(
            text=self.schema.get(item, "question", str, where),
            category=category,
            evidence=tuple(dict.fromkeys(turns)),
            answer=self.schema.text(item, "answer", where),
            trap=self.schema.text(item, "adversarial_answer", where),
        )

    def _found(self, problem: Problem, where: str, found: str, kept: tuple[str, ...] = (), reason: str = "") -> None:
        self.findings.append(Finding(problem, where, found, kept, reason))
