"""What every request passes: an id, its credential, the limits, security headers, one line of log, the audit."""

from __future__ import annotations

import asyncio
import logging
import re
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memstrata import trace, types
from memstrata.errors import StoreError
from memstrata.server.access import Authenticator, Principal, Rates, bearer
from memstrata.server.keys import Access, AccessFile, Rules
from memstrata.server.metrics import Metrics
from memstrata.server.problems import HttpError, problem

log = logging.getLogger("memstrata.server.requests")
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
AUDIT_SECONDS = 0.5  # how long a line may wait to be written with others


@dataclass(slots=True)
class Auditor:
    """Writes the audit log in the background; what is erased is written at once.

    Lines older than `keep_days` are deleted, None keeps all.
    """

    file: AccessFile
    keep_days: float | None = None
    _lines: list[Access] = field(default_factory=list)
    _task: asyncio.Task[None] | None = None

    def add(self, line: Access) -> None:
        self._lines.append(line)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._later())

    def retire(self, scope: types.Scope, operation: str) -> None:
        """Tell of an owner whom the tenant's retention rule erased: no caller did."""
        subject = self.file.subject_of(scope.owner)
        self.add(Access(datetime.now(UTC), scope.tenant, "retention", "erase", "erase", subject, 200, operation))

    async def _later(self) -> None:
        waiting = 0
        while len(self._lines) > waiting:  # what could not be written waits for the next line
            await asyncio.sleep(AUDIT_SECONDS)
            await self.write()
            waiting = len(self._lines)

    async def trim(self, every_seconds: float) -> None:
        """Delete the lines that are too old, now and every so many seconds."""
        while self.keep_days is not None:
            before = datetime.now(UTC) - timedelta(days=self.keep_days)
            try:
                await asyncio.to_thread(self.file.trim_audit, before)
            except StoreError as error:
                log.warning("old lines of the audit log stay until the next try: %s", type(error).__name__)
            await asyncio.sleep(every_seconds)

    async def write(self) -> None:
        lines, self._lines = self._lines, []
        try:
            await asyncio.to_thread(self.file.write_audit, lines)
        except StoreError as error:
            log.warning("%d lines of the audit log wait for the next ones: %s", len(lines), type(error).__name__)
            self._lines = lines + self._lines


@dataclass(slots=True)
class Seen:
    """What a request turned out to be: filled in as it goes, read when it ends."""

    request_id: str
    who: Principal | None = None
    verb: str = ""
    right: str = ""
    owner: str = ""
    status: int = 500


