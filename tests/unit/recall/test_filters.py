from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from memstrata.errors import FilterError
from memstrata.recall.filters import FIELDS, OPERATORS, compile_filter, note_fields, turn_fields
from memstrata.types import EventTime, Note, Turn

AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)

NOTE = Note(
    id="n1",
    content="Ana: I love green tea",
    context="",
    kind="preference",
    keywords=("tea",),
    tags=("Drinks", "飲み物"),
    names=("Ana",),
    speaker="Ana",
    agent=None,
    session="s1",
    event=EventTime(AT - timedelta(days=1), AT, "day"),
    said_at=AT,
    valid_from=AT,
    valid_to=None,
    recorded_at=AT,
    last_access=AT,
    pinned=False,
    state="current",
    revision=1,
    trust="user",
    language="en",
    metadata={"lang": "en", "n": 3, "on": True, "deep": {"er": "東京"}, "kind": "own"},
)
TURN = Turn(
    no=1,
    id="t1",
    agent="bot",
    session="s1",
    position=4,
    role="user",
    speaker="田中",
    text="東京に引っ越しました",
    at=AT,
    recorded_at=AT,
    trust="user",
    metadata={"lang": "ja"},
)


def passes(filters: dict[str, Any], record: Note | Turn = NOTE) -> bool:
    check = compile_filter(filters)
    assert check is not None
    return check(note_fields(record) if isinstance(record, Note) else turn_fields(record))


@pytest.mark.parametrize(
    ("filters", "kept"),
    [
        ({"kind": "preference"}, True),
        ({"kind": {"eq": "fact"}}, False),
        ({"kind": {"ne": "fact"}}, True),
        ({"kind": {"in": ["fact", "preference"]}}, True),
        ({"kind": {"in": []}}, False),
        ({"kind": {"nin": ["fact"]}}, True),
        ({"metadata.n": {"gt": 2}}, True),
        ({"metadata.n": {"gt": 3}}, False),
        ({"metadata.n": {"gte": 3, "lte": 3}}, True),
        ({"metadata.n": {"lt": 3}}, False),
        ({"metadata.n": {"gt": "2"}}, False),  # another type is in no range
        ({"metadata.on": {"gt": 0}}, False),  # a truth value is no number
        ({"metadata.on": True}, True),
        ({"metadata.n": {"in": [True, 3]}}, True),
        ({"metadata.absent": None}, True),
        ({"metadata.absent": {"gt": 1}}, False),
        ({"metadata.absent": {"ne": 1}}, True),
        ({"metadata.deep.er": "東京"}, True),
        ({"lang": "en"}, True),  # what is no field is metadata
        ({"metadata.kind": "own"}, True),
        ({"text": {"contains": "GREEN"}}, True),
        ({"tags": {"contains": "飲み物"}}, True),
        ({"tags": {"contains": "飲"}}, False),
        ({"tags": {"contains": "drinks"}}, True),  # tags are compared without case, as `tags=` does
        ({"metadata.n": {"contains": 3}}, False),
        ({"kind": "preference", "speaker": "Ben"}, False),
    ],
)
def test_each_operator(filters: dict[str, Any], kept: bool) -> None:
    assert passes(filters) is kept


def test_and_or_not_nest() -> None:
    tea = {"text": {"contains": "tea"}}
    assert passes({"AND": [tea, {"OR": [{"kind": "fact"}, {"NOT": {"speaker": "Ben"}}]}]})
    assert not passes({"NOT": {"OR": [tea, {"kind": "fact"}]}})
    assert passes({"NOT": {"kind": "fact"}, "OR": [tea]})
    assert not passes({"AND": [tea], "speaker": "Ben"})


