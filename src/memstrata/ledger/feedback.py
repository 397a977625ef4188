"""Feedback: what a person says of a decision. It is kept for fitting the gate, and by default it is done as well.

A note that its user rejects is forgotten; a statement that was kept out and is accepted goes the whole write path again
and becomes a note under the rule "user"; a note that was forgotten and is accepted comes back. One operation does both
the noting and the doing, so that one `undo` takes both back. The last word on a decision counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from memstrata.distil.commit import Embedded, Stale, commit_plan
from memstrata.distil.plan import Occasion, Plan
from memstrata.distil.stages import AROUND, counts_of, plan_and_commit, versions, writer_for
from memstrata.engine import Engine
from memstrata.errors import ConflictError, InputError, LimitError, NotFoundError
from memstrata.extract.candidates import candidate_of_statements
from memstrata.intake.characters import fault_in_text
from memstrata.journal.receipts import full_receipt
from memstrata.journal.recorder import Recorder
from memstrata.ledger.forget import Marking, forget, restore
from memstrata.store.base import Db, Row
from memstrata.store.read import key_of, note_by_id, turns_by_no, turns_of_page
from memstrata.store.rows import decision_of, to_us
from memstrata.types import Candidate, Decision, Note, Receipt, Scope, Turn

MAX_REASON = 2000  # characters
Effect = Literal["none", "admit", "forget", "restore"]


@dataclass(frozen=True, slots=True)
class Subject:
    """The decision that is spoken of: the agent it was taken for, what became of it, what was said of it before."""

    decision: Decision
    agent: str | None
    note: Note | None
    earlier: Row | None


@dataclass(frozen=True, slots=True)
class Said:
    """What a person says of a decision."""

    item: str
    accept: bool
    reason: str | None
    apply: bool

    @property
    def payload(self) -> dict[str, Any]:
        return {"item": self.item, "accept": self.accept, "reason": self.reason, "apply": self.apply}


async def feedback(
    engine: Engine, scope: Scope, item: str, *, accept: bool, reason: str | None = None, apply: bool = True
) -> Receipt:
    """Note what a person says of a decision, or of that which a note came from, and do it. See `AsyncMemory`."""
    said = Said(item, accept, _clean_reason(engine, reason), apply)
    subject = await engine.store.read(lambda db: subject_of(db, scope, item))
    match effect_of(subject, said):
        case "admit":
            return await _admit(engine, scope, subject, said)
        case "forget":
            assert subject.note is not None
            return await forget(engine, scope, subject.note.id, marking=_marking(subject, said))
        case "restore":
            assert subject.note is not None
            await restore(engine, scope, subject.note.id, marking=_marking(subject, said))
            return await engine.store.read(lambda db: _last_receipt(db, scope, subject))
        case "none":
            return await _only_noted(engine, scope, subject, said)


def effect_of(subject: Subject, said: Said) -> Effect:
    """What is to be done for what was said."""
    if not said.apply:
        return "none"
    note = subject.note
    if note is not None and subject.decision.outcome != "duplicate":  # that one's note stands on other words too
        if said.accept:
            return "restore" if note.state in ("forgotten", "removed") else "none"
        return "forget" if note.state in ("current", "superseded") else "none"
    kept_out = subject.decision.outcome in ("rejected", "deferred", "failed")
    return "admit" if said.accept and kept_out and subject.decision.rule != "empty" else "none"


def _clean_reason(engine: Engine, reason: object) -> str | None:
    if reason is None:
        return None
    if not isinstance(reason, str):
        raise InputError(f"reason must be text, not {type(reason).__name__}")
    if len(reason) > MAX_REASON:
        raise LimitError(f"reason has {len(reason)} characters, at most {MAX_REASON} are taken")
    if fault := fault_in_text(reason):
        raise InputError(f"reason: {fault}")
    return engine.redactor.redact(reason.strip())[0] or None


def subject_of(db: Db, scope: Scope, item: str) -> Subject:
    """The decision with this id, or that of the note with this id; NotFoundError outside of the scope.

    An agent sees what its user told everybody, but only the user may judge that. ConflictError when the operation that
    took the decision was undone.
    """
    decision_id = item
    if not item.startswith("d_"):
        note = note_by_id(db, scope, item, own=True)
        if note.decision is None:
            raise NotFoundError(f"note {item!r} came without a decision, there is nothing to judge")
        decision_id = note.decision
    row = db.one(
        "SELECT d.body, o.agent, o.undone_by FROM decisions d JOIN operations o"
        " ON o.tenant = d.tenant AND o.owner = d.owner AND o.id = d.op"
        " WHERE d.tenant = ? AND d.owner = ? AND d.id = ?",
        (*key_of(scope), decision_id),
    )
    if row is None or (scope.agent is not None and row["agent"] != scope.agent):
        raise NotFoundError(f"no decision {decision_id!r} of this scope")
    if row["undone_by"] is not None:
        raise ConflictError(f"{decision_id} was undone by {row['undone_by']}: nothing is left to judge")
    decision = decision_of(row)
    earlier = db.one(
        "SELECT * FROM feedback WHERE tenant = ? AND owner = ? AND decision = ?", (*key_of(scope), decision_id)
    )
    note_id = decision.note or (earlier["note"] if earlier is not None else None)
    return Subject(decision, row["agent"] or None, _note_or_none(db, scope, note_id), earlier)


def _said_of(db: Db, scope: Scope, decision: str) -> Row | None:
    return db.one("SELECT * FROM feedback WHERE tenant = ? AND owner = ? AND decision = ?", (*key_of(scope), decision))


def _note_or_none(db: Db, scope: Scope, note_id: str | None) -> Note | None:
    """The note, unless it was purged, or its making was undone."""
    if note_id is None:
        return None
    try:
        note = note_by_id(db, scope, note_id)
    except NotFoundError:
        return None
    return None if note.state == "undone" else note


# noting ---------------------------------------------------------------------------------------------------------------


def _marking(subject: Subject, said: Said) -> Marking:
    note = subject.note.id if subject.note is not None else None
    return Marking("feedback", said.payload, lambda rec: note_verdict(rec, subject, said, note))


def note_verdict(rec: Recorder, subject: Subject, said: Said, note: str | None) -> None:
    """Write what was said of the decision: the last word counts, the log keeps the earlier ones."""
    values = {
        "accept": int(said.accept),
        "reason": said.reason,
        "note": note,
        "at": to_us(rec.now),
        "op": rec.operation,
    }
    if rec.select("feedback", (subject.decision.id,)) is None:
        rec.insert("feedback", {"decision": subject.decision.id, **values})
    else:
        rec.update("feedback", (subject.decision.id,), values)


async def _only_noted(engine: Engine, scope: Scope, subject: Subject, said: Said) -> Receipt:
    operation, now = engine.operation_id(), engine.now()

    def write(db: Db) -> Receipt:
        rec = engine.record(db, scope, "feedback", operation=operation, now=now)
        note_verdict(rec, subject, said, subject.note.id if subject.note else None)
        receipt = Receipt(operation, "feedback", now, counts={"noted": 1})
        rec.finish(said.payload, receipt)
        return receipt

    return await engine.store.write(write)


def _last_receipt(db: Db, scope: Scope, subject: Subject) -> Receipt:
    row = _said_of(db, scope, subject.decision.id)
    assert row is not None
    return full_receipt(db, scope, row["op"])


# admitting ------------------------------------------------------------------------------------------------------------


async def _admit(engine: Engine, scope: Scope, subject: Subject, said: Said) -> Receipt:
    """Put a candidate that was kept out through the write path again: classified, scored, resolved, linked, evolved."""
    decision, key = subject.decision, key_of(scope)

    def read(db: Db) -> dict[int, Turn]:
        cited = turns_by_no(db, key, decision.candidate.evidence)
        around = [
            each
            for turn in cited.values()
            for each in turns_of_page(
                db, key, turn.agent or "", turn.session, turn.position - AROUND, turn.position + AROUND
            )
        ]
        return {turn.no: turn for turn in (*around, *cited.values())}

    turns = await engine.store.read(read)
    first = next((turns[no] for no in decision.candidate.evidence if no in turns), None)
    operation, now = engine.operation_id(), engine.now()
    # As the agent that the decision was taken for; the operation is the caller's.
    whose = Scope(scope.tenant, scope.user, subject.agent if scope.user is not None else scope.agent)
    occasion = Occasion(
        operation=operation,
        now=now,
        newest_at=datetime.fromisoformat(decision.computed_from["newest_at"]),
        agent=whose.agent,
        session=first.session if first is not None else None,
        versions=versions(engine),
        accepted=decision.id,
    )

    def write(db: Db, plan: Plan, embedded: Mapping[str, Embedded], notes_changed: int) -> None:
        rec = engine.record(db, whose, "feedback", operation=operation, now=now)
        commit_plan(
            rec,
            plan,
            embedded,
            writer_for(engine, db, whose, rec.counter),
            engine.settings,
            notes_changed=notes_changed,
        )
        made = plan.decisions[0]
        note_verdict(rec, subject, said, made.note)
        rec.finish(said.payload, Receipt(operation, "feedback", now, counts={"noted": 1, **counts_of(plan)}))

    candidate = _candidate(decision.candidate, first)
    try:
        await plan_and_commit(engine, whose, [candidate], turns, occasion, write, durable=True)
    except Stale as error:
        raise ConflictError(f"the notes around {decision.id} keep changing: try again") from error
    return await engine.store.read(lambda db: full_receipt(db, scope, operation))


def _candidate(candidate: Candidate, turn: Turn | None) -> Candidate:
    """The candidate to admit. Of one that a rule barred only its first words were kept: what they name is read now."""
    if candidate.rule is None or turn is None:
        return candidate
    read = candidate_of_statements(turn, (), text=candidate.text)
    return replace(read, evidence=candidate.evidence)
