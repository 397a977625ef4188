"""Classification before scoring: is a candidate a duplicate of a note, a revision of one, or new?"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from memstrata.text.names import name_key
from memstrata.text.overlap import jaccard
from memstrata.text.tokens import content_words, normalise, numbers, statement_key
from memstrata.types import Candidate, EventTime, Note, Slot, Turn

DUPLICATE = 0.95
AGREES = 0.8  # cosine from which another statement of the same subject counts as agreeing
OPPOSITE_NEAR = 0.5  # opposites are near in cosine: farther notes need no comparing of words
SAME_WORDS = 0.8  # Jaccard of the content words, beside the opposites, from which two statements say the same thing
_FEELING = "feels_about"  # slots whose value is itself the polarity
_OCCASIONS = ("event", "ephemeral")  # what happened once does not revise what happened another time

RelationKind = Literal["duplicate", "revision", "new"]


def valid_from(candidate: Candidate) -> datetime:
    """From when on the candidate holds: the event time of a change of state, else when it was said."""
    if candidate.slot is not None and candidate.event is not None:
        return candidate.event.start
    return candidate.said_at


class Neighbour(NamedTuple):
    """A note near a candidate or another note, with the cosine of their embedded texts (-1 to 1)."""

    note: Note
    similarity: float


@dataclass(frozen=True, slots=True)
class Relation:
    """What a candidate is to what is already known.

    `note` is the note it duplicates or revises, and the nearest one (or None) when it is new; `similarity` the cosine
    to it; `also` are further notes that cannot hold beside the candidate, current ones first.
    """

    kind: RelationKind
    note: Note | None
    similarity: float | None
    reason: str
    also: tuple[Note, ...] = ()


def classify(
    candidate: Candidate,
    neighbours: Sequence[Neighbour],
    *,
    duplicate: float = DUPLICATE,
    nearest_candidate: float | None = None,
) -> Relation:
    """Compare a candidate with the notes around it, nearest first.

    `neighbours` are the notes nearest by cosine, those with an equal normalised name and those with the same slot,
    sorted by falling similarity. `nearest_candidate` is the highest cosine to candidates of the scope that did not
    become notes; it lowers novelty and makes nothing a duplicate.

    Duplicate: the equal statement, or cosine >= `duplicate` with the same subject, names, numbers, dates and polarity
    and the same words in the same order, apart from fillers. However near two embeddings are, one other word can be
    another fact.
    Revision: the same subject and single-valued slot with another value, or the opposite of the same statement
    ("loves" / "hates"). A superseded note is a duplicate only while it held, and is revised only when it held at the
    candidate's start or began later: then the candidate belongs before or into its time.
    """
    key = statement_key(candidate.content)
    start = valid_from(candidate)
    revised = [
        (each, reason) for each in neighbours if _concerned(each.note, start) and (reason := _revises(candidate, each))
    ]
    revised.sort(key=lambda found: found[0].note.state != "current")
    held = [each for each in neighbours if _held_at(each.note, candidate.said_at)]
    rivals = [each.note for each, _ in revised]
    for each in held:
        if key == statement_key(each.note.content) and _same_occasion(candidate, each.note, rivals):
            return Relation("duplicate", each.note, each.similarity, "the same statement")
    if revised:
        first, reason = revised[0]
        return Relation("revision", first.note, first.similarity, reason, tuple(each.note for each, _ in revised[1:]))
    for each in held:
        if each.similarity >= duplicate and _same_in_other_words(candidate, each.note):
            reason = f"the same in other words: similarity {each.similarity:.2f}, equal but for fillers"
            return Relation("duplicate", each.note, each.similarity, reason)
    similarities = {each.note.id: _told_apart(candidate, each, duplicate) for each in neighbours}
    nearest = max(neighbours, key=lambda each: similarities[each.note.id], default=None)
    similarity = similarities[nearest.note.id] if nearest is not None else None
    if nearest_candidate is not None and (similarity is None or nearest_candidate > similarity):
        return Relation("new", None, nearest_candidate, "nearest to an earlier candidate that was not kept")
    if nearest is None:
        return Relation("new", None, None, "nothing like it is known")
    return Relation("new", nearest.note, similarity, f"nearest to {nearest.note.id}, but not the same")


def agreeing_turns(candidate: Candidate, sources: Sequence[Turn], neighbours: Sequence[Neighbour]) -> int:
    """How many turns beside the cited ones (`sources`) say much the same; they raise the candidate's confidence.

    Counted are the evidence turns of current notes with cosine >= .8, the same subject and the same polarity.
    """
    saying = {
        evidence.id
        for each in neighbours
        if each.similarity >= AGREES
        and each.note.state == "current"
        and each.note.negated == candidate.negated
        and _subject(each.note) == _subject(candidate)
        for evidence in each.note.evidence
    }
    return len(saying - {turn.id for turn in sources})


def _held_at(note: Note, at: datetime) -> bool:
    if note.state == "current":
        return True
    return note.state == "superseded" and note.valid_to is not None and note.valid_from <= at < note.valid_to


def _concerned(note: Note, start: datetime) -> bool:
    """Whether what holds from `start` on cannot leave the note's validity as it is."""
    if note.state == "current":
        return True
    return note.state == "superseded" and note.valid_to is not None and note.valid_to > start


