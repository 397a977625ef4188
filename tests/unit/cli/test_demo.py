"""The demo says what is true: it runs on the default model, without a terminal."""

from __future__ import annotations

import io

from rich.cells import cell_len
from rich.console import Console

from memstrata.cli.demo import run


def test_the_demo_shows_each_stage() -> None:
    shown = io.StringIO()
    run(Console(file=shown, width=80, highlight=False))
    text = shown.getvalue()
    parts = text.split("\n\n")
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    assert "[REDACTED:openai_key]" in text
    assert "sk-proj" not in text
    for question, answer in (
        ("Where does Mika live now?", "Lyon"),
        ("Which food is Mika allergic to?", "peanuts"),
        ("When was the half marathon", "about 2025-03-16"),
        ("陶芸の先生は誰ですか", "田中さん"),
        ("最喜欢的菜是什么", "麻婆豆腐"),
    ):
        best = text.split(question, 1)[1].split("\n   2  ", 1)[0]
        assert answer in best, question
    assert "already known as" in text
    assert "as of 15 October  My favourite tea is sencha.  2025-10-01 – 2025-11-05" in text
    assert "rows restored" in text
    assert "Not kept" in text
    assert "no byte of it is left" in text
    assert any("before  " in part and "now  0" in part for part in parts)
