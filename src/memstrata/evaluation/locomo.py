"""The LoCoMo schema: long conversations of many dated sessions, with questions that name their evidence turns.

A file is a JSON list of conversations. `conversation` holds `speaker_a`, `speaker_b`, `session_N` (turns with
`speaker`, `dia_id`, `text`, and sometimes `img_url` and `blip_caption`) and `session_N_date_time`; `qa` holds
`question`, `answer` or `adversarial_answer`, `evidence` (turn ids) and `category`. A file of another schema is an
`InputError` that names the file and the place. Dirt in the labels is not: it is repaired or dropped, and each such
`Finding` is kept so that a report can say so.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, TypeVar

from memstrata.errors import InputError
from memstrata.evaluation.evidence import EvidenceReader

CATEGORIES: Mapping[int, str] = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}
ADVERSARIAL = 5  # questions whose answer the conversation does not hold
TURN_GAP = timedelta(seconds=10)  # the schema dates sessions, not turns: a session's turns are this far apart

Problem = Literal["evidence_repaired", "evidence_dropped", "question_without_evidence", "empty_session", "turn_dropped"]

_DATE_FORMAT = "%I:%M %p on %d %B, %Y"  # "1:56 pm on 8 May, 2023"
_SESSION_KEY = re.compile(r"session_(\d+)(_date_time)?")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something in the file that was not clean: where, what stood there, what was kept of it and why."""

    problem: Problem
    where: str
    found: str
    kept: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class LocomoTurn:
    """One turn: who said what, when (see `TURN_GAP`), and the image shown with it, if any."""

    id: str
    speaker: str
    text: str
    at: datetime
    caption: str = ""
    images: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """ "speaker: text [image caption]", the form the published baselines index."""
        return f"{self.speaker}: {self.text}" + (f" [{self.caption}]" if self.caption else "")

    def message(self) -> dict[str, Any]:
        """The turn as `Memory.add` takes it: both speakers are users with a name, the image is a content part."""
        content: str | list[dict[str, Any]] = self.text
        # Some captions come without an address: the reference then names the turn the image was shown with.
        images = self.images or ((f"locomo:{self.id}",) if self.caption else ())
        if images:
            parts: list[dict[str, Any]] = [{"type": "image_url", "image_url": {"url": url}} for url in images]
            if self.caption:
                parts[0]["caption"] = self.caption
            content = [{"type": "text", "text": self.text}, *parts] if self.text else parts
        return {"role": "user", "name": self.speaker, "content": content, "at": self.at, "id": self.id}


@dataclass(frozen=True, slots=True)
class LocomoSession:
    """One session: its number, its date as written and as a time (UTC), its turns in order."""

    number: int
    date: str
    at: datetime
    turns: tuple[LocomoTurn, ...]

    @property
    def id(self) -> str:
        return f"session_{self.number}"


@dataclass(frozen=True, slots=True)
class LocomoQuestion:
    """One question. `evidence` holds ids of existing turns only; without any the question is not scored.

    `answer` is None where the file has none (most of category 5); `trap` is the wrong answer an adversarial question
    fishes for.
    """

    text: str
    category: int
    evidence: tuple[str, ...]
    answer: str | None = None
    trap: str | None = None


@dataclass(frozen=True, slots=True)
class LocomoConversation:
    """One conversation of two speakers, with its questions."""

    id: str
    speakers: tuple[str, str]
    sessions: tuple[LocomoSession, ...]
    questions: tuple[LocomoQuestion, ...]

    @property
    def turns(self) -> list[LocomoTurn]:
        return [turn for session in self.sessions for turn in session.turns]

    @property
    def scored(self) -> list[LocomoQuestion]:
        """The questions with at least one valid evidence turn: those retrieval is scored on."""
        return [question for question in self.questions if question.evidence]


@dataclass(frozen=True, slots=True)
class Locomo:
    """A loaded file, and everything the loader had to repair or drop."""

    conversations: tuple[LocomoConversation, ...]
    findings: tuple[Finding, ...]

    def first(self, count: int) -> Locomo:
        """The first `count` conversations alone, with what was found in them."""
        places = tuple(f"[{n}]" for n in range(count))  # what the places of their findings begin with
        findings = tuple(finding for finding in self.findings if finding.where.startswith(places))
        return Locomo(self.conversations[:count], findings)

    def counts(self) -> dict[str, int]:
        """How much of everything was read, and how many findings of each problem."""
        found = Counter(finding.problem for finding in self.findings)
        turns = [turn for conversation in self.conversations for turn in conversation.turns]
        return {
            "conversations": len(self.conversations),
            "sessions": sum(len(conversation.sessions) for conversation in self.conversations),
            "turns": len(turns),
            "captions": sum(bool(turn.caption) for turn in turns),
            "questions": sum(len(conversation.questions) for conversation in self.conversations),
            "scored": sum(len(conversation.scored) for conversation in self.conversations),
            "evidence_repaired": found["evidence_repaired"],
            "evidence_dropped": found["evidence_dropped"],
            "questions_without_evidence": found["question_without_evidence"],
            "empty_sessions": found["empty_session"],
            "turns_dropped": found["turn_dropped"],
        }


def load_locomo(path: str | Path) -> Locomo:
    """Reads a file of the LoCoMo schema.

    Raises InputError, naming the file and the place, for a file that cannot be read or is of another schema.
    """
    path = Path(path)
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, nested without end
        raise InputError(f"{path}: not a JSON file: {error}") from error
    return read_locomo(data, str(path))


