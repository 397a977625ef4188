"""The evaluation on the real memory: a small file of the LoCoMo schema, in three languages, through the whole path."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memstrata.evaluation.locomo import load_locomo
from memstrata.evaluation.report import to_json
from memstrata.evaluation.run import Evaluation, evaluate

SAID = {
    "english": [
        ("Ines", "I adopted a greyhound called Vento last weekend."),
        ("Ken", "That is lovely, how old is he?"),
        ("Ines", "He is four, he used to race in Spain."),
        ("Ken", "I started a pottery course at the Baixa workshop."),
        ("Ines", "My sister Rita moved to Rotterdam for her new job."),
        ("Ken", "My allergy to walnuts is getting worse."),
        ("Ines", "The choir sings at the town hall on Friday."),
    ],
    "japanese": [
        ("健", "先週、京都で青い茶碗を買いました。"),
        ("美咲", "いいですね。私は来月、札幌へ引っ越します。"),
        ("健", "妹は図書館で働いています。"),
        ("美咲", "最近、ピアノの練習を始めました。"),
        ("健", "胡桃のアレルギーがあるので、そのケーキは食べられません。"),
        ("美咲", "金曜日に合唱団の発表会があります。"),
        ("健", "犬の名前はハヤテです。"),
    ],
    "chinese": [
        ("李娜", "我上周在成都买了一辆红色的自行车。"),
        ("张伟", "我下个月要搬到杭州去工作。"),
        ("李娜", "我妹妹在医院当护士。"),
        ("张伟", "我对核桃过敏。"),
        ("李娜", "我的狗叫豆豆，今年三岁。"),
        ("张伟", "周五合唱团有演出。"),
        ("李娜", "最近我开始学陶艺。"),
    ],
}
ASKED = {
    "english": [("What is the greyhound called?", "D1:1"), ("Where did Rita move?", "D1:5"), ("walnuts", "D1:6")],
    "japanese": [("茶碗はどこで買いましたか", "D1:1"), ("アレルギーは何ですか", "D1:5"), ("犬の名前は？", "D1:7")],
    "chinese": [("自行车是什么颜色的？", "D1:1"), ("谁要搬到杭州？", "D1:2"), ("狗叫什么名字？", "D1:5")],
}


def _conversation(language: str) -> dict[str, Any]:
    said = SAID[language]
    turns = [{"dia_id": f"D1:{n}", "speaker": name, "text": text} for n, (name, text) in enumerate(said, start=1)]
    turns[3]["blip_caption"] = "a photo of a blue tea bowl"
    later = [{"dia_id": f"D2:{n}", "speaker": said[n % 2][0], "text": f"OK {n}."} for n in range(1, 15)]
    return {
        "sample_id": language,
        "conversation": {
            "speaker_a": said[0][0],
            "speaker_b": said[1][0],
            "session_1": turns,
            "session_1_date_time": "12:30 pm on 9 February, 2024",
            "session_2": later,
            "session_2_date_time": "9:05 am on 1 March, 2024",
        },
        "qa": [{"question": text, "evidence": [turn], "category": 4} for text, turn in ASKED[language]],
    }


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    from memstrata import Memory

    path = tmp_path_factory.mktemp("eval") / "three.json"
    path.write_text(json.dumps([_conversation(language) for language in SAID]), encoding="utf-8")
    return evaluate(load_locomo(path), lambda store: Memory(store), progress=False)


@pytest.mark.parametrize("language", list(SAID))
def test_every_question_finds_its_turn(evaluation: Evaluation, language: str) -> None:
    for one in evaluation.answered:
        if one.conversation == language:
            assert one.gold[0] in one.ranking[:5], (one.question, one.ranking)


def test_rankings_stay_inside_their_conversation_and_hold_no_turn_twice(evaluation: Evaluation) -> None:
    known = {f"D1:{n}" for n in range(1, 8)} | {f"D2:{n}" for n in range(1, 15)}
    for one in evaluation.answered:
        assert len(set(one.ranking)) == len(one.ranking) <= 20
        assert set(one.ranking) <= known


def test_the_figures_of_the_ingest_add_up(evaluation: Evaluation) -> None:
    data = to_json(evaluation)
    assert data["overall"]["n"] == data["bm25"]["n"] == 9
    ingest = data["ingest"]
    assert ingest["turns"] == 3 * 21
    assert ingest["pages"] == 3 * (2 + 3)  # sessions of 7 and 14 turns, in pages of five
    assert ingest["bytes"] > 0
    assert ingest["turns_per_second"] > 0
