"""Expressions of time in three languages, resolved against the moment they were said."""

from __future__ import annotations

import random
import re
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstrata.errors import TimeError
from memstrata.text.when import TimeMention, find_ranges, find_times

SAID = datetime(2023, 5, 8, 14, 30, tzinfo=timezone(timedelta(hours=9)))  # a Monday


def spans(text: str, said_at: datetime = SAID) -> list[tuple[str, str, str]]:
    """What was found, as (first day, last day, precision)."""
    return [
        (f"{m.event.start:%Y-%m-%d}", f"{m.event.end - timedelta(microseconds=1):%Y-%m-%d}", m.event.precision)
        for m in find_times(text, said_at)
    ]


def day(text: str) -> tuple[str, str, str]:
    return (text, text, "day")


DAYS = [
    # English
    ("I ran a race yesterday", "2023-05-07"),
    ("At 7pm yesterday we met", "2023-05-07"),
    ("The day before yesterday was fun", "2023-05-06"),
    ("It rains today", "2023-05-08"),
    ("This morning I swam", "2023-05-08"),
    ("See you tonight!", "2023-05-08"),
    ("Last night was long", "2023-05-07"),
    ("Call me tomorrow.", "2023-05-09"),
    ("The day after  tomorrow", "2023-05-10"),
    ("3 days ago", "2023-05-05"),
    ("I saw her ten days ago", "2023-04-28"),
    ("We met last Friday", "2023-05-05"),
    ("We met last Monday", "2023-05-01"),
    ("this past Sunday", "2023-05-07"),
    ("I will come this Friday", "2023-05-12"),
    ("this Friday I went", "2023-05-05"),
    ("this Monday", "2023-05-08"),
    ("next Tuesday", "2023-05-16"),
    ("We met on Friday", "2023-05-05"),
    ("I have a meeting on Friday", "2023-05-12"),
    ("I'll see you Monday", "2023-05-15"),
    ("Friday of last week", "2023-05-05"),
    ("Friday next week", "2023-05-19"),
    ("on Fri we met", "2023-05-05"),
    ("It was on May 8, 2022", "2022-05-08"),
    ("Monday, May 1st, 2023", "2023-05-01"),
    ("the 8th of May, 2021", "2021-05-08"),
    ("8 May", "2023-05-08"),
    ("my birthday is may 9th", "2023-05-09"),
    ("We married on 9 May", "2023-05-09"),  # no past tense that is told apart from the state: the nearest
    ("We left on December 20th", "2022-12-20"),
    ("We will leave on April 20", "2024-04-20"),
    ("2023-05-08", "2023-05-08"),
    ("2023/5/8", "2023-05-08"),
    ("at 2023-05-08T10:00:00Z", "2023-05-08"),
    ("on 5/13/2023", "2023-05-13"),
    ("on 13.5.2023", "2023-05-13"),
    ("Feb 29", "2024-02-29"),
    ("in 3 days", "2023-05-11"),
    ("三天 May 5th", "2023-05-05"),
    ("昨日May 5th", "2023-05-07"),
    ("I booked a flight for Friday", "2023-05-12"),
    ("I'm so excited about the concert on Saturday", "2023-05-13"),
    ("May 8 last year", "2022-05-08"),
    ("on May 6 (Saturday)", "2023-05-06"),
    # Japanese
    ("昨日、友達と会った。", "2023-05-07"),
    ("一昨日の夜", "2023-05-06"),
    ("今日は雨だ", "2023-05-08"),
    ("明日行く", "2023-05-09"),
    ("明後日", "2023-05-10"),
    ("今朝走った", "2023-05-08"),
    ("昨夜", "2023-05-07"),
    ("3日前", "2023-05-05"),
    ("３日前", "2023-05-05"),
    ("二十日前に", "2023-04-18"),
    ("先週の金曜日", "2023-05-05"),
    ("来週の月曜日", "2023-05-15"),
    ("今週の水曜", "2023-05-10"),
    ("金曜日に映画を見た。", "2023-05-05"),
    ("土曜日に行く予定です。", "2023-05-13"),
    ("5月8日", "2023-05-08"),
    ("５月１０日（水）", "2023-05-10"),
    ("2021年12月31日", "2021-12-31"),
    ("令和元年五月一日", "2019-05-01"),
    ("去年の5月8日", "2022-05-08"),
    ("先月の20日", "2023-04-20"),
    ("3日後に届く", "2023-05-11"),
    # Chinese, simplified and traditional
    ("我昨天去了北京", "2023-05-07"),
    ("前天", "2023-05-06"),
    ("今天天气很好", "2023-05-08"),
    ("明天见", "2023-05-09"),
    ("后天", "2023-05-10"),
    ("後天", "2023-05-10"),
    ("大前天", "2023-05-05"),
    ("今早", "2023-05-08"),
    ("昨晚", "2023-05-07"),
    ("三天前", "2023-05-05"),
    ("上周五", "2023-05-05"),
    ("上週五", "2023-05-05"),
    ("上个星期五", "2023-05-05"),
    ("上個禮拜五", "2023-05-05"),
    ("下周一", "2023-05-15"),
    ("这周日", "2023-05-14"),
    ("星期五我看了电影", "2023-05-05"),
    ("周五我要去看电影", "2023-05-12"),
    ("五月八号", "2023-05-08"),
    ("五月八號", "2023-05-08"),
    ("2023年5月8日", "2023-05-08"),
    ("二〇二三年五月八日", "2023-05-08"),
    ("周五我要去看电影了", "2023-05-12"),
    ("金曜日に会議がある", "2023-05-12"),
    ("下个月三号", "2023-06-03"),
]


