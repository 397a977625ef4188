"""Explain: why a note was kept, or a decision taken, in a sentence and in numbers."""

from __future__ import annotations

from memstrata.engine import Engine
from memstrata.errors import NotFoundError
from memstrata.ledger.history import history_of
from memstrata.ledger.notes import with_weight
from memstrata.store.base import Db, Row
from memstrata.store.read import key_of, note_by_id
from memstrata.store.rows import decision_of
from memstrata.types import Decision, Explanation, Note, Scope

OUTCOMES = {
    "admitted": "Kept",
    "admitted_superseding": "Kept, in place of an older note",
    "superseded_on_arrival": "Stored as history, for it was out of date when it came",
    "duplicate": "Not kept again, its evidence was added to the note that says it",
    "rejected": "Not kept",
    "deferred": "Left for the user to decide",
    "failed": "Not decided",
}
CLOSED = {
    "forgotten": "The note has faded since, and is out of recall until it is restored.",
    "removed": "The note was taken out of recall on request.",
}


async def explain(engine: Engine, scope: Scope, item: str) -> Explanation:
    """The explanation of a note ("n_...") or of a decision ("d_...")."""

    def read(db: Db) -> Explanation:
        if item.startswith("d_"):
            decision, undone = _decision(db, scope, item)
            note = _note_of(db, scope, decision)
        else:
            note = note_by_id(db, scope, item)
            if note.decision is None:
                raise NotFoundError(f"note {item!r} came without a decision, there is nothing to explain")
            decision, undone = _decision(db, scope, note.decision)
        history = history_of(db, scope, note) if note is not None else ()
        shown = with_weight(engine, note) if note is not None else None
        said = sentence(decision, note, undone=undone) + _judged(_feedback_on(db, scope, decision))
        return Explanation(said, decision, shown, history)

    return await engine.store.read(read)


def _decision(db: Db, scope: Scope, decision_id: str) -> tuple[Decision, bool]:
    """The decision, and whether the operation that took it was undone."""
    row = db.one(
        "SELECT d.body, o.agent, o.undone_by FROM decisions d JOIN operations o"
        " ON o.tenant = d.tenant AND o.owner = d.owner AND o.id = d.op"
        " WHERE d.tenant = ? AND d.owner = ? AND d.id = ?",
        (*key_of(scope), decision_id),
    )
    if row is None or (scope.agent is not None and row["agent"] not in ("", scope.agent)):
        raise NotFoundError(f"no decision {decision_id!r} in this scope")
    return decision_of(row), row["undone_by"] is not None


def _note_of(db: Db, scope: Scope, decision: Decision) -> Note | None:
    if decision.note is None:
        return None
    try:
        return note_by_id(db, scope, decision.note)
    except NotFoundError:
        return None  # purged since


def _feedback_on(db: Db, scope: Scope, decision: Decision) -> Row | None:
    """What was said of the decision, or of the one whose turning round it is."""
    of = decision.computed_from.get("accepted") or decision.id
    sql = "SELECT accept, reason FROM feedback WHERE tenant = ? AND owner = ? AND decision = ?"
    return db.one(sql, (*key_of(scope), decision.id)) or db.one(sql, (*key_of(scope), of))


def _judged(said: Row | None) -> str:
    if said is None:
        return ""
    verdict = " Its user said that this belongs here" if said["accept"] else " Its user said that this is wrong"
    return f"{verdict}: {said['reason']}." if said["reason"] else f"{verdict}."


def because(decision: Decision) -> dict[str, str]:
    """What each signal was computed from, in a few words, by its name."""
    facts, candidate = decision.computed_from, decision.candidate
    cues = {name: ", ".join(found) for name, found in facts["cues"].items()}
    believed = [f"{facts['support_from']}", f"said by {candidate.trust}"]
    believed += [f"{name}: {cues.get(name, 'yes')}" for name in ("hedged", "hearsay") if getattr(candidate, name)]
    believed += ["of the listener"] if facts["of_listener"] else []
    believed += [f"{facts['agreeing']} other turns agree"] if facts["agreeing"] else []
    near = "nothing is near" if facts["similarity"] is None else f"{facts['similarity']:.2f} to the nearest"
    near += f", {facts['nearest']}" if facts["nearest"] is not None else ""
    days, rate = facts["age_hours"] / 24, facts["in_force"]["rate"]
    return {
        "utility": str(facts["utility_from"]),
        "confidence": ", ".join(believed),
        "novelty": "a revision" if facts["relation"] == "revision" else near,
        "recency": f"{days:.0f} days before the newest turn, {rate:g} a day",
        "type_prior": candidate.kind + (f": {cues['kind']}" if "kind" in cues else ""),
    }


def sentence(decision: Decision, note: Note | None, *, undone: bool = False) -> str:
    """What was decided, about what, from where, and why; then what became of it."""
    candidate = decision.candidate
    turns = ", ".join(decision.computed_from.get("sources", ())) or "no turn"
    said = f'"{candidate.content}" ({candidate.kind}, said on {candidate.said_at:%Y-%m-%d}, turn {turns})'
    why = decision.reason.removeprefix("not kept: ").removeprefix("kept: ")  # the outcome says that already
    text = f"{OUTCOMES[decision.outcome]}: {said}. {why[:1].upper()}{why[1:]}."
    if undone:
        return f"{text} This was undone since."
    if note is not None and note.state in CLOSED:
        text += f" {CLOSED[note.state]}"
    if note is not None and note.superseded_by is not None:
        ended = f" on {note.valid_to:%Y-%m-%d}" if note.valid_to else ""
        text += f" It ceased to hold{ended}: {note.superseded_by} took its place."
    return text
