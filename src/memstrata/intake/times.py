"""Times as callers write them, into aware datetimes."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from memstrata.errors import TimeError

FIRST_YEAR, LAST_YEAR = 1970, 2200
FUTURE_TOLERANCE = timedelta(days=1)  # clocks of other machines, and zones taken for one another


def parse_time(value: object, *, tz: str | None = None, what: str = "at") -> datetime:
    """An aware datetime from an aware datetime or an ISO 8601 string with an offset or `Z`; its zone is kept.

    A naive one is taken only with `tz`, an IANA zone name, and is then that zone's wall time; in the hour that a
    clock change repeats, the first one (`fold=0`). Dates and epoch numbers are refused: their hour, unit and zone
    would be guesses.

    Args:
        value: what the caller passed.
        tz: the zone of naive times.
        what: how the error names the value, such as "messages[3].at".

    Raises:
        TimeError: of another type, unreadable, naive without `tz`, outside the years 1970 to 2200, or `tz` unknown.
    """
    at = _read(value, what)
    if at.utcoffset() is None:
        if tz is None:
            raise TimeError(
                f"{what} {str(value)!r} has no time zone: add an offset such as +00:00 or Z, or set tz to an IANA name"
            )
        at = at.replace(tzinfo=zone(tz))
    # The coarse check keeps astimezone from overflowing at the ends of the calendar.
    if not (FIRST_YEAR - 1 <= at.year <= LAST_YEAR + 1 and FIRST_YEAR <= at.astimezone(UTC).year <= LAST_YEAR):
        raise TimeError(f"{what} {str(value)!r} is outside the years {FIRST_YEAR} to {LAST_YEAR}")
    return at


def check_not_future(at: datetime, now: datetime, *, what: str = "at") -> None:
    """Refuse what was said more than a day after `now`, the clock's time.

    Raises:
        TimeError: `at` lies more than a day ahead.
    """
    if at > now + FUTURE_TOLERANCE:
        raise TimeError(
            f"{what} {at.isoformat()} lies more than a day after now ({now.isoformat()}): pass when it was said"
        )


def zone(tz: str) -> ZoneInfo:
    """The zone of an IANA name such as "Asia/Tokyo".

    Raises:
        TimeError: no such zone.
    """
    if not isinstance(tz, str):
        raise TimeError(f"tz must be an IANA zone name such as 'Europe/Lisbon', not {type(tz).__name__}")
    return _zone(tz)


@lru_cache(maxsize=64)
def _zone(tz: str) -> ZoneInfo:
    try:
        return ZoneInfo(tz)
    except (KeyError, ValueError, OSError) as error:  # unknown, malformed, or the name of a folder of zones
        raise TimeError(f"tz {tz!r} is no IANA zone name, such as 'Europe/Lisbon' or 'Asia/Tokyo'") from error


def _read(value: object, what: str) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        raise TimeError(f"{what} is a date without a time of day: pass a datetime with a time zone")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        raise TimeError(
            f"{what} is the number {value}: an epoch's unit is a guess; pass datetime.fromtimestamp(seconds, tz=UTC)"
        )
    if not isinstance(value, str):
        raise TimeError(
            f"{what} must be a datetime or an ISO 8601 string such as '2023-05-08T13:56:00+00:00', "
            f"not {type(value).__name__}"
        )
    try:
        at = datetime.fromisoformat(value.strip())
    except ValueError as error:
        raise TimeError(f"{what} {value[:60]!r} is not ISO 8601, such as '2023-05-08T13:56:00+00:00'") from error
    if _is_date_only(value.strip()):
        raise TimeError(f"{what} {value!r} is a date without a time of day: write '{at.date()}T00:00:00+00:00'")
    return at


def _is_date_only(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