@pytest.mark.parametrize(("text", "expected"), DAYS, ids=lambda value: value)
def test_a_day(text: str, expected: str) -> None:
    assert spans(text)[0] == day(expected)


LONGER = [
    ("two weeks ago", "2023-04-21", "2023-04-27", "week"),
    ("A couple of weeks ago we moved", "2023-04-21", "2023-04-27", "week"),
    ("a few days ago", "2023-05-03", "2023-05-06", "week"),
    ("the other day", "2023-05-03", "2023-05-06", "week"),
    ("5 years ago", "2018-01-01", "2018-12-31", "year"),
    ("three months ago", "2023-02-01", "2023-02-28", "month"),
    ("last week", "2023-05-01", "2023-05-07", "week"),
    ("this week", "2023-05-08", "2023-05-14", "week"),
    ("last month", "2023-04-01", "2023-04-30", "month"),
    ("last year", "2022-01-01", "2022-12-31", "year"),
    ("next month", "2023-06-01", "2023-06-30", "month"),
    ("the week before last", "2023-04-24", "2023-04-30", "week"),
    ("in the past month", "2023-04-08", "2023-05-08", "month"),
    ("We went to Rome in March", "2023-03-01", "2023-03-31", "month"),
    ("We went to Rome in June", "2022-06-01", "2022-06-30", "month"),
    ("We will go to Rome in March", "2024-03-01", "2024-03-31", "month"),
    ("We're going to visit Rome in March", "2024-03-01", "2024-03-31", "month"),
    ("next March", "2024-03-01", "2024-03-31", "month"),
    ("last May", "2022-05-01", "2022-05-31", "month"),
    ("back in May 2021", "2021-05-01", "2021-05-31", "month"),
    ("last summer", "2022-06-01", "2022-08-31", "season"),
    ("last winter", "2022-12-01", "2023-02-28", "season"),
    ("the summer of 2019", "2019-06-01", "2019-08-31", "season"),
    ("since 2016", "2016-01-01", "2016-12-31", "year"),
    ("in 2022", "2022-01-01", "2022-12-31", "year"),
    ("in the 1990s", "1990-01-01", "1999-12-31", "decade"),
    ("Over the weekend we swam", "2023-05-06", "2023-05-07", "day"),
    ("last weekend", "2023-05-06", "2023-05-07", "day"),
    ("What are your plans for the weekend?", "2023-05-13", "2023-05-14", "day"),
    ("next weekend", "2023-05-20", "2023-05-21", "day"),
    ("two weeks from now", "2023-05-19", "2023-05-25", "week"),
    ("先週", "2023-05-01", "2023-05-07", "week"),
    ("来週", "2023-05-15", "2023-05-21", "week"),
    ("先月", "2023-04-01", "2023-04-30", "month"),
    ("来月", "2023-06-01", "2023-06-30", "month"),
    ("昨年", "2022-01-01", "2022-12-31", "year"),
    ("来年", "2024-01-01", "2024-12-31", "year"),
    ("二週間前", "2023-04-21", "2023-04-27", "week"),
    ("2か月前", "2023-03-01", "2023-03-31", "month"),
    ("３ヶ月前", "2023-02-01", "2023-02-28", "month"),
    ("数日前", "2023-05-03", "2023-05-06", "week"),
    ("3月に京都へ行った。", "2023-03-01", "2023-03-31", "month"),
    ("12月に引っ越した。", "2022-12-01", "2022-12-31", "month"),
    ("3月に行く予定です。", "2024-03-01", "2024-03-31", "month"),
    ("先週末は山に登った", "2023-05-06", "2023-05-07", "day"),
    ("昨年の夏", "2022-06-01", "2022-08-31", "season"),
    ("上周", "2023-05-01", "2023-05-07", "week"),
    ("上星期", "2023-05-01", "2023-05-07", "week"),
    ("下週", "2023-05-15", "2023-05-21", "week"),
    ("上個月", "2023-04-01", "2023-04-30", "month"),
    ("前年", "2021-01-01", "2021-12-31", "year"),
    ("明年", "2024-01-01", "2024-12-31", "year"),
    ("两周前", "2023-04-21", "2023-04-27", "week"),
    ("兩個星期前", "2023-04-21", "2023-04-27", "week"),
    ("两个月前", "2023-03-01", "2023-03-31", "month"),
    ("周末我去爬山了", "2023-05-06", "2023-05-07", "day"),
    ("3月份", "2023-03-01", "2023-03-31", "month"),
    ("我三月去了日本", "2023-03-01", "2023-03-31", "month"),
    ("in March of last year", "2022-03-01", "2022-03-31", "month"),
    ("twenty-five years ago", "1998-01-01", "1998-12-31", "year"),
    ("The party is planned for June", "2023-06-01", "2023-06-30", "month"),
    ("２年ほど前に", "2021-01-01", "2021-12-31", "year"),
    ("半年前に始めた", "2022-10-01", "2022-12-31", "season"),
    ("前几天我生病了", "2023-05-03", "2023-05-06", "week"),
    ("过去一个月我做了什么", "2023-04-08", "2023-05-08", "month"),
    ("週末に過ごす予定", "2023-05-13", "2023-05-14", "day"),
    ("3月の会社の旅行は楽しかった", "2023-03-01", "2023-03-31", "month"),
    ("2022年", "2022-01-01", "2022-12-31", "year"),
]


