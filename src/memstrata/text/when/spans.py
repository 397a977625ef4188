"""Calendar arithmetic: from a turn's own time to the interval that an expression means.

Every interval is [start, end) of aware datetimes in the time zone of the turn. Days begin at local midnight, weeks on
Monday (ISO 8601), seasons are the meteorological ones of the northern hemisphere (summer is June to August, winter
December to February, named by the year in which it begins).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Literal

from memstrata.errors import TimeError
from memstrata.types import EventTime, Precision

Tense = Literal["past", "future"]
Unit = Literal["minute", "hour", "day", "week", "month", "year", "decade"]

SEASON_STARTS = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}
SATURDAY = 5

# A vague amount ("a few weeks ago") is this many units, both ends included, and one step less precise.
FEW = (2, 5)
_VAGUER: dict[Unit, Precision] = {
    "minute": "hour",
    "hour": "day",
    "day": "week",
    "week": "month",
    "month": "season",
    "year": "decade",
    "decade": "decade",
}
# Years outside are left unset: their edges would overflow once they are moved to another time zone.
_FIRST_YEAR, _LAST_YEAR = 2, 9998


@dataclass(frozen=True, slots=True)
class Anchor:
    """The moment something was said, against which relative expressions are resolved.

    Methods raise ValueError or OverflowError for a day that no calendar has.
    """

    said_at: datetime
    zone: tzinfo
    today: date

    @classmethod
    def of(cls, said_at: datetime) -> Anchor:
        """An anchor at an aware datetime; TimeError for a naive one."""
        if said_at.tzinfo is None or said_at.utcoffset() is None:
            raise TimeError()
        return cls(said_at, said_at.tzinfo, said_at.date())

    def between(self, start: date, end: date, precision: Precision) -> EventTime:
        """The days from `start` up to, not including, `end`."""
        if start.year < _FIRST_YEAR or end.year > _LAST_YEAR:
            raise OverflowError(f"{start}..{end} is beyond the years {_FIRST_YEAR} to {_LAST_YEAR}")
        return EventTime(
            datetime.combine(start, time.min, self.zone), datetime.combine(end, time.min, self.zone), precision
        )

    # -- a named day, month, season or year ---------------------------------------------------------------------

    def on(self, day: date, *, days: int = 1) -> EventTime:
        """One day, or a few in a row, with the precision of a day."""
        return self.between(day, day + timedelta(days=days), "day")

    def month_of(self, year: int, month: int, *, months: int = 1, precision: Precision = "month") -> EventTime:
        return self.between(date(year, month, 1), _first_of_month(year, month, months), precision)

    def season_of(self, year: int, season: str) -> EventTime:
        return self.month_of(year, SEASON_STARTS[season], months=3, precision="season")

    def year_of(self, year: int, *, years: int = 1, precision: Precision = "year") -> EventTime:
        return self.between(date(year, 1, 1), date(year + years, 1, 1), precision)

    # -- n units away from the turn -----------------------------------------------------------------------------

    def day(self, n: int) -> EventTime:
        """The day n days after (before, when negative) the turn's day."""
        return self.on(self.today + timedelta(days=n))

    def week(self, n: int) -> EventTime:
        """The calendar week n weeks after the turn's week."""
        monday = self.monday(n)
        return self.between(monday, monday + timedelta(days=7), "week")

    def month(self, n: int) -> EventTime:
        """The calendar month n months after the turn's month."""
        first = _first_of_month(self.today.year, self.today.month, n)
        return self.month_of(first.year, first.month)

    def year(self, n: int) -> EventTime:
        return self.year_of(self.today.year + n)

    def monday(self, n: int) -> date:
        """The Monday of the week n weeks after the turn's week."""
        return self.today + timedelta(days=7 * n - self.today.weekday())

    def away(self, n: int, unit: Unit) -> EventTime:
        """ "n units ago" (n negative) or "in n units".

        Days are exact; weeks are the seven days centred on the day 7n days away, since "two weeks ago" rarely means
        the calendar week; months and years are the calendar month or year; hours and minutes are centred likewise.
        """
        if unit in ("minute", "hour"):
            span = timedelta(minutes=1) if unit == "minute" else timedelta(hours=1)
            # Through UTC, so that an hour is an hour when the clocks change.
            middle = self.said_at.astimezone(UTC) + n * span
            edges = [(middle + half).astimezone(self.zone) for half in (-span / 2, span / 2)]
            if edges[0].year < _FIRST_YEAR or edges[1].year > _LAST_YEAR:
                raise OverflowError(f"{n} {unit}s away is beyond the calendar")
            return EventTime(edges[0], edges[1], "minute" if unit == "minute" else "hour")
        if unit == "day":
            return self.day(n)
        if unit == "week":
            middle_day = self.today + timedelta(days=7 * n)
            return self.between(middle_day - timedelta(days=3), middle_day + timedelta(days=4), "week")
        if unit == "month":
            return self.month(n)
        if unit == "year":
            return self.year(n)
        return self.year_of(self.today.year + 10 * n - 5, years=10, precision="decade")

    def away_about(self, fewest: int, most: int, unit: Unit) -> EventTime:
        """ "A few units ago": from `fewest` to `most` units before the turn (after it, when negative)."""
        ends = (self.away(-fewest, unit), self.away(-most, unit))
        return EventTime(min(e.start for e in ends), max(e.end for e in ends), _VAGUER[unit])

    def past(self, n: int, unit: Unit) -> EventTime:
        """ "In the past n units": up to the end of the turn's day, of days, weeks, months or years."""
        if unit == "month":
            first = _first_of_month(self.today.year, self.today.month, -n)
            start = first + timedelta(days=min(self.today.day, 28) - 1)
        elif unit in ("year", "decade"):
            years = n if unit == "year" else 10 * n
            start = date(self.today.year - years, self.today.month, min(self.today.day, 28))
        else:
            start = self.today - timedelta(days=n * (7 if unit == "week" else 1))
        precision: Precision = unit if unit in ("week", "month", "year", "decade") else "day"
        return self.between(start, self.today + timedelta(days=1), precision)

    # -- recurring names: which one is meant ---------------------------------------------------------------------

    def weekday_before(self, weekday: int) -> EventTime:
        """The latest such weekday (Monday is 0) before the turn's day."""
        return self.day(-((self.today.weekday() - weekday - 1) % 7 + 1))

    def weekday_after(self, weekday: int) -> EventTime:
        """The first such weekday after the turn's day."""
        return self.day((weekday - self.today.weekday() - 1) % 7 + 1)

    def weekday_of_week(self, weekday: int, week: int) -> EventTime:
        """Such a weekday in the calendar week `week` weeks after the turn's."""
        return self.on(self.monday(week) + timedelta(days=weekday))

    def weekday(self, weekday: int, tense: Tense | None) -> EventTime:
        """A bare "Friday": the latest one for a past tense, otherwise the first one to come; never the day itself."""
        return self.weekday_before(weekday) if tense == "past" else self.weekday_after(weekday)

    def weekend(self, week: int) -> EventTime:
        """Saturday and Sunday of the calendar week `week` weeks after the turn's."""
        return self.on(self.monday(week) + timedelta(days=SATURDAY), days=2)

    def this_weekend(self, tense: Tense | None) -> EventTime:
        """The weekend that is on or comes; for a past tense the one that is on or went."""
        return self.weekend(-1 if tense == "past" and self.today.weekday() < SATURDAY else 0)

    def month_named(self, month: int, tense: Tense | None) -> EventTime:
        """A bare "in March": the latest March that has begun, for a future tense the first that has not ended."""
        year = self.today.year
        if tense == "future":
            return self.month_of(year + (month < self.today.month), month)
        return self.month_of(year - (month > self.today.month), month)

    def date_named(self, month: int, day: int, tense: Tense | None) -> EventTime:
        """A date without a year: past, the latest; future, the first to come; no tense, the nearest."""
        days = [found for n in range(-8, 9) if (found := _date_or_none(self.today.year + n, month, day)) is not None]
        if tense == "past":
            days = [d for d in days if d <= self.today]
        elif tense == "future":
            days = [d for d in days if d >= self.today]
        if not days:
            raise ValueError(f"no day {month}-{day}")
        return self.on(min(days, key=lambda d: abs(d - self.today)))

    def season_named(self, season: str, choose: Literal["last", "this", "next"]) -> EventTime:
        """last: the latest season of this name that is over; this: the one that is on, else the next to begin
        in this year or the one that was in it; next: the first that has not begun."""
        first = datetime.combine(self.today, time.min, self.zone)
        spans = [self.season_of(self.today.year + n, season) for n in (-2, -1, 0, 1)]
        if choose == "last":
            return [s for s in spans if s.end <= first][-1]
        if choose == "next":
            return next(s for s in spans if s.start > first)
        return next((s for s in spans if s.start <= first < s.end), spans[2])


def _first_of_month(year: int, month: int, n: int) -> date:
    """The first day of the month n months after the given one."""
    years, months = divmod(year * 12 + month - 1 + n, 12)
    return date(years, months + 1, 1)


def _date_or_none(year: int, month: int, day: int) -> date | None:
    """A date, or None where the calendar has no such day (29 February, or years out of range)."""
    try:
        return date(year, month, day)
    except ValueError:
        return None
