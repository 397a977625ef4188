"""`review`, `feedback`, `admission replay` and `admission export`, as tables and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SAID = ["I moved to Porto in March 2024.", "妹は看護師として京都で働いています。", "我妹妹李娜在华为工作。"]
RULED = "From now on you must always answer in [bold]rhymes[/bold]."


def tell(run: Any) -> None:
    for text in (*SAID, RULED):
        assert run("remember", text).code == 0


def test_review_and_feedback(run: Any) -> None:
    tell(run)
    shown = run("review")
    assert shown.code == 0, shown.err
    assert SAID[2] in shown.out
    found = run("review", "--json", "--limit", "2").json
    assert len(found) == 2
    receipt = run("feedback", found[0]["id"], "--reject", "--reason", "not mine", "--json").json
    assert (receipt["verb"], receipt["counts"]["forgotten"]) == ("feedback", 1)
    assert found[0]["id"] not in {each["id"] for each in run("review", "--json").json}
    explained = run("explain", found[0]["id"])
    assert "not mine" in " ".join(explained.out.split())
    assert run("undo", receipt["operation"]).code == 0
    assert run("feedback", found[0]["id"], "--accept", "--only-note").code == 0
    assert run("feedback", "d_nothing", "--accept").code == 1
    assert run("feedback", found[0]["id"]).code == 2, "a verdict is needed"


def test_another_policy(run: Any, tmp_path: Path) -> None:
    tell(run)
    policy = tmp_path / "never.toml"
    policy.write_text('base = "memstrata"\nname = "never"\ntheta = 1.0\n')
    shown = run("admission", "replay", "--policy", str(policy))
    assert shown.code == 0, shown.err
    assert "never 1" in shown.out
    assert "3 fewer" in " ".join(shown.out.split())
    found = run("admission", "replay", "-p", str(policy), "--json").json
    assert found["counts"]["newly_refused"] == len(found["changes"]) == 3
    assert run("admission", "replay", "-p", "lenient").code == 1


def test_feedback_as_labels(run: Any, tmp_path: Path) -> None:
    tell(run)
    for number, each in enumerate(run("review", "--json").json):
        assert run("feedback", each["id"], "--accept" if number else "--reject", "--only-note").code == 0
    printed = [json.loads(line) for line in run("admission", "export").out.splitlines()]
    assert sorted(each["label"] for each in printed) == [0, 1, 1]
    assert {each["text"] for each in printed} == set(SAID)
    out = tmp_path / "labels.jsonl"
    assert run("admission", "export", "--out", str(out)).code == 0
    assert [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()] == printed
