"""Compression with a language model: near-duplicates, and fading notes about one name, become one note.

`compress` folds what the gate calls the same. What is nearly the same, or fades and belongs together, is offered to the
model in groups, one call a group. What it answers is a candidate like any other: it has to say what the notes say and
nothing else, cites all their turns, and passes the gate. Then it supersedes them, as one operation that can be undone.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from memstrata.distil.commit import Embedded, commit_plan
from memstrata.distil.compress import as_candidate, changed_notes, has_vector, is_free, vectors_of
from memstrata.distil.counsel import MERGED_WORDS, NOTE_WORDS, grounded
from memstrata.distil.drafting import one_line
from memstrata.distil.plan import Occasion, Plan
from memstrata.distil.planning import new_note
from memstrata.distil.stages import embed_documents, versions, writer_for
from memstrata.engine import Engine
from memstrata.errors import LLMRefusedError, LLMUnreadableError, ReplayError
from memstrata.extract.cues import cues_of
from memstrata.gate.decide import Verdict, decide
from memstrata.index.units import document_of
from memstrata.journal.recorder import child_id
from memstrata.notes.classify import Relation, statement_of
from memstrata.notes.evolve import size
from memstrata.store.base import Db
from memstrata.store.kinds import NOTE
from memstrata.store.read import Key, key_of, notes_by_no, turns_by_no, turns_by_note
from memstrata.store.rows import to_us
from memstrata.text.names import name_key
from memstrata.text.tokens import content_words, numbers
from memstrata.types import Candidate, Decision, Link, Note, Receipt, Scope, Turn

if TYPE_CHECKING:
    from memstrata.calls import Asked
    from memstrata.llm.answers import FoldAnswer

log = logging.getLogger("memstrata")
MOST_NOTES: Final = 6  # of a group
MOST_GROUPS: Final = 8  # that one round asks about
NEAREST: Final = 6
NEAR: Final = 0.8  # cosine from which two notes are offered as nearly the same
FADING: Final = timedelta(days=30)  # before it is forgotten a note may be folded with others about the same name
MOST_FADING: Final = 60
FEWEST_FADING: Final = 3
KEPT: Final = 0.6  # share of each note's content words that the text has to have
_OCCASIONS: Final = ("event", "ephemeral")  # what happened once stays a note of its own


@dataclass(frozen=True, slots=True)
class Group:
    """Notes offered together, by alias, with the turns they stand on, and the state they were read at."""

    notes: dict[str, Note]
    standing: dict[str, tuple[int, ...]]
    turns: dict[int, Turn]
    notes_changed: int


@dataclass(frozen=True, slots=True)
class Condensed:
    """A text that stands for some notes: admitted."""

    members: tuple[str, ...]
    candidate: Candidate
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Told:
    """Of the model's answer: counts and versions for the receipt, and under which name it waits ('': it does not)."""

    counts: Mapping[str, int]
    versions: Mapping[str, str]
    question: str = ""


async def condense(engine: Engine, scope: Scope, since: int) -> int:
    """Offer the model what is nearly the same among the notes that changed after `since`, and what fades.

    Returns how many notes were folded. Raises Stale when the notes changed meanwhile, and LLMError when the model
    fails: what was not yet folded stays as it was. An answer that is paid for waits until its notes are folded, or
    until `condensed` tells that nothing is left to ask.
    """
    folded = 0
    for numbers_ in await engine.store.read(lambda db: _find(db, engine, scope, since)):
        group = await engine.store.read(lambda db: _read(db, scope, numbers_))  # noqa: B023
        if group is not None:
            folded += await _fold(engine, scope, group)
    return folded


def condensed(db: Db, scope: Scope) -> None:
    """Empty the answers that waited: every group of the owner was asked about. In the transaction that says so."""
    from memstrata.calls import settle_kept

    settle_kept(db, key_of(scope), "fold")


# finding --------------------------------------------------------------------------------------------------------------


