"""The way out: recall, context, profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memstrata.face.base import MemoryBase
from memstrata.intake.arguments import flag, words
from memstrata.recall import context, find, profile, request
from memstrata.recall.recall import Found
from memstrata.tiers.touch import Touch
from memstrata.types import (
    Context,
    ContextStrategy,
    Kind,
    Profile,
    Recall,
    Scope,
)


class MemoryOut(MemoryBase):
    """The way out: recall, context, profile."""

    async def recall(
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
        scope = self._scope(user_id, agent_id, session_id)
        ask = request.make_ask(
            self._engine,
            query,
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
        )
        flag(touch, "touch")
        used = None if used is None else words(used, "used", limit=request.MAX_K)
        await self._worker.index_now(scope.owner)
        result, found = await find.recall(self._engine, scope, ask)
        if touch:
            self._touch(scope, found, used)
        return result

    def _touch(self, scope: Scope, found: Found, used: Sequence[str] | None = None, *, served: bool = False) -> None:
        notes_, pages = found.notes, found.pages
        if used is not None:
            wanted = set(used)
            hits = [hit for hit in found.hits if hit.id in wanted]
            notes_ = tuple(hit.note.no for hit in hits if hit.note is not None)
            pages = found.pages if hits else ()
        if found.hits:
            self._touches.add(Touch(scope, self._engine.now(), notes_, pages, served))
            self._poke()

    async def context(
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
        scope = self._scope(user_id, agent_id, session_id)
        flag(touch, "touch")
        await self._worker.index_now(scope.owner)
        k = self._engine.settings.context_hits if k is None else k
        made, found = await context.make_context(
            self._engine, scope, query, max_tokens=max_tokens, strategy=strategy, k=k, now=now, tz=tz
        )
        if touch and found is not None:
            self._touch(scope, found, served=True)
        return made

    async def profile(self, user_id: str | None = None, *, agent_id: str | None = None) -> Profile:
        """Who this is: current notes of identity, preference and relation, each with its note."""
        return await profile.make_profile(self._engine, self._scope(user_id, agent_id))
