"""Export and import over HTTP: whole files, streamed through a temporary one, never held in memory."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response
from pydantic import BaseModel, ConfigDict
from starlette.background import BackgroundTask
from starlette.responses import FileResponse

from memstrata.server.door import principal_of
from memstrata.server.problems import HttpError
from memstrata.server.routes import JSON, PROBLEMS, described, place
from memstrata.server.tenants import Tenants
from memstrata.server.verbs import EXPORT, IMPORT
from memstrata.store.rows import dump

LINES = "application/x-ndjson"


class Whose(BaseModel):
    """Whose memory is exported; everybody's of the tenant, when nobody is named."""

    model_config = ConfigDict(extra="forbid")
    user_id: str | None = None
    agent_id: str | None = None


class Into(Whose):
    """Whose memory it becomes, where the file does not say; as for `AsyncMemory.import_`."""

    session_id: str | None = None


def add_files(app: FastAPI, tenants: Tenants, *, most_bytes: int) -> None:
    """Add the routes of export and import; an import takes `most_bytes` at most."""
    problems: dict[int | str, dict[str, Any]] = {status: described(text) for status, text in PROBLEMS.items()}

    async def export(request: Request, whose: Annotated[Whose, Query()]) -> Response:
        placed = place(request, EXPORT, whose.model_dump(exclude_unset=True))
        handle, name = tempfile.mkstemp(prefix="memstrata-", suffix=".jsonl")  # readable by its owner only
        try:
            with os.fdopen(handle, "wb") as stream:
                await tenants.memory(principal_of(request).tenant).export(stream, **placed)
        except BaseException:
            _remove(name)
            raise
        done = BackgroundTask(_remove, name)
        return FileResponse(name, media_type=LINES, filename="memory.jsonl", background=done)

    async def import_(request: Request, into: Annotated[Into, Query()]) -> Response:
        placed = place(request, IMPORT, into.model_dump(exclude_unset=True))
        await tenants.check_room(principal_of(request).tenant)
        handle, name = tempfile.mkstemp(prefix="memstrata-", suffix=".jsonl")
        try:
            with os.fdopen(handle, "wb") as stream:
                async for piece in request.stream():
                    stream.write(piece)
                    if stream.tell() > most_bytes:
                        raise HttpError(413, "LimitError", f"an import takes at most {most_bytes} bytes")
            counts = await tenants.memory(principal_of(request).tenant).import_(name, **placed)
        finally:
            _remove(name)
        return Response(dump(counts), media_type=JSON)

    for verb, endpoint in ((EXPORT, export), (IMPORT, import_)):
        lines = {"content": {LINES: {"schema": {"type": "string"}}}}
        app.add_api_route(
            verb.path,
            endpoint,
            methods=[verb.method],
            operation_id=verb.name.rstrip("_"),
            response_model=dict[str, int] if verb is IMPORT else None,
            summary=verb.doc.partition("\n")[0],
            description=verb.doc,
            tags=[verb.tag],
            responses={**problems, 200: {"description": "Done.", **(lines if verb is EXPORT else {})}},
            openapi_extra={"requestBody": {"required": True, **lines}} if verb is IMPORT else None,
            max_body_size=most_bytes if verb is IMPORT else None,
        )


def _remove(name: str) -> None:
    Path(name).unlink()
