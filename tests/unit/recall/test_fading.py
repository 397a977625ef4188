"""What forgetting takes of a note's score."""

from datetime import timedelta
from pathlib import Path

import pytest
from tests.conftest import NOW

from memstrata import Memory
from memstrata.clock import SetClock

LEGS = ["dense", "lexical", "notes"]  # a note's own likeness, nothing of its turn


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("My sister Rosa plays the violin in Porto.", "Who plays the violin?"),
        ("妹のローザはポルトでバイオリンを弾いています。", "バイオリンを弾いているのは誰ですか。"),
        ("我妹妹罗莎在波尔图拉小提琴。", "谁拉小提琴？"),
    ],
)
def test_an_old_note_loses_no_more_than_the_setting_says(tmp_path: Path, text: str, query: str) -> None:
    scores: dict[tuple[float, int], float] = {}
    for fading in (0.0, 0.2, 1.0):
        clock = SetClock(NOW)
        path = tmp_path / f"{fading}.db"
        with Memory(path, embedder="hashing", clock=clock, fading=fading, legs=LEGS, worker=False) as memory:
            memory.remember(text, user_id="ana")
            for days in (0, 200):
                clock.set(NOW + timedelta(days=days))
                (hit,) = memory.recall(query, user_id="ana", touch=False)
                scores[fading, days] = hit.score
    assert scores[0.0, 200] == scores[0.0, 0] == scores[0.2, 0] == scores[1.0, 0]
    assert scores[1.0, 200] < scores[0.2, 200] < scores[0.0, 200]
