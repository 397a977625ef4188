"""A small file of the LoCoMo schema with every kind of dirt, written for these tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def turn(dia_id: str, speaker: str, text: str, **more: Any) -> dict[str, Any]:
    return {"dia_id": dia_id, "speaker": speaker, "text": text, **more}


def question(text: str, evidence: Any, category: int = 4, **more: Any) -> dict[str, Any]:
    return {"question": text, "evidence": evidence, "category": category, **more}


@pytest.fixture
def harbour() -> dict[str, Any]:
    """Two sessions in the file's order 10, 2 (to be read 2, 10), a date without a session, dirty labels."""
    return {
        "sample_id": "harbour",
        "conversation": {
            "speaker_a": "Ines",
            "speaker_b": "健",
            "session_10": [
                turn("D10:1", "Ines", "The ferry to Lisbon leaves at noon."),
                turn("D10:2", "健", "昨日、京都で茶碗を買いました。", blip_caption="a photo of a blue tea bowl"),
            ],
            "session_10_date_time": "12:05 am on 1 March, 2024",
            "session_2": [
                turn("D2:1", "Ines", "I adopted a greyhound called Vento."),
                turn("D2:2", "健", "", img_url=["https://example.org/a.jpg"], blip_caption="a photo of a greyhound"),
                turn("D2:3", "Ines", "He sleeps on the sofa all day.", img_url=["https://example.org/b.jpg"]),
                turn("D2:3", "健", "This id was used before."),
                turn("D2:4", "健", "  "),
            ],
            "session_2_date_time": "12:30 pm on 9  February, 2024",
            "session_3_date_time": "1:00 pm on 10 February, 2024",
        },
        "qa": [
            question("What is the greyhound called?", ["D2:1"], answer="Vento"),
            question("Where is the dog, and what is it?", ["D2:1; D2:3"], 1, answer="sofa"),
            question("When does the ferry leave?", ["D:10:01"], 2, answer=12),
            question("What did Ken buy?", ["D10:2 D2:7"], 3),
            question("Who sails?", ["D4:1"], 5, adversarial_answer="Ines"),
            question("Half a label?", ["D"]),
            question("No label?", []),
            question("Wrong type?", [7, None, "D2:2"]),
        ],
    }


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Any], Path]:
    def to_file(data: Any) -> Path:
        path = tmp_path / "file.json"
        path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
        return path

    return to_file
