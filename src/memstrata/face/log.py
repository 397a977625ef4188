"""The verbs on operations: receipts, undo, explanations, erasure."""

from __future__ import annotations

from memstrata.errors import ScopeError
from memstrata.face.base import MemoryBase
from memstrata.intake.arguments import flag, identifier
from memstrata.journal import receipts
from memstrata.ledger import erase, explain, undo
from memstrata.types import (
    Erasure,
    Explanation,
    Receipt,
)


class MemoryLog(MemoryBase):
    """The verbs on operations: receipts, undo, explanations, erasure."""

    async def receipt(self, operation: str, *, user_id: str | None = None, agent_id: str | None = None) -> Receipt:
        """What an operation did; of an `add`, also what became of its candidates so far."""
        scope = self._scope(user_id, agent_id)
        identifier(operation, "operation")
        return await self._engine.store.read(lambda db: receipts.full_receipt(db, scope, operation))

    async def undo(
        self, operation: str, *, user_id: str | None = None, agent_id: str | None = None, cascade: bool = False
    ) -> Receipt:
        """Take an operation back, as a new revision of what it changed.

        Raises UndoError, which lists them, when later operations changed the same rows; `cascade=True` undoes those
        too, newest first. Erasing and purging cannot be undone.
        """
        receipt = await undo.undo(
            self._engine,
            self._scope(user_id, agent_id),
            identifier(operation, "operation"),
            cascade=flag(cascade, "cascade"),
        )
        self._poke()
        return receipt

    async def explain(self, id: str, *, user_id: str | None = None, agent_id: str | None = None) -> Explanation:
        """Why a note was kept, or a decision taken: the sentence, the five signals, the evidence, the history."""
        return await explain.explain(self._engine, self._scope(user_id, agent_id), identifier(id, "id"))

    async def erase(self, *, user_id: str | None = None, agent_id: str | None = None) -> Erasure:
        """Remove everything of a subject: turns, notes, vectors, terms, decisions, log, queued work.

        The subject is the owner of the scope: the user, or an agent that has no user. Name exactly one. Afterwards no
        byte of it is in the store's files; `complete` is False while another process still reads old pages.
        """
        if (user_id is None) == (agent_id is None):
            raise ScopeError("erase takes either user_id or agent_id: the subject whose memory goes")
        scope = self._scope(user_id, agent_id)
        await self._touches.drain()
        return await erase.erase(self._engine, scope)
