from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.errors import TimeError
from memstrata.intake.times import check_not_future, parse_time

NOON = datetime(2023, 5, 8, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "written",
    ["2023-05-08T12:00:00Z", "2023-05-08T12:00:00+00:00", "2023-05-08T05:00:00-07:00", "2023-05-08 21:00+09:00"],
)
def test_the_same_instant_however_written(written: str) -> None:
    assert parse_time(written) == NOON


def test_the_zone_is_kept() -> None:
    assert parse_time("2023-05-08T21:00:00+09:00").utcoffset() == timedelta(hours=9)


@pytest.mark.parametrize("naive", ["2023-05-08T21:00:00", datetime(2023, 5, 8, 21)])
def test_naive_times_need_a_zone(naive: object) -> None:
    with pytest.raises(TimeError, match=r"messages\[3\]\.at .*no time zone.*tz"):
        parse_time(naive, what="messages[3].at")
    assert parse_time(naive, tz="Asia/Tokyo") == NOON


def test_a_zone_does_not_change_aware_times() -> None:
    assert parse_time(NOON, tz="Asia/Shanghai") == NOON


@pytest.mark.parametrize("zone", ["Mars/Base", "../etc/passwd", "America", "", "/abs", "a\x00b"])
def test_unknown_zones(zone: str) -> None:
    with pytest.raises(TimeError, match="IANA"):
        parse_time("2023-05-08T21:00:00", tz=zone)


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (date(2023, 5, 8), "date"),
        ("2023-05-08", "date"),
        ("20230508", "date"),
        (1683547200, "epoch"),
        (1683547200.5, "epoch"),
        (True, "bool"),
        (None, "NoneType"),
        ("yesterday", "ISO 8601"),
        ("", "ISO 8601"),
        ("x" * 10_000_000, "ISO 8601"),
        ("1969-12-31T23:59:59Z", "1970"),
        ("2201-01-01T00:00:00Z", "2200"),
        (datetime.max.replace(tzinfo=timezone(timedelta(hours=-12))), "2200"),
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=14))), "1970"),
    ],
)
def test_refused(value: object, word: str) -> None:
    with pytest.raises(TimeError, match=word) as caught:
        parse_time(value)
    assert len(str(caught.value)) < 300


@given(st.datetimes(datetime(1970, 1, 2), datetime(2200, 12, 30), timezones=st.timezones()))
def test_iso_strings_read_back(at: datetime) -> None:
    assert parse_time(at.isoformat()) == at.astimezone(UTC) or at.fold == 1
    assert parse_time(at) is at


def test_the_future_is_refused_after_a_day() -> None:
    check_not_future(NOON + timedelta(days=1), NOON)
    with pytest.raises(TimeError, match="more than a day after now"):
        check_not_future(NOON + timedelta(days=1, seconds=1), NOON)
