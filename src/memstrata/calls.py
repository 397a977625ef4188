"""Calls of the model on behalf of a stage: what is asked, what it costs, and that a paid answer is not asked for twice.

An answer that could be read is stored with its cost before it is used, and waits there for the commit of its step. A
process that dies in between finds it again: what is asked anew is the one call that was cut.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

import orjson
from pydantic import BaseModel

from memstrata.engine import Engine
from memstrata.errors import LLMBudgetError, LLMUnreadableError, SettingsError
from memstrata.journal.jobs import Job, is_queued
from memstrata.llm.answers import SHAPES, schema_of
from memstrata.llm.base import Completion, Request
from memstrata.llm.budget import WARN_AT, budget_used, midnight
from memstrata.llm.guard import Guard
from memstrata.llm.prompts import prompt
from memstrata.llm.repair import Answer, read_answer
from memstrata.store.base import Db, Row
from memstrata.store.rows import dump, insert, to_us
from memstrata.trace import tell
from memstrata.types import Scope

log = logging.getLogger("memstrata")

A = TypeVar("A", bound=BaseModel)

MOST_TOKENS: Mapping[tuple[str, str], int] = {
    ("page", "full"): 1500,
    ("page", "small"): 600,
    ("notes", "full"): 1200,
    ("notes", "small"): 400,
    ("fold", "full"): 600,
    ("fold", "small"): 300,
    ("ask", "full"): 400,
    ("ask", "small"): 200,
    ("rewrite", "full"): 120,
    ("rewrite", "small"): 80,
}
"""Of an answer, by stage and profile."""


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a call is for: its stage and scope, the job and page it belongs to, the operation that queued it.

    An answer for a job waits for its commit. `is_kept`: one without a job does too, found again by `operation`, which
    then names what was asked.
    """

    stage: str
    scope: Scope
    operation: str
    job: Job | None = None
    page: int | None = None
    is_kept: bool = False


@dataclass(frozen=True, slots=True)
class Asked(Generic[A]):
    """An answer that was read. `offered` is what its request offered under aliases; `counts` go into the receipt."""

    answer: Answer[A]
    offered: Mapping[str, Any]
    model: str
    prompt: str
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def versions(self) -> dict[str, str]:
        return {"model": self.model, "prompt": self.prompt}


async def ask_model(engine: Engine, purpose: Purpose, text: str, offered: Mapping[str, Any]) -> Asked[Any]:
    """One call of a stage, or its answer that was paid for before; every text in it is redacted.

    Raises:
        LLMUnavailableError (LLMBudgetError), LLMRefusedError, LLMUnreadableError: nothing but the cost was written.
    """
    llm = engine.llm
    if llm is None:
        raise SettingsError("no language model is set: Memory(llm='openai:NAME'), or MEMSTRATA_LLM")
    waiting = await engine.store.read(lambda db: _waiting(db, purpose))
    if waiting is not None:
        return _found(waiting)
    await check_budget(engine, llm, purpose.scope.tenant)
    completion, seconds = await llm.complete(request_of(llm, purpose.stage, text))
    return await take_answer(engine, llm, purpose, completion, seconds, offered)


async def take_answer(
    engine: Engine,
    llm: Guard,
    purpose: Purpose,
    completion: Completion,
    seconds: float,
    offered: Mapping[str, Any],
    also: Callable[[Db], None] | None = None,
) -> Asked[Any]:
    """Store what a call cost, and its answer where it waits for a commit; `also` runs in the same transaction.

    Of an owner who was erased meanwhile nothing is stored. Raises LLMUnreadableError, after the cost was stored.
    """
    row = _row(llm, purpose, engine.now(), completion, seconds)

    def write(db: Db) -> None:
        if purpose.job is not None and not is_queued(db, purpose.job):
            return
        insert(db, "calls", purpose.scope.tenant, purpose.scope.owner, row)
        if also is not None:
            also(db)

    tell("llm_seconds", seconds, stage=purpose.stage)
    for direction in ("input", "output", "cached"):
        tell("llm_tokens", row[f"{direction}_tokens"], stage=purpose.stage, direction=direction)
    try:
        answer = _read(engine, completion, purpose.stage, llm)
    except LLMUnreadableError:
        row["outcome"] = "unreadable"
        await engine.store.write(write)
        tell("llm_calls", stage=purpose.stage, outcome="unreadable")
        raise
    tell("llm_calls", stage=purpose.stage, outcome="read")
    if purpose.job is not None or purpose.is_kept:
        row["answer"] = dump({"value": answer.value.model_dump_json(by_alias=True), "offered": offered})
    await engine.store.write(write)
    return Asked(answer, offered, row["model"], row["prompt"], _counts(row, answer))


def settle(db: Db, job: Job) -> None:
    """Empty the answers that waited for a job's commit; belongs in its transaction."""
    db.run(
        "UPDATE calls SET answer = NULL WHERE tenant = ? AND owner = ? AND op = ? AND job = ? AND answer IS NOT NULL",
        (job.tenant, job.owner, job.operation, job.no),
    )


def settle_kept(db: Db, key: tuple[str, str], stage: str, operation: str | None = None) -> None:
    """Empty the answers of a stage that waited without a job: those for one thing that was asked, or all."""
    only = "" if operation is None else " AND op = ?"
    db.run(
        "UPDATE calls SET answer = NULL WHERE tenant = ? AND owner = ? AND job IS NULL AND answer IS NOT NULL"
        f" AND stage = ?{only}",
        (*key, stage, *(() if operation is None else (operation,))),
    )


