from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memstrata.errors import InputError
from memstrata.evaluation.benchmark import TURN_GAP
from memstrata.evaluation.locomo import load_locomo, parse_session_date
from memstrata.intake.messages import parse

Write = Callable[[Any], Path]


def test_sessions_are_read_in_their_numbers_order_with_their_own_dates(write: Write, harbour: dict[str, Any]) -> None:
    (conversation,) = load_locomo(write([harbour])).conversations
    assert (conversation.id, conversation.speakers) == ("harbour", ("Ines", "健"))
    assert [session.id for session in conversation.sessions] == ["session_2", "session_10"]
    assert [session.at for session in conversation.sessions] == [
        datetime(2024, 2, 9, 12, 30, tzinfo=UTC),
        datetime(2024, 3, 1, 0, 5, tzinfo=UTC),
    ]
    assert [turn.id for turn in conversation.turns] == ["D2:1", "D2:2", "D2:3", "D10:1", "D10:2"]
    first, second, third = conversation.sessions[0].turns
    assert first.at == conversation.sessions[0].at
    assert second.at - first.at == third.at - second.at == TURN_GAP
    assert timedelta() < TURN_GAP < timedelta(minutes=1)


def test_every_repair_and_drop_is_kept_and_counted(write: Write, harbour: dict[str, Any]) -> None:
    data = load_locomo(write([harbour]))
    (conversation,) = data.conversations
    assert [question.evidence for question in conversation.questions] == [
        ("D2:1",),
        ("D2:1", "D2:3"),
        ("D10:1",),
        ("D10:2",),
        (),
        (),
        (),
        ("D2:2",),
    ]
    assert [question.answer for question in conversation.questions[:4]] == ["Vento", "sofa", "12", None]
    assert conversation.questions[4].trap == "Ines"
    assert data.counts() == {
        "conversations": 1,
        "sessions": 2,
        "turns": 5,
        "captions": 2,
        "questions": 8,
        "scored": 5,
        "evidence_repaired": 3,
        "evidence_dropped": 4,
        "questions_without_evidence": 1,
        "empty_sessions": 1,
        "turns_dropped": 2,
    }
    by_place = {finding.where: finding for finding in data.findings}
    repaired = by_place["[0] harbour.qa[1]"]
    assert (repaired.problem, repaired.found, repaired.kept) == ("evidence_repaired", "D2:1; D2:3", ("D2:1", "D2:3"))
    assert by_place["[0] harbour.conversation.session_2[3]"].reason == "its id was used before"
    assert by_place["[0] harbour.conversation.session_3"].problem == "empty_session"


def test_a_clean_file_has_no_findings(write: Write, harbour: dict[str, Any]) -> None:
    del harbour["conversation"]["session_3_date_time"]
    del harbour["conversation"]["session_2"][3:]
    del harbour["qa"][1:]
    assert load_locomo(write([harbour])).findings == ()


def test_a_turn_is_a_message_that_the_intake_takes(write: Write, harbour: dict[str, Any]) -> None:
    (conversation,) = load_locomo(write([harbour])).conversations
    turns = conversation.turns
    messages = parse([turn.message() for turn in turns], max_chars=1000)
    assert [message.id for message in messages] == [turn.id for turn in turns]
    assert [message.at for message in messages] == [turn.at for turn in turns]
    assert {message.role for message in messages} == {"user"}
    assert [message.name for message in messages] == ["Ines", "健", "Ines", "Ines", "健"]
    assert messages[0].parts == ()
    assert messages[1].indexed_text == "[a photo of a greyhound]"
    assert messages[1].parts[0].ref == "https://example.org/a.jpg"
    assert [(part.ref, part.caption) for part in messages[2].parts] == [("https://example.org/b.jpg", None)]
    assert messages[4].indexed_text == "昨日、京都で茶碗を買いました。 [a photo of a blue tea bowl]"
    assert turns[4].said == "健: 昨日、京都で茶碗を買いました。 [a photo of a blue tea bowl]"


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("12:48 am on 1 February, 2023", datetime(2023, 2, 1, 0, 48, tzinfo=UTC)),
        ("12:09 PM on 13 September, 2023", datetime(2023, 9, 13, 12, 9, tzinfo=UTC)),
    ],
)
def test_session_dates(text: str, time: datetime) -> None:
    assert parse_session_date(text) == time


def _without(*keys: str | int) -> Callable[[Any], None]:
    def cut(data: Any) -> None:
        for key in keys[:-1]:
            data = data[key]
        del data[keys[-1]]

    return cut


def _with(value: Any, *keys: str | int) -> Callable[[Any], None]:
    def put(data: Any) -> None:
        for key in keys[:-1]:
            data = data[key]
        data[keys[-1]] = value

    return put


@pytest.mark.parametrize(
    ("spoil", "place"),
    [
        (_without(0, "conversation"), r"\[0\]: 'conversation' is missing"),
        (_without(0, "conversation", "speaker_b"), "'speaker_b' is missing"),
        (_without(0, "conversation", "session_2_date_time"), "'session_2_date_time' is missing"),
        (_without(0, "conversation", "session_2", 0, "dia_id"), r"session_2\[0\]: 'dia_id' is missing"),
        (_with("x", 0, "conversation", "session_2"), "session_2: expected a list, found text"),
        (_with("last May", 0, "conversation", "session_10_date_time"), "session_10_date_time: 'last May'"),
        (
            _with(["x"], 0, "conversation", "session_10", 1, "text"),
            r"session_10\[1\].text: expected text, found a list",
        ),
        (_with(None, 0, "conversation", "session_10", 1, "speaker"), "speaker: expected text, found null"),
        (_with(9, 0, "qa", 2, "category"), r"qa\[2\].category: 9 is none of"),
        (_with(True, 0, "qa", 2, "category"), r"qa\[2\].category: expected a whole number"),
        (_with({}, 0, "qa"), "qa: expected a list, found an object"),
        (_with([1], 0, "qa", 0, "answer"), r"qa\[0\].answer: expected text"),
        (_with(7, 0), r"\[0\]: expected an object"),
    ],
)
def test_another_schema_is_refused_with_file_and_place(
    write: Write, harbour: dict[str, Any], spoil: Callable[[Any], None], place: str
) -> None:
    data: list[Any] = [harbour]
    spoil(data)
    with pytest.raises(InputError, match=place) as caught:
        load_locomo(write(data))
    assert "file.json" in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe\x00", b"SQLite format 3\x00", b"[" * 200_000, b'{"a": 1}', b"7"]
)
def test_what_is_no_list_of_conversations_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"other\.json"):
        load_locomo(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        load_locomo(tmp_path / "none.json")
    with pytest.raises(InputError, match="cannot be read"):
        load_locomo(tmp_path)


def test_two_conversations_of_one_name_are_refused(write: Write, harbour: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="two conversations have the sample_id 'harbour'"):
        load_locomo(write([harbour, harbour]))


def test_conversations_without_names_or_questions_are_read(write: Write, harbour: dict[str, Any]) -> None:
    del harbour["sample_id"], harbour["qa"]
    data = load_locomo(write([harbour, harbour]))
    assert [conversation.id for conversation in data.conversations] == ["conversation-0", "conversation-1"]
    assert data.counts()["questions"] == 0
    assert json.dumps(data.counts())
