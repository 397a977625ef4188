"""What every benchmark comes to: conversations of dated sessions, and questions that name the turns they stand on.

The loaders (`locomo`, `beam`, `longmemeval`, `msc`, `questions`) read their files into these records; everything after
them, from the run to the report, knows only these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from memstrata.types import Role

TURN_GAP = timedelta(seconds=10)  # where a file dates sessions, not turns: a session's turns are this far apart
DEPTH = 20  # distinct turns that are ranked for a question, where the benchmark does not score further down

Problem = Literal["evidence_repaired", "evidence_dropped", "question_without_evidence", "empty_session", "turn_dropped"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something in the file that was not clean: where, what stood there, what was kept of it and why."""

    problem: Problem
    where: str
    found: str
    kept: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """One turn: who said what, when, and the image shown with it, if any."""

    id: str
    speaker: str | None
    text: str
    at: datetime
    caption: str = ""
    images: tuple[str, ...] = ()
    role: Role = "user"

    @property
    def said(self) -> str:
        """ "speaker: text [image caption]", the form the published baselines index."""
        return f"{self.speaker or self.role}: {self.text}" + (f" [{self.caption}]" if self.caption else "")

    def message(self) -> dict[str, Any]:
        """The turn as `Memory.add` takes it: a named speaker is a user with a name, the image is a content part."""
        content: str | list[dict[str, Any]] = self.text
        # Some captions come without an address: the reference then names the turn the image was shown with.
        images = self.images or ((f"locomo:{self.id}",) if self.caption else ())
        if images:
            parts: list[dict[str, Any]] = [{"type": "image_url", "image_url": {"url": url}} for url in images]
            if self.caption:
                parts[0]["caption"] = self.caption
            content = [{"type": "text", "text": self.text}, *parts] if self.text else parts
        message = {"role": self.role, "content": content, "at": self.at, "id": self.id}
        return message if self.speaker is None else {**message, "name": self.speaker}


@dataclass(frozen=True, slots=True)
class Session:
    """One session: its date as written ("" when the file has none) and as a time, its turns in order."""

    id: str
    date: str
    at: datetime
    turns: tuple[Said, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """One question. `evidence` holds ids of existing turns only; without any the question is not scored.

    `answer` is None where the file has none; `trap` is the wrong answer an adversarial question fishes for. `asked_at`
    is the asker's time, where the file gives one.
    """

    text: str
    category: str
    evidence: tuple[str, ...]
    answer: str | None = None
    trap: str | None = None
    asked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation with its questions; `statements` are what people wrote down of a turn, by the turn's id."""

    id: str
    speakers: tuple[str, ...]
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]
    statements: Mapping[str, str] = field(default_factory=dict)

    @property
    def turns(self) -> list[Said]:
        return [turn for session in self.sessions for turn in session.turns]

    @property
    def scored(self) -> list[Question]:
        """The questions with at least one valid evidence turn: those retrieval is scored on."""
        return [question for question in self.questions if question.evidence]

    @property
    def ends_at(self) -> datetime:
        """When its last turn was said."""
        return max(turn.at for turn in self.turns)

    def opening(self, count: int) -> Conversation:
        """Its first `count` turns, with the questions whose evidence was all said in them."""
        kept = {turn.id for turn in self.turns[:count]}
        sessions = tuple(
            replace(session, turns=turns)
            for session in self.sessions
            if (turns := tuple(turn for turn in session.turns if turn.id in kept))
        )
        questions = tuple(each for each in self.questions if each.evidence and kept.issuperset(each.evidence))
        statements = {turn: text for turn, text in self.statements.items() if turn in kept}
        return Conversation(self.id, self.speakers, sessions, questions, statements)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A loaded file, and everything the loader had to repair or drop.

    `categories` says what a category's name means, in the order of the tables. Questions of an `adversarial` category
    have no answer in their conversation. `depth` is how many distinct turns are ranked for a question.
    """

    name: str
    conversations: tuple[Conversation, ...]
    findings: tuple[Finding, ...] = ()
    categories: Mapping[str, str] = field(default_factory=dict)
    adversarial: frozenset[str] = frozenset()
    depth: int = DEPTH

    def first(self, count: int) -> Benchmark:
        """The first `count` conversations alone, with what was found in them."""
        places = tuple(f"[{n}]" for n in range(count))  # what the places of their findings begin with
        findings = tuple(finding for finding in self.findings if finding.where.startswith(places))
        kept = self.conversations[:count]
        return Benchmark(self.name, kept, findings, self.categories, self.adversarial, self.depth)

    def opening(self, count: int) -> Benchmark:
        """The first `count` turns of every conversation alone, where a whole one would take a model too long."""
        return replace(self, conversations=tuple(each.opening(count) for each in self.conversations))

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