def _find(db: Db, engine: Engine, scope: Scope, since: int) -> list[tuple[int, ...]]:
    """The groups, as numbers of notes: near ones around each changed note, then fading ones with a name in common."""
    engine.check_model(db)
    key, index = key_of(scope), engine.index(scope)
    changed = changed_notes(db, scope, since)
    if not changed:
        return []
    with index.lock:
        index.refresh(db)
        meta = index.meta
        known = [no for no in changed if has_vector(index, no)]
        mine = (meta["kind"] == NOTE) & (meta["state"] == 0) & (meta["agent"] == index.agents.get(scope.agent or ""))
        nearest = index.nearest_units(vectors_of(index, known), mine, NEAREST) if known else []
        near = {
            no: [int(meta["ref"][unit]) for unit, similarity in found.items() if similarity >= NEAR]
            for no, found in zip(known, nearest, strict=True)
        }
    fading = _fading(db, key, scope.agent or "", engine.now())
    wanted = {*near, *(other for others in near.values() for other in others), *fading}
    notes = notes_by_no(db, key, wanted, texts=False)
    groups: list[tuple[int, ...]] = []
    used: set[int] = set()
    named: dict[str, list[int]] = {}
    for no in fading:
        for name in dict.fromkeys(map(name_key, notes[no].names)) if no in notes else ():
            named.setdefault(name, []).append(no)
    sets = [(2, [no, *others]) for no, others in near.items()]
    sets += [(FEWEST_FADING, members) for members in named.values()]
    for fewest, members in sets:
        group = _fitting([no for no in dict.fromkeys(members) if no in notes and no not in used], notes)
        if len(group) >= fewest and len(groups) < MOST_GROUPS:
            groups.append(group)
            used.update(group)
    return groups


def _fading(db: Db, key: Key, agent: str, now: datetime) -> list[int]:
    rows = db.all(
        "SELECT no FROM notes WHERE tenant = ? AND owner = ? AND agent = ? AND state = 'current' AND pinned = 0"
        " AND forgets_at <= ? ORDER BY forgets_at, no LIMIT ?",
        (*key, agent, to_us(now + FADING), MOST_FADING),
    )
    return [row["no"] for row in rows]


def _fitting(numbers_: Sequence[int], notes: dict[int, Note]) -> tuple[int, ...]:
    """The first of some notes with those that may stand in one note with it, at most MOST_NOTES."""
    group: list[int] = []
    for no in numbers_:
        if len(group) < MOST_NOTES and all(_fit(notes[no], notes[other]) for other in group) and _is_open(notes[no]):
            group.append(no)
    return tuple(group)


def _is_open(note: Note) -> bool:
    """Whether a note may be folded: free, no occasion, and no value that resolution keeps apart."""
    return is_free(note) and note.kind not in _OCCASIONS and note.slot is None and note.event is None


def _fit(one: Note, other: Note) -> bool:
    return (one.kind, one.speaker, one.trust, one.language, one.negated, one.metadata) == (
        other.kind,
        other.speaker,
        other.trust,
        other.language,
        other.negated,
        other.metadata,
    )


def _read(db: Db, scope: Scope, members: Sequence[int]) -> Group | None:
    """A group as it stands now; None when no two of its notes may be folded any more."""
    key = key_of(scope)
    row = db.one("SELECT notes_changed FROM owners WHERE tenant = ? AND owner = ?", key)
    notes = [note for note in notes_by_no(db, key, members, texts=False).values() if _is_open(note)]
    if row is None or len(notes) < 2:
        return None
    standing = turns_by_note(db, key, [note.no for note in notes])
    turns = turns_by_no(db, key, {turn for numbers_ in standing.values() for turn in numbers_})
    named = {f"M{place}": note for place, note in enumerate(sorted(notes, key=lambda note: note.no), 1)}
    return Group(named, {name: tuple(standing.get(n.no, ())) for name, n in named.items()}, turns, row["notes_changed"])


# folding --------------------------------------------------------------------------------------------------------------


