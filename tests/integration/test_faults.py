"""An embedder that fails: turns are kept, work is retried with backoff, then failed and visible, and can be retried."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from memstrata.embed.hashing import HashingEmbedder
from memstrata.errors import EmbedderError

TEXTS = ["I live in Porto.", "私は京都に住んでいます。", "我妹妹李娜在华为工作。"]
CALM = ("turns", "notes", "pages", "decisions")


class Failing(HashingEmbedder):
    """Fails the next `left` calls, as `error` says."""

    def __init__(self, left: float = 0, error: Exception | None = None) -> None:
        super().__init__()
        self.left = left
        self.error = error or EmbedderError("the model is away")
        self.calls = 0

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        self.calls += 1
        if self.left > 0:
            self.left -= 1
            raise self.error
        return await super().embed(texts, query=query)


@pytest.fixture
def failing(make_bench: Callable[..., Any]) -> Callable[..., tuple[Any, Failing]]:
    """A bench whose embedder fails so often; jobs have three attempts, 10 and 20 seconds apart."""

    def make(left: float, error: Exception | None = None, **settings: Any) -> tuple[Any, Failing]:
        embedder = Failing(left, error)
        bench = make_bench(job_attempts=3, job_backoff_seconds=10.0, **settings)
        bench.reopen(embedder=embedder)
        return bench, embedder

    return make


def jobs(bench: Any) -> list[tuple[Any, ...]]:
    """(kind, state, attempts, seconds until it is due) of every job, in order."""
    now = bench.clock.now().timestamp()
    found = bench.rows("SELECT kind, state, attempts, run_after, error FROM jobs ORDER BY no")
    return [(job["kind"], job["state"], job["attempts"], round(job["run_after"] / 1e6 - now)) for job in found]


def test_turns_are_kept_and_a_job_is_retried_twice_as_late_each_time(failing: Any) -> None:
    bench, embedder = failing(2)
    receipt = bench.memory.add([{"role": "user", "content": text} for text in TEXTS], user_id="ana")
    assert [row["text"] for row in bench.rows("SELECT text FROM turns ORDER BY no")] == TEXTS
    done = bench.memory.flush()
    assert (done["failed"], done["waiting"]) == (1, 1)
    assert jobs(bench) == [("index", "queued", 1, 10)]
    assert bench.memory.flush()["failed"] == 0, "it is not due"
    assert embedder.calls == 1
    bench.clock.advance(seconds=10)
    bench.memory.flush()
    assert jobs(bench) == [("index", "queued", 2, 20)]
    assert bench.memory.stats()["jobs"]["failed"] == 0
    bench.clock.advance(seconds=20)
    assert bench.memory.flush()["index"] == 1
    assert jobs(bench) == []
    assert bench.memory.receipt(receipt.operation, user_id="ana").messages == receipt.messages
    for text in TEXTS:
        assert text in bench.memory.recall(text, user_id="ana", touch=False)[0].text
    assert bench.memory.check() == ()


def test_what_keeps_failing_is_failed_visible_and_can_be_retried(failing: Any) -> None:
    bench, embedder = failing(float("inf"))
    bench.memory.add(TEXTS[1], user_id="ana")
    for _ in range(6):
        bench.memory.flush()
        bench.clock.advance(minutes=5)
    assert embedder.calls == 3
    stats = bench.memory.stats()
    assert stats["jobs"] == {"queued": 0, "failed": 1, "oldest": None}
    assert stats["errors"] == [{"kind": "index", "error": "EmbedderError: the model is away", "count": 1}]
    assert bench.rows("SELECT text FROM turns") == [{"text": TEXTS[1]}]
    assert bench.memory.context(TEXTS[1], user_id="ana", strategy="window").turns[0].text == TEXTS[1]
    embedder.left = 0
    assert bench.memory.flush()["index"] == 0, "a person must look first"
    assert bench.memory.retry_failed() == 1
    assert bench.memory.flush()["index"] == 1
    assert bench.memory.stats()["jobs"] == {"queued": 0, "failed": 0, "oldest": None}
    assert bench.memory.stats()["errors"] == []
    assert TEXTS[1] in bench.memory.recall("京都", user_id="ana")[0].text


def test_a_recall_needs_its_query_embedded_and_says_so(failing: Any) -> None:
    bench, embedder = failing(0)
    bench.tell(*TEXTS)
    before = {table: bench.rows(f"SELECT * FROM {table}") for table in CALM}
    embedder.left = float("inf")
    for call in (bench.memory.recall, bench.memory.context):
        with pytest.raises(EmbedderError, match="the model is away"):
            call("Where do I live?", user_id="ana")
    with pytest.raises(EmbedderError):
        bench.memory.preview("I live in Rome.", user_id="ana")
    assert {table: bench.rows(f"SELECT * FROM {table}") for table in CALM} == before
    embedder.left = 0
    assert bench.memory.recall("Where do I live?", user_id="ana").hits


@pytest.mark.parametrize("stage", ["page", "distill"])
def test_a_page_stays_warm_while_its_work_fails(failing: Any, stage: str) -> None:
    bench, embedder = failing(0)
    for n, text in enumerate(TEXTS * 2):
        bench.memory.add(f"{text} ({n})", user_id="ana", session_id="s")
    bench.memory.flush()
    if stage == "page":
        embedder.left = 2
        bench.memory.end_session(user_id="ana", session_id="s")
    else:
        bench.memory.end_session(user_id="ana", session_id="s")
        bench.memory.flush()
        for row in bench.rows("SELECT count(*) AS n FROM pages WHERE state = 'warm'"):
            assert row["n"]
        bench.memory.recall("Porto", user_id="ana", k=1)  # a touch: a tick, and pages cool
        embedder.left = 2
    for _ in range(2):
        assert bench.memory.flush()["failed"] == 1
        assert bench.rows("SELECT 1 FROM pages WHERE state = 'warm'")
        assert bench.rows("SELECT 1 FROM jobs WHERE kind = ? AND error <> ''", stage)
        bench.clock.advance(minutes=1)
    bench.memory.flush()
    assert bench.rows("SELECT 1 FROM jobs WHERE error <> ''") == []
    bench.distil(user_id="ana")
    assert bench.rows("SELECT 1 FROM pages WHERE state <> 'distilled'") == []
    assert bench.notes(user_id="ana")
    assert bench.memory.check() == ()


def test_a_statement_that_could_not_be_decided_is_deferred_and_decided_later(failing: Any) -> None:
    bench, embedder = failing(1)
    receipt = bench.memory.remember(TEXTS[0], user_id="ana", idempotency_key="k")
    assert [(each.outcome, each.note) for each in receipt.candidates] == [("deferred", None)]
    assert receipt.pending == 1
    assert "retried" in receipt.candidates[0].reason
    assert jobs(bench) == [("remember", "queued", 1, 10)]
    assert bench.rows("SELECT 1 FROM notes") == []
    bench.clock.advance(seconds=10)
    bench.memory.flush()
    again = bench.memory.remember(TEXTS[0], user_id="ana", idempotency_key="k")
    assert again.repeated
    assert [each.outcome for each in again.candidates] == ["admitted"]
    assert embedder.calls > 1
    assert len(bench.rows("SELECT 1 FROM turns")) == 1


def test_one_owner_that_fails_does_not_hold_the_others(failing: Any) -> None:
    class Picky(Failing):
        async def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
            if any("京都" in text for text in texts):
                raise EmbedderError("this one cannot be encoded")
            return await super().embed(texts, query=query)

    bench, _ = failing(0)
    bench.reopen(embedder=Picky())
    for user, text in (("a", TEXTS[1]), ("b", TEXTS[0]), ("c", TEXTS[2])):
        bench.memory.add(text, user_id=user)
    done = bench.memory.flush()
    assert (done["index"], done["failed"]) == (2, 1)
    assert bench.memory.recall("Porto", user_id="b").hits
    assert bench.memory.stats(user_id="a")["jobs"]["queued"] == 1


class Nonsense(HashingEmbedder):
    """Answers with something else than vectors of the texts, while `spoil` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.spoil: Callable[[Any], Any] | None = None

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        vectors = await super().embed(texts, query=query)
        return vectors if self.spoil is None else self.spoil(vectors)


