"""From a model's answer about a page to candidates: nothing in it is taken on trust.

Each note of the answer is anchored in what the offline stage reads in the same turns: which text may be a source at all
and by which rule the rest may not, hedges, negation, times and slots. The model chooses and words; who said it, when,
and whether it may be said is told by the turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from memstrata.extract.candidates import draft
from memstrata.extract.cues import Cues, cues_of, fold
from memstrata.extract.kinds import kind_of
from memstrata.extract.slots import PLAIN_USER, slot_of
from memstrata.extract.sources import PLACEHOLDER, is_assistant
from memstrata.extract.topic_tables import topics
from memstrata.gate.signals import TRUST
from memstrata.llm.answers import FullNote, PageAnswer, SmallNote
from memstrata.text.keywords import keywords
from memstrata.text.language import detect
from memstrata.text.measure import clip
from memstrata.text.names import names
from memstrata.text.overlap import lcs_precision
from memstrata.text.patterns import regex
from memstrata.text.sentences import sentences
from memstrata.text.tokens import content_words, normalise, numbers, words
from memstrata.types import Candidate, EventTime, Slot, Turn

CONTENT_WORDS: Final = 80.0
CONTEXT_WORDS: Final = 24.0
LABEL_CHARACTERS: Final = 40  # of a keyword or tag
MOST_KEYWORDS, MOST_TAGS = 8, 6
SUMMARY_WORDS: Final = 80.0
SUMMARY_GROUNDED: Final = 0.5  # share of a summary's content words that its page has
ALLOWED: Final = 0.8  # of what the cited turns support, the share that must be text that may be a source

SAID: Final = 0.5  # of a statement's words, the share that a note has which takes its place
CONTRARY: Final = 0.5  # of a statement's words, the share that a note has from which it could say the contrary

_DAY: Final = regex(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?\b")


@dataclass(slots=True)
class Page:
    """A page as the model is shown it: its turns are numbered from 1; what the offline stage makes of them."""

    turns: Sequence[Turn]
    before: Sequence[Turn]
    offline: Sequence[Candidate]
    dropped: dict[str, int] = field(default_factory=dict)
    filled: int = 0

    def drop(self, why: str) -> None:
        self.dropped[why] = self.dropped.get(why, 0) + 1

    def allowed(self, turn: Turn) -> str:
        """The text of a turn that may be a source, as far as the offline stage found something in it."""
        return " ".join(one.text for one in self.offline if turn.no in one.evidence and one.rule is None)

    def rule(self, turn: Turn) -> str | None:
        """The named rule that bars a turn or a part of it."""
        return next((one.rule for one in self.offline if turn.no in one.evidence and one.rule is not None), None)

    def is_shown(self, turn: Turn) -> bool:
        """Whether the model sees a turn: not what is no source whatever it says."""
        return bool(turn.indexed_text) and self.rule(turn) not in ("system", "tool", "tool_call", "quarantined")

    def is_context(self, turn: Turn) -> bool:
        """Whether a turn may only be read, not cited: an assistant's unconfirmed words, or nothing but barred text."""
        return not self.allowed(turn) and (is_assistant(turn) or self.rule(turn) is not None)


def page_of(turns: Sequence[Turn], before: Sequence[Turn], after: Sequence[Turn], served: Sequence[str]) -> Page:
    """A page read by the offline stage."""
    return Page(turns, before, draft(turns, before=before, after=after, served=served))


def candidates_of(answer: PageAnswer, page: Page, *, fill: bool = False) -> list[Candidate]:
    """The candidates of an answer, in its order; what cites no turn that was shown is dropped and counted.

    `fill` is for small models, which make one vague note of a page and pass over the rest: a note that only says the
    summary again is none, and what no note says stays as the offline stage has read it (counted in `page.filled`).
    """
    found: list[Candidate] = []
    summary = normalise(answer.summary)
    for note in answer.notes:
        cited = _cited(note, page)
        if fill and normalise(note.content) == summary:
            page.drop("summary_again")
        elif cited:
            found.append(_candidate(note, cited, page))
        else:
            page.drop("no_evidence")
    barred = [one for one in page.offline if one.rule is not None]
    if not fill:
        return [*found, *barred]
    passed_over = [one for one in page.offline if one.rule is None and not any(_says(note, one) for note in found)]
    page.filled = len(passed_over)
    return [*found, *passed_over, *barred]


