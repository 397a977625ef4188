"""What is wrong with entries: junk, recall loops, secrets, what no evidence says, what is out of date."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, get_args

from memstrata.audit.cues import phrase_in
from memstrata.audit.entries import Entry
from memstrata.audit.near import Cluster
from memstrata.extract.cues import cues_of, is_question
from memstrata.extract.slots import slot_of
from memstrata.extract.sources import source_text
from memstrata.extract.statements import Statement, statements
from memstrata.gate.rules import RULES
from memstrata.gate.signals import support
from memstrata.intake.redact import Redactor
from memstrata.text.tokens import words
from memstrata.types import Slot, Turn

Problem = Literal["junk", "exact_duplicate", "near_duplicate", "recall_loop", "secret", "stale", "unsupported"]
PROBLEMS: tuple[Problem, ...] = get_args(Problem)

COPIES = 5  # so often is an entry stored before it counts as a loop
UNSUPPORTED = 0.3  # share of the words that the evidence must have, as in the gate
EPHEMERAL = timedelta(days=14)  # what was said of the moment is out of date after this
_USER: Final = (
    (re.compile(r"^(?:the )?user's ", re.IGNORECASE), "My "),
    (re.compile(r"^(?:the )?user (?=\w)", re.IGNORECASE), "User "),
    (re.compile(r"^ユーザー(?:さん)?(?=[はがのも])"), "私"),
    (re.compile(r"^(?:该)?(?:用户|用戶|使用者)"), "我"),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with one entry: why, and the entry that it repeats or gave way to, where there is one."""

    problem: Problem
    entry: Entry
    why: str
    other: str | None = None


@dataclass(frozen=True, slots=True)
class Read:
    """An entry as extraction reads it: what it states, the rule that bars it or a part of it, the slot it sets."""

    entry: Entry
    stated: tuple[Statement, ...]
    rule: str | None
    slot: Slot | None
    negated: bool


def read(entry: Entry, now: datetime) -> Read:
    """The entry through the extraction that turns pass."""
    at = entry.at or now
    turn = Turn(1, entry.id, None, "", 1, "user", None, entry.text, at, at, "user")
    text, rule = source_text(turn, ())
    found = statements(turn, text) if text is not None else []
    rule = rule or next((each.rule for each in found if each.rule), None)
    stated = tuple(each for each in found if each.rule is None)
    if entry.kind is not None:  # a note of ours: its slot is stored
        return Read(entry, stated, rule, entry.slot, entry.negated)
    said = entry.text.strip()
    for pattern, first_person in _USER:
        said = pattern.sub(first_person, said)
    cues = cues_of(said, entry.language)
    return Read(entry, stated, rule, slot_of(said, None, entry.language, cues=cues), cues.negated)


# single entries -------------------------------------------------------------------------------------------------------


def junk(item: Read) -> Finding | None:
    """Whether the entry is no memory at all, and why: what it is, or what extraction would refuse it for."""
    entry, text = item.entry, item.entry.text.strip()
    if not any(character.isalnum() for character in text):
        return Finding("junk", entry, "empty: no words")
    for group, what in (("system", "system text"), ("assistant", "assistant filler")):
        if (found := phrase_in(text, group)) is not None:
            return Finding("junk", entry, f'{what}: "{found}"')
    if item.stated or item.rule == "secret_only":  # that is found as a secret
        return None
    if item.rule is not None:
        return Finding("junk", entry, f"{item.rule.replace('_', ' ')}: {RULES[item.rule]}")
    if is_question(text, entry.language):
        return Finding("junk", entry, "question: it states nothing")
    if len(words(text)) <= 2:
        return Finding("junk", entry, "too short: nothing is said of anything")
    return Finding("junk", entry, "chit-chat: nothing to remember")


def secret(entry: Entry, redactor: Redactor) -> Finding | None:
    """Whether the entry holds a secret; of which kind, never the secret itself."""
    _, kinds = redactor.redact(entry.text)
    return Finding("secret", entry, f"holds {', '.join(sorted(kinds))}") if kinds else None


