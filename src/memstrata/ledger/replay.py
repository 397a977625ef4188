"""Replay: the operation log run again into an empty store, on the clock and with the ids it was written with.

Offline, every stage is a function of the rows, the clock and the settings, so the two stores export the same bytes.
What the world did to a job (attempts, errors) is no operation: a job that still waits waits anew.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import orjson

from memstrata.clock import SetClock
from memstrata.distil.compress import Fold, fold
from memstrata.distil.condense import condense_again
from memstrata.distil.stages import (
    Work,
    nothing,
    run_distill,
    run_index,
    run_page,
    run_remember,
    turns_to_index,
    work_of,
)
from memstrata.engine import Engine
from memstrata.errors import ReplayError
from memstrata.intake.add import close_session, store_messages, store_statement
from memstrata.intake.append import TRUST
from memstrata.intake.scope import scope_of_owner
from memstrata.journal.jobs import Job, job_of_row
from memstrata.journal.receipts import decisions_of_operation, receipt_of
from memstrata.ledger import feedback, forget, notes, undo
from memstrata.ledger.maintain import cool_pages, forget_faded
from memstrata.store.base import Db, Row, Store
from memstrata.store.read import Key, key_of
from memstrata.store.rows import turn_of
from memstrata.tiers.touch import Touch, apply_touches
from memstrata.types import Message, Receipt, Scope, Trust, Turn
from memstrata.work.rounds import run_round

INDEX_JOBS = 32  # that are indexed together


async def replay(source: Engine, target: Store, scope: Scope | None = None) -> dict[str, int]:
    """Run the log of one owner, or of the whole tenant, into an empty store with the source's settings and models.

    Returns how many owners and operations were replayed. Raises ReplayError where the log alone no longer gives the
    store: after a purge, after work that a language model did, after an erasure (for a whole tenant), or when an
    operation does not repeat itself.
    """
    owners = await source.store.read(lambda db: _owners(db, source.settings.tenant, scope))
    operations = 0
    for owner in owners:
        operations += await _Replay(source, target, scope_of_owner(source.settings.tenant, owner)).run()
    return {"owners": len(owners), "operations": operations}


def _owners(db: Db, tenant: str, scope: Scope | None) -> list[str]:
    """The owners to replay, after a look at what went for good."""
    rows = db.all("SELECT owner, purged FROM owners WHERE tenant = ? ORDER BY owner", (tenant,))
    wanted = [row for row in rows if scope is None or row["owner"] == scope.owner]
    if scope is None and db.one("SELECT 1 FROM erasures WHERE tenant = ?", (tenant,)) is not None:
        raise ReplayError("somebody was erased from this store: the log of the whole is gone; replay single owners")
    for row in wanted:
        if row["purged"]:
            raise ReplayError(
                f"{row['purged']} notes of one owner were purged: the log alone no longer gives what came of them"
            )
    return [row["owner"] for row in wanted]


@dataclass(slots=True)
class _Ids:
    """Hands out the id of the operation that is being replayed, once."""

    waiting: str | None = None

    def __call__(self) -> str:
        if self.waiting is None:
            raise ReplayError("the replay came to an operation that is not in the log")
        operation, self.waiting = self.waiting, None
        return operation


@dataclass(slots=True)
class _Replay:
    """The replay of one owner."""

    source: Engine
    store: Store
    scope: Scope
    ids: _Ids = field(default_factory=_Ids)
    clock: SetClock = field(init=False)
    engine: Engine = field(init=False)
    kept: frozenset[int] = frozenset()  # jobs that still wait in the source

    def __post_init__(self) -> None:
        self.clock = SetClock(self.source.now())
        self.engine = self.source.with_seams(store=self.store, clock=self.clock, operation_id=self.ids, llm=None)

    @property
    def key(self) -> Key:
        return key_of(self.scope)

    async def run(self) -> int:
        rows = await self.source.store.read(self._read)
        for row in rows:
            self.ids.waiting = row["id"]
            receipt = receipt_of(row)
            if receipt.versions and row["verb"] != "condense":
                raise ReplayError(f"{row['id']} was done with a language model: the log does not hold its answers")
            self.clock.set(receipt.at)
            scope = scope_of_owner(self.scope.tenant, self.scope.owner, row["agent"], row["session"] or None)
            verb = VERBS.get(row["verb"])
            if verb is None:
                raise ReplayError(f"{row['id']} is a {row['verb']}: it cannot be replayed")
            await verb(self, scope, row, receipt)
            if self.ids.waiting is not None:
                raise ReplayError(f"{row['id']} ({row['verb']}) did not repeat itself")
            await self._index()
        await self._finish_jobs()
        return len(rows)

    def _read(self, db: Db) -> list[Row]:
        jobs = db.all("SELECT no FROM jobs WHERE tenant = ? AND owner = ?", self.key)
        self.kept = frozenset(row["no"] for row in jobs)
        return db.all("SELECT * FROM operations WHERE tenant = ? AND owner = ? ORDER BY seq", self.key)

    # jobs -------------------------------------------------------------------------------------------------------------

    async def _jobs(self) -> list[Job]:
        """The jobs of the new store that the old one has done."""
        rows = await self.store.read(
            lambda db: db.all("SELECT * FROM jobs WHERE tenant = ? AND owner = ? ORDER BY no", self.key)
        )
        return [job_of_row(row) for row in rows if row["no"] not in self.kept]

    async def _work(self, row: Row) -> Work:
        """The job, with its page, that an operation of the log did."""
        no = orjson.loads(row["payload"])["job"]
        for job in await self._jobs():
            if job.no == no:
                return await self.store.read(lambda db: work_of(db, job))  # noqa: B023
        raise ReplayError(f"job {no} of the log is not queued in the replay")

    async def _index(self) -> None:
        jobs = [job for job in await self._jobs() if job.kind == "index"]
        for start in range(0, len(jobs), INDEX_JOBS):
            part = jobs[start : start + INDEX_JOBS]
            turns = await self.store.read(lambda db: turns_to_index(db, part))  # noqa: B023
            await run_index(self.engine, part, list(turns.values()), nothing)

    async def _finish_jobs(self) -> None:
        """Jobs that left no operation: they found their page gone or distilled already."""
        for job in await self._jobs():
            work = await self.store.read(lambda db: work_of(db, job))  # noqa: B023
            await run_round(self.engine, [work], nothing)

    # verbs ------------------------------------------------------------------------------------------------------------

    async def add(self, scope: Scope, row: Row, receipt: Receipt) -> None:
        turns, messages = await self._messages(scope, row, receipt)
        await store_messages(
            self.engine,
            scope,
            messages,
            idempotency_key=row["idempotency_key"],
            digest=row["digest"],
            trust=_trust_of(turns),
        )

    async def remember(self, scope: Scope, row: Row, receipt: Receipt) -> None:
        turns, messages = await self._messages(scope, row, receipt)
        payload = orjson.loads(row["payload"])
        await store_statement(
            self.engine,
            scope,
            messages,
            kind=payload["kind"],
            tags=payload["tags"],
            each=payload.get("each"),
            idempotency_key=row["idempotency_key"],
            digest=row["digest"],
            trust=_trust_of(turns),
        )
        decisions = await self.source.store.read(lambda db: decisions_of_operation(db, self.key, row["id"]))
        if decisions:
            self.clock.set(decisions[0].decided_at)
            for job in await self._jobs():
                if job.kind == "remember" and job.operation == row["id"]:
                    await run_remember(self.engine, Work(job, None))

    async def _messages(self, scope: Scope, row: Row, receipt: Receipt) -> tuple[list[Turn], list[Message]]:
        """The turns of an operation, and its messages as they were after redaction, skipped ones too."""
        payload = orjson.loads(row["payload"])
        newest = datetime.fromisoformat(payload["newest_at"]) if "newest_at" in payload else None

        def read(db: Db) -> tuple[list[Row], dict[str, Turn]]:
            stored = db.all(
                "SELECT * FROM turns WHERE tenant = ? AND owner = ? AND no BETWEEN ? AND ? ORDER BY no",
                (*self.key, payload["first"] or 0, payload["last"] or 0),
            )
            rows = [
                found
                for outcome in receipt.messages
                if outcome.outcome == "skipped" and (found := _turn_with_id(db, scope, outcome.turn)) is not None
            ]
            return stored, {found["id"]: turn_of(found) for found in rows}

        stored, skipped = await self.source.store.read(read)
        fresh = iter(stored)
        messages = []
        for outcome in receipt.messages:
            if outcome.outcome == "skipped":
                messages.append(_message_of(skipped[outcome.turn], outcome.turn, at=newest))
            else:
                found = next(fresh)
                turn = turn_of(found)
                given = outcome.turn if outcome.turn != f"t{turn.no}" else None  # an undo takes the row's id away
                messages.append(_message_of(turn, given, at=turn.at, redacted=outcome.redacted))
        return [turn_of(found) for found in stored], messages

    async def end_session(self, scope: Scope, row: Row, receipt: Receipt) -> None:
        await close_session(self.engine, scope)

    async def page(self, scope: Scope, row: Row, receipt: Receipt) -> None:
        await run_page(self.engine, await self._work(row))

    async def distill(self, scope: Scope, row: Row, receipt: Receipt) -> None:
        await run_distill(self.engine, await self._work(row))

    async def touch(self, scope: Scope, row: Row, receipt: Receipt) -> None:
        touches = [
            Touch(
                Scope(scope.tenant, scope.user, scope.agent, item["session"]),
                datetime.fromisoformat(item["at"]),
                tuple(item["notes"]),
                tuple(item["pages"]),
                item["served"],
            )
            for item in orjson.loads(row["payload"])["touches"]
        ]
        await apply_touches(self.engine, touches)

    async def update(self, scope: Scope, row: Row, receipt: Receipt) -> None:
        payload = orjson.loads(row["payload"])
        await notes.update(self.engine, scope, payload["note"], **payload["edits"])

    async def pin(self, scope: Scope, row: Row, receipt: Receipt) -> None:
        payload = orjson.loads(row["payload"])
        await notes.pin(self.engine, scope, payload["note"], pinned=payload["pinned"])

    async def forget(self, scope: Scope, row: Row, receipt: Receipt) -> None:
        numbers = orjson.loads(row["payload"])["notes"]
        ids = await self.store.read(lambda db: _note_ids(db, self.key, numbers))
        if len(ids) == 1:
            await forget.forget(self.engine, scope, ids[0])
        else:
            await forget.forget(self.engine, scope, None, filters={"id": {"in": ids}})

    async def restore(self, scope: Scope, row: Row, receipt: Receipt) -> None:
        await forget.restore(self.engine, scope, orjson.loads(row["payload"])["note"])

    async def feedback(self, scope: Scope, row: Row, receipt: Receipt) -> None:
        payload = orjson.loads(row["payload"])
        await feedback.feedback(self.engine, scope, payload.pop("item"), **payload)

    async def undo(self, scope: Scope, row: Row, receipt: Receipt) -> None:
        payload = orjson.loads(row["payload"])
        await undo.undo(self.engine, scope, payload["operation"], cascade=payload["cascade"])

    async def distil(self, scope: Scope, row: Row, receipt: Receipt) -> None:
        await cool_pages(self.engine, scope)

    async def sweep(self, scope: Scope, row: Row, receipt: Receipt) -> None:
        numbers = orjson.loads(row["payload"])["notes"]
        await self.store.write(lambda db: forget_faded(db, self.engine, scope, numbers, receipt.at))

    async def compress(self, scope: Scope, row: Row, receipt: Receipt) -> None:
        folds = [Fold(*each) for each in orjson.loads(row["payload"])["folds"]]
        await fold(self.engine, scope, folds)

    async def condense(self, scope: Scope, row: Row, receipt: Receipt) -> None:
        """With the texts of the log: a model is not asked again."""
        folds = orjson.loads(row["payload"]).get("folds")
        if folds is None:
            raise ReplayError(f"{row['id']} was condensed with a language model whose texts are not in the log")
        await condense_again(
            self.engine, scope, [(numbers, text) for numbers, text in folds], receipt.counts, receipt.versions
        )


def _turn_with_id(db: Db, scope: Scope, own_id: str) -> Row | None:
    return db.one(
        "SELECT * FROM turns WHERE tenant = ? AND owner = ? AND agent = ? AND session = ? AND id = ?",
        (*key_of(scope), scope.agent or "", scope.session or "", own_id),
    )


def _message_of(turn: Turn, own_id: str | None, *, at: datetime | None, redacted: tuple[str, ...] = ()) -> Message:
    return Message(
        role=turn.role,
        text=turn.text,
        name=turn.speaker,
        at=at,
        id=own_id,
        parts=turn.parts,
        metadata=turn.metadata,
        redacted=redacted,
        is_source=turn.is_source,
    )


def _trust_of(turns: Sequence[Turn]) -> Trust | None:
    """The trust that the caller gave, when it is not the one that follows from the roles."""
    return next((turn.trust for turn in turns if turn.trust != TRUST[turn.role]), None)


def _note_ids(db: Db, key: Key, numbers: Sequence[int]) -> list[str]:
    rows = db.all("SELECT no, id FROM notes WHERE tenant = ? AND owner = ?", key)
    wanted = set(numbers)
    return [row["id"] for row in rows if row["no"] in wanted]


Verb = Callable[[_Replay, Scope, Row, Receipt], Awaitable[None]]
VERBS: Mapping[str, Verb] = {
    "add": _Replay.add,
    "remember": _Replay.remember,
    "end_session": _Replay.end_session,
    "page": _Replay.page,
    "distill": _Replay.distill,
    "distil": _Replay.distil,
    "touch": _Replay.touch,
    "update": _Replay.update,
    "pin": _Replay.pin,
    "forget": _Replay.forget,
    "restore": _Replay.restore,
    "feedback": _Replay.feedback,
    "undo": _Replay.undo,
    "sweep": _Replay.sweep,
    "compress": _Replay.compress,
    "condense": _Replay.condense,
}
