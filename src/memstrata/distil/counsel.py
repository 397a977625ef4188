"""What the model is asked about admitted notes, and what of its answer a plan takes. Pure.

The request offers new notes (N1, ...), their nearest neighbours (M1, ...) and pairs that may contradict each other
(C1, ...). Only what was offered can be named in the answer; everything else is dropped and counted. Links, the contexts
and tags of offered neighbours, and the resolution of offered pairs are all that it can change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from memstrata.distil.drafting import one_line
from memstrata.distil.knowledge import Known
from memstrata.distil.plan import Plan
from memstrata.notes.classify import Neighbour, Relation, statement_of
from memstrata.notes.evolve import MOST_TAGS, size
from memstrata.notes.link import relevance
from memstrata.settings import Settings
from memstrata.text.measure import clip
from memstrata.text.tokens import content_words, normalise, numbers, words
from memstrata.types import Candidate, Link, LinkType, Note

if TYPE_CHECKING:
    from memstrata.llm.answers import NotesAnswer

NEAREST: Final = 5  # neighbours of a new note that are offered
MOST_KNOWN: Final = 10  # neighbours offered in all
NOTE_WORDS: Final = 45.0  # of a note that the model is shown
CONTEXT_WORDS: Final = 20.0  # of its context
NEAR: Final = 0.6  # cosine from which two statements are offered as a pair
SAME_THING: Final = 0.5  # of the words of two statements, the share that must be the same
MERGED_WORDS: Final = 60.0
GROUNDED: Final = 0.8  # share of the content words of a merged text or evolved context that its sources have
TAG_CHARACTERS: Final = 40
REASON_WORDS: Final = 25.0
_STEM: Final = re.compile("[\u30a1-\u30fa\u3400-\u9fff]")  # a kanji or katakana: kana alone are endings
_OCCASIONS: Final = ("event", "ephemeral")


@dataclass(frozen=True, slots=True)
class Rival:
    """A note that the n-th candidate may contradict; `is_planned`: by its slot, so that it is superseded already."""

    n: int
    note: Note
    is_planned: bool


@dataclass(frozen=True, slots=True)
class Offer:
    """What stands behind the aliases of a request: places of candidates, ids of notes, and pairs of both."""

    new: Mapping[str, int]
    known: Mapping[str, str]
    pairs: Mapping[str, tuple[int, str]]
    text: str = ""

    def stored(self) -> dict[str, Any]:
        """As it is kept with the answer."""
        return {"new": self.new, "known": self.known, "pairs": {name: list(pair) for name, pair in self.pairs.items()}}

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Offer:
        pairs = {name: (int(n), str(note)) for name, (n, note) in stored["pairs"].items()}
        return cls(dict(stored["new"]), dict(stored["known"]), pairs)


@dataclass(frozen=True, slots=True)
class Advised:
    """A link that the model wants: from one end to another, each the place of a candidate or the id of a note."""

    source: int | str
    target: int | str
    type: LinkType
    reason: str


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the model says of a pair: "keep", "merge" or "supersede"."""

    decision: str
    text: str
    reason: str


