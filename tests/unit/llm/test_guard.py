"""The guard before a model: calls at once, time, and a rest after failures."""

from __future__ import annotations

import asyncio
import time

import pytest

from memstrata.errors import LLMRefusedError, LLMUnavailableError
from memstrata.llm import Completion, Request
from memstrata.llm import guard as module
from memstrata.llm.fakes import ScriptedLLM
from memstrata.llm.guard import FAILURES, Guard

REQUEST = Request("test", "", "", "answer", {})
DOWN = LLMUnavailableError("down")


class Slow:
    """A model that takes its time and counts who is with it."""

    name = "test:slow"
    profile = "full"

    def __init__(self, seconds: float) -> None:
        self.seconds, self.inside, self.most = seconds, 0, 0

    async def complete(self, request: Request) -> Completion:
        self.inside += 1
        self.most = max(self.most, self.inside)
        await asyncio.sleep(self.seconds)
        self.inside -= 1
        return Completion("{}")

    async def close(self) -> None:
        """Nothing to do."""


async def test_no_more_calls_at_once_than_allowed() -> None:
    slow = Slow(0.02)
    guard = Guard(slow, concurrency=3)  # type: ignore[arg-type]
    await asyncio.gather(*(guard.complete(REQUEST) for _ in range(10)))
    assert slow.most == 3


async def test_a_call_has_an_end() -> None:
    guard = Guard(Slow(9.0), timeout=0.02)  # type: ignore[arg-type]
    started = time.monotonic()
    with pytest.raises(LLMUnavailableError, match="no answer within"):
        await guard.complete(REQUEST)
    assert time.monotonic() - started < 2


async def test_a_rest_after_failures_then_one_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REST_SECONDS", 0.05)
    answers: list[object] = [DOWN] * FAILURES
    llm = ScriptedLLM(lambda request: answers.pop(0) if answers else "{}")  # type: ignore[arg-type,return-value]
    guard = Guard(llm)
    for _ in range(FAILURES):
        with pytest.raises(LLMUnavailableError) as told:
            await guard.complete(REQUEST)
        assert told.value.asked
    with pytest.raises(LLMUnavailableError) as told:
        await guard.complete(REQUEST)
    assert not told.value.asked
    assert len(llm.requests) == FAILURES
    await asyncio.sleep(0.06)
    assert (await guard.complete(REQUEST))[0].text == "{}"
    assert guard.resting() == 0


async def test_while_one_call_tries_the_others_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REST_SECONDS", 0.0)
    slow = Slow(0.05)
    guard = Guard(slow)  # type: ignore[arg-type]
    guard._failures = FAILURES
    results = await asyncio.gather(*(guard.complete(REQUEST) for _ in range(3)), return_exceptions=True)
    assert sum(isinstance(result, LLMUnavailableError) and not result.asked for result in results) == 2
    assert slow.most == 1
    await guard.complete(REQUEST)


async def test_the_pause_that_a_model_asks_for_is_kept() -> None:
    guard = Guard(ScriptedLLM([LLMUnavailableError("busy", retry_after=60.0), "{}"]))
    with pytest.raises(LLMUnavailableError):
        await guard.complete(REQUEST)
    with pytest.raises(LLMUnavailableError) as told:
        await guard.complete(REQUEST)
    assert not told.value.asked
    assert told.value.retry_after == pytest.approx(60, abs=1)


async def test_a_refusal_is_no_outage() -> None:
    guard = Guard(ScriptedLLM([LLMRefusedError("no")] * 5 + ["{}"]))
    for _ in range(5):
        with pytest.raises(LLMRefusedError):
            await guard.complete(REQUEST)
    assert (await guard.complete(REQUEST))[0].text == "{}"