class Door:
    """The outermost application: lets a request in, and tells what became of it."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        authenticators: Sequence[Authenticator],
        requests_a_minute: int,
        rules: Callable[[str], Rules],
        auditor: Auditor | None,
        hsts: bool,
        metrics: Metrics | None = None,
    ) -> None:
        self.app, self.authenticators, self.requests_a_minute = app, authenticators, requests_a_minute
        self.rules, self.auditor, self.hsts, self.rates = rules, auditor, hsts, Rates()
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        asked = headers.get("x-request-id", "")
        seen = Seen(asked if _REQUEST_ID.fullmatch(asked) else uuid.uuid4().hex)
        scope.setdefault("state", {})["seen"] = seen
        started = time.perf_counter()

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen.status = message["status"]
                self._finish_headers(MutableHeaders(scope=message), seen)
            await send(message)

        if self.metrics is not None:
            self.metrics.begin()
        try:
            with trace.span(
                f"{scope['method']} memstrata", parent=_traceparent(headers), server=True, request=seen.request_id
            ) as span:
                try:
                    if scope["path"].startswith("/v1/") or scope["path"].startswith("/mcp"):
                        await self._let_in(scope, headers, seen)
                    await self.app(scope, receive, answer)
                except HttpError as error:
                    await _refusal(error, seen)(scope, receive, answer)
                if span is not None:
                    route = getattr(scope.get("route"), "path", "")
                    span.update_name(f"{scope['method']} {route}")
                    span.set_attributes({"http.route": route, "http.response.status_code": seen.status})
        finally:
            seconds = time.perf_counter() - started
            if self.metrics is not None:
                self.metrics.end(seen.verb, seen.status, seconds)
            await self._tell(scope, seen, seconds)

    async def _let_in(self, scope: Scope, headers: Headers, seen: Seen) -> None:
        """Find out who calls; raise a 401, 415 or 429."""
        credential = bearer(headers)
        for authenticator in self.authenticators:
            seen.who = await authenticator.check(credential)
            if seen.who is not None:
                break
        self._count(_address(scope) if seen.who is None else seen.who.credential, self.requests_a_minute)
        if seen.who is not None and (most := self.rules(seen.who.tenant).requests_a_minute) is not None:
            self._count(f"tenant:{seen.who.tenant}", most)
        if seen.who is None:
            raise HttpError(
                401,
                "UnauthorizedError",
                "send a valid credential: Authorization: Bearer KEY. `memstrata keys create` makes one",
                headers={"WWW-Authenticate": "Bearer"},
            )
        if headers.get("content-encoding", "identity") != "identity":
            raise HttpError(415, "MediaTypeError", "bodies are taken without Content-Encoding")

    def _count(self, caller: str, most: int) -> None:
        """Raise a 429 when this caller asked too often."""
        wait = self.rates.take(caller, most)
        if wait:
            seconds = max(1, round(wait))
            raise HttpError(
                429,
                "RateLimitError",
                f"more than {most} requests a minute; wait {seconds} s",
                headers={"Retry-After": str(seconds)},
                retry_after=seconds,
            )

    def _finish_headers(self, headers: MutableHeaders, seen: Seen) -> None:
        headers["X-Request-Id"] = seen.request_id
        for name, value in SECURITY_HEADERS.items():
            headers.setdefault(name, value)
        if self.hsts:
            headers.setdefault("Strict-Transport-Security", "max-age=31536000")

    async def _tell(self, scope: Scope, seen: Seen, seconds: float) -> None:
        """One line of log, and one of the audit log where somebody's memory was asked for. No text, no names."""
        if log.isEnabledFor(logging.INFO):
            route = scope.get("route")
            line = {
                "request": seen.request_id,
                "method": scope["method"],
                "route": getattr(route, "path", ""),
                "verb": seen.verb,
                "status": seen.status,
                "ms": round(1000 * seconds, 1),
                "tenant": None if seen.who is None else seen.who.tenant,
                "credential": None if seen.who is None else seen.who.credential,
            }
            log.info("%s", orjson.dumps(line).decode())
        if self.auditor is None or seen.who is None or not seen.verb:
            return
        subject = self.auditor.file.subject_of(seen.owner) if seen.owner else ""
        self.auditor.add(
            Access(
                datetime.now(UTC),
                seen.who.tenant,
                seen.who.credential,
                seen.verb,
                seen.right,
                subject,
                seen.status,
                seen.request_id,
            )
        )
        if seen.verb == "erase":
            await self.auditor.write()


def _refusal(error: HttpError, seen: Seen) -> ASGIApp:
    return problem(
        error.status, error.error, error.detail, headers=error.headers, request_id=seen.request_id, **error.details
    )


def _traceparent(headers: Headers) -> str | None:
    return headers.get(trace.PARENT)


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return f"address:{client[0]}" if client else "address:"


def seen_of(request: Request) -> Seen:
    """What the door knows of this request."""
    seen: Seen = request.scope["state"]["seen"]
    return seen


def owner_of(arguments: Mapping[str, Any]) -> str:
    """The owner that a call's arguments name, "" for nobody."""
    user, agent = arguments.get("user_id"), arguments.get("agent_id")
    return f"u:{user}" if user is not None else "" if agent is None else f"a:{agent}"


def principal_of(request: Request) -> Principal:
    """Who calls; the door has let it in."""
    who = seen_of(request).who
    if who is None:  # a path that the door does not guard
        raise HttpError(401, "UnauthorizedError", "send a credential", headers={"WWW-Authenticate": "Bearer"})
    return who
