"""What is evaluated: a memory under some settings, or plain retrieval over the turns; each a row of a table.

A `System` says which one, as plain data that can be written down and sent to another process; `MemoryRun` and `RagRun`
are one conversation under it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from memstrata.clock import SetClock
from memstrata.embed.base import Embedder
from memstrata.errors import MemstrataError
from memstrata.evaluation.benchmark import Conversation, Question, Session
from memstrata.evaluation.bm25 import BM25
from memstrata.evaluation.retrieval import distinct_turns
from memstrata.recall.request import MAX_K
from memstrata.recall.tokens import count_tokens
from memstrata.types import Context, ContextStrategy, Hit, Recall

FIRST_K, MOST_K = 2, 16  # hits asked for, in depths: notes and pages of one turn share it, so more hits than turns
ADMITTED = ("admitted", "admitted_superseding", "superseded_on_arrival")
ONE_SESSION = "all"
BETWEEN_K = 5  # hits of a question that is asked in between: all of them count as accessed
ASKED_AFTER = timedelta(hours=1)  # a question without a time of its own is asked so long after the last turn

Retriever = Literal["bm25", "dense", "hybrid"]
Between = Literal["nothing", "look", "touch"]


class EvaluatedMemory(Protocol):
    """What the run uses of `memstrata.Memory`."""

    def add(self, messages: list[dict[str, Any]], *, user_id: str, session_id: str) -> object: ...

    def end_session(self, *, user_id: str, session_id: str) -> object: ...

    def flush(self) -> Mapping[str, int]: ...

    def maintain(self) -> object: ...

    def recall(self, query: str, *, user_id: str, k: int, touch: bool) -> Recall: ...

    def context(
        self,
        query: str,
        *,
        user_id: str,
        session_id: str | None,
        max_tokens: int,
        strategy: ContextStrategy,
        touch: bool,
    ) -> Context: ...

    def stats(self, *, user_id: str) -> Mapping[str, Any]: ...


OpenMemory = Callable[[Path], AbstractContextManager[EvaluatedMemory]]


@dataclass(frozen=True, slots=True)
class System:
    """One row of a table.

    `retriever` None is a memory with `settings`, whose contexts are made by `strategy`; else plain retrieval over the
    turns. `ranks` is False for what recalls nothing: only its contexts are scored. `one_session`: the whole
    conversation is one session, as the baselines have it that know no other. `max_tokens` None: the run's budget of a
    context. `between` says what is done with every second question while the conversation goes on, see `replay`.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    strategy: ContextStrategy = "retrieval"
    retriever: Retriever | None = None
    ranks: bool = True
    one_session: bool = False
    max_tokens: int | None = None
    between: Between = "nothing"

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "settings": dict(self.settings),
            "strategy": self.strategy,
            "retriever": self.retriever,
            "ranks": self.ranks,
            "one_session": self.one_session,
            "max_tokens": self.max_tokens,
            "between": self.between,
        }


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of one question: the distinct turns that the hits stand on, in order; the seconds the recall took; the
    context for a model, its tokens, and the turns that it stands on."""

    ranking: tuple[str, ...]
    seconds: float
    context: str
    tokens: int
    in_context: frozenset[str]


@dataclass(frozen=True, slots=True)
class Ingest:
    """What taking the conversations in did and cost: seconds of wall time with all queued work done, bytes of the
    store's files after it is closed, counts of what came of the candidates, and what a language model was asked: calls,
    those whose answer could not be read, tokens."""

    turns: int
    seconds: float
    bytes: int
    pages: int = 0
    notes: int = 0
    admitted: int = 0
    rejected: int = 0
    duplicate: int = 0
    superseded: int = 0
    linked: int = 0
    evolved: int = 0
    llm_calls: int = 0
    llm_unreadable: int = 0
    llm_tokens_in: int = 0
    llm_tokens_out: int = 0

    def sized(self, size: int) -> Ingest:
        """The same, with the bytes that are known once the store is closed."""
        return replace(self, bytes=size)

    @classmethod
    def total(cls, parts: Sequence[Ingest]) -> Ingest:
        """The figures of several ingests together."""
        return cls(**{each.name: sum(getattr(part, each.name) for part in parts) for each in fields(cls)})

    @property
    def turns_per_second(self) -> float:
        return self.turns / self.seconds if self.seconds else 0.0

    @property
    def bytes_per_turn(self) -> float:
        return self.bytes / self.turns

    @property
    def calls_per_turn(self) -> float:
        return self.llm_calls / self.turns

    @property
    def tokens_per_turn(self) -> float:
        return (self.llm_tokens_in + self.llm_tokens_out) / self.turns


class SystemRun(Protocol):
    """One conversation under a system."""

    def take_in(self, advance: Callable[[], None]) -> None:
        """All of the conversation, with all queued work done; `advance` is called after each session.

        Raises MemstrataError when work is left undone.
        """
        ...

    def questions(self) -> list[Question]:
        """The questions that are asked at the end and scored."""
        ...

    def ask(self, question: Question, depth: int, max_tokens: int) -> Asked: ...


class MemoryRun:
    """A conversation in a memory, whose user is named by the conversation's id.

    Each session is added and ended, then queued work is done. With a `clock`, it stands at each session's time, upkeep
    runs after each session, and questions are asked after the last turn; else everything happens now.
    """

    def __init__(
        self, memory: EvaluatedMemory, conversation: Conversation, system: System, clock: SetClock | None = None
    ) -> None:
        self.memory = memory
        self.conversation = conversation
        self.system = system
        self.clock = clock

    def take_in(self, advance: Callable[[], None]) -> None:
        user = self.conversation.id
        for session in self.conversation.sessions:
            if self.clock is not None:
                self.clock.set(max(self.clock.now(), session.turns[-1].at))
            name = ONE_SESSION if self.system.one_session else session.id
            self.memory.add([turn.message() for turn in session.turns], user_id=user, session_id=name)
            if not self.system.one_session:
                self.memory.end_session(user_id=user, session_id=name)
            if self.clock is not None:
                self.memory.maintain()
            self._ask_between(session)
            advance()
        done = self.memory.flush()
        if done["failed"] or done["waiting"]:
            raise MemstrataError(
                f"{user}: {done['failed']} attempts of queued work failed and {done['waiting']} jobs wait: figures of "
                "a memory that is not ready would be wrong; the log names the error. Where a model's answer cannot be "
                "read: llm_fallback=offline with job_attempts=1 goes on without it, and counts it"
            )

    def questions(self) -> list[Question]:
        scored = self.conversation.scored
        return scored if self.system.between == "nothing" else scored[1::2]

    def _ask_between(self, session: Session) -> None:
        """Ask every second question once the newest of its evidence was said in this session."""
        if self.system.between == "nothing":
            return
        number = {turn.id: n for n, each in enumerate(self.conversation.sessions) for turn in each.turns}
        now = number[session.turns[0].id]
        for question in self.conversation.scored[::2]:
            if max(number[turn] for turn in question.evidence) == now:
                touch = self.system.between == "touch"
                self.memory.recall(question.text, user_id=self.conversation.id, k=BETWEEN_K, touch=touch)

    def ask(self, question: Question, depth: int, max_tokens: int) -> Asked:
        if self.clock is not None:
            self.clock.set(max(self.clock.now(), question.asked_at or self.conversation.ends_at + ASKED_AFTER))
        user = self.conversation.id
        started = time.perf_counter()
        ranking = recall_turns(self.memory, question.text, user, depth) if self.system.ranks else []
        seconds = time.perf_counter() - started
        context = self.memory.context(
            question.text,
            user_id=user,
            session_id=ONE_SESSION if self.system.one_session else None,
            max_tokens=self.system.max_tokens or max_tokens,
            strategy=self.system.strategy,
            touch=False,
        )
        standing = [turn.id for hit in context.citations.values() for turn in hit.evidence]
        standing += [turn.id for turn in context.turns]
        return Asked(tuple(ranking), seconds, context.text, context.tokens, frozenset(standing))

    def figures(self, seconds: float, size: int) -> Ingest:
        """The figures of the ingest, which took `seconds` and filled `size` bytes."""
        counted = self.memory.stats(user_id=self.conversation.id)
        outcomes: Mapping[str, int] = counted["decisions"]
        return Ingest(
            turns=len(self.conversation.turns),
            seconds=seconds,
            bytes=size,
            pages=counted["pages"],
            notes=counted["notes"],
            admitted=sum(outcomes.get(outcome, 0) for outcome in ADMITTED),
            rejected=outcomes.get("rejected", 0),
            duplicate=outcomes.get("duplicate", 0),
            superseded=outcomes.get("admitted_superseding", 0) + outcomes.get("superseded_on_arrival", 0),
            linked=counted["links"],
            evolved=counted["evolved"],
            llm_calls=counted["llm"]["calls"],
            llm_unreadable=counted["llm"]["unreadable"],
            llm_tokens_in=counted["llm"]["input_tokens"],
            llm_tokens_out=counted["llm"]["output_tokens"],
        )


class RagRun:
    """Plain retrieval over a conversation's turns, each as "date speaker: text [image caption]".

    "bm25" as in `bm25.BM25`, "dense" by cosine, "hybrid" the mean of both after each was divided by its highest score
    for the question (better than fusion by rank on the same data). The best turns fill the context.
    """

    def __init__(self, retriever: Retriever, conversation: Conversation, embedder: Embedder) -> None:
        self.retriever = retriever
        self.conversation = conversation
        self.embedder = embedder
        dated = [
            (session.date or session.at.date().isoformat(), turn)
            for session in conversation.sessions
            for turn in session.turns
        ]
        self._ids = [turn.id for _, turn in dated]
        self._texts = [f"{date} {turn.said}" for date, turn in dated]
        self._vectors = np.zeros((0, 0), dtype=np.float32)

    def take_in(self, advance: Callable[[], None]) -> None:
        self._index = BM25(self._texts)
        if self.retriever != "bm25":
            self._vectors = asyncio.run(self.embedder.embed(self._texts))
        for _ in self.conversation.sessions:
            advance()

    def questions(self) -> list[Question]:
        return self.conversation.scored

    def ask(self, question: Question, depth: int, max_tokens: int) -> Asked:
        started = time.perf_counter()
        scores = np.zeros(len(self._ids))
        if self.retriever != "dense":
            lexical = self._index.scores(question.text)
            scores += lexical / (lexical.max() or 1.0)
        if self.retriever != "bm25":
            vector = asyncio.run(self.embedder.embed([question.text], query=True))[0]
            dense = self._vectors @ vector
            scores += dense / (dense.max() or 1.0)
        order = [int(n) for n in np.argsort(-scores, kind="stable")[:depth] if scores[n] > 0]
        seconds = time.perf_counter() - started
        kept: list[int] = []
        used = 0
        for number in order:
            cost = count_tokens(self._texts[number]) + 1
            if used + cost <= max_tokens:
                kept.append(number)
                used += cost
        text = "\n".join(self._texts[number] for number in kept)
        ranking = tuple(self._ids[number] for number in order)
        return Asked(ranking, seconds, text, count_tokens(text), frozenset(self._ids[number] for number in kept))

    def figures(self, seconds: float) -> Ingest:
        """The figures of the ingest; bytes are those of the texts and vectors."""
        size = sum(len(text.encode()) for text in self._texts) + self._vectors.nbytes
        return Ingest(turns=len(self._ids), seconds=seconds, bytes=size)


def recall_turns(memory: EvaluatedMemory, query: str, user: str, depth: int) -> list[str]:
    """The first `depth` distinct turns that the hits of a query stand on, asking for more hits while they repeat.

    Fewer are returned when the memory has no more hits, or the most
    that are asked for stand on too few turns.
    """
    most = min(MAX_K, MOST_K * depth)
    k = min(most, FIRST_K * depth)
    while True:
        hits: list[Hit] = list(memory.recall(query, user_id=user, k=k, touch=False))
        turns = distinct_turns(([turn.id for turn in hit.evidence] for hit in hits), depth)
        if len(turns) == depth or len(hits) < k or k == most:
            return turns
        k = min(most, 2 * k)


def opening_time(conversation: Conversation) -> datetime:
    """When its first turn was said: where a conversation's clock begins."""
    return min(turn.at for turn in conversation.turns)


def store_bytes(path: Path) -> int:
    """The size of a store: its file and the rebuildable ones beside it, whose names begin with its name."""
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*") if file.is_file())