@pytest.mark.parametrize(("text", "first", "last", "precision"), LONGER, ids=lambda value: value)
def test_a_longer_span(text: str, first: str, last: str, precision: str) -> None:
    assert spans(text) == [(first, last, precision)]


NOTHING = [
    "I may go there",
    "They march on",
    "In the long march they sang",
    "There may 2 be",
    "Wait a second",
    "The sun shines and the cat sat",
    "Leaves fall, do not fall down",
    "for two weeks",
    "It takes 3 days",
    "She is 10 years old",
    "We lived there for 7 years",
    "I finished it in 3 days",
    "twice in a week",
    "years ago",
    "a long time ago",
    "999999999 years ago",
    "9999 years ago",
    "3.5 years ago",
    "on Fridays and every Friday",
    "before March",
    "Black Friday",
    "5/8/2023",
    "February 30, 2023",
    "in 2000 words",
    "María and Sunita",
    "over the next week",
    "the last week of school",
    "In the summer we swim",
    "version 2023.5.8.1",
    "two and a half years ago",
    "half an hour ago",
    "a week from tomorrow",
    "One Sunday we went, that Friday too",
    "this may be good, the next may be better",
    "周一到周五我上班",
    "2023年度",
    "出発の3日前",
    "三日間",
    "夏が好きだ",
    "毎週金曜日",
    "10歳です",
    "本来年轻",
    "明日香さんと今日子さん",
    "以前天天跑步",
    "说明天气",
    "后天性",
    "每周五",
    "一周五天",
    "两个月",
    "待一下周围",
    "5月8日以前",
    "2023年前",
    "三天后他回来了",
    "9月31日",
    "",
]


@pytest.mark.parametrize("text", NOTHING, ids=lambda value: value or "empty")
def test_nothing_is_resolved(text: str) -> None:
    assert spans(text) == []


def test_a_mention_knows_its_place_and_whether_it_needed_the_turn() -> None:
    text = "Hm. Last Friday, not May 1, 2020."
    relative, absolute = find_times(text, SAID)
    assert (relative.text, relative.relative) == ("Last Friday", True)
    assert (absolute.text, absolute.relative) == ("May 1, 2020", False)
    assert text[relative.start : relative.end] == "Last Friday"


