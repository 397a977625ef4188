"""The application: the verbs as routes, health, the OpenAPI document, and how it starts and ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.routing import Route

from memstrata._version import __version__
from memstrata.async_memory import AsyncMemory
from memstrata.errors import MemstrataError
from memstrata.server.access import Authenticator
from memstrata.server.console import add_console
from memstrata.server.door import Auditor, Door, principal_of, seen_of
from memstrata.server.events import add_events
from memstrata.server.files import add_files
from memstrata.server.keys import Rules, no_rules
from memstrata.server.mcp_http import PATH, McpRoute
from memstrata.server.metrics import Metrics, jobs_by_state
from memstrata.server.problems import HttpError, problem, problem_of
from memstrata.server.routes import add_verbs
from memstrata.server.tenants import Tenants

log = logging.getLogger("memstrata.server")
COUNT_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request, and one caller, may ask for. Sizes in bytes."""

    body_bytes: int = 4 * 2**20
    import_bytes: int = 256 * 2**20
    requests_a_minute: int = 6000


class Service(FastAPI):
    """The application with what its parts share."""

    tenants: Tenants
    draining: bool = False  # no new caller should come: /readyz says so

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            made = super().openapi()
            made.setdefault("components", {})["securitySchemes"] = {
                "bearer": {"type": "http", "scheme": "bearer", "description": "An API key, or a JWT."}
            }
            made["security"] = [{"bearer": []}]
        return super().openapi()


def create_app(
    root: AsyncMemory,
    authenticators: Sequence[Authenticator],
    *,
    rules_of: Callable[[str], Rules] = no_rules,
    auditor: Auditor | None = None,
    limits: Limits | None = None,
    upkeep_seconds: float = 300.0,
    hsts: bool = False,
    metrics: Metrics | None = None,
) -> Service:
    """The service over a memory's store; the memory is closed with it.

    Args:
        root: opened with `worker=True`; its settings are those of every tenant that has none of its own.
        authenticators: asked one after another who calls.
        rules_of: settings and quotas of a tenant, where they differ from the service's.
        upkeep_seconds: how often every tenant is maintained.
        hsts: tell browsers to come by HTTPS only; for a service behind TLS.
    """
    limits = limits or Limits()

    @asynccontextmanager
    async def lifespan(app: Service) -> AsyncIterator[None]:
        app.tenants.start_upkeep(upkeep_seconds)
        deaf = None if metrics is None else metrics.listen()
        beside = [] if metrics is None else [asyncio.create_task(_count_store(root, metrics))]
        if auditor is not None:
            beside.append(asyncio.create_task(auditor.trim(upkeep_seconds)))
        try:
            yield
        finally:
            await mcp.close()
            if deaf is not None:
                deaf()
            for task in beside:
                task.cancel()
            await app.tenants.close()
            if auditor is not None:
                await auditor.write()

    app = Service(
        title="memstrata",
        version=__version__,
        summary="Long-term memory for LLM agents that layers, gates and links what it keeps.",
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        max_body_size=limits.body_bytes,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # its spans hold whole query strings
        redirect_slashes=False,
    )
    if auditor is not None:
        root._engine.retired = auditor.retire
    app.tenants = Tenants(root, rules_of)
    add_verbs(app, app.tenants)
    add_files(app, app.tenants, most_bytes=limits.import_bytes)
    add_events(app, app.tenants, lambda: app.draining)
    mcp = McpRoute(app.tenants, most_bytes=limits.body_bytes)
    app.router.routes.append(Route(PATH, mcp))
    _add_health(app, root)
    add_console(app)
    _add_handlers(app)
    app.add_middleware(
        Door,
        authenticators=authenticators,
        requests_a_minute=limits.requests_a_minute,
        rules=app.tenants.rules,
        auditor=auditor,
        hsts=hsts,
        metrics=metrics,
    )
    return app


async def _count_store(root: AsyncMemory, metrics: Metrics) -> None:
    """Count what waits in the store, every few seconds."""
    while True:
        try:
            store = root._engine.store.within(None)
            metrics.set_store(await store.read(jobs_by_state), await store.size())
        except MemstrataError as error:
            log.warning("the store could not be counted: %s", type(error).__name__)
        await asyncio.sleep(COUNT_SECONDS)


def _add_health(app: Service, root: AsyncMemory) -> None:
    async def healthz() -> Response:
        """The process answers."""
        return JSONResponse({"status": "ok"})

    async def readyz() -> Response:
        """The store can be read, and the service is not about to end."""
        if app.draining:
            return JSONResponse({"status": "draining"}, 503)
        try:
            await root._engine.store.read(lambda db: db.one("SELECT 1"))
        except MemstrataError as error:
            return JSONResponse({"status": type(error).__name__}, 503)
        return JSONResponse({"status": "ready"})

    async def whoami(request: Request) -> Response:
        """What the credential of this request stands for."""
        who = principal_of(request)
        told = {"tenant": who.tenant, "rights": sorted(who.rights), "user": who.user, "agent": who.agent}
        return JSONResponse({**told, "credential": who.credential, "version": __version__})

    app.add_api_route("/healthz", healthz, methods=["GET"], tags=["Health"], include_in_schema=False)
    app.add_api_route("/readyz", readyz, methods=["GET"], tags=["Health"], include_in_schema=False)
    app.add_api_route("/v1/whoami", whoami, methods=["GET"], tags=["Health"], response_model=dict[str, Any])


def _add_handlers(app: FastAPI) -> None:
    """Every refusal is a problem document; what nobody expected says nothing but its request's id."""

    async def ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, MemstrataError)
        return problem_of(error, request_id=seen_of(request).request_id)

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        name = {404: "NotFoundError", 405: "MethodError", 413: "LimitError"}.get(error.status_code, "RequestError")
        headers = dict(error.headers or {})
        return problem(
            error.status_code, name, str(error.detail), headers=headers, request_id=seen_of(request).request_id
        )

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HttpError)
        return problem(
            error.status,
            error.error,
            error.detail,
            headers=error.headers,
            request_id=seen_of(request).request_id,
            **error.details,
        )

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        faults = [
            {"where": ".".join(map(str, fault["loc"])), "what": fault["msg"]} for fault in error.errors()[:MOST_FAULTS]
        ]
        detail = "; ".join(f"{fault['where']}: {fault['what']}" for fault in faults)
        return problem(422, "InputError", detail, request_id=seen_of(request).request_id, errors=faults)

    async def unexpected(request: Request, error: Exception) -> Response:
        detail = f"this should not happen; the log of the service tells more ({type(error).__name__})"
        return problem(500, "MemstrataError", detail, request_id=seen_of(request).request_id)

    app.add_exception_handler(MemstrataError, ours)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(HttpError, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(Exception, unexpected)


MOST_FAULTS = 10  # of a request that are told