@dataclass(slots=True)
class Counsel:
    """The model's answer, as far as it names what was offered. `dropped` counts the rest, by why."""

    links: Sequence[Advised] = ()
    evolved: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)  # context and tags by note
    rulings: Mapping[tuple[int, str], Ruling] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)

    def drop(self, why: str) -> None:
        self.dropped[why] = self.dropped.get(why, 0) + 1

    # conflicts --------------------------------------------------------------------------------------------------------

    def relation(self, n: int, candidate: Candidate, relation: Relation, neighbours: Sequence[Neighbour]) -> Relation:
        """The relation of a candidate as the model sees it, where it may.

        A revision that classification found becomes two notes only for a reason. What classification left apart is
        superseded only for a reason, and when both statements are about the same thing.
        """
        if relation.kind == "revision" and relation.note is not None and not relation.also:
            ruling = self.rulings.get((n, relation.note.id))
            if ruling is not None and ruling.decision == "keep" and ruling.reason:
                return Relation("new", None, None, f"beside {relation.note.id}, both hold: {ruling.reason}")
        if relation.kind != "new":
            return relation
        for each in neighbours:
            ruling = self.rulings.get((n, each.note.id))
            if ruling is None or ruling.decision == "keep":
                continue
            if ruling.reason and same_thing(candidate, each.note):
                return Relation("revision", each.note, each.similarity, ruling.reason)
            self.drop("conflict")
        return relation

    def merged(self, n: int, note: Note, plan: Plan) -> Note:
        """The new note with the merged text of itself and the one it supersedes, where the model gave one that holds
        nothing but what the two say."""
        ended = [each for each in plan.updated.values() if each.superseded_by == note.id]
        ruling = self.rulings.get((n, ended[0].id)) if len(ended) == 1 else None
        if ruling is None or ruling.decision != "merge":
            return note
        text = ruling.text
        sources = f"{note.content} {ended[0].content}"
        if not text or size(text, most_words=int(MERGED_WORDS)) > 1.0 or not grounded(text, sources):
            self.drop("merged_text")
            return note
        speaker = f"{note.speaker}: " if note.speaker and not text.startswith(f"{note.speaker}: ") else ""
        old = ended[0]
        return replace(
            note,
            content=f"{speaker}{text}",
            names=_union(note.names, old.names, 12),
            keywords=_union(note.keywords, old.keywords, 10),
            tags=_union(note.tags, old.tags, MOST_TAGS),
        )

    # links and evolution ----------------------------------------------------------------------------------------------

    def apply(self, plan: Plan, known: Known, settings: Settings) -> None:
        """Put links and evolved neighbours into a plan that made its notes."""
        ids = plan.made
        similar = {(n, each.note.id): each for n, neighbours in enumerate(known.neighbours) for each in neighbours}
        notes = {each.note.id: each.note for each in similar.values()}
        if settings.links:
            for advised in self.links:
                ends = [end if isinstance(end, str) else ids.get(end, "") for end in (advised.source, advised.target)]
                found = [plan.latest(notes[end]) if end in notes else plan.notes.get(end) for end in ends]
                if found[0] is None or found[1] is None or not _may_link(plan, found[0], found[1], settings):
                    self.drop("link")
                    continue
                place = advised.source if isinstance(advised.source, int) else advised.target
                near = (
                    similar.get((place, ends[1] if place == advised.source else ends[0]))
                    if isinstance(place, int)
                    else None
                )
                _add_link(plan, found[0], found[1], advised, near.similarity if near else 0.0, settings)
        if settings.evolution:
            told = " ".join(f"{plan.notes[made].content} {plan.notes[made].context}" for made in ids.values())
            for note_id, (context, tags) in self.evolved.items():
                if note_id in notes and _evolve(plan, plan.latest(notes[note_id]), context, tags, told):
                    continue
                self.drop("evolution")


def counsel_of(answer: NotesAnswer, offer: Offer) -> Counsel:
    """An answer with its aliases looked up; what names one that was not offered is dropped and counted."""
    dropped: dict[str, int] = {}
    links: list[Advised] = []
    for link in answer.links:
        source, target = (offer.new.get(end, offer.known.get(end)) for end in (link.source, link.target))
        if (
            source is None
            or target is None
            or source == target
            or not (link.source in offer.new or link.target in offer.new)
        ):
            dropped["unknown_id"] = dropped.get("unknown_id", 0) + 1
            continue
        links.append(Advised(source, target, link.type, clip(getattr(link, "reason", ""), REASON_WORDS)))
    evolved: dict[str, tuple[str, tuple[str, ...]]] = {}
    for each in getattr(answer, "evolved", []):
        if each.note in offer.known:
            evolved[offer.known[each.note]] = (each.context, tuple(each.tags))
        else:
            dropped["unknown_id"] = dropped.get("unknown_id", 0) + 1
    rulings: dict[tuple[int, str], Ruling] = {}
    for conflict in answer.conflicts:
        if conflict.pair in offer.pairs:
            text, reason = getattr(conflict, "text", ""), clip(getattr(conflict, "reason", ""), REASON_WORDS)
            rulings[offer.pairs[conflict.pair]] = Ruling(conflict.decision, text, reason)
        else:
            dropped["unknown_id"] = dropped.get("unknown_id", 0) + 1
    return Counsel(links, evolved, rulings, dropped)


