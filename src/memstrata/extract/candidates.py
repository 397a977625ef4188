"""Draft candidates of a page without an LLM: verbatim statements, one idea each, with who said them and when.

A turn is cut into sentences; small talk and questions go; a sentence that sets a slot or has a kind of its own stands
alone, what is left is grouped with its neighbours so that a pronoun keeps its antecedent. Nothing is rephrased: the
text of a candidate is made of substrings of its turn, so the turn supports all of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from memstrata.extract import sources
from memstrata.extract.cues import cues_of, fold
from memstrata.extract.kinds import OWN_KINDS
from memstrata.extract.slots import refers_back
from memstrata.extract.statements import Reading, Statement, read
from memstrata.extract.topic_tables import topics
from memstrata.text.keywords import keywords
from memstrata.text.language import detect
from memstrata.text.measure import clip, size
from memstrata.text.names import names
from memstrata.text.patterns import regex
from memstrata.types import Candidate, Kind, Slot, Turn

GROUP_WORDS: Final = 40.0  # a group of sentences grows to about so many words
CONTEXT_WORDS: Final = 22.0  # of the remark quoted; with the speaker and the date the context stays under 30
TURN_CANDIDATES: Final = 60  # the rest of a longer turn stays in the transcript, under the rule "over_limit"

_YES_NO: Final = regex(
    r"^\W*(?:yes|yeah|yep|yup|no|nope|nah|not really|はい|いいえ|うん|ううん|ええ|是的?|不是|没有|有|对|不)\W*$",
    re.IGNORECASE,
)
_POLAR: Final = regex(
    r"\b(?:do|does|did|are|is|were|was|have|has|can|will)(?:n't)? (?:you|your)\b"
    r"|(?:です|ます|した|ません)か|吗|嗎|有没有|是不是",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Page:
    """The turns around, in order, and what is known of them."""

    turns: list[Turn]
    served: Sequence[str]
    people: tuple[str, ...]
    slots: dict[str | None, Slot] = field(default_factory=dict)  # the last one each speaker set
    read: dict[int, Reading] = field(default_factory=dict)  # what the turns said, by their place


def draft(
    turns: Sequence[Turn], *, before: Sequence[Turn] = (), after: Sequence[Turn] = (), served: Sequence[str] = ()
) -> list[Candidate]:
    """The candidates of one page, in the order they were said.

    `before` and `after` are neighbouring turns of the same session: questions and confirmations are looked for in
    them, nothing is drafted from them. `served` are the texts `context` gave in this session. A turn (or part of one)
    that a named rule bars gives one candidate with `rule` set and its first words, so that the rejection is stored.
    Every candidate's evidence is the one turn whose text it quotes.
    """
    around = [*before, *turns, *after]
    people = tuple(sorted({turn.speaker for turn in around if turn.speaker}))
    page = _Page(around, served, people)
    if before and any(refers_back(turn.text, detect(turn.text)) for turn in turns):
        for index in range(len(before)):
            _read(page, index)  # for the slots they set
    found: list[Candidate] = []
    for index in range(len(before), len(before) + len(turns)):
        found.extend(_draft_turn(page, index))
    return found


def _draft_turn(page: _Page, index: int) -> list[Candidate]:
    turn = page.turns[index]
    said, rule = _read(page, index)
    found = [refused(turn, turn.indexed_text, rule)] if rule else []
    barred = [statement for statement in said if statement.rule]
    found.extend(refused(turn, statement.text, statement.rule) for statement in barred if statement.rule)
    groups = _grouped([statement for statement in said if not statement.rule])
    remark = _remark(page, index)
    if not groups and not found:
        groups = _bare_answer(turn, remark)
    for group in groups[:TURN_CANDIDATES]:
        text = " ".join(statement.text for statement in group)
        found.append(candidate_of_statements(turn, group, text=text, remark=remark))
        remark = _quoted(turn, group[-1].text)
    if len(groups) > TURN_CANDIDATES:
        found.append(refused(turn, groups[TURN_CANDIDATES][0].text, "over_limit"))
    return found


def _read(page: _Page, index: int) -> tuple[list[Statement], str | None]:
    """The statements of a turn, and the named rule that bars it or a part of it."""
    turn = page.turns[index]
    if not turn.indexed_text:
        return [], None
    if _is_repeated(page, index):
        return [], "boilerplate"
    text, rule = sources.source_text(turn, page.served, after=page.turns[index + 1 :])
    if text is None:
        return [], rule
    asked = index > 0 and _who(page.turns[index - 1]) != _who(turn)
    reading = read(turn, text, people=page.people, asked=asked, previous=page.slots.get(turn.speaker))
    page.read[index] = reading
    for statement in reading.said:
        if statement.slot is not None:
            page.slots[turn.speaker] = statement.slot
    return reading.said, rule


def _is_repeated(page: _Page, index: int) -> bool:
    """Whether a speaker said exactly this twice before: people rephrase, machines repeat."""
    turn = page.turns[index]
    same = sum(1 for other in page.turns[:index] if other.text == turn.text and _who(other) == _who(turn))
    return bool(turn.text) and same + 1 >= sources.REPEATS


def _who(turn: Turn) -> tuple[str, str | None]:
    return turn.role, turn.speaker


def _grouped(said: Sequence[Statement]) -> list[list[Statement]]:
    """Statements that stand together. A slot is always alone; what points back joins what it points to."""
    groups: list[list[Statement]] = []
    for statement in said:
        last = groups[-1] if groups else None
        joins = (
            last is not None
            and statement.slot is None
            and last[-1].slot is None
            and (statement.points_back or not _has_own_kind([statement, *last]))
            and sum(size(one.text) for one in (*last, statement)) <= GROUP_WORDS
        )
        if last is not None and joins:
            last.append(statement)
        else:
            groups.append([statement])
    return groups


def _has_own_kind(group: Sequence[Statement]) -> bool:
    return any(statement.kind in OWN_KINDS for statement in group)


def _kind(group: Sequence[Statement]) -> Kind:
    """The kind of a group: its first own kind, else the first that is not ephemeral."""
    kinds = [statement.kind for statement in group]
    own = [kind for kind in kinds if kind in OWN_KINDS] or [kind for kind in kinds if kind != "ephemeral"] or kinds
    return own[0]


def candidate_of_statements(
    turn: Turn,
    said: Sequence[Statement],
    *,
    text: str,
    remark: str = "",
    kind: Kind | None = None,
    tags: Sequence[str] = (),
) -> Candidate:
    """The candidate that `said`, statements of `turn` with the words `text`, make; `kind` and `tags` override theirs.

    `remark` is what was said just before, as it is quoted in the context. Without statements the text is taken as it
    stands: a fact of which no more is known.
    """
    language = said[0].language if said else detect(text)
    kind = kind or (_kind(said) if said else "fact")
    speaker = _speaker(turn)
    day = f"{turn.at:%Y-%m-%d}"
    plain = sources.PLACEHOLDER.sub(" ", text) if "[REDACTED:" in text else text
    named = names(plain, speaker=speaker)
    return Candidate(
        text=text,
        speaker=speaker,
        kind=kind,
        evidence=(turn.no,),
        said_at=turn.at,
        context=f"{remark} · {day}" if remark else day,
        keywords=keywords(plain, limit=8, named=named),
        tags=tuple(dict.fromkeys((*tags, kind, *topics(fold(text), language)))),
        names=named,
        event=next((statement.event for statement in said if statement.event), None),
        slot=next((statement.slot for statement in said if statement.slot), None),
        negated=any(statement.cues.negated for statement in said),
        hedged=any(statement.cues.hedged for statement in said),
        hearsay=any(statement.cues.hearsay for statement in said),
        language=language,
        trust=turn.trust,
    )


def refused(turn: Turn, text: str, rule: str) -> Candidate:
    """The record of what a named rule bars: its first words, and nothing drawn from them."""
    return Candidate(
        text=clip(text.strip(), GROUP_WORDS),
        speaker=_speaker(turn),
        kind="ephemeral",
        evidence=(turn.no,),
        said_at=turn.at,
        language=detect(text[:200]),
        trust=turn.trust,
        rule=rule,
    )


def _speaker(turn: Turn) -> str | None:
    """Who said it: a name, None for the plain user, else the role."""
    return turn.speaker or (None if turn.role == "user" else turn.role)


def _bare_answer(turn: Turn, remark: str) -> list[list[Statement]]:
    """A mere "yes" or "no" is a statement when it answers a question about the speaker."""
    text = turn.text.strip()
    if turn.trust != "user" or not _YES_NO.match(text) or not _POLAR.search(remark):
        return []
    language = detect(text)
    return [[Statement(text, cues_of(text, language), "fact", language=language)]]


def _remark(page: _Page, index: int) -> str:
    """What another said just before, quoted: their last question, else (of a user) the first thing they stated.

    Only what may be a source is quoted; an assistant's question asserts nothing and may be, its statements may not.
    """
    if index == 0 or _who(page.turns[index - 1]) == _who(page.turns[index]):
        return ""
    other = page.turns[index - 1]
    if not other.is_source or other.role in ("system", "tool") or other.trust in ("system", "tool", "web"):
        return ""
    reading = page.read.get(index - 1)
    if reading is None:
        reading = _heard(other, page)
    if any(statement.rule for statement in reading.said):
        return ""
    stated = [] if sources.is_assistant(other) else [statement.text for statement in reading.said]
    return _quoted(other, next(iter([*reversed(reading.questions), *stated]), ""))


def _heard(turn: Turn, page: _Page) -> Reading:
    """What a turn says and asks that is no source itself: before the page, or an assistant's unconfirmed words."""
    return read(turn, sources.without_fences(turn.indexed_text), people=page.people)


def _quoted(turn: Turn, text: str) -> str:
    """A remark as context: Ana: "What is ...?" (the speaker left out where the name would be of another script)."""
    if not text:
        return ""
    shown = clip(text, CONTEXT_WORDS)
    speaker = turn.speaker or (turn.role if text.isascii() else "")
    return f'{speaker}: "{shown}"' if speaker else f'"{shown}"'