def _same_occasion(candidate: Candidate, note: Note, rivals: Sequence[Note]) -> bool:
    """Whether equal words mean the same fact: the same day of an event, and no other value held in between.

    "I ran five miles today" on another day is another event; Porto before Lisbon is not Porto after Lisbon.
    """
    first, last = sorted((valid_from(candidate), note.valid_from))
    between = any(first < rival.valid_from < last for rival in rivals)
    return not between and _same_date(candidate.event, note.event, missing_agrees=True)


def _same_in_other_words(candidate: Candidate, note: Note) -> bool:
    statement = statement_of(note)
    return (
        _without_fillers(candidate.text) == _without_fillers(statement)
        and _subject(candidate) == _subject(note)
        and _name_keys(candidate.names) == _name_keys(note.names)
        and numbers(candidate.text) == numbers(statement)
        and _same_date(candidate.event, note.event, missing_agrees=False)
        and candidate.negated == note.negated
    )


def _told_apart(candidate: Candidate, neighbour: Neighbour, duplicate: float) -> float:
    """The similarity to a note that says something else.

    From `duplicate` on the encoder did not tell the two apart (it may not know their language), so that at most the
    share of common content words is left: else what is new would count as known.
    """
    if neighbour.similarity < duplicate:
        return neighbour.similarity
    return min(neighbour.similarity, jaccard(_words(candidate.text), _words(statement_of(neighbour.note))))


def _revises(candidate: Candidate, neighbour: Neighbour) -> str | None:
    """Why the candidate and the note cannot both hold, or None."""
    note = neighbour.note
    if candidate.slot is not None and note.slot is not None:
        return _slot_change(candidate.slot, candidate.negated, note.slot, note.negated)
    return _opposite_statement(candidate, note) if neighbour.similarity >= OPPOSITE_NEAR else None


def _slot_change(new: Slot, new_negated: bool, old: Slot, old_negated: bool) -> str | None:
    if (new.subject, new.attribute) != (old.subject, old.attribute):
        return None
    if new.value != old.value and (new.attribute.startswith(_FEELING) or not (new_negated or old_negated)):
        return f"{new.attribute} of {new.subject} was {old.value}, now {new.value}"
    if new.value == old.value and new_negated != old_negated and not new.attribute.startswith(_FEELING):
        return f"{new.attribute} of {new.subject}: {new.value} " + ("no longer" if new_negated else "after all")
    return None  # "not in Porto" does not contradict "in Lisbon"