def _says(note: Candidate, statement: Candidate) -> bool:
    """Whether a note that may pass takes the place of what the offline stage made of one of its turns."""
    if note.rule is not None or set(note.evidence).isdisjoint(statement.evidence):
        return False
    return lcs_precision(words(statement.text), words(note.text)) >= SAID


def summary_of(answer: PageAnswer, page: Page) -> str | None:
    """The answer's summary, cut to its limit; None when it is empty or not about this page."""
    told = content_words(answer.summary)
    said = set(content_words(" ".join(turn.said for turn in page.turns)))
    if not told or sum(word in said for word in told) < SUMMARY_GROUNDED * len(told):
        page.drop("summary")
        return None
    said_once = " ".join(dict.fromkeys(sentences(answer.summary)))  # small models say one sentence again and again
    return clip(said_once, SUMMARY_WORDS)


def _cited(note: SmallNote, page: Page) -> list[Turn]:
    """The turns that a note may stand on, in their order."""
    cited = []
    for number in sorted(set(note.evidence)):
        turn = page.turns[number - 1] if 1 <= number <= len(page.turns) else None
        if turn is None or not page.is_shown(turn):
            page.drop("unknown_turn")
        else:
            cited.append(turn)
    return cited


def _candidate(note: SmallNote, cited: Sequence[Turn], page: Page) -> Candidate:
    """One note of an answer as a candidate."""
    full = (
        note if isinstance(note, FullNote) else FullNote(content=note.content, evidence=note.evidence, kind=note.kind)
    )
    text = clip(note.content, CONTENT_WORDS)
    own = words(text)
    anchors = [one for one in page.offline if one.rule is None and not {t.no for t in cited}.isdisjoint(one.evidence)]
    anchor = max(anchors, key=lambda one: lcs_precision(own, words(one.text)), default=None)
    turn = next((each for each in cited if anchor is not None and each.no in anchor.evidence), cited[0])
    language = detect(text)
    cues = cues_of(text, language)
    plain = PLACEHOLDER.sub(" ", text)
    speaker = turn.speaker or (None if turn.role == "user" else turn.role)
    named = names(plain, speaker=speaker)
    event = (anchor.event if anchor is not None else None) or _event(full.when, turn.at)
    slot = _slot(full, anchor, own, cited, speaker)
    kind = note.kind or kind_of(text, language, event=event, slot=slot, cues=cues)
    remark = clip(full.context, CONTEXT_WORDS)
    day = f"{turn.at:%Y-%m-%d}"
    return Candidate(
        text=text,
        speaker=speaker,
        kind=kind,
        evidence=tuple(each.no for each in cited),
        said_at=turn.at,
        context=f"{remark} · {day}" if remark else day,
        keywords=_labels(full.keywords, MOST_KEYWORDS) or keywords(plain, limit=MOST_KEYWORDS, named=named),
        tags=tuple(dict.fromkeys((*_labels(full.tags, MOST_TAGS), kind, *topics(fold(text), language)))),
        names=named,
        event=event,
        slot=slot,
        negated=cues.negated,
        hedged=cues.hedged or (anchor is not None and anchor.hedged),
        hearsay=cues.hearsay or (anchor is not None and anchor.hearsay),
        language=language,
        trust=min((each.trust for each in cited), key=TRUST.__getitem__),
        utility=full.utility,
        rule=_rule(own, cited, page) or ("unsupported" if _invents(text, cues, anchor, cited, page) else None),
    )


