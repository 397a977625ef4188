"""Compression: notes of one owner that say the same are folded into the one that has held longest.

Arrival folds a repeated statement already. Copies come in beside that rule: by an import, by `restore` or `undo`, or
because the words differed until a note was changed. Here a note is put before the gate again, without itself: what
`classify` and `decide` then call a duplicate of another note is superseded by it, and its evidence goes over. Nothing
is worded anew and no decision is added, for nothing new was said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from memstrata.distil.commit import commit_plan
from memstrata.distil.knowledge import NEAREST, known_around
from memstrata.distil.plan import Plan
from memstrata.distil.stages import writer_for
from memstrata.engine import Engine
from memstrata.errors import ReplayError
from memstrata.gate.decide import decide
from memstrata.gate.policy import Policy
from memstrata.index.owner import OwnerIndex
from memstrata.index.units import Vectors
from memstrata.notes.classify import Neighbour, classify, statement_of
from memstrata.store.base import Db
from memstrata.store.kinds import NOTE
from memstrata.store.read import key_of, notes_by_no, select_in, turns_by_no, turns_by_note
from memstrata.text.tokens import statement_key
from memstrata.tiers.fade import refresh_weight
from memstrata.types import Candidate, Link, Note, Receipt, Scope, Turn


@dataclass(frozen=True, slots=True)
class Fold:
    """A note and the one it is folded into, by number, and why."""

    note: int
    into: int
    reason: str


@dataclass(frozen=True, slots=True)
class Round:
    """What one look at an agent's notes found, and the state it was read at."""

    folds: tuple[Fold, ...]
    notes_changed: int


async def compress(engine: Engine, scope: Scope, since: int) -> int:
    """Fold what changed after `since` (the owner's counter) among the notes of the scope's agent; returns how many.

    Raises Stale when the notes changed meanwhile: then nothing was written.
    """
    found = await engine.store.read(lambda db: _find(db, engine, scope, since))
    if found.folds:
        await fold(engine, scope, found.folds, notes_changed=found.notes_changed)
    return len(found.folds)


# finding --------------------------------------------------------------------------------------------------------------


def _find(db: Db, engine: Engine, scope: Scope, since: int) -> Round:
    """The folds among the notes that changed and those that may say the same."""
    engine.check_model(db)
    key, index, policy = key_of(scope), engine.index(scope), engine.policy.for_scope(scope)
    row = db.one("SELECT notes_changed FROM owners WHERE tenant = ? AND owner = ?", key)
    suspects = _suspects(db, index, scope, policy, since)
    if row is None or not suspects:
        return Round((), row["notes_changed"] if row else 0)
    standing = turns_by_note(db, key, suspects)
    notes = {no: note for no, note in notes_by_no(db, key, suspects, texts=False).items() if is_free(note)}
    candidates = {no: as_candidate(note, standing.get(no, ())) for no, note in notes.items()}
    turns = turns_by_no(db, key, {turn for candidate in candidates.values() for turn in candidate.evidence})
    numbers = sorted(notes, key=lambda no: (notes[no].valid_from, no))
    with index.lock:
        vectors = vectors_of(index, numbers)
    known = known_around(db, index, key, scope.agent or "", [candidates[no] for no in numbers], vectors)
    folds: dict[int, Fold] = {}
    for no, around in zip(numbers, known.neighbours, strict=True):
        fits = [each for each in around if each.note.no not in folds and _may_take(each.note, notes[no])]
        found = _fold(notes[no], candidates[no], fits, around, turns, policy)
        if found is not None:
            folds[no] = found
    return Round(tuple(folds.values()), known.notes_changed)


def _suspects(db: Db, index: OwnerIndex, scope: Scope, policy: Policy, since: int) -> list[int]:
    """The changed notes that have the words of another, or nearly its vector; and these others."""
    key, agent = key_of(scope), scope.agent or ""
    rows = changed_notes(db, scope, since)
    if not rows:
        return []
    with index.lock:
        index.refresh(db)
        meta = index.meta
        changed = [no for no in rows if has_vector(index, no)]
        mine = (meta["kind"] == NOTE) & (meta["state"] == 0) & (meta["agent"] == index.agents.get(agent))
        nearest = index.nearest_units(vectors_of(index, changed), mine, NEAREST) if changed else []
        refs = meta["ref"]
        pairs = [
            (no, int(refs[unit]))
            for no, near in zip(changed, nearest, strict=True)
            for unit, similarity in near.items()
            if similarity >= policy.duplicate
        ]
    same: dict[str, list[int]] = {}
    for statement, no in select_in(
        db,
        "SELECT statement, no FROM notes WHERE tenant = ? AND owner = ? AND agent = ? AND state = 'current'"
        " AND statement IN ({marks})",
        (*key, agent),
        dict.fromkeys(rows.values()),
    ):
        if no not in same.setdefault(statement, []):
            same[statement].append(no)
    pairs += [(one, other) for group in same.values() for one in group for other in group]
    suspects = {no for one, other in pairs if one != other for no in (one, other)}
    return sorted(no for no in suspects if has_vector(index, no))


