"""The sync face, made from the async one by tools/make_sync.py: do not edit.

A memory has an event loop in a thread of its own; each call runs there and waits.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Any, TypeVar

from memstrata.async_memory import AsyncMemory
from memstrata.clock import Clock
from memstrata.embed import Embedder
from memstrata.errors import ClosedError
from memstrata.gate.policy import Policy
from memstrata.ledger.check import Disagreement
from memstrata.ledger.cost import Costs
from memstrata.ledger.decisions import PolicyReplay
from memstrata.ledger.reindex import Progress
from memstrata.llm import LLM
from memstrata.recall.ask import Answer
from memstrata.settings import Settings
from memstrata.store.base import Store
from memstrata.types import (
    Context,
    ContextStrategy,
    Decision,
    Erasure,
    Explanation,
    Kind,
    Note,
    NotePage,
    Preview,
    Profile,
    Recall,
    Receipt,
    Revision,
    Trust,
)

T = TypeVar("T")


class Memory:
    """Long-term memory in one file.

    Args:
        path: the store: a file, created when missing, or ":memory:". `Path` or string.
        embedder, clock, store, llm: other implementations of these seams; an embedder and a language model may also be
            named. Without a language model everything works offline.
        settings: see `memstrata.settings.Settings`; arguments go before `MEMSTRATA_*` variables, those before the
            TOML file that `MEMSTRATA_CONFIG` names.

    Every method names whose memory it is about: `user_id`, `agent_id` or both. `session_id` is where things were said.

    Raises:
        SettingsError: settings that contradict each other or are unknown.
        StoreFormatError: the file is not a memstrata store, is damaged, or comes from a newer version.
    """

    def __init__(
        self,
        path: str | Path = "memory.db",
        *,
        embedder: str | Embedder | None = None,
        clock: Clock | None = None,
        store: Store | None = None,
        llm: str | LLM | None = None,
        **settings: Any,
    ) -> None:
        self._async = AsyncMemory(path, embedder=embedder, clock=clock, store=store, llm=llm, **settings)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="memstrata", daemon=True)
        self._thread.start()
        self._guard = threading.Lock()
        self._closed = False

    def _run(self, call: Coroutine[Any, Any, T]) -> T:
        with self._guard:  # nothing is handed to a loop that stops
            if self._closed:
                call.close()
                raise ClosedError
            future = asyncio.run_coroutine_threadsafe(call, self._loop)
        return future.result()

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._async.settings

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Finish the job in hand and close the store; what is queued goes on at the next opening."""
        with self._guard:
            if self._closed:
                return
            self._closed = True
            future = asyncio.run_coroutine_threadsafe(self._finish(), self._loop)
        try:
            future.result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _finish(self) -> None:
        """Close, and let the calls of other threads come to their ends: nobody waits for a loop that stopped."""
        try:
            await self._async.close()
        finally:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            if others:
                await asyncio.wait(others)

    def add(
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
        return self._run(
            self._async.add(
                messages,
                user_id=user_id,
                agent_id=agent_id,
                session_id=session_id,
                at=at,
                metadata=metadata,
                idempotency_key=idempotency_key,
                trust=trust,
            )
        )

    def remember(
        self,
        text: str,
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
        """Put one statement through the gate now.

        The text becomes a turn outside the hot window, as its own evidence. The receipt has one candidate with its
        outcome: admitted, admitted_superseding, superseded_on_arrival, duplicate, rejected, deferred or failed.
        """
        return self._run(
            self._async.remember(
                text,
                user_id=user_id,
                agent_id=agent_id,
                session_id=session_id,
                at=at,
                kind=kind,
                tags=tags,
                speaker=speaker,
                metadata=metadata,
                idempotency_key=idempotency_key,
                trust=trust,
            )
        )

    def preview(
        self,
        messages: object,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        at: datetime | str | None = None,
    ) -> Preview:
        """The whole path for these messages, as if their page cooled now, with nothing written."""
        return self._run(
            self._async.preview(messages, user_id=user_id, agent_id=agent_id, session_id=session_id, at=at)
        )

    def end_session(
        self, *, user_id: str | None = None, agent_id: str | None = None, session_id: str | None = None
    ) -> Receipt:
        """End a session: its hot turns become pages of five, the last one shorter."""
        return self._run(self._async.end_session(user_id=user_id, agent_id=agent_id, session_id=session_id))

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

    def ask(
        self,
        question: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        max_tokens: int = 2000,
        k: int | None = None,
        now: datetime | str | None = None,
        tz: str | None = None,
        touch: bool = True,
    ) -> Answer:
        """Answer a question from memory: its context, one call of the model, and the memories the answer stands on.

        Where memory does not have it, the text is "not in memory" and `found` is False. Only the cited memories count
        as accessed. The other arguments are those of `context`.

        Raises:
            SettingsError: no model is set. LLMError: it cannot be reached, its budget is used up, or it answers nothing
                that can be read.
        """
        return self._run(
            self._async.ask(
                question,
                user_id=user_id,
                agent_id=agent_id,
                session_id=session_id,
                max_tokens=max_tokens,
                k=k,
                now=now,
                tz=tz,
                touch=touch,
            )
        )

    def cost(self, *, user_id: str | None = None, agent_id: str | None = None, by: Sequence[str] = ("stage",)) -> Costs:
        """What the language model cost: calls, tokens, seconds and money, of one scope or of everybody.

        by: what the lines are told apart by: stage, model, prompt, session, user, agent, day; any of them together.
        """
        return self._run(self._async.cost(user_id=user_id, agent_id=agent_id, by=by))

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

    def feedback(
        self,
        id: str,
        accept: bool,
        *,
        reason: str | None = None,
        apply: bool = True,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> Receipt:
        """Say whether a decision was right: of a decision ("d_..."), or of that which a note ("n_...") came from.

        It is kept for fitting the gate (`labelled`), and done: a note that is rejected is forgotten, a statement that
        was kept out and is accepted becomes a note (its decision has the rule "user"), a forgotten note that is
        accepted comes back. `undo` of the receipt's operation takes all of it back. The last word on a decision counts.

        Args:
            accept: True: it belongs into the memory. False: it does not.
            reason: why, kept with it.
            apply: False only keeps what was said.

        Raises:
            NotFoundError: no such note or decision in this scope, or a note that came without a decision.
            ConflictError: the decision was undone.
        """
        return self._run(
            self._async.feedback(id, accept, reason=reason, apply=apply, user_id=user_id, agent_id=agent_id)
        )

    def review(
        self, *, user_id: str | None = None, agent_id: str | None = None, limit: int = 20, judged: bool = False
    ) -> tuple[Decision, ...]:
        """The decisions nearest to the threshold, on either side: where a word of their user tells the gate most.

        Those that somebody gave `feedback` on are left out, unless `judged`.
        """
        return self._run(self._async.review(user_id=user_id, agent_id=agent_id, limit=limit, judged=judged))

    def replay_decisions(
        self, policy: str | Path | Policy, *, user_id: str | None = None, agent_id: str | None = None
    ) -> PolicyReplay:
        """Take the stored decisions of a scope again under another policy, and show what would be otherwise.

        No model is asked and nothing is written: a decision is stored with all that it was computed from. What
        classification found stays as it was, and so does what its user decided.

        Args:
            policy: a preset (memstrata, strict, a-mac), the path of a TOML file, or a `Policy`.
        """
        return self._run(self._async.replay_decisions(policy, user_id=user_id, agent_id=agent_id))

    def labelled(self, *, user_id: str | None = None, agent_id: str | None = None) -> tuple[dict[str, Any], ...]:
        """What people said of decisions, as labelled candidates that `memstrata admission fit` reads.

        One mapping each: id, group (the owner), text, speaker, role, at, turn, previous and next (the turns around),
        kind, signals, rule, outcome, label (1: accepted), reason, judged_at.
        """
        return self._run(self._async.labelled(user_id=user_id, agent_id=agent_id))

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
        that can be undone. What a person pinned or edited is left alone. Purged is what was forgotten long ago.

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