def _opposite_statement(candidate: Candidate, note: Note) -> str | None:
    """Why the two say the same with opposite polarity ("loves" / "hates", "eats" / "does not eat"), or None."""
    if candidate.kind in _OCCASIONS or note.kind in _OCCASIONS:
        return None
    mine = _words(candidate.text)
    if candidate.negated == note.negated and mine.isdisjoint(_polar_words()):
        return None  # nothing could turn the one into the other
    if _subject(candidate) != _subject(note):
        return None
    theirs = _words(statement_of(note))
    pair = _opposed(mine, theirs)
    # Opposite words and a negation cancel out: "I do not hate it" takes nothing back from "I love it".
    if (pair is not None) == (candidate.negated != note.negated):
        return None
    rest_mine, rest_theirs = mine - _polar_words(), theirs - _polar_words()
    if jaccard(rest_mine, rest_theirs) < SAME_WORDS or numbers(candidate.text) != numbers(statement_of(note)):
        return None
    return f'"{pair[1]}" before, "{pair[0]}" now' if pair is not None else "the same statement, the other way round"


def _subject(item: Candidate | Note) -> str:
    """Whom a statement is about, as far as is known: the slot's subject, else its speaker."""
    return item.slot.subject if item.slot is not None else normalise(item.speaker or "")


def statement_of(note: Note) -> str:
    """The note's content without the speaker in front."""
    prefix = f"{note.speaker}: "
    return note.content[len(prefix) :] if note.speaker and note.content.startswith(prefix) else note.content


def _name_keys(names: Sequence[str]) -> frozenset[str]:
    return frozenset(name_key(name) for name in names)


def _same_date(one: EventTime | None, other: EventTime | None, *, missing_agrees: bool) -> bool:
    if one is None or other is None:
        return missing_agrees or one is other
    return one.start < other.end and other.start < one.end


@lru_cache(maxsize=4096)
def _without_fillers(text: str) -> str:
    """The equality key of a statement without words that add no fact."""
    return " ".join(_filler().sub("", statement_key(text)).split())


@lru_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    """The content words of a statement. Polar CJK words are kept whole: characters would mix them."""
    left = normalise(text)
    if left.isascii():
        return frozenset(content_words(left))
    polar = _polar_run().findall(left)
    return frozenset(content_words(_polar_run().sub(" ", left))).union(polar)


def _opposed(mine: frozenset[str], theirs: frozenset[str]) -> tuple[str, str] | None:
    """A word of mine whose opposite is among theirs, with that opposite."""
    for one, other in _opposites():
        for left, right in ((one, other), (other, one)):
            if mine & left and theirs & right and not mine & right and not theirs & left:
                return min(mine & left), min(theirs & right)
    return None


@lru_cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads((files("memstrata.notes") / "data" / "opposites.toml").read_text(encoding="utf-8"))


@lru_cache
def _opposites() -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    return tuple((frozenset(one), frozenset(other)) for one, other in _table()["pairs"])


@lru_cache
def _polar_words() -> frozenset[str]:
    """Every word that can turn a statement round."""
    return frozenset(_table()["negations"]).union(*(side for pair in _opposites() for side in pair))


@lru_cache
def _polar_run() -> re.Pattern[str]:
    """The polar words of scripts without spaces, the longest first, so that 大好き is not read as 好き."""
    found = sorted((word for word in _polar_words() if not word.isascii()), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, found)))


@lru_cache
def _filler() -> re.Pattern[str]:
    """Fillers in an equality key: Latin ones as whole words, the others anywhere."""
    fillers = sorted(_table()["fillers"], key=len, reverse=True)
    whole, anywhere = ("|".join(map(re.escape, (f for f in fillers if f.isascii() is kind))) for kind in (True, False))
    return re.compile(rf"(?<!\S)(?:{whole})(?!\S)|(?:{anywhere})")