def read_locomo(data: object, name: str) -> Locomo:
    """Reads what a file of the LoCoMo schema holds; `name` is what errors call it."""
    return _Reader(name).file(data)


def parse_session_date(text: str) -> datetime:
    """The time a session began, in UTC; ValueError when it is not written as "1:56 pm on 8 May, 2023"."""
    return datetime.strptime(" ".join(text.split()), _DATE_FORMAT).replace(tzinfo=UTC)


@dataclass(slots=True)
class _Reader:
    """One pass over a file; `where` is the path of keys to what is being read, for errors and findings."""

    path: str
    findings: list[Finding] = field(default_factory=list)

    def file(self, data: object) -> Locomo:
        items = self._as(data, list, "the file")
        conversations = tuple(self._conversation(item, f"[{index}]", index) for index, item in enumerate(items))
        ids = Counter(conversation.id for conversation in conversations)
        if repeated := [name for name, count in ids.items() if count > 1]:
            raise self._error("the file", f"two conversations have the sample_id {repeated[0]!r}")
        return Locomo(conversations, tuple(self.findings))

    def _conversation(self, data: object, where: str, index: int) -> LocomoConversation:
        item = self._as(data, dict, where)
        name = self._optional(item, "sample_id", where) or f"conversation-{index}"
        body = self._get(item, "conversation", dict, where)
        where = f"{where} {name}"
        sessions = self._sessions(body, f"{where}.conversation")
        evidence = EvidenceReader(turn.id for session in sessions for turn in session.turns)
        questions = self._as(item.get("qa", []), list, f"{where}.qa")
        return LocomoConversation(
            id=name,
            speakers=(
                self._get(body, "speaker_a", str, f"{where}.conversation"),
                self._get(body, "speaker_b", str, f"{where}.conversation"),
            ),
            sessions=sessions,
            questions=tuple(self._question(q, f"{where}.qa[{i}]", evidence) for i, q in enumerate(questions)),
        )

    def _sessions(self, body: Mapping[str, Any], where: str) -> tuple[LocomoSession, ...]:
        numbers = sorted({int(match[1]) for key in body if (match := _SESSION_KEY.fullmatch(key))})
        seen: set[str] = set()
        sessions = []
        for number in numbers:
            key = f"session_{number}"
            turns = self._as(body.get(key, []), list, f"{where}.{key}")
            if not turns:
                self._found("empty_session", f"{where}.{key}", key, reason="a date or a session without turns")
                continue
            date = self._get(body, f"{key}_date_time", str, where)
            try:
                at = parse_session_date(date)
            except ValueError as error:
                message = f'{date!r} is not written as "1:56 pm on 8 May, 2023"'
                raise self._error(f"{where}.{key}_date_time", message) from error
            sessions.append(LocomoSession(number, date, at, self._turns(turns, at, f"{where}.{key}", seen)))
        return tuple(sessions)

    def _turns(self, data: Sequence[object], at: datetime, where: str, seen: set[str]) -> tuple[LocomoTurn, ...]:
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

    def _turn(self, data: object, at: datetime, where: str) -> LocomoTurn:
        item = self._as(data, dict, where)
        images = item.get("img_url") or []
        images = [images] if isinstance(images, str) else self._as(images, list, f"{where}.img_url")
        return LocomoTurn(
            id=self._get(item, "dia_id", str, where),
            speaker=self._get(item, "speaker", str, where),
            text=self._get(item, "text", str, where),
            at=at,
            caption=(self._optional(item, "blip_caption", where) or "").strip(),
            images=tuple(self._as(url, str, f"{where}.img_url") for url in images),
        )

    def _question(self, data: object, where: str, evidence: EvidenceReader) -> LocomoQuestion:
        item = self._as(data, dict, where)
        category = self._get(item, "category", int, where)
        if category not in CATEGORIES:
            raise self._error(f"{where}.category", f"{category} is none of {', '.join(map(str, CATEGORIES))}")
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
        return LocomoQuestion(
            text=self._get(item, "question", str, where),
            category=category,
            evidence=tuple(dict.fromkeys(turns)),
            answer=self._optional(item, "answer", where),
            trap=self._optional(item, "adversarial_answer", where),
        )

    def _found(self, problem: Problem, where: str, found: str, kept: tuple[str, ...] = (), reason: str = "") -> None:
        self.findings.append(Finding(problem, where, found, kept, reason))

    def _optional(self, item: Mapping[str, Any], key: str, where: str) -> str | None:
        """A text that may be missing; numbers (some answers are years) become text."""
        value = item.get(key)
        if isinstance(value, bool) or not isinstance(value, str | int | float | None):
            raise self._error(f"{where}.{key}", f"expected text, found {type(value).__name__}")
        return None if value is None else str(value)

    def _get(self, item: Mapping[str, Any], key: str, kind: type[_T], where: str) -> _T:
        if key not in item:
            raise self._error(where, f"{key!r} is missing")
        return self._as(item[key], kind, f"{where}.{key}")

    def _as(self, value: object, kind: type[_T], where: str) -> _T:
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self._error(where, f"expected {_NAMES[kind]}, found {_NAMES.get(type(value), type(value).__name__)}")
        return value

    def _error(self, where: str, message: str) -> InputError:
        return InputError(f"{self.path}: {where}: {message}; a file of the LoCoMo schema is needed")


_NAMES: Mapping[type, str] = {dict: "an object", list: "a list", str: "text", int: "a whole number", type(None): "null"}
