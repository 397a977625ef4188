"""The verbs as routes: made from the table in `verbs`, each with its arguments, its answer and its problems."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Annotated, Any

import orjson
from fastapi import FastAPI, Header, Path, Query, Request, Response
from fastapi.sse import format_sse_event
from pydantic import BaseModel
from starlette.responses import StreamingResponse

from memstrata.errors import ConflictError, InputError, MemstrataError
from memstrata.server.door import owner_of, principal_of, seen_of
from memstrata.server.problems import MEDIA_TYPE, SCHEMA, problem_of
from memstrata.server.tenants import Tenants
from memstrata.server.verbs import IDEMPOTENCY_HEADER, VERBS, Verb, arguments_of
from memstrata.store.rows import dump
from memstrata.types import Note, Receipt

JSON = "application/json"
EVENTS = "text/event-stream"
PROBLEMS: Mapping[int, str] = {
    401: "No valid credential.",
    403: "The credential lacks the right, or stands for another user.",
    404: "Nothing with this id in this scope.",
    409: "The store changed, or an id or key was used before with other content.",
    413: "Larger than a documented limit.",
    422: "An argument cannot be taken; the detail says which and why.",
    429: "Too many requests; see Retry-After.",
    503: "Busy or closing; see Retry-After.",
}
# Figures of the file that all tenants share are no tenant's business.
OF_THE_FILE = ("bytes", "bytes_per_turn")

BEAT_SECONDS = 5.0  # between the comments that keep a stream open

Endpoint = Callable[..., Coroutine[Any, Any, Response]]


def add_verbs(app: FastAPI, tenants: Tenants) -> None:
    """Add a route for every verb of the table."""
    for verb in VERBS:
        told: dict[int | str, dict[str, Any]] = {status: described(text) for status, text in PROBLEMS.items()}
        if verb.name == "ask":
            told[502] = described("The language model gave no answer that can be used.")
            told[200] = {"content": {EVENTS: {"schema": {"type": "string"}}}, "description": "The answer."}
        if verb.name == "update":
            told[412] = described("The note is at another revision than If-Match names.")
        app.add_api_route(
            verb.path,
            endpoint_of(verb, tenants),
            methods=[verb.method],
            response_model=verb.returns,
            status_code=verb.status,
            operation_id=verb.name.rstrip("_"),
            summary=verb.doc.partition("\n")[0],
            description=verb.doc,
            tags=[verb.tag],
            responses=told,
        )


def described(text: str) -> dict[str, Any]:
    return {"description": text, "content": {MEDIA_TYPE: {"schema": SCHEMA}}}


def endpoint_of(verb: Verb, tenants: Tenants) -> Endpoint:
    """The function that FastAPI calls for a verb; its signature is that of the verb's arguments."""

    async def endpoint(
        request: Request, given: BaseModel, key: str | None = None, if_match: str | None = None, **in_path: str
    ) -> Response:
        arguments = {**in_path, **_arguments(verb, given)}
        if key is not None:
            arguments["idempotency_key"] = _latin_as_utf8(key)
        if if_match is not None and if_match.strip() != "*":
            arguments["revision"] = _revision(if_match)
        return await call(request, tenants, verb, arguments)

    parameters = [_parameter("request", Request)]
    if verb.id_name is not None:
        parameters.append(_parameter(verb.id_name, Annotated[str, Path(max_length=256)]))
    model = arguments_of(verb.name)
    parameters.append(_parameter("given", Annotated[model, Query()] if verb.in_query else model))
    if verb.takes_key:
        about = "The same key with the same body gives the first receipt again."
        parameters.append(
            _parameter("key", Annotated[str | None, Header(alias=IDEMPOTENCY_HEADER, description=about)], None)
        )
    if verb.name == "update":
        about = "The ETag of the note as it was read; 412 when it has changed since."
        parameters.append(
            _parameter("if_match", Annotated[str | None, Header(alias="If-Match", description=about)], None)
        )
    endpoint.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    endpoint.__name__ = verb.name
    return endpoint


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _arguments(verb: Verb, given: BaseModel) -> dict[str, Any]:
    """What was given, and only that: the face has its own defaults."""
    arguments = {name: getattr(given, name) for name in given.model_fields_set}
    if verb.in_query and isinstance(arguments.get("filters"), str):
        try:
            arguments["filters"] = orjson.loads(arguments["filters"])
        except orjson.JSONDecodeError as error:
            raise InputError(f"filters must be a JSON object: {error}") from error
    return arguments


def _latin_as_utf8(header: str) -> str:
    """A header's text: its bytes are read as Latin-1, and are mostly UTF-8."""
    try:
        return header.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return header


def _revision(if_match: str) -> int:
    text = if_match.strip().removeprefix("W/").strip('"')
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise InputError(f'If-Match must be the ETag of a note, such as "3", not {if_match!r:.60}')
    return int(text)


def place(request: Request, verb: Verb, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the caller's credential allows them; the door is told what is called, and about whom."""
    seen = seen_of(request)
    seen.verb, seen.right = verb.name, verb.right
    seen.owner = owner_of(arguments)  # also of what is refused
    placed = principal_of(request).place(verb, arguments)
    seen.owner = owner_of(placed)
    return placed


async def call(request: Request, tenants: Tenants, verb: Verb, arguments: Mapping[str, Any]) -> Response:
    """Call a verb of the caller's tenant and answer with its result or its problem."""
    seen, who = seen_of(request), principal_of(request)
    placed = place(request, verb, arguments)
    if verb.name in ("add", "remember"):
        await tenants.check_room(who.tenant)
    memory = tenants.memory(who.tenant)
    if verb.name == "ask" and EVENTS in request.headers.get("accept", ""):
        return StreamingResponse(_answer_events(memory.ask(**placed), seen.request_id), media_type=EVENTS)
    try:
        result = await getattr(memory, verb.name)(**placed)
    except ConflictError as error:
        stale = "revision" in placed and type(error) is ConflictError
        return problem_of(error, status=412 if stale else None, request_id=seen.request_id)
    except MemstrataError as error:
        return problem_of(error, request_id=seen.request_id)
    if verb.name == "stats":
        result = {name: value for name, value in result.items() if name not in OF_THE_FILE}
    return Response(dump(result), verb.status, _headers(verb, result), JSON)


def _headers(verb: Verb, result: object) -> dict[str, str]:
    if isinstance(result, Note):
        return {"ETag": f'"{result.revision}"'}
    if isinstance(result, Receipt) and verb.status == 201:
        return {"Location": f"/v1/operations/{result.operation}"}
    return {}


async def _answer_events(answer: Coroutine[Any, Any, Any], request_id: str) -> AsyncIterator[bytes]:
    """An answer as server-sent events: `asked` at once, a comment while the model thinks, `answer` or `problem`."""
    yield format_sse_event(event="asked", data_str=dump({"request_id": request_id}))
    task = asyncio.ensure_future(answer)
    try:
        while not (await asyncio.wait([task], timeout=BEAT_SECONDS))[0]:
            yield format_sse_event(comment="thinking")
        yield format_sse_event(event="answer", data_str=dump(task.result()))
    except MemstrataError as error:
        yield format_sse_event(event="problem", data_str=bytes(problem_of(error, request_id=request_id).body).decode())
    finally:
        task.cancel()
