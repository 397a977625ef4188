"""The Clock seam: where "now" comes from. It sets recorded, decided and last-access times, never what was said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Anything that tells an aware time."""

    def now(self) -> datetime: ...


class SystemClock:
    """The machine's clock, in UTC."""

    def now(self) -> datetime:
        return datetime.now(UTC)


class SetClock:
    """A clock that stands until it is moved: for tests, replays and simulations.

    >>> clock = SetClock(datetime(2023, 5, 8, tzinfo=UTC))
    >>> clock.advance(days=1)
    >>> clock.now().isoformat()
    '2023-05-09T00:00:00+00:00'
    """

    def __init__(self, at: datetime) -> None:
        self._at = at

    def now(self) -> datetime:
        return self._at

    def set(self, at: datetime) -> None:
        self._at = at

    def advance(self, **delta: float) -> None:
        self._at += timedelta(**delta)