@pytest.mark.parametrize("written", ["2023-05-08T13:56:00Z", "2023-05-08T13:56:00+00:00", "2023-05-08T06:56:00-07:00"])
def test_one_instant_in_any_zone_selects_the_same(written: str) -> None:
    moment = datetime.fromisoformat(written)
    for value in (written, moment, moment.astimezone(timezone(timedelta(hours=9)))):
        for record in (NOTE, TURN):
            assert passes({"at": value}, record)
            assert passes({"at": {"gte": value, "lte": value}}, record)
            assert passes({"at": {"in": [value]}}, record)
            assert not passes({"at": {"gt": value}}, record)
            assert not passes({"recorded_at": {"lt": value}}, record)
            assert not passes({"at": {"nin": [value]}}, record)


def test_event_and_validity_times() -> None:
    assert passes({"event_start": {"gte": "2023-05-07T13:56:00Z"}, "event_end": {"lte": AT}})
    assert passes({"valid_to": None})
    assert not passes({"valid_to": {"lt": AT}})
    assert not passes({"event_start": {"lt": AT}}, TURN)


def test_turns_have_every_field_and_their_own_metadata() -> None:
    assert set(turn_fields(TURN)) == {*FIELDS, "metadata"} == set(note_fields(NOTE))
    assert passes({"hit": "turn", "role": "user", "agent": "bot", "position": {"lte": 4}, "lang": "ja"}, TURN)
    assert passes({"speaker": {"in": ["田中", "李娜"]}, "text": {"contains": "引っ越し"}}, TURN)
    assert not passes({"hit": "note"}, TURN)


def test_no_filter_is_no_check() -> None:
    assert compile_filter(None) is None


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({}, "not empty"),
        ([], "mapping"),
        ("kind", "mapping"),
        ({"kind": {}}, "no operator"),
        ({"kind": {"like": "x"}}, "no operator 'like'"),
        ({"kind": {1: "x"}}, "no operator 1"),
        ({"kind": {"in": "fact"}}, "takes a list"),
        ({"kind": {"nin": 3}}, "takes a list"),
        ({"AND": []}, "list of filters"),
        ({"AND": {"kind": "fact"}}, "list of filters"),
        ({"OR": "fact"}, "list of filters"),
        ({"OR": [{}]}, r"OR\[0\]"),
        ({"NOT": []}, "mapping"),
        ({"at": "yesterday"}, "ISO 8601"),
        ({"at": "2023-05-08T13:56:00"}, "no time zone"),
        ({"at": {"gte": 1683554160}}, "epoch"),
        ({"at": {"in": ["2023-05-08"]}}, "filters.at"),
        ({"at": {"contains": "2023"}}, "contains"),
        ({"": 1}, "filters"),
        ({"metadata.": 1}, "filters"),
    ],
)
def test_bad_filters_say_where(bad: Any, says: str) -> None:
    with pytest.raises(FilterError, match=says):
        compile_filter(bad)


def test_depth_is_limited() -> None:
    deep: dict[str, Any] = {"kind": "fact"}
    for _ in range(50):
        deep = {"NOT": deep}
    with pytest.raises(FilterError, match="deeper"):
        compile_filter(deep)


def test_every_operator_takes_odd_values_without_an_error() -> None:
    odd: tuple[Any, ...] = (None, "x", 1, 1.5, True, {"a": 1}, [1], float("nan"))
    for operator in OPERATORS:
        for have in odd:
            for wanted in odd:
                value = [wanted] if operator in ("in", "nin") else wanted
                check = compile_filter({"metadata.v": {operator: value}})
                assert check is not None
                assert check({"metadata": {"v": have}}) in (True, False)


REFUSED = [{"$or": 3}, {"$and": [{"kind": "plan"}]}, {"kind": "foo"}, {"kind": {"in": ["x"]}}]


@pytest.mark.parametrize("filters", REFUSED)
def test_what_can_never_be_meant_is_refused(filters: dict[str, Any]) -> None:
    with pytest.raises(FilterError, match=r"begins with \$|is no kind"):
        compile_filter(filters)