def test_days_begin_at_midnight_where_it_was_said() -> None:
    berlin = datetime(2023, 3, 27, 0, 30, tzinfo=ZoneInfo("Europe/Berlin"))  # the day after the clocks changed
    [mention] = find_times("yesterday", berlin)
    assert mention.event.start.astimezone(UTC) == datetime(2023, 3, 25, 23, tzinfo=UTC)
    assert mention.event.end.astimezone(UTC) == datetime(2023, 3, 26, 22, tzinfo=UTC)


def test_an_hour_ago_is_an_hour_long() -> None:
    [mention] = find_times("an hour ago", SAID)
    assert mention.event.start == SAID - timedelta(minutes=90)
    assert mention.event.end == SAID - timedelta(minutes=30)
    assert mention.event.precision == "hour"


def test_naive_times_are_refused() -> None:
    with pytest.raises(TimeError):
        find_times("yesterday", datetime(2023, 5, 8))


def test_other_languages_are_left_alone() -> None:
    assert find_times("Nos vemos en mar 5", SAID, language="es") == []
    assert len(find_times("yesterday", SAID, language="und")) == 1


def test_a_query_since_a_time_reaches_to_now() -> None:
    [since] = find_ranges("What did I do since March?", SAID)
    assert (since.start.date(), since.end.date()) == (date(2023, 3, 1), date(2023, 5, 9))
    [within] = find_ranges("What did I do in March?", SAID)
    assert (within.start.date(), within.end.date()) == (date(2023, 3, 1), date(2023, 4, 1))
    [from_march] = find_ranges("3月から何をした？", SAID)
    assert from_march.end.date() == date(2023, 5, 9)


ONE_DAY = re.compile(r"(?i)yesterday|the day|3 days|[三3３]天?日?前|前天|昨|今[日朝天早]|明")
SHIFTING = [text for text, _ in DAYS if ONE_DAY.match(text)]


def shape(mentions: list[TimeMention]) -> list[tuple[timedelta, str]]:
    return [(m.event.end - m.event.start, m.event.precision) for m in mentions]


@given(st.sampled_from(SHIFTING), st.integers(-9000, 9000))
def test_days_shift_with_the_moment_they_were_said(text: str, days: int) -> None:
    here, there = find_times(text, SAID)[:1], find_times(text, SAID + timedelta(days=days))[:1]
    assert shape(here) == shape(there)
    assert there[0].event.start - here[0].event.start == timedelta(days=days)


@given(st.sampled_from([row[0] for row in LONGER] + [row[0] for row in DAYS]), st.integers(-300000, 300000))
@settings(max_examples=300)
def test_spans_hold_on_any_day(text: str, days: int) -> None:
    said_at = SAID + timedelta(days=days)
    for mention in find_times(text, said_at):
        assert mention.event.start < mention.event.end
        if mention.relative:  # by whole days, or by an hour's half
            assert (mention.event.start - said_at.replace(hour=0, minute=0)) % timedelta(days=1) == timedelta(0)


@given(st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))])))
@settings(max_examples=300)
def test_the_ends_of_the_calendar_are_left_unset(said_at: datetime) -> None:
    text = " ".join(row[0] for row in LONGER[:31]) + " 9000 years ago, 9000 days ago, an hour ago, in 9000 years."
    for mention in find_times(text, said_at):
        assert mention.event.start.astimezone(UTC) < mention.event.end.astimezone(UTC)


PIECES = st.sampled_from([row[0] for row in DAYS + LONGER] + NOTHING)


@given(st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=8).map("".join))
@settings(max_examples=400)
def test_any_text_is_read(text: str) -> None:
    mentions = find_times(text, SAID)
    assert all(text[m.start : m.end] == m.text and m.text for m in mentions)
    assert all(m.event.start < m.event.end and m.event.start.utcoffset() is not None for m in mentions)
    assert all(a.end <= b.start for a, b in pairwise(mentions))


def test_a_huge_text_costs_its_length() -> None:
    noise = random.Random(7)
    text = "".join(
        noise.choice(["last ", "in ", "a few ", "5", " ", "月", "三", "上", "周", "the ", "\n"]) for _ in range(200_000)
    )
    assert all(m.start < m.end for m in find_times(text, SAID))
