"""The Clock seam: every clock tells aware times that never go back by themselves."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest

from memstrata.clock import Clock, SetClock, SystemClock

AT = datetime(2023, 5, 8, 13, 56, tzinfo=timezone(timedelta(hours=9)))
CLOCKS: dict[str, Callable[[], Clock]] = {"system": SystemClock, "set": lambda: SetClock(AT)}


@pytest.fixture(params=CLOCKS)
def clock(request: pytest.FixtureRequest) -> Clock:
    return CLOCKS[request.param]()


def test_times_are_aware_and_in_order(clock: Clock) -> None:
    times = [clock.now() for _ in range(100)]
    assert all(time.utcoffset() is not None for time in times)
    assert times == sorted(times)


def test_the_system_clock_tells_utc_and_moves() -> None:
    before, told = datetime.now(UTC), SystemClock().now()
    assert before <= told <= datetime.now(UTC)
    assert told.utcoffset() == timedelta(0)


def test_a_set_clock_stands_until_it_is_moved() -> None:
    clock = SetClock(AT)
    assert [clock.now(), clock.now()] == [AT, AT]
    clock.advance(days=1, minutes=2)
    assert clock.now() == AT + timedelta(days=1, minutes=2)
    clock.set(AT - timedelta(days=365))
    assert clock.now() == AT - timedelta(days=365)
