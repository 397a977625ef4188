"""face/look.py without `await`, made by tools/make_sync.py: do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from memstrata.sync.thread import MemoryThread
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


class SyncLook(MemoryThread):
    """The verbs that look around: sessions, turns with their tier, pages and heat, decisions, the log, the graph."""

    def owners(self, *, limit: int = 50, cursor: str | None = None) -> OwnerPage:
        """Of whom there is memory: users, and agents without a user, by name."""
        return self._run(self._async.owners(limit=limit, cursor=cursor))

    def sessions(
        self, *, user_id: str | None = None, agent_id: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> SessionPage:
        """The conversations, the last spoken in first."""
        return self._run(self._async.sessions(user_id=user_id, agent_id=agent_id, limit=limit, cursor=cursor))

    def turns(
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
        return self._run(
            self._async.turns(user_id=user_id, agent_id=agent_id, session_id=session_id, limit=limit, cursor=cursor)
        )

    def pages(
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
        return self._run(
            self._async.pages(
                user_id=user_id, agent_id=agent_id, session_id=session_id, state=state, limit=limit, cursor=cursor
            )
        )

    def heat(
        self, *, user_id: str | None = None, agent_id: str | None = None, limit: int = 20
    ) -> tuple[HeatCurve, ...]:
        """How the heat of the newest warm pages went, tick by tick, from the operation log."""
        return self._run(self._async.heat(user_id=user_id, agent_id=agent_id, limit=limit))

    def decisions(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        outcome: Outcome | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> DecisionPage:
        """The gate's decisions in force, the newest first, and what people said of them."""
        return self._run(
            self._async.decisions(user_id=user_id, agent_id=agent_id, outcome=outcome, limit=limit, cursor=cursor)
        )

    def operations(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        verb: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> OperationPage:
        """The operation log, the newest first. `receipt` tells what one did, `undo` takes it back."""
        return self._run(
            self._async.operations(user_id=user_id, agent_id=agent_id, verb=verb, limit=limit, cursor=cursor)
        )

    def jobs(
        self, *, user_id: str | None = None, agent_id: str | None = None, limit: int = 100
    ) -> tuple[QueuedJob, ...]:
        """Failed work, and queued work in the order it falls due: of one owner, or of everybody."""
        return self._run(self._async.jobs(user_id=user_id, agent_id=agent_id, limit=limit))

    def graph(
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
        return self._run(
            self._async.graph(
                user_id=user_id,
                agent_id=agent_id,
                kinds=kinds,
                tags=tags,
                include_superseded=include_superseded,
                limit=limit,
            )
        )
