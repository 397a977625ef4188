"""The kind of a statement, from grammar and whole-word cues: it sets how fast a note fades and its type prior."""

from __future__ import annotations

from typing import Final

from memstrata.extract import kind_tables as tables
from memstrata.extract.cues import Cues, Folded, cues_of, fold, has_cue, table_language
from memstrata.text.patterns import regex
from memstrata.types import EventTime, Kind, Slot

# Kinds that a sentence has of its own; the others ("fact", "state", "ephemeral") it may share with its neighbours.
OWN_KINDS: Final[frozenset[Kind]] = frozenset({"identity", "preference", "relation", "plan", "event", "procedure"})

_KIN: Final = "|".join(tables.KIN_EN)
_KIN_EN: Final = regex(
    rf" my (?:{_KIN})(?: (?:is|are|was|were)|'s name) "
    rf"| (?:i|we)(?: have|'ve got) (?:an?|an older|a younger|one|two|three|no) (?:{_KIN})s? "
)
_KIN_JA: Final = regex(rf"(?:{'|'.join(tables.KIN_JA)})の[^はがをにで、。 ]{{1,8}}[はが]")  # 妹の美咲は
_ROLE_EN: Final = regex(r" (?:i'm|i am|i work as|i became) (?:an?|the) (?!bit|lot|little|few)(?!(?:\w+ ){0,3}fan )\w+")
_PAST_CLAUSE_EN: Final = regex(
    r" (?:i|we)(?:'ve| have|'d)?(?: (?:just|also|recently|finally|already|even|once|really))? (\w+)"
)


def kind_of(
    text: str,
    language: str,
    *,
    event: EventTime | None = None,
    slot: Slot | None = None,
    cues: Cues | None = None,
    folded: Folded | None = None,
) -> Kind:
    """The kind of a statement. `event` is when it says something happened, `slot` what it sets, if known;
    `cues` and `folded` save reading them again.

    >>> kind_of("This is an island.", "en"), kind_of("I am a nurse.", "en"), kind_of("我打算明年去北京。", "zh")
    ('fact', 'identity', 'plan')
    """
    if slot is not None:
        return _kind_of_slot(slot)
    folded = folded or fold(text)
    cues = cues or cues_of(text, language, folded)
    table = table_language(language)
    if has_cue(folded, tables.EPHEMERAL[table]):
        return "ephemeral"
    if cues.future:
        return "plan"
    past = _tells_past(folded, table)
    if has_cue(folded, tables.IDENTITY[table]) or (table == "en" and _ROLE_EN.search(folded.padded)):
        return "identity"
    if has_cue(folded, tables.PREFERENCE[table]):
        return "preference"
    if has_cue(folded, tables.RELATION[table]) or (table == "en" and _KIN_EN.search(folded.padded)):
        return "relation"
    if table == "ja" and not past and event is None and _KIN_JA.search(folded.text):
        return "relation"
    if has_cue(folded, tables.PROCEDURE[table]):
        return "procedure"
    if past or event is not None:
        return "event"
    if has_cue(folded, tables.STATE[table]):
        return "state"
    return "ephemeral" if table == "en" and _reacts(folded) else "fact"


def _kind_of_slot(slot: Slot) -> Kind:
    if slot.attribute.startswith(("favourite_", "feels_about:")):
        return "preference"
    return tables.SLOT_KINDS.get(slot.attribute, "relation")  # what is left is the name of a pet


def _tells_past(folded: Folded, table: str) -> bool:
    """Whether the speaker tells of something done: a past tense after "I" or "we", ました, 了 / 过."""
    if table != "en":
        return has_cue(folded, tables.PAST_CJK[table])
    return any(
        verb in tables.PAST_EN or (verb.endswith("ed") and len(verb) > 4)
        for verb in _PAST_CLAUSE_EN.findall(folded.padded)
    )


def _reacts(folded: Folded) -> bool:
    """Whether an English sentence only speaks of the listener or of what was just said."""
    words = folded.words
    said = [word for word in words[:8] if word not in tables.INTERJECTIONS_EN]
    if said[:1] == ["you"]:  # "you can use oil instead" is advice, and may be asked for
        return said[1:2] != [] and said[1] not in tables.ADVICE_EN
    return bool(said) and said[0] in tables.REACTION_OPENINGS_EN and tables.FIRST_PERSON_EN.isdisjoint(words)
