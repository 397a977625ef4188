"""How a rule is written and applied: a pattern for an expression, and a function that gives its interval."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from memstrata.text.when.spans import Anchor, Tense
from memstrata.types import EventTime


@dataclass(frozen=True, slots=True)
class TimeMention:
    """An expression of time in a text: text[start:end] means `event`.

    `relative` tells that the time of the turn was needed ("yesterday", "in March"), not only its time zone.
    """

    start: int
    end: int
    text: str
    event: EventTime
    relative: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """One text being read: as written, folded (same length, see `fold`), and the moment it was said."""

    text: str
    folded: str
    anchor: Anchor
    tense_of: Callable[[str, int, int], Tense | None]

    def tense(self, match: re.Match[str]) -> Tense | None:
        """The tense of the sentence around a match, None when nothing tells."""
        return self.tense_of(self.folded, match.start(), match.end())

    def capitalised(self, match: re.Match[str], group: str) -> bool:
        return self.text[match.start(group)].isupper()


@dataclass(frozen=True, slots=True)
class Rule:
    """`resolve` gives the interval of a match, or None where it is no time after all.

    The pattern is only tried on texts with one of the `cues`; it is relative unless it gives the year itself.
    """

    pattern: re.Pattern[str]
    resolve: Callable[[re.Match[str], Reading], EventTime | None]
    cues: frozenset[str]
    relative: Callable[[re.Match[str]], bool] = field(default=lambda _match: True)


def has_no_year(match: re.Match[str]) -> bool:
    """For rules with a group "year": relative unless it has the digits of one."""
    return not (match["year"] or "").isdigit()


def absolute(_match: re.Match[str]) -> bool:
    """For rules that give the year themselves."""
    return False


def apply(rules: Iterable[Rule], present: Iterable[str], reading: Reading) -> list[TimeMention]:
    """All mentions that the rules find whose cues are present, overlapping ones included."""
    found = []
    for rule in rules:
        if rule.cues.isdisjoint(present):
            continue
        for match in rule.pattern.finditer(reading.folded):
            try:
                event = rule.resolve(match, reading)
            except (ValueError, OverflowError):  # 30 February, or beyond the calendar: no such time
                continue
            if event is not None:
                start, end = match.span()
                found.append(TimeMention(start, end, reading.text[start:end], event, rule.relative(match)))
    return found