def rivals_of(plan: Plan, candidates: Sequence[Candidate], known: Known) -> list[Rival]:
    """For each note that a plan made the one that it may contradict, where there is one."""
    found: list[Rival] = []
    for n, note_id in plan.made.items():
        note = plan.notes[note_id]
        around = [each for each in known.neighbours[n] if each.note.state == "current"]
        if note.state == "current" and (rival := _rival(n, note, candidates[n], around, plan)) is not None:
            found.append(rival)
    return found


def offer_of(
    plan: Plan, candidates: Sequence[Candidate], known: Known, rivals: Sequence[Rival] | None = None
) -> Offer | None:
    """What to ask about the notes that a plan made; None when there is nothing that they could belong to.

    `rivals`: the pairs that are offered as perhaps contradicting each other; None: all that `rivals_of` finds.
    """
    made = {n: plan.notes[note_id] for n, note_id in plan.made.items() if plan.notes[note_id].state == "current"}
    around = {n: [each for each in known.neighbours[n] if each.note.state == "current"] for n in made}
    pairs = [(each.n, each.note.id) for each in (rivals_of(plan, candidates, known) if rivals is None else rivals)]
    chosen = {each.note.id: each.note for n, rival in pairs for each in around[n] if each.note.id == rival}
    for rank in range(NEAREST):  # the nearest of every note first
        for near in around.values():
            if rank < len(near) and len(chosen) < MOST_KNOWN:
                chosen.setdefault(near[rank].note.id, near[rank].note)
    if len(made) + len(chosen) < 2:
        return None
    new = {f"N{place}": n for place, n in enumerate(made, 1)}
    old = {f"M{place}": note_id for place, note_id in enumerate(chosen, 1)}
    named = {f"C{place}": pair for place, pair in enumerate(pairs, 1)}
    lines = ["<new>", *(_line(name, made[n]) for name, n in new.items()), "</new>"]
    lines += ["<known>", *(_line(name, chosen[note_id]) for name, note_id in old.items()), "</known>"]
    alias = {n: name for name, n in new.items()}
    known_as = {note_id: name for name, note_id in old.items()}
    lines += [
        "<pairs>",
        *(f"{name}: {alias[n]} against {known_as[key]}" for name, (n, key) in named.items()),
        "</pairs>",
    ]
    return Offer(new, old, named, "\n".join(lines))


def _rival(n: int, note: Note, candidate: Candidate, around: Sequence[Neighbour], plan: Plan) -> Rival | None:
    """The note that a new one may contradict: the one that it supersedes as planned, else one about the same thing."""
    ended = {each.id for each in plan.updated.values() if each.superseded_by == note.id}
    if ended:
        return next((Rival(n, each.note, is_planned=True) for each in around if each.note.id in ended), None)
    near = (each.note for each in around if each.similarity >= NEAR and same_thing(candidate, each.note))
    return next((Rival(n, each, is_planned=False) for each in near if plan.latest(each).state == "current"), None)


