"""BEAM, LongMemEval, Multi-Session Chat and a user's own questions: small made files in each schema."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memstrata.errors import InputError
from memstrata.evaluation.beam import load_beam
from memstrata.evaluation.longmemeval import load_longmemeval, official
from memstrata.evaluation.msc import THIRD_SESSION, load_msc
from memstrata.evaluation.questions import load_questions


def lines(*items: Any) -> str:
    return "\n".join(json.dumps(item, ensure_ascii=False) for item in items) + "\n"


# BEAM -----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    for name in ("10", "2"):
        folder = tmp_path / "beam" / name
        (folder / "probing_questions").mkdir(parents=True)
        said = [
            {"id": 0, "role": "user", "time_anchor": "March-15-2024", "content": "我的航班周五起飞。 ->-> 1,1"},
            {"id": 1, "role": "assistant", "content": "Noted: a -> b."},
        ]
        later = [{"id": 2, "role": "user", "time_anchor": "April-05-2024", "content": "フェリーに変えました。"}]
        (folder / "chat.json").write_text(json.dumps([{"turns": [said]}, {"turns": [later]}]))
        asked = {
            "knowledge_update": [
                {"question": "When?", "answer": "Friday", "source_chat_ids": {"original_info": [0], "updated": [2, 7]}}
            ],
            "abstention": [{"question": "Why?", "ideal_response": "no information"}],
            "summarization": [{"question": "All?", "source_chat_ids": []}],
        }
        (folder / "probing_questions" / "probing_questions.json").write_text(json.dumps(asked))
    return tmp_path / "beam"


def test_beam_chats_are_read_in_order_with_their_dates(chats: Path) -> None:
    data = load_beam(chats)
    assert [chat.id for chat in data.conversations] == ["2", "10"]
    chat = data.conversations[0]
    assert [turn.text for turn in chat.turns] == ["我的航班周五起飞。", "Noted: a -> b.", "フェリーに変えました。"]
    assert [turn.role for turn in chat.turns] == ["user", "assistant", "user"]
    assert chat.sessions[1].at == datetime(2024, 4, 5, tzinfo=UTC)
    assert [question.evidence for question in chat.questions] == [("0", "2"), (), ()]
    assert [question.category for question in chat.scored] == ["knowledge_update"]
    assert data.counts()["evidence_repaired"] == data.counts()["questions_without_evidence"] == 2
    assert len(load_beam(chats / "10").conversations) == 1


def test_a_folder_without_chats_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no chat\.json"):
        load_beam(tmp_path)


# LongMemEval ----------------------------------------------------------------------------------------------------------


def haystack(name: str = "q1") -> dict[str, Any]:
    return {
        "question_id": name,
        "question_type": "multi-session",
        "question": "Which degree?",
        "answer": "a degree in law",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_dates": ["2023/05/21 (Sun) 03:24", "2023/05/20 (Sat) 02:21", "2023/05/22 (Mon) 10:00"],
        "haystack_session_ids": ["b", "answer_a", "b"],
        "haystack_sessions": [
            [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}],
            [
                {"role": "user", "content": "I graduated in law.", "has_answer": True},
                {"role": "assistant", "content": "Well done.", "has_answer": True},
                {"role": "user", "content": " "},
            ],
            [],
        ],
        "answer_session_ids": ["answer_a"],
    }


def test_longmemeval_is_one_conversation_a_question(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps([haystack(), haystack("q2_abs")]))
    data = load_longmemeval(path)
    first, absent = data.conversations
    assert [session.id for session in first.sessions] == ["1:answer_a", "0:b"]  # by date
    (question,) = first.questions
    assert question.evidence == ("1:0", "1:1")
    assert question.asked_at == datetime(2023, 5, 30, 23, 40, tzinfo=UTC)
    assert absent.scored == []
    assert absent.questions[0].category in data.adversarial
    assert data.counts()["empty_sessions"] == 2


def test_the_official_figures_count_sessions_and_the_users_turns(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps([haystack()]))
    (conversation,) = load_longmemeval(path).conversations
    values = official(["0:1", "1:1", "0:0", "1:0"], conversation, ("1:0", "1:1"))
    assert values["session_recall_any@1"] == 0.0
    assert values["session_recall_all@3"] == 1.0
    assert values["session_ndcg_any@3"] == 1.0  # rank 2 is not discounted
    assert values["turn_recall_any@1"] == 0.0  # of the user's turns 0:0 comes first
    assert values["turn_recall_any@3"] == 1.0


def test_lists_of_unequal_length_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps([{**haystack(), "haystack_dates": []}]))
    with pytest.raises(InputError, match=r"\[0\] q1: 3 session ids, 0 dates, 3 sessions"):
        load_longmemeval(path)


# Multi-Session Chat ---------------------------------------------------------------------------------------------------


def test_chains_ask_what_people_wrote_down(tmp_path: Path) -> None:
    chain = {
        "initial_data_id": "valid_0",
        "sessions": [
            {
                "session": 1,
                "time_back": "6 days 3 hours ago",
                "turns": [
                    {"speaker": "bot_0", "text": "Hi!", "persona_text": None},
                    {"speaker": "bot_1", "text": "I have two jobs.", "persona_text": "I have two jobs."},
                ],
            }
        ],
    }
    path = tmp_path / "valid.jsonl.gz"
    path.write_bytes(gzip.compress(lines(chain).encode()))
    (conversation,) = load_msc(path).conversations
    assert (THIRD_SESSION - conversation.sessions[0].at).total_seconds() == (6 * 24 + 3) * 3600
    assert [(one.text, one.category, one.evidence) for one in conversation.questions] == [
        ("I have two jobs.", "1", ("S1:2",))
    ]
    assert conversation.statements == {"S1:2": "I have two jobs."}


# a user's own ---------------------------------------------------------------------------------------------------------

TURN = {"conversation": "ana", "id": "m1", "at": "2026-03-01T10:00:00+09:00", "name": "Ana", "text": "去年搬到京都。"}
ASKED = {"conversation": "ana", "question": "Where does Ana live?", "evidence": ["m1", "m9"], "category": "places"}


def test_own_questions(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(lines(ASKED, TURN, {**TURN, "id": "m2", "session": "s2", "role": "assistant"}), encoding="utf-8")
    data = load_questions(path)
    (conversation,) = data.conversations
    assert [session.id for session in conversation.sessions] == ["session", "s2"]
    assert conversation.turns[0].message()["name"] == "Ana"
    assert conversation.questions[0].evidence == ("m1",)
    assert [finding.problem for finding in data.findings] == ["evidence_repaired"]
    assert data.first(1).findings == data.findings
    assert list(data.categories) == ["places"]


@pytest.mark.parametrize(
    "content, place",
    [
        (lines(TURN, TURN), "line 2: id 'm1' was used before"),
        (lines({**TURN, "role": "tool"}), "line 1.role: 'tool' is neither"),
        (lines({**TURN, "at": "yesterday"}), "line 1.at"),
        (lines({**TURN, "text": " "}), "line 1.text: is empty"),
        (lines(TURN, {**ASKED, "conversation": "ben"}), "'ben' has questions and no turn"),
        (lines(TURN) + "{", "line 2: not JSON"),
        (lines([TURN]), "line 1: expected an object, found a list"),
    ],
)
def test_wrong_lines_are_named(tmp_path: Path, content: str, place: str) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"mine\.jsonl") as caught:
        load_questions(path)
    assert place in str(caught.value)
