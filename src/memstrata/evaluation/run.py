"""The run: conversations in through the public face, questions out of it, scored on evidence turns.

Each conversation is a user of its own, in a store of its own. Its sessions are added with their own dates and ended,
and all queued work is done before the first question. Questions are asked with `touch=False`, so neither their order
nor their number changes what is found. BM25 ranks the same turns in the same run.

`evaluate` runs everything in this process and gives back the result; `run_system` works through a run folder: what is
there is not done again, and several processes share the conversations.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from memstrata.clock import SetClock, SystemClock
from memstrata.embed import create_embedder
from memstrata.errors import InputError
from memstrata.evaluation.benchmark import DEPTH, Benchmark, Conversation, Question
from memstrata.evaluation.bm25 import TurnBaseline
from memstrata.evaluation.cache import CachedEmbedder
from memstrata.evaluation.folder import RunFolder
from memstrata.evaluation.notes import NoteMap, all_notes, map_of, statements_of
from memstrata.evaluation.options import MAX_TOKENS, Options
from memstrata.evaluation.outcome import Answered, Outcome, Statement
from memstrata.evaluation.retrieval import Table, score, tabulate
from memstrata.evaluation.systems import (
    Asked,
    Ingest,
    MemoryRun,
    OpenMemory,
    RagRun,
    System,
    SystemRun,
    opening_time,
    store_bytes,
)
from memstrata.llm import LLM, create_llm
from memstrata.llm.fakes import RecordedLLM
from memstrata.memory import Memory
from memstrata.settings import load_settings

CACHE = "cache"  # the folder of vectors inside a run folder, when no other is given
Done = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Everything a run found out."""

    data: Benchmark
    answered: tuple[Answered, ...]
    ingest: Ingest
    statements: tuple[Statement, ...] = ()

    def tables(self) -> tuple[Table, Table]:
        """The scores of the memory and of BM25 on the same questions."""
        ours = [(one.category, score(one.ranking, one.gold)) for one in self.answered]
        baseline = [(one.category, score(one.baseline, one.gold)) for one in self.answered]
        known = tuple(self.data.categories)
        return (
            tabulate(ours, self.data.adversarial, known),
            tabulate(baseline, self.data.adversarial, known),
        )


def evaluate(
    data: Benchmark,
    open_memory: OpenMemory,
    *,
    store: Path | None = None,
    progress: bool = True,
    max_tokens: int = MAX_TOKENS,
) -> Evaluation:
    """Runs all of `data` through a new memory and scores it.

    `open_memory` opens the memory at a path: `lambda path: Memory(path, **settings)`. `store` is where its file is
    kept afterwards and must not exist yet; without it a temporary one is used. Progress goes to stderr.

    Raises InputError when nothing can be scored or `store` exists.
    """
    check_scorable(data)
    if store is not None and store.exists():
        raise InputError(f"{store}: exists; the evaluation needs a new store")
    system = System("memory")
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="memstrata-eval-") as scratch, progress_bars(progress) as bars:
        path = store or Path(scratch) / "memory.db"
        for conversation in data.conversations:
            before = store_bytes(path)
            with open_memory(path) as memory:
                run = MemoryRun(memory, conversation, system)
                seconds, answered = _work(run, conversation, data.depth, max_tokens, bars)
                figures = run.figures(seconds, 0)
            outcomes.append(Outcome(conversation.id, figures.sized(store_bytes(path) - before), tuple(answered)))
    return gather(data, outcomes)


def gather(data: Benchmark, outcomes: Sequence[Outcome]) -> Evaluation:
    """The outcomes of all conversations as one evaluation."""
    return Evaluation(
        data,
        tuple(one for outcome in outcomes for one in outcome.answered),
        Ingest.total([outcome.ingest for outcome in outcomes]),
        tuple(one for outcome in outcomes for one in outcome.statements),
    )


def check_scorable(data: Benchmark) -> None:
    """Raises InputError when no question of the file can be scored."""
    if not any(conversation.scored for conversation in data.conversations):
        raise InputError("no question with a valid evidence turn: nothing to score")


def run_system(
    data: Benchmark, system: System, options: Options, folder: RunFolder, *, progress: bool = True
) -> Evaluation:
    """Runs `data` under `system` into a run folder, from where an earlier run of the same was cut.

    Raises InputError when nothing can be scored, or the folder holds another run.
    """
    check_scorable(data)
    if options.store is not None and options.jobs > 1:
        raise InputError("one store for all conversations is filled by one process: leave --keep out, or --jobs")
    folder.begin(data, system, options)
    waiting = [(n, each) for n, each in enumerate(data.conversations) if not folder.has(n)]
    with progress_bars(progress) as bars:
        whole = bars.add_task(f"{system.name}: conversations", total=len(data.conversations))
        bars.advance(whole, len(data.conversations) - len(waiting))
        tasks = [_Task(n, each, system, options, data.depth) for n, each in waiting]
        for task, (outcome, notes) in _results(tasks, options, folder.path, bars):
            folder.put(task.number, outcome, notes)
            bars.advance(whole)
    folder.finish()
    return gather(data, folder.outcomes())


@dataclass(frozen=True, slots=True)
class _Task:
    number: int
    conversation: Conversation
    system: System
    options: Options
    depth: int


