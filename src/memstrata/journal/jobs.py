"""The job table: what is due, who works on it, what failed.

`index` jobs (terms and vectors of turns) may run in any order. `page` and `distill` jobs of one owner run one after
another, in the order they fell due, under a lease that one worker holds.
"""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import orjson

from memstrata.errors import LLMUnavailableError, StoreBusyError, StoreFullError, StoreUnreachableError
from memstrata.settings import Settings
from memstrata.store.base import Db, Row
from memstrata.store.rows import to_us

INDEX_BATCH = 32  # index jobs that one round takes together


@dataclass(frozen=True, slots=True)
class Job:
    tenant: str
    owner: str
    no: int
    kind: str
    agent: str
    payload: Mapping[str, Any]
    attempts: int
    operation: str  # that queued it: numbers start again when an owner comes back after an erasure


def job_of_row(row: Row) -> Job:
    return Job(
        row["tenant"],
        row["owner"],
        row["no"],
        row["kind"],
        row["agent"],
        orjson.loads(row["payload"]),
        row["attempts"],
        row["op"],
    )


def index_jobs(db: Db, tenant: str, now: datetime, owner: str | None = None) -> list[Job]:
    """Due index jobs of one owner, at most INDEX_BATCH."""
    only = "" if owner is None else " AND owner = ?"
    first = db.one(
        "SELECT owner FROM jobs WHERE tenant = ? AND state = 'queued' AND run_after <= ? AND kind = 'index'"
        f"{only} ORDER BY run_after LIMIT 1",
        (tenant, to_us(now), *(() if owner is None else (owner,))),
    )
    if first is None:
        return []
    rows = db.all(
        "SELECT * FROM jobs WHERE tenant = ? AND owner = ? AND state = 'queued' AND run_after <= ?"
        " AND kind = 'index' ORDER BY no LIMIT ?",
        (tenant, first["owner"], to_us(now), INDEX_BATCH),
    )
    return [job_of_row(row) for row in rows]


def due_owners(db: Db, tenant: str, now: datetime, holder: str) -> list[str]:
    """Owners whose next ordered job is due, longest waiting first; those that another worker has, last."""
    rows = db.all(
        "SELECT j.owner, min(j.run_after) AS since, max(o.lease_holder) AS held, max(o.lease_until) AS until"
        " FROM jobs j"
        " JOIN owners o ON o.tenant = j.tenant AND o.owner = j.owner"
        " WHERE j.tenant = ? AND j.state = 'queued' AND j.kind <> 'index' GROUP BY j.owner ORDER BY since",
        (tenant,),
    )
    clock = time.time_ns() // 1000
    rows.sort(key=lambda row: row["held"] not in (None, holder) and row["until"] > clock)
    return [row["owner"] for row in rows if next_job(db, tenant, row["owner"], now) is not None]


def next_job(db: Db, tenant: str, owner: str, now: datetime) -> Job | None:
    """The head of an owner's ordered queue, when it is due: a job that waits for its retry holds the ones behind it."""
    row = db.one(
        "SELECT * FROM jobs WHERE tenant = ? AND owner = ? AND state = 'queued' AND kind <> 'index'"
        " ORDER BY no LIMIT 1",
        (tenant, owner),
    )
    return None if row is None or row["run_after"] > to_us(now) else job_of_row(row)


def next_round(db: Db, tenant: str, owner: str, now: datetime, most: int) -> list[Job]:
    """The due jobs at the head of an owner's queue that one commit can hold, at most `most`.

    Pages need nothing of one another; what comes behind them ends the round, since it decides on what is known then.
    One that needs the drafts of a page of the round waits for the next. There is no round while turns of the owner
    wait to be indexed.
    """
    due = to_us(now)
    waits = db.one(
        "SELECT 1 FROM jobs WHERE tenant = ? AND owner = ? AND state = 'queued' AND run_after <= ? AND kind = 'index'"
        " LIMIT 1",
        (tenant, owner, due),
    )
    if waits is not None:
        return []
    rows = db.all(
        "SELECT * FROM jobs WHERE tenant = ? AND owner = ? AND state = 'queued' AND kind <> 'index'"
        " ORDER BY no LIMIT ?",
        (tenant, owner, most),
    )
    jobs: list[Job] = []
    for row in takewhile(lambda row: row["run_after"] <= due, rows):  # one that waits holds those behind it
        job = job_of_row(row)
        is_page = job.kind == "page"
        if not is_page and job.payload.get("page") in [each.payload["page"] for each in jobs]:
            break
        jobs.append(job)
        if not is_page:
            break
    return jobs