NONSENSE: dict[str, tuple[Callable[[Any], Any], str]] = {
    "not a number": (lambda vectors: vectors * float("nan"), "length nan"),
    "infinite": (lambda vectors: np.full_like(vectors, np.inf), "length inf"),
    "zeros": (lambda vectors: vectors * 0, "zeros for a text with words"),
    "too short": (lambda vectors: vectors[:, :64], "shape"),
    "too few": (lambda vectors: vectors[:-1], "shape"),
    "not of length 1": (lambda vectors: vectors * 3, "length 3"),
    "no array": (lambda vectors: vectors.tolist(), "shape None"),
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("kind", NONSENSE)
def test_vectors_that_are_none_are_never_scored_with(make_bench: Callable[..., Any], kind: str, text: str) -> None:
    bench, embedder = make_bench(job_backoff_seconds=10.0), Nonsense()
    bench.reopen(embedder=embedder)
    embedder.spoil, message = NONSENSE[kind]
    receipt = bench.memory.remember(text, user_id="ana")
    assert [each.outcome for each in receipt.candidates] == ["deferred"]
    assert "EmbedderError" in receipt.candidates[0].reason
    assert message in receipt.candidates[0].reason
    assert bench.memory.receipt(receipt.operation, user_id="ana").candidates == receipt.candidates
    assert bench.rows("SELECT 1 FROM decisions") == bench.rows("SELECT 1 FROM vectors") == []
    with pytest.raises(EmbedderError, match=message):
        bench.memory.recall(text, user_id="ana")
    embedder.spoil = None
    bench.clock.advance(minutes=1)
    bench.memory.flush()
    assert [note.content for note in bench.notes(user_id="ana")] == [text]
    assert [each.outcome for each in bench.memory.receipt(receipt.operation, user_id="ana").candidates] == ["admitted"]


def test_the_candidates_of_a_page_wait_each_with_the_reason(make_bench: Callable[..., Any]) -> None:
    bench, embedder = make_bench(job_attempts=2, job_backoff_seconds=1.0), Nonsense()
    bench.reopen(embedder=embedder)
    receipt = bench.memory.add([{"role": "user", "content": text} for text in TEXTS], user_id="ana")
    bench.memory.end_session(user_id="ana")
    bench.memory.flush()
    for outcome in ("deferred", "failed"):
        embedder.spoil = None
        bench.memory.recall("Porto", user_id="ana", k=1)  # a touch: a tick, and pages cool
        embedder.spoil = NONSENSE["zeros"][0]
        bench.memory.flush()
        shown = bench.memory.receipt(receipt.operation, user_id="ana")
        assert [(each.outcome, each.content) for each in shown.candidates] == [(outcome, text) for text in TEXTS]
        assert all("zeros" in each.reason for each in shown.candidates)
        assert shown.pending == 3
        bench.clock.advance(minutes=1)
    embedder.spoil = None
    bench.memory.retry_failed()
    bench.memory.flush()
    shown = bench.memory.receipt(receipt.operation, user_id="ana")
    assert {each.outcome for each in shown.candidates} == {"admitted", "admitted_superseding"}
    assert shown.pending == 0


@pytest.mark.parametrize("error", [RuntimeError("out of memory"), ValueError("shape"), OSError("no device")])
def test_a_model_that_breaks_its_contract_stops_no_worker(failing: Any, error: Exception) -> None:
    bench, embedder = failing(1, error)
    bench.memory.add(TEXTS[0], user_id="ana")
    assert bench.memory.flush()["failed"] == 1
    (job,) = bench.rows("SELECT error FROM jobs")
    assert job["error"] == f"{type(error).__name__}: {error}"
    bench.clock.advance(minutes=1)
    assert bench.memory.flush()["index"] == 1
    embedder.left = 1
    receipt = bench.memory.remember(TEXTS[1], user_id="ana")
    assert receipt.candidates[0].outcome == "deferred"
    assert type(error).__name__ in receipt.candidates[0].reason
    bench.clock.advance(minutes=1)
    bench.memory.flush()
    assert [note.content for note in bench.notes(user_id="ana")] == [TEXTS[1]]


def test_the_background_worker_goes_on_after_failures(make_bench: Callable[..., Any], caplog: Any) -> None:
    embedder = Failing(3)
    bench = make_bench(job_attempts=9, job_backoff_seconds=0.0)
    bench.reopen(embedder=embedder, worker=True)
    with caplog.at_level(logging.WARNING, "memstrata"):
        for n in range(8):
            bench.memory.add(f"{TEXTS[n % 3]} ({n})", user_id=f"u{n % 2}")
        bench.memory.flush()
    assert bench.rows("SELECT 1 FROM jobs") == []
    assert caplog.records
    assert all("Porto" not in record.getMessage() for record in caplog.records), "logs hold no text of anybody"


def test_a_decision_never_waits_for_a_model_inside_a_transaction(failing: Any) -> None:
    """While an embedder hangs, others write."""
    bench, _ = failing(0)
    entered, release = asyncio.Event(), asyncio.Event()

    class Slow(HashingEmbedder):
        async def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
            if any("slow" in text for text in texts):
                entered.set()
                await release.wait()
            return await super().embed(texts, query=query)

    async def run() -> None:
        from memstrata import AsyncMemory

        async with AsyncMemory(bench.path, embedder=Slow(), worker=False, clock=bench.clock) as memory:
            slow = asyncio.create_task(memory.remember("My cat is slow.", user_id="ana"))
            await entered.wait()
            other = await asyncio.wait_for(memory.remember("I live in Porto.", user_id="ana"), 5)
            assert other.candidates[0].outcome == "admitted"
            release.set()
            assert (await slow).candidates[0].outcome == "admitted"
            assert await memory.check() == ()

    asyncio.run(run())


def test_no_failure_of_a_job_is_lost_to_a_receipt(failing: Any) -> None:
    """A statement that a worker decides while its caller fails: the receipt tells what the worker decided."""
    bench, _ = failing(0)
    other = bench.open()

    class Beaten(Failing):
        async def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
            await asyncio.to_thread(other.flush)  # another process takes the job first
            raise EmbedderError("the model is away")

    bench.reopen(embedder=Beaten())
    receipt = bench.memory.remember(TEXTS[0], user_id="ana")
    other.close()
    assert [each.outcome for each in receipt.candidates] == ["admitted"]
    assert bench.rows("SELECT count(*) AS n FROM notes") == [{"n": 1}]
