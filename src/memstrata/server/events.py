"""How the queued work goes on, as server-sent events: what waits whenever that changes, until nothing does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.sse import format_sse_event
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import StreamingResponse

from memstrata.async_memory import AsyncMemory
from memstrata.errors import MemstrataError
from memstrata.ledger.look import Waiting, waiting
from memstrata.server.door import principal_of, seen_of
from memstrata.server.problems import problem_of
from memstrata.server.routes import BEAT_SECONDS, EVENTS, PROBLEMS, described, place
from memstrata.server.tenants import Tenants
from memstrata.server.verbs import BY_NAME, PREFIX
from memstrata.store.rows import dump
from memstrata.types import Scope

LOOK_SECONDS = 0.5  # between two looks at the queue


class Whose(BaseModel):
    """Whose work; everybody's of the tenant, when nobody is named."""

    model_config = ConfigDict(extra="forbid")
    user_id: str | None = None
    agent_id: str | None = None
    until_idle: bool = Field(False, description="End when nothing is queued; otherwise the caller ends it.")


def add_events(app: FastAPI, tenants: Tenants, ending: Callable[[], bool]) -> None:
    """Add the stream of queued work; `ending` tells that the service is about to end."""

    async def job_events(request: Request, given: Annotated[Whose, Query()]) -> StreamingResponse:
        """`jobs` with {queued, failed, by_kind, oldest} at once and at every change; then `idle`, if asked for."""
        placed = place(request, BY_NAME["jobs"], given.model_dump(include={"user_id", "agent_id"}, exclude_unset=True))
        memory = tenants.memory(principal_of(request).tenant)
        user, agent = placed.get("user_id"), placed.get("agent_id")
        scope = None if user is None and agent is None else memory._scope(user, agent)
        told = _events(memory, scope, given.until_idle, ending, seen_of(request).request_id)
        return StreamingResponse(told, media_type=EVENTS)

    told: dict[int | str, dict[str, Any]] = {status: described(text) for status, text in PROBLEMS.items()}
    told[200] = {"content": {EVENTS: {"schema": {"type": "string"}}}, "description": "The events."}
    app.add_api_route(
        f"{PREFIX}/jobs/events",
        job_events,
        methods=["GET"],
        operation_id="job_events",
        response_class=StreamingResponse,
        summary="How the queued work goes on, as server-sent events.",
        tags=["Looking around"],
        responses=told,
    )


async def _events(
    memory: AsyncMemory, scope: Scope | None, until_idle: bool, ending: Callable[[], bool], request_id: str
) -> AsyncIterator[bytes]:
    told: Waiting | None = None
    silent = 0.0
    while not ending():
        try:
            now = await waiting(memory._engine, scope)
        except MemstrataError as error:
            document = bytes(problem_of(error, request_id=request_id).body).decode()
            yield format_sse_event(event="problem", data_str=document)
            return
        if now != told:
            told, silent = now, 0.0
            yield format_sse_event(event="jobs", data_str=dump(now))
        if until_idle and not now.queued:
            yield format_sse_event(event="idle", data_str=dump(now))
            return
        await asyncio.sleep(LOOK_SECONDS)
        silent += LOOK_SECONDS
        if silent >= BEAT_SECONDS:
            silent = 0.0
            yield format_sse_event(comment="no change")
