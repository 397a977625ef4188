"""The worker: takes due jobs until nothing is left to do. One runs in each open memory."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from memstrata.distil.stages import Work, run_index, turns_to_index, work_of
from memstrata.engine import Engine
from memstrata.errors import ClosedError, StoreError
from memstrata.journal.jobs import (
    Job,
    due_owners,
    index_jobs,
    lease,
    new_holder,
    next_round,
    postpone,
    release,
)
from memstrata.store.base import Db, WakingStore
from memstrata.trace import PARENT, span, tell
from memstrata.types import Turn
from memstrata.work.rounds import run_round

log = logging.getLogger("memstrata")
HELD_SECONDS = 0.05  # how long to wait before asking again for an owner that another worker holds
ROUND = 8  # jobs of an owner that share a commit
Progress = Callable[[str], None]


@dataclass(slots=True)
class Done:
    """What a round of work did."""

    index: int = 0
    page: int = 0
    distill: int = 0
    remember: int = 0
    failed: int = 0

    def count(self, kind: str, by: int = 1) -> None:
        if kind != "failed":
            tell("jobs", by, kind=kind, outcome="done")
        setattr(self, kind, getattr(self, kind) + by)


@dataclass(slots=True)
class Worker:
    """Runs the due jobs of a tenant, in this process."""

    engine: Engine
    holder: str = field(default_factory=new_holder)
    _task: asyncio.Task[Done] | None = None
    _again: bool = False
    _stopping: bool = False
    _until: float | None = None  # when the run in hand ends, on the monotonic clock
    _left: set[asyncio.Task[Done]] = field(default_factory=set)  # runs that their caller no longer waits for
    _indexing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _working: asyncio.Lock = field(default_factory=asyncio.Lock)

    def poke(self) -> None:
        """Start working in the background, unless that is going on already."""
        if self._stopping:
            return
        if self._task is not None and not self._task.done():
            self._again = True
            return
        self._task = asyncio.get_running_loop().create_task(self._background())

    async def _background(self) -> Done:
        done = Done()
        while True:
            self._again = False
            try:
                done = await self.run_due()
            except (StoreError, ClosedError) as error:
                log.warning("the worker rests until the next call: %s", type(error).__name__)
                return done
            if not self._again or self._stopping:
                return done

    async def stop(self) -> None:
        """Finish the job in hand and stop; what is queued stays queued."""
        self._stopping = True
        running = {*self._left, *([self._task] if self._task is not None else [])}
        if running:
            await asyncio.wait(running)

    async def run_due(
        self,
        *,
        owner: str | None = None,
        progress: Progress | None = None,
        until: float | None = None,
        done: Done | None = None,
    ) -> Done:
        """Work until nothing is due (of one owner, or of all).

        No job is begun at or after `until`, a time of the monotonic clock. What was done is counted in `done` as it
        goes. Runs of one worker follow one another: they share its leases, which would not keep them apart.
        """
        done = Done() if done is None else done
        async with self._working:
            self._until = until
            try:
                while not self._is_over():
                    if self.engine.settings.llm_batch_seconds is not None:
                        from memstrata.distil.batching import ask_in_batches

                        await ask_in_batches(self.engine, self.holder)
                    owners = await self._index_round(done, owner, progress)
                    if owners is not None and not await self._ordered_round(owners, done, progress):
                        break
            finally:
                self._until = None
        return done

    async def run_within(self, seconds: float) -> Done:
        """`run_due`, but return after so many seconds with what was done so far.

        The job in hand is not cut: it goes on in the background, its model call too, and `stop` waits for it.
        """
        done = Done()
        task = asyncio.get_running_loop().create_task(self.run_due(until=time.monotonic() + seconds, done=done))
        self._left.add(task)
        task.add_done_callback(self._forget)
        await asyncio.wait([task], timeout=seconds)
        return task.result() if task.done() else replace(done)

    async def rest(self, seconds: float) -> bool | None:
        """Wait so long for the store to tell of a new job. Whether it did; None, at once, where it tells nothing."""
        store = self.engine.store
        return await store.wait_for_jobs(seconds) if isinstance(store, WakingStore) else None

    def _forget(self, task: asyncio.Task[Done]) -> None:
        self._left.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("a run of the worker ended early: %s", type(error).__name__)

    def _is_over(self) -> bool:
        return self._stopping or (self._until is not None and time.monotonic() >= self._until)

    async def index_now(self, owner: str) -> None:
        """Index the owner's waiting turns, so that a recall sees what was just added."""
        if self.engine.read_only:
            return
        while not self._stopping and await self._index_round(Done(), owner, None, ordered=False) is None:
            pass

    async def _index_round(
        self, done: Done, owner: str | None, progress: Progress | None, *, ordered: bool = True
    ) -> list[str] | None:
        """Index some waiting turns; then the owners with `ordered` work that is due, or None where more turns wait."""
        engine, now = self.engine, self.engine.now()
        tenant = engine.settings.tenant

        def due(db: Db) -> tuple[list[Job], list[Turn], list[str]]:
            jobs = index_jobs(db, tenant, now, owner)
            if jobs:
                return jobs, list(turns_to_index(db, jobs).values()), []
            owners = due_owners(db, tenant, now, self.holder) if ordered else []
            return [], [], [each for each in owners if owner in (None, each)]

        async with self._indexing:  # the background and a recall may both want the same turns indexed
            jobs, turns, owners = await engine.store.read(due, brief=True)
            if not jobs:
                return owners
            try:
                with span("memstrata.index", parent=jobs[0].payload.get(PARENT), turns=len(turns)):
                    more, _, owners = await run_index(engine, jobs, turns, due)
            except Exception as error:  # noqa: BLE001 - a job that fails is postponed and visible, the worker goes on
                await self._postpone(jobs, error)
                done.count("failed", len(jobs))
                return None
        done.count("index", len(jobs))
        _report(progress, "index", len(jobs))
        return None if more else owners

    async def _ordered_round(self, owners: Sequence[str], done: Done, progress: Progress | None) -> bool:
        """One pass over the owners with due jobs; False when there was nothing to do."""
        if self.engine.llm is not None:
            held = await self._side_by_side(owners, done, progress)
        else:
            held = 0
            for each in owners:
                if self._is_over():
                    return False
                if not await self._work_for(each, done, progress):
                    held += 1
        if held and held == len(owners):
            await asyncio.sleep(HELD_SECONDS)
        return bool(owners)

    async def _side_by_side(self, owners: Sequence[str], done: Done, progress: Progress | None) -> int:
        """Work for several owners while a model thinks, at most `llm_concurrency`; how many others held."""
        slots = asyncio.Semaphore(self.engine.settings.llm_concurrency)

        async def work(owner: str) -> bool:
            async with slots:
                return self._is_over() or await self._work_for(owner, done, progress)

        results = await asyncio.gather(*(work(each) for each in owners), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return sum(result is False for result in results)

    async def _work_for(self, owner: str, done: Done, progress: Progress | None) -> bool:
        """The ordered jobs of one owner under its lease; False when another worker holds it."""
        engine = self.engine
        tenant, seconds = engine.settings.tenant, engine.settings.lease_seconds
        most = ROUND if engine.llm is None else 1  # what a model was paid for is kept at once

        def following(db: Db) -> list[Work]:
            # Turns are indexed before the pages that hold them: where some wait, there is no next job here.
            jobs = next_round(db, tenant, owner, engine.now(), most)
            if not jobs:
                release(db, tenant, owner, self.holder)
            return [work_of(db, job) for job in jobs]

        def take(db: Db) -> tuple[bool, list[Work]]:
            held = lease(db, tenant, owner, self.holder, seconds)
            return held, following(db) if held else []

        held, works = await engine.store.write(take, durable=False)
        if not held:
            return False
        renew_at = time.monotonic() + seconds / 2
        keeper = asyncio.create_task(self._keep(take, seconds)) if engine.llm is not None else None
        try:
            while works and not self._is_over():
                try:
                    following_works = await run_round(engine, works, following)
                except Exception as error:  # noqa: BLE001 - a job that fails is postponed and visible
                    if len(works) > 1:  # which of them fails is seen when each has its own commit
                        works, most = works[:1], 1
                        continue
                    await self._postpone([works[0].job], error)
                    done.count("failed")
                    return True
                for work in works:
                    done.count(work.job.kind)
                    _report(progress, work.job.kind, 1)
                works = following_works
                if works and time.monotonic() > renew_at:
                    _, works = await engine.store.write(take, durable=False)
                    renew_at = time.monotonic() + seconds / 2
        finally:
            if keeper is not None:
                keeper.cancel()
            if works:  # else it went with the commit after which nothing followed
                await engine.store.write(lambda db: release(db, tenant, owner, self.holder), durable=False)
            engine.rows_changed(tenant, owner)
        return True

    async def _keep(self, take: Callable[[Db], object], seconds: float) -> None:
        """Renew a lease while its worker waits for a model, which may take longer than the lease."""
        while True:
            await asyncio.sleep(seconds / 3)
            await self.engine.store.write(take, durable=False)

    async def _postpone(self, jobs: list[Job], error: Exception) -> None:
        engine, now = self.engine, self.engine.now()
        tell("jobs", len(jobs), kind=jobs[0].kind, outcome="failed")
        log.warning("job %s of one owner failed, it will be retried: %s", jobs[0].kind, type(error).__name__)
        await engine.store.write(lambda db: postpone(db, jobs, error, now, engine.settings), durable=False)


def _report(progress: Progress | None, kind: str, count: int) -> None:
    if progress is not None:
        for _ in range(count):
            progress(kind)