def _rule(own: Sequence[str], cited: Sequence[Turn], page: Page) -> str | None:
    """The rule that bars a note: that of a cited turn, when the note stands on the barred part of it."""
    rule = next((found for turn in cited if (found := page.rule(turn)) is not None), None)
    if rule is None:
        return "unconfirmed" if all(is_assistant(turn) and not page.allowed(turn) for turn in cited) else None
    whole = lcs_precision(own, [word for turn in cited for word in words(turn.said)])
    allowed = lcs_precision(
        own, [word for turn in cited for word in words(f"{turn.speaker or ''} {page.allowed(turn)}")]
    )
    return rule if allowed < ALLOWED * whole or whole == 0.0 else None


def _invents(text: str, cues: Cues, anchor: Candidate | None, cited: Sequence[Turn], page: Page) -> bool:
    """Whether a note says what its words do not stand for, however many of them were said.

    A number that no cited turn has (but for the parts of their dates), a name that nobody on the page was called, or
    the contrary of the statement that it stands on.
    """
    said = " ".join(turn.said for turn in cited)
    days = {number for turn in cited for number in numbers(f"{turn.at:%Y-%m-%d} {turn.at:%-m} {turn.at:%-d}")}
    event = anchor.event if anchor is not None else None
    if event is not None:
        days |= numbers(f"{event.start:%Y-%m-%d} {event.start:%-m} {event.start:%-d}")
    if not numbers(text) <= numbers(said) | days:
        return True
    known = {word for turn in (*page.before, *page.turns) for word in words(turn.said)}
    if any(not set(words(name)) <= known for name in names(text, speaker=None)):
        return True
    if anchor is None or lcs_precision(words(anchor.text), words(text)) < CONTRARY:
        return False
    if anchor.negated != cues.negated:
        return True
    slot = slot_of(text, anchor.speaker, anchor.language, cues=cues)
    return (
        slot is not None
        and anchor.slot is not None
        and (slot.attribute, anchor.language) == (anchor.slot.attribute, detect(text))
        and slot.value != anchor.slot.value
    )


def _slot(
    note: FullNote, anchor: Candidate | None, own: Sequence[str], cited: Sequence[Turn], speaker: str | None
) -> Slot | None:
    """The slot that the offline stage read, where the note has its value; else the model's, where the turns have it."""
    if anchor is not None and anchor.slot is not None:
        of_feeling = anchor.slot.attribute.partition(":")[
            2
        ]  # the value is its polarity: what it is felt about is named
        if set(words(of_feeling or anchor.slot.value)) <= set(own):
            return anchor.slot
    if note.slot is None or not note.slot.value:
        return None
    said = {word for turn in cited for word in words(turn.indexed_text)}
    value = words(note.slot.value)
    if not value or not set(value) <= said or not set(value) <= set(own):
        return None
    subject = normalise(note.slot.subject)
    if subject in ("", "i", "me", "user", "the user", "speaker"):
        subject = normalise(speaker or PLAIN_USER)
    return Slot(subject, note.slot.attribute, normalise(note.slot.value))


def _event(when: str | None, said_at: datetime) -> EventTime | None:
    """The interval of "2024-03-05", "2024-03" or "2024".

    None for what is no date, and for the very day (month, year) that the turn was said on: a model that does not know
    names today, and where the words tell, the offline stage has read it.
    """
    found = _DAY.match(when.strip()) if when else None
    if found is None:
        return None
    year, month, day = (int(part) if part else None for part in found.groups())
    try:
        start = said_at.replace(
            year=year or said_at.year, month=month or 1, day=day or 1, hour=0, minute=0, second=0, microsecond=0
        )
    except ValueError:
        return None
    if day is not None:
        event = EventTime(start, start + timedelta(days=1), "day")
    elif month is not None:
        event = EventTime(start, (start + timedelta(days=32)).replace(day=1), "month")
    else:
        event = EventTime(start, start.replace(year=start.year + 1) if start.year < 9999 else start, "year")
    return None if event.start <= said_at < event.end or abs(start.year - said_at.year) > 150 else event


def _labels(labels: Sequence[str], most: int) -> tuple[str, ...]:
    """Keywords or tags within bounds: none too long, none twice."""
    kept = {normalise(label): label.strip() for label in reversed(labels) if 0 < len(label.strip()) <= LABEL_CHARACTERS}
    return tuple(reversed(list(kept.values())))[:most]