def same_thing(candidate: Candidate, note: Note) -> bool:
    """Whether two statements of one speaker are about the same thing: they differ in one place, at their object.

    "Tom works at Acme" and "Tom works at Beta" are; "Tom audits Acme" is about something else: the verb differs. So the
    beginning has to be the same (two words: a subject and a verb), or in Japanese, where the verb comes last, the end;
    and both together have to be half of the longer one. What happened once is another thing than what happened again.
    """
    if candidate.kind in _OCCASIONS or note.kind in _OCCASIONS:
        return False
    if normalise(candidate.speaker or "") != normalise(note.speaker or "") or candidate.language != note.language:
        return False
    if candidate.slot is not None and note.slot is not None and candidate.slot.attribute != note.slot.attribute:
        return False  # a liking of rain and one of sun
    mine, theirs = words(candidate.text), words(statement_of(note))
    head = _common(mine, theirs)
    tail = _common(mine[head:][::-1], theirs[head:][::-1])
    if candidate.language == "ja" and not _STEM.search("".join(mine[len(mine) - tail :])):
        return False  # what is left in common is an ending
    return head >= 2 and head + tail >= SAME_THING * max(len(mine), len(theirs))


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words two sequences have in common at their beginning."""
    return next((n for n, pair in enumerate(zip(one, other)) if pair[0] != pair[1]), min(len(one), len(other)))


def _may_link(plan: Plan, source: Note, target: Note, settings: Settings) -> bool:
    """Whether two notes may be linked: both hold, they are two, and neither has its fill of links."""
    if source.id == target.id or source.state != "current" or target.state != "current":
        return False
    pair = {source.id, target.id}
    if any({link.source, link.target} == pair for link in plan.links):
        return True  # the model's word on a link that is planned already
    full = any(_links(plan, note) >= settings.max_links for note in (source, target))
    known = any({link.source, link.target} == pair for link in (*source.links, *target.links))
    return not full and not known


def _links(plan: Plan, note: Note) -> int:
    planned = sum(note.id in (link.source, link.target) and link.type != "supersedes" for link in plan.links)
    stored = (
        0 if note.id in plan.notes else sum(link.type != "supersedes" for link in note.links if link not in plan.links)
    )
    return planned + stored


def _add_link(plan: Plan, source: Note, target: Note, advised: Advised, similarity: float, settings: Settings) -> None:
    """Add an advised link; in the place of one that the plan has between the two already."""
    pair = {source.id, target.id}
    score = min(1.0, max(relevance(similarity, source, target), settings.tau_link))
    reason = advised.reason or "the model's word"
    link = Link(source.id, target.id, advised.type, score, reason)
    plan.links[:] = [each for each in plan.links if {each.source, each.target} != pair or each.type == "supersedes"]
    plan.links.append(link)
    for note in (source, target):
        if note.id not in plan.notes:
            plan.put(
                replace(
                    note,
                    links=(*(each for each in note.links if each in plan.links or each.source != each.target), link),
                )
            )


def _evolve(plan: Plan, note: Note, context: str, tags: Sequence[str], told: str) -> bool:
    """Give an offered neighbour its new context and tags within the bounds; False when nothing of it can be taken."""
    if note.state != "current":
        return False
    told = f"{told} {note.content} {note.context} {' '.join(note.tags)}"
    new_context = note.context
    about_it = set(content_words(context)) & (set(content_words(note.content)) - set(content_words(note.speaker or "")))
    if about_it and "context" not in note.edited and size(context) <= 1.0 and grounded(context, told):
        new_context = context
    new_tags = note.tags
    kept = tuple(dict.fromkeys(tag.strip() for tag in tags if 0 < len(tag.strip()) <= TAG_CHARACTERS))[:MOST_TAGS]
    if kept and "tags" not in note.edited:
        new_tags = kept
    if (new_context, new_tags) == (note.context, note.tags):
        return False
    plan.put(replace(note, context=new_context, tags=new_tags))
    plan.changed.add(note.id)
    plan.re_embedded.add(note.id)
    return True


def grounded(text: str, sources: str) -> bool:
    """Whether a text says nothing but what its sources say: their numbers, and nearly all of its content words."""
    told, known = content_words(text), set(content_words(sources))
    if not told or not set(numbers(text)) <= set(numbers(sources)):
        return False
    return sum(word in known for word in told) >= GROUNDED * len(told)


def _union(mine: Sequence[str], theirs: Sequence[str], most: int) -> tuple[str, ...]:
    known = {normalise(each) for each in mine}
    return (*mine, *(each for each in theirs if normalise(each) not in known))[:most]


def _line(name: str, note: Note) -> str:
    context = f" | context: {one_line(note.context, CONTEXT_WORDS)}" if note.context else ""
    tags = f" | tags: {one_line(', '.join(note.tags), 12.0)}" if note.tags else ""
    return f"{name} {note.said_at:%Y-%m-%d} {note.kind}: {one_line(note.content, NOTE_WORDS)}{context}{tags}"