async def _fold(engine: Engine, scope: Scope, group: Group) -> int:
    from memstrata.calls import Purpose, ask_model

    lines = [f"{name} {each.kind}: {one_line(each.content, NOTE_WORDS)}" for name, each in group.notes.items()]
    text = "\n".join(["<known>", *lines, "</known>"])
    question = _name_of(group, text)
    try:
        asked: Asked[FoldAnswer] = await ask_model(engine, Purpose("fold", scope, question, is_kept=True), text, {})
    except (LLMUnreadableError, LLMRefusedError) as error:  # asked again it would say the same, at the same cost
        log.warning("notes were not folded by the language model: %s", type(error).__name__)
        return 0
    dropped: dict[str, int] = {}
    made = list(_admitted(engine, scope, group, asked.answer.value, dropped))
    if not made:
        return 0
    told = Told({**asked.counts, **dropped}, asked.versions, question)
    return await _commit(engine, scope, engine.operation_id(), group, made, told)


def _name_of(group: Group, text: str) -> str:
    """A name for what is asked of a group: the same as long as its notes are, so that a paid answer is found again."""
    notes = "".join(f"{each.id} {each.revision}\n" for each in group.notes.values())
    return f"fold_{blake2b((notes + text).encode(), digest_size=12).hexdigest()}"


async def condense_again(
    engine: Engine,
    scope: Scope,
    folds: Sequence[tuple[Sequence[int], str]],
    counts: Mapping[str, int],
    versions: Mapping[str, str],
) -> None:
    """Fold notes (by number) under the texts that a model gave for them before, as one operation "condense".

    Raises ReplayError when the gate no longer admits one of them.
    """
    members = [no for numbers_, _ in folds for no in numbers_]
    group = await engine.store.read(lambda db: _read(db, scope, members))
    if group is None:
        raise ReplayError("the notes that were condensed are not there to be folded")
    names = {note.no: name for name, note in group.notes.items()}
    answer = [([names.get(no, "") for no in numbers_], text) for numbers_, text in folds]
    made = list(_checked(engine, scope, group, answer, {}))
    if len(made) < len(folds):
        raise ReplayError("what was condensed does not pass the gate again")
    told = Told({name: count for name, count in counts.items() if name not in ("folded", "admitted")}, versions)
    await _commit(engine, scope, engine.operation_id(), group, made, told)


def _admitted(
    engine: Engine, scope: Scope, group: Group, answer: FoldAnswer, dropped: dict[str, int]
) -> Iterable[Condensed]:
    folds = [(each.notes, each.text) for each in answer.folds]
    return _checked(engine, scope, group, folds, dropped)


def _checked(
    engine: Engine,
    scope: Scope,
    group: Group,
    folds: Sequence[tuple[Sequence[str], str]],
    dropped: dict[str, int],
) -> Iterable[Condensed]:
    """What of some folds names what was offered, says what it says, and passes the gate; `dropped` counts the rest."""
    used: set[str] = set()

    def drop(why: str) -> None:
        dropped[f"llm_dropped_{why}"] = dropped.get(f"llm_dropped_{why}", 0) + 1

    for named, text in folds:
        members = tuple(name for name in dict.fromkeys(named) if name in group.notes)
        if len(members) < len(named):
            drop("unknown_id")
        if len(members) < 2 or used & set(members):
            drop("fold")
            continue
        notes = [group.notes[name] for name in members]
        candidate = _candidate(text, notes, sorted({no for name in members for no in group.standing[name]}))
        if not _says_the_same(candidate, notes):
            drop("fold_text")
            continue
        verdict = decide(
            candidate,
            sources=[group.turns[no] for no in candidate.evidence if no in group.turns],
            relation=Relation("new", None, None, f"{len(members)} notes as one"),
            newest_at=candidate.said_at,
            policy=engine.policy.for_scope(scope),
        )
        if verdict.outcome != "admitted":
            drop("fold_refused")
            continue
        used.update(members)
        yield Condensed(members, candidate, verdict)


def _candidate(text: str, notes: Sequence[Note], turns: Sequence[int]) -> Candidate:
    first, newest = notes[0], max(notes, key=lambda note: (note.said_at, note.no))
    prefix = f"{first.speaker}: "
    return replace(
        as_candidate(newest, turns),
        text=text.removeprefix(prefix) if first.speaker else text,
        keywords=_united((note.keywords for note in notes), 10),
        tags=_united((note.tags for note in notes), 8),
        names=_united((note.names for note in notes), 12),
    )


