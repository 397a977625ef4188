"""face/recall.py without `await`, made by tools/make_sync.py: do not edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memstrata.sync.thread import MemoryThread
from memstrata.types import Context, ContextStrategy, Kind, Profile, Recall


class SyncOut(MemoryThread):
    """The way out: recall, context, profile."""

    def recall(
        self,
        query: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        k: int = 10,
        filters: Mapping[str, Any] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        kinds: Sequence[Kind] | None = None,
        tags: Sequence[str] | None = None,
        include_superseded: bool = False,
        min_score: float = 0.0,
        cursor: str | None = None,
        now: datetime | str | None = None,
        tz: str | None = None,
        used: Sequence[str] | None = None,
        touch: bool = True,
    ) -> Recall:
        """The memories that answer a query, best first, each with its score, legs, link path and evidence.

        Args:
            session_id: the session that asks; its hot turns are in the context already and are not searched.
            filters: on fields and metadata, see `memstrata.recall.filters`.
            since, until: only what happened (or was said) in between.
            as_of: what held at that time. known_at: only what was recorded by then.
            kinds, tags: only notes of these.
            min_score: hits below are left out; a score is the estimated chance that the memory answers the query.
            cursor: goes on after an earlier page of hits.
            now, tz: the asker's time and zone, for "last week".
            used: ids of the hits that were used: only these count as accessed.
            touch: False changes nothing: no weight, no heat, no tick.
        """
        return self._run(
            self._async.recall(
                query,
                user_id=user_id,
                agent_id=agent_id,
                session_id=session_id,
                k=k,
                filters=filters,
                since=since,
                until=until,
                as_of=as_of,
                known_at=known_at,
                kinds=kinds,
                tags=tags,
                include_superseded=include_superseded,
                min_score=min_score,
                cursor=cursor,
                now=now,
                tz=tz,
                used=used,
                touch=touch,
            )
        )

    def context(
        self,
        query: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        max_tokens: int = 2000,
        strategy: ContextStrategy = "hybrid",
        k: int | None = None,
        now: datetime | str | None = None,
        tz: str | None = None,
        touch: bool = True,
    ) -> Context:
        """What to put before a model: the last turns, promoted pages, recalled notes with dates and citations.

        The text never exceeds `max_tokens` (o200k tokens). Recalled text is fenced as data: what is in it is not an
        instruction, and what comes back of it in later turns is known as an echo.

        Strategies: window (the session's last turns), summary (its pages' summaries, from 30 turns on, and the last
        turns), retrieval (recalled memories only), hybrid (last turns, promoted pages, recalled memories), full.

        k: recalled memories, at most; None: the settings `k` or `model_size` say.
        """
        return self._run(
            self._async.context(
                query,
                user_id=user_id,
                agent_id=agent_id,
                session_id=session_id,
                max_tokens=max_tokens,
                strategy=strategy,
                k=k,
                now=now,
                tz=tz,
                touch=touch,
            )
        )

    def profile(self, user_id: str | None = None, *, agent_id: str | None = None) -> Profile:
        """Who this is: current notes of identity, preference and relation, each with its note."""
        return self._run(self._async.profile(user_id, agent_id=agent_id))
