"""The verbs that look around: sessions, turns with their tier, pages and heat, decisions, the log, the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from memstrata.errors import ClosedError
from memstrata.face.base import MemoryBase
from memstrata.ledger import decisions, graph, heat, look
from memstrata.types import Kind, Outcome
from memstrata.views import (
    DecisionPage,
    Graph,
    HeatCurve,
    OperationPage,
    OwnerPage,
    PagePage,
    QueuedJob,
    SessionPage,
    TurnPage,
)


class MemoryLook(MemoryBase):
    """The verbs that look around: sessions, turns with their tier, pages and heat, decisions, the log, the graph."""

    async def owners(self, *, limit: int = 50, cursor: str | None = None) -> OwnerPage:
        """Of whom there is memory: users, and agents without a user, by name."""
        if self._closed:
            raise ClosedError
        return await look.owners(self._engine, limit=limit, cursor=cursor)

    async def sessions(
        self, *, user_id: str | None = None, agent_id: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> SessionPage:
        """The conversations, the last spoken in first."""
        return await look.sessions(self._engine, self._scope(user_id, agent_id), limit=limit, cursor=cursor)

    async def turns(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> TurnPage:
        """The turns of a session, or of all, in the order they were said; each with the tier it is found in.

        What its user forgot or took back is left out. `session_id=""` is what was said in no named session.
        """
        scope = self._scope(user_id, agent_id, session_id or None)
        return await look.turns(self._engine, scope, session=session_id, limit=limit, cursor=cursor)

    async def pages(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        state: Literal["new", "warm", "distilled"] | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> PagePage:
        """Pages with their summary and their heat as of now, the newest first; `heat` tells how that went."""
        scope = self._scope(user_id, agent_id, session_id or None)
        return await look.pages(self._engine, scope, session=session_id, state=state, limit=limit, cursor=cursor)

    async def heat(
        self, *, user_id: str | None = None, agent_id: str | None = None, limit: int = 20
    ) -> tuple[HeatCurve, ...]:
        """How the heat of the newest warm pages went, tick by tick, from the operation log."""
        return await heat.heat(self._engine, self._scope(user_id, agent_id), limit=limit)

    async def decisions(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        outcome: Outcome | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> DecisionPage:
        """The gate's decisions in force, the newest first, and what people said of them."""
        scope = self._scope(user_id, agent_id)
        return await decisions.list_decisions(self._engine, scope, outcome=outcome, limit=limit, cursor=cursor)

    async def operations(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        verb: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> OperationPage:
        """The operation log, the newest first. `receipt` tells what one did, `undo` takes it back."""
        scope = self._scope(user_id, agent_id)
        return await look.operations(self._engine, scope, verb=verb, limit=limit, cursor=cursor)

    async def jobs(
        self, *, user_id: str | None = None, agent_id: str | None = None, limit: int = 100
    ) -> tuple[QueuedJob, ...]:
        """Failed work, and queued work in the order it falls due: of one owner, or of everybody."""
        if self._closed:
            raise ClosedError
        scope = None if user_id is None and agent_id is None else self._scope(user_id, agent_id)
        return await look.jobs(self._engine, scope, limit=limit)

    async def graph(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        kinds: Sequence[Kind] | None = None,
        tags: Sequence[str] | None = None,
        include_superseded: bool = False,
        limit: int = 5000,
    ) -> Graph:
        """Notes and the links between them, as points and lines: the newest `limit` notes."""
        return await graph.graph(
            self._engine,
            self._scope(user_id, agent_id),
            kinds=kinds,
            tags=tags,
            include_superseded=include_superseded,
            limit=limit,
        )