def _united(lists: Iterable[Sequence[str]], most: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for items in lists for item in items))[:most]


def _says_the_same(candidate: Candidate, notes: Sequence[Note]) -> bool:
    """Whether a text says all that some notes say and nothing else: their words, numbers and names, one polarity."""
    text, told = candidate.text, " ".join(note.content for note in notes)
    if size(text, most_words=int(MERGED_WORDS)) > 1.0 or not grounded(text, told):
        return False
    if not set(numbers(" ".join(map(statement_of, notes)))) <= set(numbers(text)):
        return False
    if cues_of(text, notes[0].language).negated != notes[0].negated:
        return False
    said = set(content_words(text))
    for note in notes:
        own = content_words(statement_of(note))
        if sum(word in said for word in own) < KEPT * len(own):
            return False
    return True


async def _commit(
    engine: Engine,
    scope: Scope,
    operation: str,
    group: Group,
    made: Sequence[Condensed],
    told: Told,
) -> int:
    """Put the new notes in the place of the old ones, as one operation of the verb "condense".

    The new note holds since the first of the old ones; these held for no time of their own, and their turns stay open.
    """
    now = engine.now()
    plan = Plan()
    for n, each in enumerate(made):
        old = [group.notes[name] for name in each.members]
        occasion = Occasion(
            operation,
            now,
            each.candidate.said_at,
            scope.agent,
            old[-1].session,
            versions=versions(engine, told.versions),
            metadata=old[0].metadata,
        )
        cited = [group.turns[no] for no in each.candidate.evidence if no in group.turns]
        since = min(note.valid_from for note in old)
        note = replace(new_note(child_id("n", operation, n), n, each.candidate, cited, occasion), valid_from=since)
        plan.notes[note.id], plan.made[n] = note, note.id
        plan.turns[note.id] = set(each.candidate.evidence)
        for gone in old:
            plan.put(replace(gone, state="superseded", valid_to=gone.valid_from, superseded_by=note.id))
            plan.changed.add(gone.id)
            plan.folded.add(gone.id)
            plan.links.append(Link(note.id, gone.id, "supersedes", 1.0, "folded by the model"))
        plan.decisions.append(_decision(n, each, note, occasion))
    documents = {note.id: document_of(note) for note in plan.notes.values()}
    embedded = dict(zip(documents, await embed_documents(engine, list(documents.values())), strict=True))
    folded = sum(len(each.members) for each in made)

    def write(db: Db) -> None:
        rec = engine.record(db, scope, "condense", operation=operation, now=now)
        writer = writer_for(engine, db, scope, rec.counter)
        ready = {note_id: Embedded(documents[note_id], item.vectors) for note_id, item in embedded.items()}
        commit_plan(rec, plan, ready, writer, engine.settings, notes_changed=group.notes_changed)
        counts = {"folded": folded, "admitted": len(made), **told.counts}
        folds = [[[group.notes[name].no for name in each.members], each.candidate.text] for each in made]
        receipt = Receipt(operation, "condense", now, counts=counts, versions=told.versions)
        rec.finish({"folds": folds}, receipt)
        if told.question:
            from memstrata.calls import settle_kept

            settle_kept(db, rec.key, "fold", told.question)

    await engine.store.write(write)
    return folded


def _decision(n: int, each: Condensed, note: Note, occasion: Occasion) -> Decision:
    verdict = each.verdict
    return Decision(
        id=child_id("d", occasion.operation, n),
        operation=occasion.operation,
        outcome="admitted",
        candidate=each.candidate,
        signals=verdict.signals,
        computed_from=verdict.computed_from,
        weights=verdict.weights,
        theta=verdict.theta,
        score=verdict.score,
        rule=verdict.rule,
        reason=f"{verdict.reason}; {len(each.members)} notes as one",
        nearest=None,
        nearest_similarity=None,
        note=note.id,
        policy=verdict.policy,
        versions=occasion.versions,
        decided_at=occasion.now,
    )
