"""face/upkeep.py without `await`, made by tools/make_sync.py: do not edit."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import IO, Any

from memstrata.embed import Embedder
from memstrata.ledger.check import Disagreement
from memstrata.moving.move import Moved, System
from memstrata.sync.thread import MemoryThread
from memstrata.types import Backup, Progress, Receipt


class SyncUpkeep(MemoryThread):
    """The verbs on the whole store: upkeep, export and import, rebuilding, figures."""

    def flush(self, *, timeout: float | None = None) -> dict[str, int]:
        """Run all that is queued and due. Ends no session, cools no page.

        Args:
            timeout: seconds after which this returns what was done so far (None: when all is done). Nothing is lost:
                the job in hand is finished in the background, with the answer of a model that it waits for, and the
                rest stays queued.

        Returns:
            What was done, by kind; under "failed" the tries that failed, under "waiting" the jobs that still wait.
        """
        return self._run(self._async.flush(timeout=timeout))

    def maintain(self, now: datetime | str | None = None) -> dict[str, int]:
        """End idle sessions, distil what has cooled, fold what says the same, forget what has faded, and purge.

        Folded are notes that the gate would call duplicates of each other today (after an import, a `restore`, an
        `undo`): the one that holds longest supersedes the others and takes their evidence, as an operation "compress"
        that can be undone. With a language model what is nearly the same, and what fades and is about one name, is
        offered to it in groups, and becomes one note by the gate, as an operation "condense"; when the model fails it
        stays as it was. What a person pinned or edited is left alone. Purged is what was forgotten long ago. Erased is
        everything of those of whom nothing was stored for `erase_after_days`, where that is set.

        Costs what is due, not what is stored. One call equals many at the same time. `now` stands in for the clock.
        """
        return self._run(self._async.maintain(now))

    def export(
        self, target: str | Path | IO[Any], *, user_id: str | None = None, agent_id: str | None = None
    ) -> dict[str, int]:
        """Write the truth as JSON Lines: of one user, of one agent without a user, or of everybody (none named).

        Turns, notes, decisions, the log, queued work: everything but what is derived. The same store gives the same
        bytes, and an import of them into an empty store exports the same again.

        Args:
            target: a file, replaced when all is written and readable by its owner only; or an open stream.

        Returns:
            How many lines of each type were written.

        Raises:
            ScopeError: both a user and an agent are named; NotFoundError: nothing is stored of this one.
        """
        return self._run(self._async.export(target, user_id=user_id, agent_id=agent_id))

    def import_(
        self,
        source: str | Path | IO[Any],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        progress: Progress | None = None,
    ) -> dict[str, int]:
        """Take in a file; what it is, is told by its content.

        An export: everything comes back under its ids and is indexed; with `user_id`, the export of one user comes
        back as that user. Messages as JSON Lines, one object a line: {role, content, at, id, name, metadata, user_id,
        agent_id, session_id}; ids that a line does not name are those given here. Conversations of the LoCoMo schema:
        each is a user of its own (its sample id, or `user_id`), its sessions are ended.

        The whole file is checked before anything is written. `progress(what, done, total)` is called as it goes. An
        import that was cut can be repeated: messages that this very file brought already are skipped.

        Returns:
            Counts of what was taken.

        Raises:
            InputError: the file cannot be read, is damaged or of another kind; it names the line.
            ConflictError: an export of somebody of whom there is memory already.
        """
        return self._run(
            self._async.import_(source, user_id=user_id, agent_id=agent_id, session_id=session_id, progress=progress)
        )

    def import_from(
        self,
        system: System,
        path: str | Path,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        tz: str | None = None,
        progress: Progress | None = None,
    ) -> Moved:
        """Move in from another memory system: its memories go through the gate, its conversations become turns.

        Their ids are kept (`source_id` in the metadata of a note, `system:id` of a turn), and their times. Everything
        is of trust class "import". A move that was cut can be repeated: what came over already is skipped.

        Args:
            system: "mem0" (JSON or JSON Lines of `get_all`, or history.db), "a-mem" (notes as JSON, or its Chroma
                folder), "memoryos" (its data folder).
            user_id: whose it becomes; without it the files must tell.
            tz: the IANA zone of times that name none (A-MEM and MemoryOS write local times); the setting `tz` else.

        Returns:
            Outcomes, and a line for everything that was not taken over, with the reason.

        Raises:
            InputError: nothing of that system is there, or what it needs to be told; nothing was stored.
        """
        return self._run(
            self._async.import_from(
                system, path, user_id=user_id, agent_id=agent_id, session_id=session_id, tz=tz, progress=progress
            )
        )

    def backup(self, target: str | Path, *, overwrite: bool = False, progress: Progress | None = None) -> Backup:
        """Write a verified copy of the whole store, all tenants, to one file; others read and write meanwhile.

        It holds what was committed when it began. The file is complete or not there; only its owner may read it.
        `memstrata.restore_backup` makes a store of it again.

        Args:
            overwrite: replace an earlier backup at `target`; without it, a file there is an error.
            progress: called as (what, done, total).

        Raises:
            StoreError: something is there; StoreFullError: there is no room for it.
        """
        return self._run(self._async.backup(target, overwrite=overwrite, progress=progress))

    def reindex(self, *, progress: Progress | None = None) -> dict[str, int]:
        """Make units, terms and vectors anew from the tables of the truth; answers stay the same.

        Owner by owner, each in one transaction: recall goes on meanwhile. A run that was cut is gone on with by the
        next. `progress(what, done, total)` is called after each owner. Returns how many owners and units were done.
        """
        return self._run(self._async.reindex(progress=progress))

    def reembed(self, embedder: str | Embedder | None = None, *, progress: Progress | None = None) -> dict[str, int]:
        """Move the store to another embedding model, and this memory with it.

        The store answers with its old model until all vectors are there, then it is switched at once; a run that was
        cut is gone on with by the next. Other processes that have the store open get ModelMismatchError from then on.

        Args:
            embedder: its name or the embedder itself; None: the one that this memory was opened with.

        Returns:
            How many texts were embedded by this run, and how many vectors switched.
        """
        return self._run(self._async.reembed(embedder, progress=progress))

    def check(self) -> tuple[Disagreement, ...]:
        """Compare what is derived with the truth, and the truth with itself; empty when all agrees.

        What is derived and wrong, `reindex` puts right.
        """
        return self._run(self._async.check())

    def distil(self, *, user_id: str | None = None, agent_id: str | None = None) -> Receipt:
        """Put every warm page of a scope before the gate now, through the same path as a page that cooled.

        Pages cool by use: with every page made and every recall. Who speaks rarely keeps warm pages for long; this
        makes notes (and a profile) of them at once. The receipt counts the pages.
        """
        return self._run(self._async.distil(user_id=user_id, agent_id=agent_id))

    def stats(self, *, user_id: str | None = None, agent_id: str | None = None) -> dict[str, Any]:
        """Counts of everything (of one owner, or of the tenant), queued and failed work, bytes, languages, advice."""
        return self._run(self._async.stats(user_id=user_id, agent_id=agent_id))

    def retry_failed(self) -> int:
        """Queue failed jobs again; returns how many."""
        return self._run(self._async.retry_failed())
