"""The commit of a plan: notes, links, revisions, decisions and derived rows, in the transaction it is called in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from memstrata.distil.plan import Plan
from memstrata.index.units import Document, IndexWriter, Vectors
from memstrata.journal.recorder import Recorder
from memstrata.settings import Settings
from memstrata.store.kinds import SUPERSEDED_BIT
from memstrata.store.rows import dump, insert, note_row, to_us
from memstrata.text.names import name_key
from memstrata.text.tokens import statement_key
from memstrata.tiers.fade import forgets_us, rate_of, refresh_weight
from memstrata.types import Decision, Note


class Stale(Exception):
    """The notes changed since the plan read them: plan again."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """A document with its vectors, one a chunk."""

    document: Document
    vectors: Vectors


def commit_plan(
    rec: Recorder,
    plan: Plan,
    embedded: Mapping[str, Embedded],
    writer: IndexWriter,
    settings: Settings,
    *,
    notes_changed: int,
) -> None:
    """Apply a plan. `embedded` has the vectors of every new and re-embedded note, by id.

    Raises Stale, with nothing written, when the notes changed since the plan's knowledge was read.
    """
    if rec.counter.notes_changed != notes_changed:
        raise Stale
    numbers: dict[str, int] = {}
    documents: list[tuple[Document, Vectors]] = []
    for note in plan.notes.values():
        numbers[note.id] = _insert_note(rec, note, settings)
        documents.append((replace(embedded[note.id].document, ref=numbers[note.id]), embedded[note.id].vectors))
    for note in plan.updated.values():
        numbers[note.id] = note.no
        _update_note(rec, note, plan, settings)
        if note.id in plan.re_embedded:
            documents.append((embedded[note.id].document, embedded[note.id].vectors))
    writer.put_all(documents)
    _add_evidence(rec, plan, numbers)
    _add_links(rec, plan, numbers)
    for n, decision in enumerate(plan.decisions):
        _insert_decision(rec, n, decision)


def _insert_note(rec: Recorder, note: Note, settings: Settings) -> int:
    no = rec.counter.next_note
    rec.counter.next_note += 1
    row = note_row(
        note,
        rate=rate_of(note.kind, settings),
        statement=statement_key(note.content),
        forgets_at=forgets_us(note.last_access, note.kind, note.pinned, settings),
        operation=rec.operation,
    )
    rec.insert("notes", {**row, "no": no})
    add_names(rec, no, note.names)
    return no


def add_names(rec: Recorder, no: int, names: tuple[str, ...]) -> None:
    rec.db.many(
        "INSERT INTO names (tenant, owner, name, note) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [(*rec.key, name, no) for name in {name_key(name) for name in names}],
    )


def _update_note(rec: Recorder, note: Note, plan: Plan, settings: Settings) -> None:
    """Write what the plan changed of an existing note, as a revision; its vectors go in the same commit."""
    if note.id in plan.changed:
        rec.update(
            "notes",
            (note.no,),
            {
                "state": note.state,
                "valid_to": None if note.valid_to is None else to_us(note.valid_to),
                "superseded_by": note.superseded_by,
                "context": note.context,
                "tags": dump(note.tags),
            },
        )
    if note.id in plan.refreshed:
        refresh_weight(rec, note.no, note.kind, note.pinned, settings)


def _add_evidence(rec: Recorder, plan: Plan, numbers: Mapping[str, int]) -> None:
    """Evidence that the plan names; a superseding note takes that of the superseded ones too."""
    for note_id, turns in plan.turns.items():
        for turn in sorted(turns):
            if note_id in plan.notes:  # it has none yet, and its unit is as new as it is
                rec.insert("evidence", {"note": numbers[note_id], "turn": turn})
            else:
                add_evidence(rec, numbers[note_id], turn)
    for link in plan.links:
        if link.type != "supersedes":
            continue
        loser = numbers[link.target]
        rows = rec.db.all("SELECT turn FROM evidence WHERE tenant = ? AND owner = ? AND note = ?", (*rec.key, loser))
        for row in rows:
            add_evidence(rec, numbers[link.source], row["turn"])
            if link.target not in plan.folded:
                hide_turn(rec, row["turn"], SUPERSEDED_BIT)


def add_evidence(rec: Recorder, note: int, turn: int) -> None:
    if rec.select("evidence", (note, turn)) is None:
        rec.insert("evidence", {"note": note, "turn": turn})
        rec.mark("notes", note)


def hide_turn(rec: Recorder, turn: int, bit: int, *, hide: bool = True) -> None:
    """Set or clear a reason for which the transcript leg does not serve a turn."""
    row = rec.select("turns", (turn,))
    if row is not None:
        rec.update("turns", (turn,), {"hidden": row["hidden"] | bit if hide else row["hidden"] & ~bit})


def _add_links(rec: Recorder, plan: Plan, numbers: Mapping[str, int]) -> None:
    for source, target in plan.unlinked:
        rec.delete("links", (numbers[source], numbers[target], "supersedes"))
    for link in plan.links:
        key = (numbers[link.source], numbers[link.target], link.type)
        if rec.select("links", key) is None:
            rec.insert(
                "links",
                {
                    "source": key[0],
                    "target": key[1],
                    "type": link.type,
                    "score": link.score,
                    "reason": link.reason,
                    "op": rec.operation,
                },
            )


def _insert_decision(rec: Recorder, n: int, decision: Decision) -> None:
    insert(
        rec.db,
        "decisions",
        *rec.key,
        {
            "id": decision.id,
            "op": rec.operation,
            "n": n,
            "page": decision.page,
            "turn": min(decision.candidate.evidence, default=None),
            "note": decision.note,
            "outcome": decision.outcome,
            "score": decision.score,
            "theta": decision.theta,
            "body": dump(decision),
            "decided_at": to_us(decision.decided_at),
        },
    )
