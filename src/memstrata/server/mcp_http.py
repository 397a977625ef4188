"""MCP over HTTP, beside the REST routes: the same door, the same credentials, the same audit.

Its library takes a second to load, so that is done when the first client comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp, Receive, Scope, Send

from memstrata.errors import MissingExtraError
from memstrata.server.door import owner_of, principal_of, seen_of
from memstrata.server.problems import problem_of
from memstrata.server.tenants import Tenants
from memstrata.server.verbs import Verb

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context, MCPServer

    from memstrata.server.mcp import Caller

PATH = "/mcp"


class McpRoute:
    """The application at `/mcp`. Each request stands by itself: a revoked credential is refused at the next."""

    def __init__(self, tenants: Tenants, *, most_bytes: int) -> None:
        self._tenants, self._most_bytes = tenants, most_bytes
        self._app: ASGIApp | None = None
        self._beginning = asyncio.Lock()
        self._ending = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with self._beginning:
                if self._app is None:
                    self._app = await self._begin()
        except ImportError:
            await problem_of(MissingExtraError("MCP", "mcp"))(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _begin(self) -> ASGIApp:
        """Load the library and start what its sessions run in, which lasts until `close`."""
        server = await asyncio.to_thread(_build, self._tenants)
        from mcp.server.transport_security import TransportSecuritySettings

        app = server.streamable_http_app(
            streamable_http_path=PATH,
            stateless_http=True,
            json_response=True,
            max_request_body_size=self._most_bytes,
            # A credential is asked for, or the host checked, before a request comes here.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        ready = asyncio.Event()

        async def run() -> None:
            async with server.session_manager.run():
                ready.set()
                await self._ending.wait()

        self._running = asyncio.create_task(run())
        await ready.wait()
        return app

    async def close(self) -> None:
        self._ending.set()
        if self._running is not None:
            await asyncio.wait([self._running])


def _build(tenants: Tenants) -> MCPServer:
    from memstrata.server.mcp import build

    async def who(ctx: Context[Any, Any], verb: Verb, arguments: Mapping[str, Any]) -> Caller:
        request = ctx.request_context.request
        assert request is not None  # of HTTP there is always one
        seen, principal = seen_of(request), principal_of(request)
        seen.verb, seen.right = verb.name, verb.right
        seen.owner = owner_of({"user_id": principal.user, "agent_id": principal.agent, **arguments})
        if verb.name in ("add", "remember"):
            principal.need(verb.right)
            await tenants.check_room(principal.tenant)
        return tenants.memory(principal.tenant), principal

    return build(who)