def changed_notes(db: Db, scope: Scope, since: int) -> dict[int, str]:
    """The current notes of the scope's agent that changed after `since`: their statements by number."""
    rows = db.all(
        "SELECT n.no, n.statement FROM units u"
        " JOIN notes n ON n.tenant = u.tenant AND n.owner = u.owner AND n.no = u.ref"
        f" WHERE u.tenant = ? AND u.owner = ? AND u.kind = {NOTE} AND u.changed > ?"
        " AND n.agent = ? AND n.state = 'current' ORDER BY n.no",
        (*key_of(scope), since, scope.agent or ""),
    )
    return {row["no"]: row["statement"] for row in rows}


def has_vector(index: OwnerIndex, no: int) -> bool:
    unit = index.unit(NOTE, no)
    return unit is not None and index.vector(unit) is not None


def vectors_of(index: OwnerIndex, numbers: Sequence[int]) -> Vectors:
    """The first vector of each of these notes, which all have one."""
    found = (index.vector(index.unit(NOTE, no) or 0) for no in numbers)
    return np.stack([vector for vector in found if vector is not None])


def is_free(note: Note) -> bool:
    """Whether a note may be folded or folded into: it is in force, and no person pinned or edited it."""
    return note.state == "current" and not note.pinned and not note.edited


def as_candidate(note: Note, turns: Sequence[int]) -> Candidate:
    """The note as if it was said now."""
    return Candidate(
        text=statement_of(note),
        speaker=note.speaker,
        kind=note.kind,
        evidence=tuple(turns),
        said_at=note.said_at,
        context=note.context,
        keywords=note.keywords,
        tags=note.tags,
        names=note.names,
        event=note.event,
        slot=note.slot,
        negated=note.negated,
        language=note.language,
        trust=note.trust,
    )


def _may_take(into: Note, note: Note) -> bool:
    """Whether nothing of `note` is lost when `into`, which has held longer, stands for both."""
    return (
        is_free(into)
        and (into.valid_from, into.no) < (note.valid_from, note.no)
        and (into.kind, into.trust, into.language) == (note.kind, note.trust, note.language)
        and into.metadata == note.metadata
        and note.event in (None, into.event)
        and note.slot in (None, into.slot)
        and set(note.tags) <= set(into.tags)
    )


def _fold(
    note: Note,
    candidate: Candidate,
    fits: Sequence[Neighbour],
    around: Sequence[Neighbour],
    turns: Mapping[int, Turn],
    policy: Policy,
) -> Fold | None:
    """What the gate says of a note beside those that may take it: folded into the first whose duplicate it is."""
    key = statement_key(note.content)
    rivals = [
        each
        for each in around
        if each.note.no != note.no and each.similarity < policy.duplicate and statement_key(each.note.content) != key
    ]
    for each in fits:
        if any(_held_between(rival.note, each.note, note) for rival in rivals):
            continue
        relation = classify(candidate, [each, *rivals], duplicate=policy.duplicate)
        if relation.kind != "duplicate":
            continue
        verdict = decide(
            candidate,
            sources=[turns[no] for no in candidate.evidence if no in turns],
            relation=relation,
            newest_at=note.said_at,
            policy=policy,
        )
        if verdict.outcome == "duplicate":
            return Fold(note.no, each.note.no, relation.reason)
    return None


def _held_between(rival: Note, first: Note, last: Note) -> bool:
    """Whether another value of the same slot began between two statements: then they are two spells of one fact."""
    if rival.slot is None or last.slot is None:
        return False
    same = (rival.slot.subject, rival.slot.attribute) == (last.slot.subject, last.slot.attribute)
    return same and first.valid_from <= rival.valid_from <= last.valid_from


# folding --------------------------------------------------------------------------------------------------------------


async def fold(engine: Engine, scope: Scope, folds: Sequence[Fold], *, notes_changed: int | None = None) -> None:
    """Fold notes, as one operation of the verb "compress".

    A folded note is superseded by the other and held for no time of its own (`valid_to` is its `valid_from`), so that
    every moment is answered by one of them. Its turns become evidence of the other and stay open to recall. The later
    access of both counts.

    Raises Stale, with nothing written, when the notes changed since `notes_changed`; ReplayError for a note that is
    not there.
    """
    operation, now = engine.operation_id(), engine.now()

    def write(db: Db) -> None:
        rec = engine.record(db, scope, "compress", operation=operation, now=now)
        state = rec.counter.notes_changed if notes_changed is None else notes_changed
        notes = notes_by_no(db, rec.key, {no for each in folds for no in (each.note, each.into)}, texts=False)
        plan = Plan()
        for each in folds:
            if each.note not in notes or each.into not in notes:
                raise ReplayError(f"note {each.note} or {each.into} is not there to be folded")
            note, into = notes[each.note], notes[each.into]
            plan.put(replace(note, state="superseded", valid_to=note.valid_from, superseded_by=into.id))
            plan.changed.add(note.id)
            plan.folded.add(note.id)
            plan.updated.setdefault(into.id, into)
            plan.links.append(Link(into.id, note.id, "supersedes", 1.0, each.reason))
        commit_plan(rec, plan, {}, writer_for(engine, db, scope, rec.counter), engine.settings, notes_changed=state)
        for no in sorted({each.into for each in folds}):
            into = notes[no]
            accessed = max(notes[each.note].last_access for each in folds if each.into == no)
            if accessed > into.last_access:
                refresh_weight(rec, no, into.kind, into.pinned, engine.settings, at=accessed)
        payload = {"folds": [[each.note, each.into, each.reason] for each in folds]}
        rec.finish(payload, Receipt(operation, "compress", now, counts={"folded": len(folds)}))

    await engine.store.write(write)
