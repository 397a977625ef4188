"""What a query asks for, read without a model: terms, speakers, dates, and whether it asks for a time or a name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memstrata.text.patterns import regex
from memstrata.text.tokens import normalise, query_terms, terms
from memstrata.text.when import find_times
from memstrata.types import EventTime

_MONTHS = (
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)
_MONTH = regex(rf"\b({'|'.join(month.capitalize() for month in _MONTHS)})\b")
_MONTH_CJK = regex(r"(?<!\d)(1[0-2]|[1-9])月")
_YEAR = regex(r"(?<!\d)((?:19|20)\d\d)(?!\d)")
_DAY = regex(r"(?<![\d:])([12]\d|3[01]|[1-9])(?:st|nd|rd|th)?(?![\d:月年])")
_WHEN = regex(
    r"^\W*(?:when|how long|since when|(?:what|which) (?:year|month|date|day))\b"
    r"|いつ|何[年月日]|什么时候|何时|哪[年月天]",
    re.IGNORECASE,
)
_NAME = regex(
    r"\b(?:who|where|name|which|called|title|what (?:book|movie|game|city|country|state|song|band)s?)\b"
    r"|誰|どこ|どの|名前|谁|哪里|哪儿|哪个|名字|叫什么",
    re.IGNORECASE,
)
_FIRST_PERSON = regex(r"\b(?:I|I've|I'm|my|me|mine)\b|[私僕俺我]")


@dataclass(frozen=True, slots=True)
class Query:
    """A query as the legs use it. `speakers` are those it names, `terms` its content terms without their names."""

    text: str
    terms: tuple[str, ...]
    speakers: tuple[str, ...]
    first_person: bool
    months: tuple[int, ...]
    years: tuple[int, ...]
    days: tuple[int, ...]
    ranges: tuple[EventTime, ...]
    asks_when: bool
    asks_name: bool


def understand(text: str, speakers: Sequence[str], now: datetime) -> Query:
    """Read a query. `speakers` are the owner's; `now` is the asker's time, in the asker's zone.

    Relative times ("last week", 先月) become ranges against `now`; a month or a day that is named is matched in any
    year, unless a year is named too.
    """
    folded = normalise(text)
    named = tuple(name for name in speakers if name and _names(folded, normalise(name)))
    without = {term for name in named for term in terms(name)}
    found = tuple(dict.fromkeys(query_terms(text)))
    kept = tuple(term for term in found if term not in without) or found
    months = tuple(_MONTHS.index(month.lower()) + 1 for month in _MONTH.findall(text))
    months += tuple(int(month) for month in _MONTH_CJK.findall(text))
    days = tuple(int(day) for day in _DAY.findall(_YEAR.sub(" ", text))) if months else ()
    ranges = tuple(
        mention.event
        for mention in find_times(text, now)
        if mention.relative and not _MONTH.search(mention.text) and not _MONTH_CJK.search(mention.text)
    )
    return Query(
        text=text,
        terms=kept,
        speakers=named,
        first_person=not named and bool(_FIRST_PERSON.search(text)),
        months=months,
        years=tuple(int(year) for year in _YEAR.findall(text)),
        days=days,
        ranges=ranges,
        asks_when=bool(_WHEN.search(text)),
        asks_name=bool(_NAME.search(text)),
    )


def _names(query: str, name: str) -> bool:
    """Whether the query names a speaker, as a whole word where the script has words."""
    if name.isascii():
        return re.search(rf"\b{re.escape(name)}\b", query) is not None
    return name in query
