"""The way in: `add` stores turns and returns; `remember` stores one turn and decides on it at once; `preview` shows."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from memstrata.distil.plan import Occasion
from memstrata.distil.stages import Work, embed_candidates, make_plan_on_snapshot, run_remember, versions
from memstrata.engine import Engine
from memstrata.errors import InputError, LimitError, MessageError, StoreError
from memstrata.extract.candidates import draft
from memstrata.intake.append import TRUST, append
from memstrata.intake.arguments import kind_of, trust_of, words
from memstrata.intake.characters import fault_in_text
from memstrata.intake.messages import check_metadata, parse
from memstrata.intake.times import check_not_future
from memstrata.journal.jobs import job_of_operation, postpone
from memstrata.journal.receipts import digest_of, earlier_receipt, full_receipt, undecided
from memstrata.store.base import Db
from memstrata.store.read import key_of, served_texts
from memstrata.store.rows import turn_of
from memstrata.tiers.pages import end_session
from memstrata.types import (
    Kind,
    Message,
    MessageOutcome,
    Preview,
    Receipt,
    Scope,
    Trust,
    Turn,
)

MAX_KEY = 256  # characters of an idempotency key


def accept(
    engine: Engine, messages: object, at: datetime | str | None, metadata: Mapping[str, Any] | None
) -> list[Message]:
    """Parse, check the times and redact: everything that comes before a byte is stored."""
    settings, now = engine.settings, engine.now()
    parsed = parse(messages, at=at, tz=settings.tz, max_chars=settings.max_chars)
    of_call = check_metadata(metadata)
    accepted = []
    for index, message in enumerate(parsed):
        if message.at is not None:
            check_not_future(message.at, now, what="at" if len(parsed) == 1 else f"messages[{index}].at")
        if of_call:
            message = replace(message, metadata=check_metadata({**of_call, **message.metadata}, index))
        accepted.append(engine.redactor.redact_message(message))
    return accepted


def check_key(idempotency_key: str | None) -> None:
    if idempotency_key is not None and not (isinstance(idempotency_key, str) and 0 < len(idempotency_key) <= MAX_KEY):
        raise InputError(f"idempotency_key must be a string of 1 to {MAX_KEY} characters")
    if idempotency_key is not None and (fault := fault_in_text(idempotency_key)):
        raise InputError(f"idempotency_key {fault}")


async def add(
    engine: Engine,
    scope: Scope,
    messages: object,
    *,
    at: datetime | str | None = None,
    metadata: Mapping[str, Any] | None = None,
    idempotency_key: str | None = None,
    trust: Trust | None = None,
) -> Receipt:
    """Store messages as turns, durably; everything slow is queued. See `AsyncMemory.add`."""
    check_key(idempotency_key)
    trust = trust_of(trust)
    accepted = accept(engine, messages, at, metadata)
    digest = digest_of([accepted, scope.session])
    return await store_messages(engine, scope, accepted, idempotency_key=idempotency_key, digest=digest, trust=trust)


async def store_messages(
    engine: Engine,
    scope: Scope,
    accepted: Sequence[Message],
    *,
    idempotency_key: str | None,
    digest: str,
    trust: Trust | None,
) -> Receipt:
    """The transaction of an `add`, of messages that are parsed and redacted."""
    operation, now = engine.operation_id(), engine.now()

    def write(db: Db) -> Receipt:
        engine.check_model(db)
        earlier = earlier_receipt(db, scope, "add", idempotency_key, digest)
        if earlier is not None:
            return earlier
        rec = engine.record(db, scope, "add", operation=operation, now=now)
        outcomes, turns = append(rec, accepted, at=now, settings=engine.settings, trust=trust)
        span: dict[str, Any] = {"first": turns[0].no if turns else None, "last": turns[-1].no if turns else None}
        if turns:
            rec.enqueue("index", span)
        if len(turns) < len(accepted):  # a replay cannot tell it from the turns then
            span = {**span, "newest_at": max(message.at or now for message in accepted)}
        receipt = Receipt(operation, "add", now, messages=tuple(outcomes), pending=len(turns))
        rec.finish(span, receipt, idempotency_key=idempotency_key, digest=digest)
        return receipt

    return await engine.store.write(write)


async def remember(
    engine: Engine,
    scope: Scope,
    text: str | Sequence[str],
    *,
    at: datetime | str | None = None,
    kind: Kind | None = None,
    tags: Sequence[str] = (),
    speaker: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    idempotency_key: str | None = None,
    trust: Trust | None = None,
) -> Receipt:
    """Store statements as turns outside the hot window, and decide on them now. See `AsyncMemory.remember`."""
    check_key(idempotency_key)
    texts = _statements(text, engine.settings.page_size)
    kind = None if kind is None else kind_of(kind)
    tags, trust = words(tags, "tags"), trust_of(trust)
    named = {} if speaker is None else {"name": speaker}
    messages = [{"role": "user", "content": each, **named} for each in texts]
    accepted = accept(engine, messages[0] if len(messages) == 1 else messages, at, metadata)
    clean_tags = [engine.redactor.redact(tag.strip())[0] for tag in tags]
    digest = digest_of([accepted, scope.session, kind, clean_tags])
    receipt = await store_statement(
        engine,
        scope,
        accepted,
        kind=kind,
        tags=clean_tags,
        idempotency_key=idempotency_key,
        digest=digest,
        trust=trust,
        each=None if len(texts) == 1 else [clean_tags] * len(texts),
    )
    if receipt.repeated:
        return receipt
    return await _decide_now(engine, scope, receipt, [message.text for message in accepted])


def _statements(text: object, most: int) -> Sequence[str]:
    """The statements of one call: a text or a few. Raises MessageError, LimitError."""
    given: Sequence[object] = text if isinstance(text, list | tuple) else [text]
    texts = [each for each in given if isinstance(each, str)]
    if not given or len(texts) < len(given):
        shown = type(next((each for each in given if not isinstance(each, str)), text)).__name__
        raise MessageError(f"remember takes a text or a list of texts, not {shown}; use add for messages")
    if len(texts) > most:
        raise LimitError(f"{len(texts)} statements at once, at most {most} are decided together: make several calls")
    return texts


async def remember_all(
    engine: Engine,
    scope: Scope,
    statements: Sequence[tuple[Message, Sequence[str]]],
    *,
    idempotency_key: str,
    trust: Trust,
) -> Receipt:
    """Store statements that are parsed and redacted, each with its tags, and decide on all of them in one plan.

    One operation, and at most one call of the model, as for the notes of a page.
    """
    accepted = [message for message, _ in statements]
    each = [[engine.redactor.redact(tag.strip())[0] for tag in tags] for _, tags in statements]
    receipt = await store_statement(
        engine,
        scope,
        accepted,
        kind=None,
        tags=[],
        each=each,
        idempotency_key=idempotency_key,
        digest=digest_of([accepted, scope.session, None, each]),
        trust=trust,
    )
    if receipt.repeated:
        return receipt
    return await _decide_now(engine, scope, receipt, [message.text for message in accepted])


async def store_statement(
    engine: Engine,
    scope: Scope,
    accepted: Sequence[Message],
    *,
    kind: Kind | None,
    tags: Sequence[str],
    idempotency_key: str | None,
    digest: str,
    trust: Trust | None,
    each: Sequence[Sequence[str]] | None = None,
) -> Receipt:
    """The first transaction of a `remember`: its turn, and the job that decides on it. `each`: the tags of each of
    several."""
    several = {} if each is None else {"each": each}
    operation, now = engine.operation_id(), engine.now()

    def write(db: Db) -> Receipt:
        engine.check_model(db)
        earlier = earlier_receipt(db, scope, "remember", idempotency_key, digest)
        if earlier is not None:
            return earlier
        rec = engine.record(db, scope, "remember", operation=operation, now=now)
        outcomes, turns = append(rec, accepted, at=now, settings=engine.settings, trust=trust, tier="transcript")
        span = {"first": turns[0].no, "last": turns[-1].no, "kind": kind, "tags": tags, **several}
        newest = db.one(
            "SELECT newest_at FROM scopes WHERE tenant = ? AND owner = ? AND agent = ?", (*rec.key, rec.agent)
        )
        rec.enqueue(
            "remember",
            {
                "turn": turns[0].no,
                "kind": kind,
                "tags": tags,
                "operation": operation,
                "newest_at": newest["newest_at"] if newest else 0,
                **({} if each is None else {**several, "last": turns[-1].no}),
            },
        )
        receipt = Receipt(operation, "remember", now, messages=tuple(outcomes))
        rec.finish(span, receipt, idempotency_key=idempotency_key, digest=digest)
        return receipt

    return await engine.store.write(write)


async def _decide_now(engine: Engine, scope: Scope, receipt: Receipt, texts: Sequence[str]) -> Receipt:
    """Run the job of a `remember` in the caller; what cannot be decided now stays queued and is retried."""
    key = key_of(scope)
    job = await engine.store.read(lambda db: job_of_operation(db, key, receipt.operation))
    if job is not None:  # else a worker was faster
        try:
            await run_remember(engine, Work(job, None))
        except Exception as error:  # noqa: BLE001 - the turn is stored: the receipt tells what failed
            reason, failure, now = f"{type(error).__name__}: {error}", error, engine.now()
            with contextlib.suppress(StoreError):  # then the job stays queued as it was
                await engine.store.write(lambda db: postpone(db, [job], failure, now, engine.settings))
            waiting = await engine.store.read(lambda db: job_of_operation(db, key, receipt.operation))
            if waiting is not None:
                is_queued = waiting.attempts < engine.settings.job_attempts
                waits = tuple(undecided(text, reason, is_queued=is_queued) for text in texts)
                return replace(receipt, candidates=waits, pending=len(waits))
    return await engine.store.read(lambda db: full_receipt(db, scope, receipt.operation))


async def close_session(engine: Engine, scope: Scope) -> Receipt:
    """End a session: its hot turns become pages. See `AsyncMemory.end_session`."""
    operation, now = engine.operation_id(), engine.now()

    def write(db: Db) -> Receipt:
        rec = engine.record(db, scope, "end_session", operation=operation, now=now)
        pages = end_session(rec, rec.agent, scope.session or "", engine.settings)
        receipt = Receipt(operation, "end_session", now, counts={"pages": len(pages)})
        rec.finish({}, receipt)
        return receipt

    return await engine.store.write(write)


async def preview(engine: Engine, scope: Scope, messages: object, *, at: datetime | str | None = None) -> Preview:
    """What these messages would become if their page cooled now; nothing is written. See `AsyncMemory.preview`."""
    accepted = accept(engine, messages, at, None)
    now, key = engine.now(), key_of(scope)

    def read(db: Db) -> tuple[list[Turn], list[str], int]:
        engine.check_model(db)
        rows = db.all(
            "SELECT * FROM turns WHERE tenant = ? AND owner = ? AND agent = ? AND session = ?"
            " ORDER BY position DESC LIMIT 3",
            (*key, scope.agent or "", scope.session or ""),
        )
        last = db.one("SELECT max(no) AS no FROM turns WHERE tenant = ? AND owner = ?", key)
        served = served_texts(db, key, scope.agent or "", scope.session or "")
        return [turn_of(row) for row in reversed(rows)], served, (last["no"] or 0) if last else 0

    before, served, last = await engine.store.read(read)
    position = before[-1].position if before else 0
    turns = [
        Turn(
            no=last + n,
            id=message.id or f"t{last + n}",
            agent=scope.agent,
            session=scope.session or "",
            position=position + n,
            role=message.role,
            speaker=message.name or ("assistant" if message.role == "assistant" else None),
            text=message.text,
            at=message.at or now,
            recorded_at=now,
            trust=TRUST[message.role],
            parts=message.parts,
            metadata=message.metadata,
            is_source=message.is_source,
        )
        for n, message in enumerate(accepted, 1)
    ]
    candidates = draft(turns, before=before, served=served)
    occasion = Occasion(
        operation="preview",
        now=now,
        newest_at=max(turn.at for turn in turns),
        agent=scope.agent,
        session=scope.session,
        versions=versions(engine),
    )
    embedded = await embed_candidates(engine, candidates)
    sources = {turn.no: turn for turn in (*before, *turns)}
    plan, _, _ = await make_plan_on_snapshot(engine, scope, candidates, embedded, sources, occasion)
    outcomes = tuple(
        MessageOutcome(n, "redacted" if message.redacted else "stored", turn.id, turn.position, message.redacted)
        for n, (message, turn) in enumerate(zip(accepted, turns, strict=True))
    )
    return Preview(outcomes, tuple(plan.decisions), tuple(plan.notes.values()), tuple(plan.links))