def speaks_of_memory(entry: Entry) -> Finding | None:
    """Whether the entry speaks of a memory instead of being one: it was recalled and stored again."""
    found = phrase_in(entry.text, "loop")
    return None if found is None else Finding("recall_loop", entry, f'recalled and stored again: "{found}"')


def unsupported(entry: Entry) -> Finding | None:
    """Whether the turns that a note stands on do not say it; nothing of an entry without known evidence."""
    if entry.evidence is None:
        return None
    if not entry.evidence:
        return Finding("unsupported", entry, "no turn is named as its evidence")
    own = words(entry.text)
    share = support(own, [words(text) for text in entry.evidence])
    if not own or share >= UNSUPPORTED:
        return None
    return Finding("unsupported", entry, f"{share:.0%} of its words are said in the turns it cites")


def expired(item: Read, now: datetime) -> Finding | None:
    """Whether the entry was true of a time that is over: a plan or something momentary that has passed."""
    entry = item.entry
    if entry.at is None:
        return None
    is_note = entry.kind is not None
    kinds = {entry.kind} if is_note else {each.kind for each in item.stated}
    ends = [entry.event_end] if is_note else [each.event.end if each.event else None for each in item.stated]
    known = [end for end in ends if end is not None]
    if kinds == {"plan"} and known and max(known) <= now:
        return Finding("stale", entry, f"a plan whose time is over: it ended on {max(known):%Y-%m-%d}")
    if kinds == {"ephemeral"} and entry.at + EPHEMERAL <= now:
        return Finding("stale", entry, f"of the moment: said on {entry.at:%Y-%m-%d}")
    return None


# entries beside each other --------------------------------------------------------------------------------------------


def repeated(entries: Sequence[Entry], found: Sequence[Cluster]) -> Iterator[Finding]:
    """Copies of entries, each with the one that it repeats; so many copies of one are a loop too."""
    for cluster in found:
        kept = entries[cluster.kept].id
        copies: tuple[tuple[Problem, str, tuple[int, ...]], ...] = (
            ("exact_duplicate", "the same statement as", cluster.exact),
            ("near_duplicate", "nearly the same as", cluster.near),
        )
        for problem, how, places in copies:
            for place in places:
                yield Finding(problem, entries[place], f"{how} {kept}", kept)
        if cluster.size >= COPIES:
            for place in sorted([*cluster.exact, *cluster.near]):
                yield Finding("recall_loop", entries[place], f"stored {cluster.size} times over", kept)


def superseded(read_entries: Sequence[Read]) -> Iterator[Finding]:
    """Entries that a later one gives another value for the same attribute of the same subject.

    Later is by their times, else by their order in the file.
    """
    by_slot: dict[tuple[str, str, str], list[Read]] = {}
    for item in read_entries:
        if item.slot is not None:
            by_slot.setdefault((item.entry.owner, item.slot.subject, item.slot.attribute), []).append(item)
    for items in by_slot.values():
        times = [item.entry.at for item in items if item.entry.at is not None]
        if len(times) == len(items):
            order = sorted(range(len(items)), key=times.__getitem__)
            items = [items[place] for place in order]
        last = items[-1]
        for item in items[:-1]:
            if reason := _gave_way(item, last):
                yield Finding("stale", item.entry, f"{reason} since {last.entry.id}", last.entry.id)


def _gave_way(old: Read, new: Read) -> str | None:
    """Why two statements of one attribute cannot both hold, the later one being `new`; or None."""
    assert old.slot is not None
    assert new.slot is not None
    what = old.slot.attribute.replace("_", " ").replace(":", " ")
    if old.slot.value != new.slot.value and not (old.negated or new.negated):
        return f"{what}: {old.slot.value} before, {new.slot.value}"
    if old.slot.value == new.slot.value and old.negated != new.negated:
        return f"{what}: {old.slot.value}, " + ("no longer" if new.negated else "after all")
    return None
