"""face/notes.py without `await`, made by tools/make_sync.py: do not edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memstrata.sync.thread import MemoryThread
from memstrata.types import Kind, Note, NotePage, Receipt, Revision


class SyncNotes(MemoryThread):
    """The verbs on single notes."""

    def get(self, note_id: str, *, user_id: str | None = None, agent_id: str | None = None) -> Note:
        """One note with its links and evidence; NotFoundError when this scope has none with that id."""
        return self._run(self._async.get(note_id, user_id=user_id, agent_id=agent_id))

    def list(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        filters: Mapping[str, Any] | None = None,
        kinds: Sequence[Kind] | None = None,
        tags: Sequence[str] | None = None,
        include_superseded: bool = False,
        include_forgotten: bool = False,
        limit: int = 50,
        cursor: str | None = None,
    ) -> NotePage:
        """Notes in the order they were made, page by page (keyset: a page stays true while others are added)."""
        return self._run(
            self._async.list(
                user_id=user_id,
                agent_id=agent_id,
                filters=filters,
                kinds=kinds,
                tags=tags,
                include_superseded=include_superseded,
                include_forgotten=include_forgotten,
                limit=limit,
                cursor=cursor,
            )
        )

    def update(
        self,
        note_id: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        content: str | None = None,
        context: str | None = None,
        keywords: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        kind: Kind | None = None,
        metadata: Mapping[str, Any] | None = None,
        revision: int | None = None,
    ) -> Note:
        """Edit a note, as a revision. Fields that a person edited are left alone by evolution and superseding.

        `revision`: the one that was read; ConflictError when the note has changed since.
        """
        return self._run(
            self._async.update(
                note_id,
                user_id=user_id,
                agent_id=agent_id,
                content=content,
                context=context,
                keywords=keywords,
                tags=tags,
                kind=kind,
                metadata=metadata,
                revision=revision,
            )
        )

    def pin(
        self, note_id: str, *, user_id: str | None = None, agent_id: str | None = None, pinned: bool = True
    ) -> Note:
        """Keep a note from fading and from being superseded without its user (or let it go again)."""
        return self._run(self._async.pin(note_id, user_id=user_id, agent_id=agent_id, pinned=pinned))

    def forget(
        self,
        note_id: str | None = None,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        filters: Mapping[str, Any] | None = None,
        hard: bool = False,
    ) -> Receipt:
        """Take notes out of recall, by id or by filter; their turns are no longer served either.

        What other notes hold of their words (statements that evolved a context, quotations) is taken out with them.
        They can be restored during the grace period (30 days), then they are purged, and with them what summaries of
        pages and the log hold; `hard=True` purges at once.
        """
        return self._run(self._async.forget(note_id, user_id=user_id, agent_id=agent_id, filters=filters, hard=hard))

    def restore(self, note_id: str, *, user_id: str | None = None, agent_id: str | None = None) -> Note:
        """Bring a forgotten note back as it was, with weight 1.

        Notes that had some of its words have them again, unless a person edited them since.
        """
        return self._run(self._async.restore(note_id, user_id=user_id, agent_id=agent_id))

    def history(self, note_id: str, *, user_id: str | None = None, agent_id: str | None = None) -> tuple[Revision, ...]:
        """Every change of a note, oldest first."""
        return self._run(self._async.history(note_id, user_id=user_id, agent_id=agent_id))
