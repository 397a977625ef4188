"""MCP over standard input and output: a client's own process, for one user of a store, or of a service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server.mcpserver import Context

from memstrata.async_memory import AsyncMemory
from memstrata.errors import ScopeError
from memstrata.server.access import Principal
from memstrata.server.mcp import Caller, build
from memstrata.server.verbs import Right, Verb


async def serve_stdio(
    memory: AsyncMemory, *, user: str | None, agent: str | None = None, read_only: bool = False
) -> None:
    """Answer until the client closes the connection; the memory is then closed.

    Everything is of `user` and `agent`: a tool can name no other. Raises ScopeError when neither is named.
    """
    if user is None and agent is None:
        raise ScopeError("name whose memory the client is given: --user NAME, or --agent NAME")
    rights: frozenset[Right] = frozenset({"read"} if read_only else {"read", "write"})
    principal = Principal("", rights, "stdio", user, agent)

    async def who(ctx: Context[Any, Any], verb: Verb, arguments: Mapping[str, Any]) -> Caller:
        del ctx, verb, arguments
        return memory, principal

    async with memory:
        await build(who).run_stdio_async()
