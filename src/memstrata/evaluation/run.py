"""The LoCoMo retrieval run: conversations in through the public face, questions out of it, scored on evidence turns.

Each conversation is a user of its own. Its sessions are added with their own dates and ended, and all queued work is
done before the first question. Questions are asked with `touch=False`, so neither their order nor their number
changes what is found. BM25 ranks the same turns in the same run.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.progress import Progress

from memstrata.errors import InputError
from memstrata.evaluation.bm25 import TurnBaseline
from memstrata.evaluation.locomo import Locomo, LocomoConversation
from memstrata.evaluation.retrieval import DEPTH, Table, distinct_turns, score, tabulate
from memstrata.types import Hit, Recall

FIRST_K = 2 * DEPTH  # hits asked for at first: notes and pages of one turn share it, so more hits than turns
MOST_K = 16 * DEPTH
ADMITTED = ("admitted", "admitted_superseding", "superseded_on_arrival")


class EvaluatedMemory(Protocol):
    """What the run uses of `memstrata.Memory`."""

    def add(self, messages: list[dict[str, Any]], *, user_id: str, session_id: str) -> object: ...

    def end_session(self, *, user_id: str, session_id: str) -> object: ...

    def flush(self) -> object: ...

    def recall(self, query: str, *, user_id: str, k: int, touch: bool) -> Recall: ...

    def stats(self) -> Mapping[str, Any]: ...


OpenMemory = Callable[[Path], AbstractContextManager[EvaluatedMemory]]


@dataclass(frozen=True, slots=True)
class Answered:
    """One scored question: what was recalled, and what by BM25, as distinct turns in order; what should have been; and
    the seconds the recall took."""

    user: str
    question: str
    category: int
    gold: tuple[str, ...]
    ranking: tuple[str, ...]
    baseline: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Ingest:
    """What taking the conversations in did and cost: seconds of wall time with all queued work done, bytes of the
    store's files after it is closed, and counts of what came of the candidates."""

    turns: int
    seconds: float
    bytes: int
    pages: int
    notes: int
    admitted: int
    rejected: int
    duplicate: int
    superseded: int
    linked: int
    evolved: int

    @property
    def turns_per_second(self) -> float:
        return self.turns / self.seconds

    @property
    def bytes_per_turn(self) -> float:
        return self.bytes / self.turns


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Everything a run found out."""

    data: Locomo
    answered: tuple[Answered, ...]
    ingest: Ingest

    def tables(self) -> tuple[Table, Table]:
        """The scores of the memory and of BM25 on the same questions."""
        ours = [(one.category, score(one.ranking, one.gold)) for one in self.answered]
        baseline = [(one.category, score(one.baseline, one.gold)) for one in self.answered]
        return tabulate(ours), tabulate(baseline)


def evaluate(data: Locomo, open_memory: OpenMemory, *, store: Path | None = None, progress: bool = True) -> Evaluation:
    """Runs all of `data` through a new memory and scores it.

    `open_memory` opens the memory at a path: `lambda path: Memory(path, **settings)`. `store` is where its file is
    kept afterwards and must not exist yet; without it a temporary one is used. Progress goes to stderr.

    Raises InputError when nothing can be scored or `store` exists.
    """
    if not any(conversation.scored for conversation in data.conversations):
        raise InputError("no question with a valid evidence turn: nothing to score")
    if store is not None and store.exists():
        raise InputError(f"{store}: exists; the evaluation needs a new store")
    with tempfile.TemporaryDirectory(prefix="memstrata-eval-") as scratch, progress_bars(progress) as bars:
        path = store or Path(scratch) / "memory.db"
        with open_memory(path) as memory:
            started = time.perf_counter()
            for conversation in data.conversations:
                ingest(memory, conversation, bars)
            seconds = time.perf_counter() - started
            counted = memory.stats()
            answered = [one for conversation in data.conversations for one in ask(memory, conversation, bars)]
        turns = sum(len(conversation.turns) for conversation in data.conversations)
        figures = ingest_figures(counted, turns=turns, seconds=seconds, size=store_bytes(path))
    return Evaluation(data, tuple(answered), figures)


def ingest(memory: EvaluatedMemory, conversation: LocomoConversation, bars: Progress) -> None:
    """Adds a conversation as a user named by its id, session by session, ends each, and waits for all queued work."""
    task = bars.add_task(f"{conversation.id}: sessions in", total=len(conversation.sessions) + 1)
    for session in conversation.sessions:
        memory.add([turn.message() for turn in session.turns], user_id=conversation.id, session_id=session.id)
        memory.end_session(user_id=conversation.id, session_id=session.id)
        bars.advance(task)
    memory.flush()
    bars.advance(task)


def ask(memory: EvaluatedMemory, conversation: LocomoConversation, bars: Progress) -> list[Answered]:
    """Asks every scored question of a conversation, of the memory and of BM25."""
    baseline = TurnBaseline(conversation)
    answered = []
    for question in bars.track(conversation.scored, description=f"{conversation.id}: questions"):
        started = time.perf_counter()
        ranking = recall_turns(memory, question.text, conversation.id)
        seconds = time.perf_counter() - started
        answered.append(
            Answered(
                user=conversation.id,
                question=question.text,
                category=question.category,
                gold=question.evidence,
                ranking=tuple(ranking),
                baseline=tuple(baseline.rank(question.text, DEPTH)),
                seconds=seconds,
            )
        )
    return answered


def recall_turns(memory: EvaluatedMemory, query: str, user: str, depth: int = DEPTH) -> list[str]:
    """The first `depth` distinct turns that the hits of a query stand on, asking for more hits while they repeat.

    Fewer are returned when the memory has no more hits, or MOST_K of them stand on too few turns.
    """
    k = FIRST_K
    while True:
        hits: list[Hit] = list(memory.recall(query, user_id=user, k=k, touch=False))
        turns = distinct_turns(([turn.id for turn in hit.evidence] for hit in hits), depth)
        if len(turns) == depth or len(hits) < k or k >= MOST_K:
            return turns
        k *= 2


def store_bytes(path: Path) -> int:
    """The size of a store: its file and the rebuildable ones beside it, whose names begin with its name."""
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*") if file.is_file())


def ingest_figures(stats: Mapping[str, Any], *, turns: int, seconds: float, size: int) -> Ingest:
    """The figures of an ingest from `Memory.stats()` after it; every count is over the whole store."""
    outcomes: Mapping[str, int] = stats["decisions"]
    return Ingest(
        turns=turns,
        seconds=seconds,
        bytes=size,
        pages=stats["pages"],
        notes=stats["notes"],
        admitted=sum(outcomes.get(outcome, 0) for outcome in ADMITTED),
        rejected=outcomes.get("rejected", 0),
        duplicate=outcomes.get("duplicate", 0),
        superseded=outcomes.get("admitted_superseding", 0) + outcomes.get("superseded_on_arrival", 0),
        linked=stats["links"],
        evolved=stats["evolved"],
    )


@contextmanager
def progress_bars(shown: bool) -> Iterator[Progress]:
    """Progress bars on stderr while the block runs."""
    with Progress(console=Console(stderr=True), disable=not shown, transient=True) as bars:
        yield bars