def author_of_page(db: Db, key: tuple[str, str], page: int) -> dict[str, str]:
    """The model and prompt that drafted a page; empty where it was done without one."""
    row = db.one(
        "SELECT model, prompt FROM calls WHERE tenant = ? AND owner = ? AND page = ? AND stage = 'page'"
        " AND outcome = 'read' ORDER BY at DESC LIMIT 1",
        (*key, page),
    )
    return {} if row is None else {"model": row["model"], "prompt": row["prompt"]}


async def check_budget(engine: Engine, llm: Guard, tenant: str) -> None:
    """Raise LLMBudgetError when the day's budget is used up; warn once a day from 80 % on."""
    settings, now = engine.settings, engine.now()
    if settings.llm_tokens_a_day is None and settings.llm_money_a_day is None:
        return
    share = await engine.store.read(lambda db: budget_used(db, tenant, now, settings))
    if share >= 1.0:
        wait = (midnight(now) + timedelta(days=1) - now).total_seconds()
        raise LLMBudgetError(f"the day's budget of {llm.name} is used up", retry_after=wait, asked=False)
    day = f"{midnight(now):%Y-%m-%d}"
    if share >= WARN_AT and llm.warned_on != day:
        llm.warned_on = day
        log.warning("%.0f %% of the language model's budget of the day is used", 100 * share)


def request_of(llm: Guard, stage: str, text: str) -> Request:
    """What a model is asked at a stage about a text."""
    shape = SHAPES[stage, llm.profile]
    return Request(
        stage=stage,
        instructions=prompt(stage, llm.profile).text,
        text=text,
        name=f"{stage}_answer",
        schema=schema_of(shape),
        max_tokens=MOST_TOKENS[stage, llm.profile],
    )


def _row(llm: Guard, purpose: Purpose, now: datetime, completion: Completion, seconds: float) -> dict[str, Any]:
    usage, scope, job = completion.usage, purpose.scope, purpose.job
    return {
        "id": f"call_{uuid.uuid4().hex[:20]}",
        "at": to_us(now),
        "stage": purpose.stage,
        "agent": scope.agent or "",
        "session": scope.session or "",
        "op": purpose.operation if job is None else job.operation,
        "job": None if job is None else job.no,
        "page": purpose.page,
        "model": llm.name,
        "prompt": prompt(purpose.stage, llm.profile).version,
        "outcome": "read",
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
        "seconds": seconds,
        "cost": usage.cost,
        "answer": None,
    }


def _waiting(db: Db, purpose: Purpose) -> Row | None:
    job, scope = purpose.job, purpose.scope
    if job is not None:
        return db.one(
            "SELECT * FROM calls WHERE tenant = ? AND owner = ? AND op = ? AND job = ? AND stage = ?"
            " AND answer IS NOT NULL ORDER BY at DESC LIMIT 1",
            (job.tenant, job.owner, job.operation, job.no, purpose.stage),
        )
    if not purpose.is_kept:
        return None
    return db.one(
        "SELECT * FROM calls WHERE tenant = ? AND owner = ? AND op = ? AND job IS NULL AND stage = ?"
        " AND answer IS NOT NULL ORDER BY at DESC LIMIT 1",
        (scope.tenant, scope.owner, purpose.operation, purpose.stage),
    )


def _found(row: Row) -> Asked[Any]:
    """An answer that was paid for, read and redacted before a crash."""
    stage, _, profile = row["prompt"].split(" ")[0].partition(".")
    stored = orjson.loads(row["answer"])
    answer: Answer[Any] = Answer(SHAPES[stage, profile].model_validate_json(stored["value"]))
    return Asked(answer, stored["offered"], row["model"], row["prompt"], _counts(row, answer))


def _read(engine: Engine, completion: Completion, stage: str, llm: Guard) -> Answer[Any]:
    """A completion's answer, checked and redacted."""
    answer: Answer[Any] = read_answer(
        completion.text,
        SHAPES[stage, llm.profile],
        complete=completion.complete,
        instructions=prompt(stage, llm.profile).text,
    )
    return Answer(_redacted(answer.value, lambda text: engine.redactor.redact(text)[0]), answer.dropped, answer.mended)


def _counts(row: Row | Mapping[str, Any], answer: Answer[Any]) -> dict[str, int]:
    """What a receipt says of a call. Money is in millionths of a US dollar, and left out where no price is known."""
    money = {} if row["cost"] is None else {"llm_microdollars": round(1e6 * row["cost"])}
    return {
        "llm_calls": 1,
        "llm_input_tokens": row["input_tokens"],
        "llm_output_tokens": row["output_tokens"],
        "llm_cached_tokens": row["cached_tokens"],
        "llm_milliseconds": round(1e3 * row["seconds"]),
        **money,
        **{f"llm_dropped_{why}": count for why, count in answer.dropped.items()},
    }


def _redacted(value: BaseModel, redact: Callable[[str], str]) -> BaseModel:
    """The answer with every text in it redacted."""

    def clean(item: Any) -> Any:
        if isinstance(item, str):
            return redact(item)
        if isinstance(item, list):
            return [clean(each) for each in item]
        if isinstance(item, dict):
            return {name: clean(each) for name, each in item.items()}
        return item

    return type(value).model_validate(clean(value.model_dump(by_alias=True)))
