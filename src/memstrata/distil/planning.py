"""The plan of one commit: pure. Candidates are classified, scored, decided, resolved, noted, linked and evolved.

Nothing is written here: the same candidates and the same knowledge give the same plan, which `commit` then applies, or
`preview` shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from memstrata.distil.counsel import Counsel
from memstrata.distil.knowledge import Known, with_planned
from memstrata.distil.plan import Occasion, Plan
from memstrata.gate.budget import Spent
from memstrata.gate.decide import Verdict, decide
from memstrata.gate.policy import Policy
from memstrata.gate.utility import Surroundings
from memstrata.index.units import Vectors
from memstrata.journal.recorder import child_id
from memstrata.notes.classify import Neighbour, Relation, agreeing_turns, classify, valid_from
from memstrata.notes.evolve import evolve
from memstrata.notes.link import links_of
from memstrata.notes.resolve import resolve
from memstrata.settings import Settings
from memstrata.store.rows import evidence_of
from memstrata.text.names import name_key
from memstrata.types import Candidate, Decision, Link, Note, Outcome, Turn

EVOLVES = 2  # of a new note's links, so many of the best make their older end evolve


def make_plan(
    candidates: Sequence[Candidate],
    vectors: Vectors,
    known: Known,
    sources: Mapping[int, Turn],
    occasion: Occasion,
    policy: Policy,
    settings: Settings,
    spent: Spent | None = None,
    counsel: Counsel | None = None,
) -> Plan:
    """Decide on each candidate in its order; earlier ones of the same plan are known to the later.

    `vectors` holds one embedding a candidate (of its note's text); `sources` the turns cited and those beside them, by
    number; `spent` what is used of the policy's budget: it grows with every note that is admitted.
    `counsel` is what a model said of the notes that a plan without it makes: links, evolution, resolution of conflicts.
    """
    plan = Plan()
    made: list[tuple[str, Vectors]] = []
    refused: list[Vectors] = []
    for n, candidate in enumerate(candidates):
        vector = vectors[n]
        planned = [(plan.notes[note_id], own) for note_id, own in made]
        read = plan.as_left(known.neighbours[n])
        neighbours = with_planned(read, planned, vector)
        nearest_refused = max((float(own @ vector) for own in refused), default=None)
        relation = classify(candidate, neighbours, duplicate=policy.duplicate, nearest_candidate=nearest_refused)
        if counsel is not None:
            relation = counsel.relation(n, candidate, relation, neighbours)
        cited = [sources[turn] for turn in candidate.evidence if turn in sources]
        verdict = decide(
            candidate,
            sources=cited,
            relation=relation,
            newest_at=occasion.newest_at,
            policy=policy,
            agreeing=agreeing_turns(candidate, cited, neighbours),
            around=surroundings(cited, sources, neighbours),
            spent=None if spent is None else spent.at(candidate.said_at),
            accepted=occasion.accepted,
        )
        note = _apply(plan, n, candidate, cited, relation, verdict, occasion, counsel)
        if note is None:
            if verdict.outcome == "rejected":
                refused.append(vector)
            continue
        made.append((note.id, vector[None, :]))
        plan.made[n] = note.id
        if spent is not None and relation.kind == "new":
            spent.add(candidate.said_at)
        if settings.links and note.state == "current":
            _link(plan, note, neighbours, settings, evolves=settings.evolution and counsel is None)
    if counsel is not None:
        counsel.apply(plan, known, settings)
    return plan


def _apply(
    plan: Plan,
    n: int,
    candidate: Candidate,
    cited: Sequence[Turn],
    relation: Relation,
    verdict: Verdict,
    occasion: Occasion,
    counsel: Counsel | None,
) -> Note | None:
    """Put a verdict's consequences and its decision into the plan; returns the new note, if one is made."""
    outcome: Outcome = verdict.outcome
    reason = verdict.reason
    note: Note | None = None
    if verdict.outcome == "duplicate" and relation.note is not None:
        _add_evidence(plan, plan.latest(relation.note), candidate)
    elif verdict.outcome == "admitted":
        note = new_note(child_id("n", occasion.operation, n), n, candidate, cited, occasion)
        if relation.kind == "revision" and relation.note is not None:
            outcome, reason, note = _resolve(plan, note, candidate, relation, verdict)
            if counsel is not None and note is not None and note.state == "current":
                note = counsel.merged(n, note, plan)
        if note is not None:
            plan.notes[note.id] = note
            plan.turns[note.id] = plan.turns.get(note.id, set()) | set(candidate.evidence)
    target = note.id if note else relation.note.id if outcome == "duplicate" and relation.note else None
    plan.decisions.append(
        Decision(
            id=child_id("d", occasion.operation, n),
            operation=occasion.operation,
            outcome=outcome,
            candidate=candidate,
            signals=verdict.signals,
            computed_from=verdict.computed_from,
            weights=verdict.weights,
            theta=verdict.theta,
            score=verdict.score,
            rule=verdict.rule,
            reason=reason,
            nearest=relation.note.id if relation.note else None,
            nearest_similarity=relation.similarity,
            note=target,
            policy=verdict.policy,
            versions=occasion.versions,
            decided_at=occasion.now,
            page=occasion.page,
        )
    )
    return note


def surroundings(cited: Sequence[Turn], turns: Mapping[int, Turn], neighbours: Sequence[Neighbour]) -> Surroundings:
    """What stands around a candidate that cites `cited`: the turns beside the first, where `turns` (by number) has
    them, and the names in the notes near it."""
    if not cited:
        return Surroundings()
    turn = cited[0]
    beside = {
        each.position - turn.position: each
        for each in turns.values()
        if each.session == turn.session and each.agent == turn.agent
    }
    names = frozenset(name_key(name) for each in neighbours for name in each.note.names)
    return Surroundings(turn, beside.get(-1), beside.get(1), names)


def new_note(note_id: str, n: int, candidate: Candidate, cited: Sequence[Turn], occasion: Occasion) -> Note:
    """The note that an admitted candidate becomes: the `n`-th of the occasion's operation."""
    return Note(
        id=note_id,
        content=candidate.content,
        context=candidate.context,
        kind=candidate.kind,
        keywords=candidate.keywords,
        tags=candidate.tags,
        names=candidate.names,
        speaker=candidate.speaker,
        agent=occasion.agent,
        session=occasion.session,
        event=candidate.event,
        said_at=candidate.said_at,
        valid_from=valid_from(candidate),
        valid_to=None,
        recorded_at=occasion.now,
        last_access=occasion.now,
        pinned=False,
        state="current",
        revision=1,
        trust=candidate.trust,
        language=candidate.language,
        slot=candidate.slot,
        negated=candidate.negated,
        metadata=occasion.metadata_of.get(cited[0].no, occasion.metadata) if cited else occasion.metadata,
        decision=child_id("d", occasion.operation, n),
        evidence=tuple(evidence_of(turn) for turn in cited),
    )


def _add_evidence(plan: Plan, note: Note, candidate: Candidate) -> None:
    plan.turns[note.id] = plan.turns.get(note.id, set()) | set(candidate.evidence)
    if note.id not in plan.notes:
        plan.put(note)
    plan.refreshed.add(note.id)


def _resolve(
    plan: Plan, note: Note, candidate: Candidate, relation: Relation, verdict: Verdict
) -> tuple[Outcome, str, Note | None]:
    """Place the note among those that cannot hold beside it: it ends those before it, the next one ends it."""
    assert relation.note is not None
    rivals = [plan.latest(each) for each in (relation.note, *relation.also)]
    place = resolve(candidate, relation, rivals)
    reason = f"{verdict.reason}; {place.reason}"
    if place.outcome == "deferred":
        return "deferred", reason, None
    others = {each.id for each in (place.next, *place.ended) if each is not None}
    for rival in place.ended:
        ends = max(rival.valid_from, place.valid_from)
        plan.put(replace(rival, state="superseded", valid_to=ends, superseded_by=note.id))
        plan.changed.add(rival.id)
        if rival.superseded_by in others:
            plan.unlinked.append((rival.superseded_by, rival.id))
        plan.links.append(Link(note.id, rival.id, "supersedes", 1.0, place.reason))
        note = replace(note, evidence=(*note.evidence, *rival.evidence))
    note = replace(note, valid_from=place.valid_from, valid_to=place.valid_to)
    if place.next is not None:
        plan.put(place.next)  # it takes the evidence
        plan.links.append(Link(place.next.id, note.id, "supersedes", 1.0, place.reason))
        note = replace(note, state="superseded", superseded_by=place.next.id)
    return place.outcome, reason, note


def _link(plan: Plan, note: Note, neighbours: Sequence[Neighbour], settings: Settings, *, evolves: bool) -> None:
    """Link a new note to its neighbours; the older ends of its best links evolve."""
    fresh = plan.as_left(neighbours)
    links = links_of(note, fresh, tau=settings.tau_link, most=settings.max_links)
    plan.links.extend(links)
    by_id = {each.note.id: each.note for each in fresh}
    for rank, link in enumerate(links):
        older = by_id[link.target if link.source == note.id else link.source]
        known = plan.latest(older)
        context, tags = known.context, known.tags
        if evolves and rank < EVOLVES and (evolution := evolve(known, note)) is not None:
            context, tags = evolution.context, evolution.tags
            plan.re_embedded.add(older.id)
            plan.changed.add(older.id)
        plan.put(replace(known, links=(*known.links, link), context=context, tags=tags))