def _results(
    tasks: Sequence[_Task], options: Options, folder: Path, bars: Progress
) -> Iterator[tuple[_Task, tuple[Outcome, NoteMap | None]]]:
    """The outcome of each task, in the tasks' order, from this process or from several."""
    cache = options.cache or folder / CACHE
    if options.jobs == 1:
        with shared_embedder(options.embedder, cache) as embedder:
            for task in tasks:
                yield task, _conversation(task, embedder, cache, bars)
        return
    context = multiprocessing.get_context("spawn")  # a fork would take over threads that are not there
    with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        futures = [pool.submit(_in_process, task, cache) for task in tasks]
        for task, future in zip(tasks, futures, strict=True):
            yield task, future.result()


def _in_process(task: _Task, cache: Path) -> tuple[Outcome, NoteMap | None]:
    with shared_embedder(task.options.embedder, cache) as embedder, progress_bars(False) as bars:
        return _conversation(task, embedder, cache, bars)


@contextmanager
def shared_embedder(name: str, cache: Path) -> Iterator[CachedEmbedder]:
    """The embedder of this name over its file in the folder `cache`, for many memories."""
    embedder = CachedEmbedder(create_embedder(name), cache)
    try:
        yield embedder
    finally:
        asyncio.run(embedder.finish())


def _limit(conversation: Conversation) -> int:
    """The most characters of a message that the memory takes: benchmarks hold answers that their models never ended."""
    longest = max(len(turn.text) for turn in conversation.turns)
    return max(longest, load_settings().max_chars)


def _recorded(system: System, conversation: Conversation, cache: Path) -> LLM | None:
    """The model of a system's settings; what it answers to a conversation is kept beside the vectors, so that no row of
    a table asks again what another has asked."""
    settings = load_settings(**system.settings)
    if settings.llm is None:
        return None
    model = create_llm(
        settings.llm,
        base_url=settings.llm_base_url,
        profile=settings.llm_profile,
        timeout=settings.llm_timeout_seconds,
    )
    name = re.sub(r"[^\w.-]+", "-", f"{model.name} {conversation.id}")
    return RecordedLLM(cache / f"{name}.llm.jsonl", model)


def _conversation(task: _Task, embedder: CachedEmbedder, cache: Path, bars: Progress) -> tuple[Outcome, NoteMap | None]:
    """One conversation under a system, in a store of its own (or the one that is kept)."""
    conversation, system, options = task.conversation, task.system, task.options
    if system.retriever is not None:
        rag = RagRun(system.retriever, conversation, embedder)
        seconds, answered = _work(rag, conversation, task.depth, options.max_tokens, bars, options.contexts)
        return Outcome(conversation.id, rag.figures(seconds), tuple(answered)), None
    with tempfile.TemporaryDirectory(prefix="memstrata-eval-") as scratch:
        path = options.store or Path(scratch) / "memory.db"
        before = store_bytes(path)
        clock = SetClock(opening_time(conversation)) if options.clock == "said" else None
        llm = _recorded(system, conversation, cache)
        given = {"max_chars": _limit(conversation), **system.settings}
        given.pop("llm", None)
        with Memory(path, embedder=embedder, clock=clock or SystemClock(), llm=llm, worker=False, **given) as memory:
            run = MemoryRun(memory, conversation, system, clock)
            seconds, answered = _work(run, conversation, task.depth, options.max_tokens, bars, options.contexts)
            if conversation.statements:  # each is looked for in the notes: those of pages that are still warm, too
                memory.distil(user_id=conversation.id)
            figures = run.figures(seconds, 0)
            notes = all_notes(memory, conversation.id)
        statements = statements_of(conversation, notes)
        outcome = Outcome(
            conversation.id, figures.sized(store_bytes(path) - before), tuple(answered), tuple(statements)
        )
    return outcome, asyncio.run(map_of(notes, embedder))


def _work(
    run: SystemRun, conversation: Conversation, depth: int, max_tokens: int, bars: Progress, contexts: bool = False
) -> tuple[float, list[Answered]]:
    """Takes a conversation in and asks its scored questions; the seconds are those of the ingest."""
    task = bars.add_task(f"{conversation.id}: sessions in", total=len(conversation.sessions) + 1)
    started = time.perf_counter()
    run.take_in(lambda: bars.advance(task))
    seconds = time.perf_counter() - started
    bars.remove_task(task)
    baseline = TurnBaseline(conversation)
    said_at = {turn.id: turn.at for turn in conversation.turns}
    answered = []
    task = bars.add_task(f"{conversation.id}: questions", total=len(run.questions()))
    for question in run.questions():
        asked = run.ask(question, depth, max_tokens)
        ranked = baseline.rank(question.text, DEPTH)
        answered.append(_answered(conversation, question, asked, ranked, said_at, contexts))
        bars.advance(task)
    bars.remove_task(task)
    return seconds, answered


def _answered(
    conversation: Conversation,
    question: Question,
    asked: Asked,
    baseline: Sequence[str],
    said_at: Mapping[str, datetime],
    contexts: bool,
) -> Answered:
    gold = set(question.evidence)
    newest = max(said_at[turn] for turn in gold)
    age = (question.asked_at or conversation.ends_at) - newest
    return Answered(
        conversation=conversation.id,
        question=question.text,
        category=question.category,
        gold=question.evidence,
        ranking=asked.ranking,
        baseline=tuple(baseline),
        seconds=asked.seconds,
        tokens=asked.tokens,
        in_context=len(gold & asked.in_context) / len(gold),
        age_days=age.total_seconds() / 86_400,
        answer=question.answer,
        context=asked.context if contexts else None,
    )


@contextmanager
def progress_bars(shown: bool) -> Iterator[Progress]:
    """Progress bars on stderr while the block runs."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not shown, transient=True) as bars:
        yield bars
