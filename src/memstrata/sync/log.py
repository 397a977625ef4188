"""face/log.py without `await`, made by tools/make_sync.py: do not edit."""

from __future__ import annotations

from memstrata.sync.thread import MemoryThread
from memstrata.types import Erasure, Explanation, Receipt


class SyncLog(MemoryThread):
    """The verbs on operations: receipts, undo, explanations, erasure."""

    def receipt(self, operation: str, *, user_id: str | None = None, agent_id: str | None = None) -> Receipt:
        """What an operation did; of an `add`, also what became of its candidates so far."""
        return self._run(self._async.receipt(operation, user_id=user_id, agent_id=agent_id))

    def undo(
        self, operation: str, *, user_id: str | None = None, agent_id: str | None = None, cascade: bool = False
    ) -> Receipt:
        """Take an operation back, as a new revision of what it changed.

        Raises UndoError, which lists them, when later operations changed the same rows; `cascade=True` undoes those
        too, newest first. Erasing and purging cannot be undone.
        """
        return self._run(self._async.undo(operation, user_id=user_id, agent_id=agent_id, cascade=cascade))

    def explain(self, id: str, *, user_id: str | None = None, agent_id: str | None = None) -> Explanation:
        """Why a note was kept, or a decision taken: the sentence, the five signals, the evidence, the history."""
        return self._run(self._async.explain(id, user_id=user_id, agent_id=agent_id))

    def erase(self, *, user_id: str | None = None, agent_id: str | None = None) -> Erasure:
        """Remove everything of a subject: turns, notes, vectors, terms, decisions, log, queued work.

        The subject is the owner of the scope: the user, or an agent that has no user. Name exactly one. Afterwards no
        byte of it is in the store's files; `complete` is False while another process still reads old pages.
        """
        return self._run(self._async.erase(user_id=user_id, agent_id=agent_id))
