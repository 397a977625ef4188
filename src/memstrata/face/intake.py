"""The way in: add, remember, preview, end a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memstrata.face.base import MemoryBase
from memstrata.intake import add as intake
from memstrata.types import (
    Kind,
    Preview,
    Receipt,
    Trust,
)


class MemoryIn(MemoryBase):
    """The way in: add, remember, preview, end a session."""

    async def add(
        self,
        messages: object,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        at: datetime | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        trust: Trust | None = None,
    ) -> Receipt:
        """Store what was said. Durable when it returns; summaries, notes and links follow as queued work.

        Args:
            messages: a string (a user's), a dict {role, content, name?, at?, id?, metadata?}, or a list of dicts.
                Content may be a list of parts as the common providers send them.
            at: when it was said, for messages without a time of their own; now, when nothing tells.
            metadata: kept with each turn and open to filters.
            idempotency_key: the same key with the same messages gives the first receipt again.
            trust: overrides the trust class that follows from the role; for servers, never from a payload.

        Returns:
            A receipt: each message stored, skipped (its id was there) or redacted. `receipt(operation)` has the
            candidates' outcomes once their page has cooled.

        Raises:
            MessageError, TimeError, ScopeError: what cannot be taken, and where; nothing is stored.
            ConflictError: a message id that is in the session with another text, or a used idempotency key.
        """
        scope = self._scope(user_id, agent_id, session_id)
        receipt = await intake.add(
            self._engine,
            scope,
            messages,
            at=at,
            metadata=metadata,
            idempotency_key=idempotency_key,
            trust=trust,
        )
        self._engine.rows_changed(scope.tenant, scope.owner)
        self._poke()
        return receipt

    async def remember(
        self,
        text: str | Sequence[str],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        at: datetime | str | None = None,
        kind: Kind | None = None,
        tags: Sequence[str] = (),
        speaker: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        trust: Trust | None = None,
    ) -> Receipt:
        """Put one statement through the gate now, or a list of them, at most as many as a page has turns.

        Each text becomes a turn outside the hot window, as its own evidence. The receipt has a candidate for each with
        its outcome: admitted, admitted_superseding, superseded_on_arrival, duplicate, rejected, deferred or failed. A
        list is one operation: all of it is stored or nothing, and its statements share one call of a language model.
        """
        scope = self._scope(user_id, agent_id, session_id)
        receipt = await intake.remember(
            self._engine,
            scope,
            text,
            at=at,
            kind=kind,
            tags=tags,
            speaker=speaker,
            metadata=metadata,
            idempotency_key=idempotency_key,
            trust=trust,
        )
        self._poke()
        return receipt

    async def preview(
        self,
        messages: object,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        at: datetime | str | None = None,
    ) -> Preview:
        """The whole path for these messages, as if their page cooled now, with nothing written."""
        return await intake.preview(self._engine, self._scope(user_id, agent_id, session_id), messages, at=at)

    async def end_session(
        self, *, user_id: str | None = None, agent_id: str | None = None, session_id: str | None = None
    ) -> Receipt:
        """End a session: its hot turns become pages of five, the last one shorter."""
        receipt = await intake.close_session(self._engine, self._scope(user_id, agent_id, session_id))
        self._poke()
        return receipt
