"""First calls of pages in the provider's batches: sent together, answered later, at a lower price.

Before the worker takes the jobs in their order, the pages that wait are sent as one batch. Its handle lies in each
job's payload until its answer came; then the answer waits for the job like any that was paid for. So a process that is
killed sends nothing again, and pages are committed in their order, whichever answer came first. A request that failed
in its batch is asked at once, as if there were none. Second calls are always asked at once: what one offers depends on
the notes that the page before it became.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from memstrata.calls import Purpose, check_budget, request_of, take_answer
from memstrata.distil.drafting import text_to_ask
from memstrata.distil.stages import Work, scope_of_page, work_of
from memstrata.engine import Engine
from memstrata.errors import LLMBudgetError, LLMError, LLMRefusedError, LLMUnreadableError, SettingsError
from memstrata.journal.jobs import Job, job_of_row, lease, release
from memstrata.llm.base import Completion, Request
from memstrata.llm.guard import Guard
from memstrata.store.base import Db
from memstrata.store.rows import dump, to_us

log = logging.getLogger("memstrata")
MOST: Final = 500  # jobs that one round looks at
BATCH: Final = "batch"  # of a job's payload: the handle of its batch; AT_ONCE when it is in none
AT_ONCE: Final = ""
DUE: Final = (
    "SELECT * FROM jobs WHERE tenant = ? AND state = 'queued' AND kind = 'page' AND run_after <= ?"
    ' AND payload NOT LIKE \'%"batch":""%\' ORDER BY owner, no LIMIT ?'
)


async def ask_in_batches(engine: Engine, holder: str) -> None:
    """One round: take the answers that came, send what waits. Without `llm_batch_seconds` nothing is done."""
    llm, wait = engine.llm, engine.settings.llm_batch_seconds
    if llm is None or wait is None:
        return
    tenant, key = engine.settings.tenant, (engine.settings.tenant, to_us(engine.now()), MOST)
    if not await engine.store.read(lambda db: db.all(DUE, key), brief=True):
        return

    def take(db: Db) -> list[Work]:
        """The jobs of the owners that no other worker has in hand."""
        jobs = [job_of_row(row) for row in db.all(DUE, key)]
        mine = {
            owner
            for owner in {job.owner for job in jobs}
            if lease(db, tenant, owner, holder, engine.settings.lease_seconds)
        }
        return [work_of(db, job) for job in jobs if job.owner in mine]

    works = await engine.store.write(take, durable=False)
    try:
        sent: dict[str, list[Work]] = {}
        for work in works:
            if handle := work.job.payload.get(BATCH):
                sent.setdefault(handle, []).append(work)
        for handle, members in sent.items():
            await _collect(engine, llm, wait, handle, members)
        await _submit(engine, llm, wait, [work for work in works if BATCH not in work.job.payload])
    finally:

        def let_go(db: Db) -> None:
            for owner in {work.job.owner for work in works}:
                release(db, tenant, owner, holder)

        await engine.store.write(let_go, durable=False)


async def _submit(engine: Engine, llm: Guard, wait: float, works: Sequence[Work]) -> None:
    """Send the pages that a model is to be asked about; what cannot be sent is asked at once."""
    requests: dict[str, Request] = {}
    for work in works:
        if work.page is None:
            continue
        page = work.page
        text = text_to_ask(page.turns, before=page.before, after=page.after, served=page.served)
        if text is not None:
            requests[_name(work.job)] = request_of(llm, "page", text)
    handle = AT_ONCE
    try:
        if requests:
            await check_budget(engine, llm, engine.settings.tenant)
            handle = await llm.submit(requests)
    except LLMBudgetError:
        return
    except (LLMError, SettingsError) as error:
        log.warning("pages were not sent as a batch, they are asked at once: %s", error)
    if not works:
        return

    def write(db: Db) -> None:
        for work in works:
            _mark(db, engine, work.job, handle if _name(work.job) in requests else AT_ONCE, wait)

    await engine.store.write(write)


async def _collect(engine: Engine, llm: Guard, wait: float, handle: str, works: Sequence[Work]) -> None:
    """Take the answers of a batch, or look again later."""
    found: Mapping[str, Completion | LLMError] | None
    try:
        found = await llm.collect(handle, request_of(llm, "page", ""))
    except LLMRefusedError as error:
        log.warning("a batch is lost, its pages are asked at once: %s", error)
        found = {}
    except (LLMError, SettingsError) as error:
        log.warning("a batch could not be looked at: %s", error)
        found = None
    for work in works:
        job = work.job
        answer = None if found is None else found.get(_name(job))
        if found is not None and isinstance(answer, Completion) and work.page is not None:
            purpose = Purpose("page", scope_of_page(job, work.page.row), job.operation, job, work.page.row["no"])
            try:
                await take_answer(
                    engine,
                    llm,
                    purpose,
                    answer,
                    0.0,
                    {},
                    lambda db: _mark(db, engine, job, AT_ONCE, wait),  # noqa: B023
                )
            except LLMUnreadableError as error:
                log.warning("an answer of a batch could not be read, its page is asked at once: %s", error)
            continue
        if isinstance(answer, LLMError):
            log.warning("a page failed in its batch, it is asked at once: %s", answer)
        kept = handle if found is None else AT_ONCE
        await engine.store.write(lambda db: _mark(db, engine, job, kept, wait))  # noqa: B023


def _name(job: Job) -> str:
    """A job's name in its batch: of an operation, which no other owner has, and its number."""
    return f"{job.operation}-{job.no}"


def _mark(db: Db, engine: Engine, job: Job, handle: str, wait: float) -> None:
    """Keep a job's batch; it is not due before somebody looks again, and one that is in none is due now."""
    payload: dict[str, Any] = {**job.payload, BATCH: handle}
    due = engine.now() + timedelta(seconds=wait if handle else 0.0)
    db.run(
        "UPDATE jobs SET payload = ?, run_after = ? WHERE tenant = ? AND owner = ? AND no = ? AND op = ?",
        (dump(payload), to_us(due), job.tenant, job.owner, job.no, job.operation),
    )
