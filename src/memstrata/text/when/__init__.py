"""When something happened: expressions of time in English, Japanese and Chinese, resolved to intervals.

>>> from datetime import UTC, datetime
>>> [mention] = find_times("I ran a race yesterday", datetime(2023, 5, 8, 14, 30, tzinfo=UTC))
>>> mention.text, mention.event.start.isoformat(), mention.event.end.isoformat(), mention.event.precision
('yesterday', '2023-05-07T00:00:00+00:00', '2023-05-08T00:00:00+00:00', 'day')

Times are resolved against the moment the text was said, in that moment's own time zone. What cannot be resolved is
left out: there is never a default. `english.py` and `cjk.py` say which day is meant where a language leaves a choice.
"""

from __future__ import annotations

import re
from datetime import datetime

from memstrata.text.patterns import regex
from memstrata.text.when import cjk, cjk_words, english
from memstrata.text.when.rules import Reading, TimeMention, apply
from memstrata.text.when.spans import Anchor
from memstrata.types import EventTime

__all__ = ["TimeMention", "find_ranges", "find_times"]

# Length-preserving: fullwidth digits to ASCII, capitals to small letters, one spelling for three scripts.
_FOLDING = str.maketrans(
    {chr(ord("０") + n): str(n) for n in range(10)}
    | {chr(ord("A") + n): chr(ord("a") + n) for n in range(26)}
    | cjk_words.FOLDED
)
_SINCE_BEFORE = regex(r"(?:\bsince(?:\s+the)?|自从?|自從)\s*$", re.IGNORECASE)
_SINCE_AFTER = regex(r"から(?!.{1,12}まで)|以来|以來|起|至今|到现在|到現在|开始|開始")


def find_times(text: str, said_at: datetime, *, language: str | None = None) -> list[TimeMention]:
    """The expressions of time in `text` that can be resolved, in order, none overlapping another.

    `said_at` is when it was said, with a time zone: days begin at its midnight. `language` is an ISO 639-1 code or
    "und"; in a language other than en, ja and zh nothing is looked for, since "mar" and "sat" are other words there.
    Never raises on any text; raises TimeError for a naive `said_at`.
    """
    anchor = Anchor.of(said_at)
    if language not in _LANGUAGES:
        return []
    folded = _fold(text)
    found: list[TimeMention] = []
    if cues := english.cues_in(folded):
        reading = Reading(text, folded, anchor, english.tense_of)
        found += apply(english.RULES, cues, reading)
    if not text.isascii() and (cues := cjk.cues_in(folded)):
        reading = Reading(text, folded, anchor, cjk.tense_of)
        found += apply(cjk.RULES, cues, reading)
    return _longest(found)


def find_ranges(query: str, now: datetime, *, language: str | None = None) -> list[EventTime]:
    """The times that a query asks about, against the asker's now: "since March" reaches from March to today's end."""
    mentions = find_times(query, now, language=language)
    ranges = [mention.event for mention in mentions]
    for n, mention in enumerate(mentions):
        since = (
            mention.text[:5].lower() == "since"
            or _SINCE_BEFORE.search(query, max(0, mention.start - 12), mention.start)
            or _SINCE_AFTER.match(query, mention.end)
        )
        today = Anchor.of(now).day(0)
        if since and mention.event.end < today.end:
            ranges[n] = EventTime(mention.event.start, today.end, mention.event.precision)
    return ranges


_LANGUAGES = frozenset({None, "und", "en", "ja", "zh"})


def _fold(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_FOLDING)


def _longest(found: list[TimeMention]) -> list[TimeMention]:
    """Where mentions overlap, the one that starts first and is longest stands: "last Friday", not "Friday"."""
    kept: list[TimeMention] = []
    for mention in sorted(found, key=lambda m: (m.start, -m.end)):
        if not kept or mention.start >= kept[-1].end:
            kept.append(mention)
    return kept
