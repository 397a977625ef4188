"""What stands before every language model: a limit of calls at once, a time limit, and a rest after failures."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from memstrata.errors import LLMError, LLMUnavailableError, SettingsError
from memstrata.llm.base import LLM, BatchLLM, Completion, Profile, Request
from memstrata.trace import span

log = logging.getLogger("memstrata")
T = TypeVar("T")

FAILURES = 3  # in a row, after which the model is given a rest
REST_SECONDS, LONGEST_REST = 15.0, 600.0  # doubled at each failure that follows
TRIES = 3  # of a call inside an implementation, which the time limit has to cover


@dataclass(slots=True)
class Guard:
    """Calls one model for many.

    The circuit breaker: after `FAILURES` calls in a row that found the model unavailable, or as long as it asked for in
    Retry-After, nothing is sent; then one call tries, and only when it succeeds do the others follow. What is not sent
    costs no attempt of its job.
    """

    llm: LLM
    concurrency: int = 4
    timeout: float = 120.0
    warned_on: str = ""  # the day whose budget was warned of
    _slots: asyncio.Semaphore = field(init=False)
    _failures: int = field(default=0, init=False)
    _rests_until: float = field(default=0.0, init=False)
    _probing: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.concurrency)

    @property
    def name(self) -> str:
        return self.llm.name

    @property
    def profile(self) -> Profile:
        return self.llm.profile

    def resting(self) -> float:
        """Seconds until the model may be asked again; 0 when it may be asked now."""
        return max(0.0, self._rests_until - time.monotonic())

    @property
    def batches(self) -> BatchLLM | None:
        """The model, where its provider takes batches."""
        return self.llm if isinstance(self.llm, BatchLLM) else None

    async def complete(self, request: Request) -> tuple[Completion, float]:
        """The model's completion and the seconds it took. Raises what `LLM.complete` raises."""
        return await self._call(request.stage, lambda: self.llm.complete(request))

    async def submit(self, requests: Mapping[str, Request]) -> str:
        """See `BatchLLM.submit`. Raises SettingsError for a model without batches."""
        batches = self._with_batches()
        return (await self._call("submit", lambda: batches.submit(requests)))[0]

    async def collect(self, handle: str, like: Request) -> Mapping[str, Completion | LLMError] | None:
        """See `BatchLLM.collect`. Raises SettingsError for a model without batches."""
        batches = self._with_batches()
        return (await self._call("collect", lambda: batches.collect(handle, like)))[0]

    def _with_batches(self) -> BatchLLM:
        if (batches := self.batches) is None:
            raise SettingsError(f"{self.name} has no batches: leave llm_batch_seconds unset")
        return batches

    async def _call(self, stage: str, ask: Callable[[], Awaitable[T]]) -> tuple[T, float]:
        """What the model gives and the seconds it took, within the limits of calls at once, of time and of failures."""
        async with self._slots:
            self._check()
            probes = self._failures >= FAILURES
            self._probing = self._probing or probes
            started = time.monotonic()
            try:
                with span("memstrata.llm", model=self.name, stage=stage):
                    async with asyncio.timeout(self.timeout * TRIES):
                        given = await ask()
            except TimeoutError as error:
                timeout = LLMUnavailableError(f"{self.name}: no answer within {self.timeout * TRIES:g} s")
                self._failed(timeout)
                raise timeout from error
            except LLMUnavailableError as error:
                self._failed(error)
                raise
            finally:
                self._probing = self._probing and not probes
            self._failures = 0
            return given, time.monotonic() - started

    async def close(self) -> None:
        await self.llm.close()

    def _check(self) -> None:
        wait = self.resting()
        if wait > 0 or self._probing:
            raise LLMUnavailableError(
                f"{self.name} is given a rest after {self._failures} failures",
                retry_after=max(wait, 1.0),
                asked=False,
            )

    def _failed(self, error: LLMUnavailableError) -> None:
        self._failures += 1
        rest = error.retry_after or 0.0
        if self._failures >= FAILURES:
            rest = max(rest, min(LONGEST_REST, REST_SECONDS * 2.0 ** (self._failures - FAILURES)))
            log.warning("the language model failed %d times in a row: it rests for %.0f s", self._failures, rest)
        self._rests_until = max(self._rests_until, time.monotonic() + rest)