def job_of_operation(db: Db, key: tuple[str, str], operation: str) -> Job | None:
    """The queued job of a `remember`."""
    row = db.one(
        "SELECT * FROM jobs WHERE tenant = ? AND owner = ? AND op = ? AND kind = 'remember'", (*key, operation)
    )
    return None if row is None else job_of_row(row)


def is_queued(db: Db, job: Job) -> bool:
    """Whether nobody finished a job, and no erasure took it."""
    return (
        db.one(
            "SELECT 1 FROM jobs WHERE tenant = ? AND owner = ? AND no = ? AND op = ?",
            (job.tenant, job.owner, job.no, job.operation),
        )
        is not None
    )


def complete(db: Db, jobs: Sequence[Job]) -> None:
    """Take done jobs off the queue; belongs in the transaction that commits their work."""
    for job in jobs:
        db.run(
            "DELETE FROM jobs WHERE tenant = ? AND owner = ? AND no = ? AND op = ?",
            (job.tenant, job.owner, job.no, job.operation),
        )


def postpone(db: Db, jobs: Sequence[Job], error: Exception, now: datetime, settings: Settings) -> None:
    """Retry later, each time twice as late; after `job_attempts` tries the job is failed and waits for a person.

    A model that asked for a pause gets it. A try that found it resting, or its budget used up, asked nothing and does
    not count; neither does one whose result the store could not write, for want of space or of its lock.
    """
    pause, counts = 0.0, 0 if isinstance(error, StoreFullError | StoreBusyError | StoreUnreachableError) else 1
    if isinstance(error, LLMUnavailableError):
        pause, counts = error.retry_after or 0.0, int(error.asked)
    for job in jobs:
        attempts = job.attempts + counts
        backoff = settings.job_backoff_seconds * 2 ** max(0, attempts - 1)
        delay = timedelta(seconds=max(pause, backoff))
        db.run(
            "UPDATE jobs SET state = ?, attempts = ?, run_after = ?, error = ?"
            " WHERE tenant = ? AND owner = ? AND no = ? AND op = ?",
            (
                "failed" if attempts >= settings.job_attempts else "queued",
                attempts,
                to_us(now + delay),
                f"{type(error).__name__}: {error}"[:500],
                job.tenant,
                job.owner,
                job.no,
                job.operation,
            ),
        )


def retry_failed(db: Db, tenant: str, now: datetime) -> int:
    """Queue every failed job of a tenant again."""
    return db.run(
        "UPDATE jobs SET state = 'queued', attempts = 0, run_after = ? WHERE tenant = ? AND state = 'failed'",
        (to_us(now), tenant),
    )


# leases ---------------------------------------------------------------------------------------------------------------


def _started(pid: int) -> str:
    """When a process of this machine started, as the kernel counts; '' where it does not tell."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except (OSError, IndexError):
        return ""


@cache
def _machine() -> str:
    """A name for where a process number means one process: names of hosts repeat, and numbers in their containers."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{socket.gethostname()}/{boot}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:  # a system without these
        return f"{socket.gethostname()}/{uuid.getnode():x}"


def new_holder() -> str:
    """A name for this worker that tells others on its machine whether its process still lives."""
    pid = os.getpid()
    return f"{_machine()}|{pid}|{_started(pid)}|{uuid.uuid4().hex[:8]}"


def _is_dead(holder: str) -> bool:
    """Whether the holder ran on this machine and its process is gone."""
    machine, pid, started, _ = holder.split("|")
    if machine != _machine():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return bool(started) and _started(int(pid)) != started


def lease(db: Db, tenant: str, owner: str, holder: str, seconds: float) -> bool:
    """Take or renew the owner's lease; False while another living worker holds it. Uses the machine's clock.

    Where others write at the same time, an owner whose row one of them has in hand is passed over too, not waited for.
    """
    now = time.time_ns() // 1000
    row = db.one(
        "SELECT lease_holder, lease_until FROM owners WHERE tenant = ? AND owner = ? /* FOR UPDATE SKIP LOCKED */",
        (tenant, owner),
    )
    if row is None:
        return False
    held = row["lease_holder"]
    if held is not None and held != holder and row["lease_until"] > now and not _is_dead(held):
        return False
    db.run(
        "UPDATE owners SET lease_holder = ?, lease_until = ? WHERE tenant = ? AND owner = ?",
        (holder, now + int(seconds * 1e6), tenant, owner),
    )
    return True


def release(db: Db, tenant: str, owner: str, holder: str) -> None:
    db.run(
        "UPDATE owners SET lease_holder = NULL, lease_until = 0 WHERE tenant = ? AND owner = ? AND lease_holder = ?",
        (tenant, owner, holder),
    )
