"""The evaluation commands, end to end on small made files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.contract.chat_server import chat_server

LINES = "\n".join(
    json.dumps(line, ensure_ascii=False)
    for line in (
        {"id": "m1", "at": "2026-03-01T10:00:00Z", "name": "Ana", "text": "I adopted a greyhound called Vento."},
        {"id": "m2", "at": "2026-03-01T10:00:09Z", "name": "健", "text": "京都で青い茶碗を買いました。"},
        {"id": "m3", "at": "2026-03-01T10:00:20Z", "role": "assistant", "text": "好的，我记住了核桃过敏。"},
        {"question": "What is the greyhound called?", "evidence": ["m1"], "answer": "Vento", "category": "pets"},
        {"question": "茶碗はどこで買いましたか", "evidence": ["m2"], "category": "things"},
    )
)


@pytest.fixture
def own(tmp_path: Path) -> str:
    (tmp_path / "mine.jsonl").write_text(LINES, encoding="utf-8")
    return "mine.jsonl"


def test_own_questions_into_runs_that_are_compared_and_reported(run, own: str, tmp_path: Path) -> None:
    found = run("eval", "jsonl", own, "--out", "one", "--cache", "vectors", "--json").json
    assert found["overall"]["n"] == 2
    assert found["overall"]["any@5"] == 1.0
    assert set(found["categories"]) == {"pets", "things"}
    assert run("eval", "jsonl", own, "--out", "one", "--cache", "vectors").code == 0  # there already
    other = run("eval", "jsonl", own, "--out", "two", "--set", "links=false", "--set", "evolution=false")
    assert other.code == 0, other.err
    rows = run("eval", "compare", "one", "two", "--json").json
    assert {row["figure"] for row in rows} >= {"frac@5", "mrr", "tokens"}
    assert "difference" in run("eval", "compare", "one", "two").out
    assert (
        run("eval", "report", "one", "two", "--html", "page.html", "--markdown", "page.md", "--map", "none").code == 0
    )
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "page.md").read_text().startswith("# mine")
    assert "another system" in run("eval", "jsonl", own, "--out", "one", "--preset", "a-mem").err


def test_a_table_and_a_sweep_of_some_rows(run, own: str) -> None:
    rows = run("eval", "table", own, "--out", "t", "--row", "memstrata", "--row", "RAG BM25", "--json").json
    assert [row["system"] for row in rows] == ["memstrata", "RAG BM25"]
    shown = run("eval", "table", own, "--out", "t", "--row", "memstrata", "--row", "window").out
    assert max(map(len, shown.splitlines())) <= 80
    assert "frac@5/10/20" in shown
    swept = run("eval", "sweep", own, "--out", "s", "--over", "K=5,8", "--over", "gamma=0.4", "--json").json
    assert [row["system"] for row in swept] == ["K = 5", "K = 8", "gamma = 0.4"]
    assert "no such row" in run("eval", "table", own, "--out", "t", "--row", "all").err


@pytest.mark.parametrize(
    "arguments",
    [("--set", "gamma"), ("--clock", "noon"), ("--jobs", "0")],
)
def test_wrong_options_end_with_two(run, own: str, arguments: tuple[str, ...]) -> None:
    assert run("eval", "jsonl", own, *arguments).code == 2


def test_a_replay_compares_with_and_without_accesses_and_tiers(run, own: str) -> None:
    rows = run("eval", "replay", own, "--out", "r", "--json").json
    assert {row["against"] for row in rows} == {"no accesses", "no heat", "no forgetting", "no tier scores"}


def test_answers_need_contexts(run, own: str) -> None:
    assert run("eval", "jsonl", own, "--out", "bare").code == 0
    failed = run("eval", "answer", "bare", "--llm", "local:none.gguf")
    assert failed.code == 1
    assert "none.gguf" in failed.err or "--contexts" in failed.err


def test_a_benchmark_is_answered_and_judged_in_one_command(run, own: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")

    def reply(body: dict[str, Any]) -> str:
        asked = str(body["messages"])
        if "grade" in asked:
            return json.dumps({"correct": "Answer to grade: Vento" in asked})
        return json.dumps({"answer": "Vento" if "greyhound called" in asked.rpartition("Question:")[2] else "大阪"})

    with chat_server() as server:
        server.answer = reply
        models = ("--llm", "openai:reader", "--judge", "openai:judge", "--base-url", server.url)
        done = run("eval", "jsonl", own, "--out", "answered", *models, "--json")
        rows = {row["category"]: row for row in done.json["answers"]}
        assert (rows["pets"]["memoryos_f1"], rows["pets"]["judged"]) == (1.0, 1.0)
        assert "things" not in rows  # the file does not say what is right
        assert "agrees with itself on 1.000 of 1" in done.err
        asked = len(server.requests)
        assert "memoryos_f1" in run("eval", "jsonl", own, "--out", "answered", *models).out
        assert len(server.requests) == asked  # nothing is asked twice
        rows = [
            {"answer": "Vento", "response": "Vento", "category": "4", "llm_score": 1},
            {"answer": "京都", "response": "京都の店", "category": "4", "llm_score": 1},
        ]
        Path("judged.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
        checked = run("eval", "score", "judged.json", "--judge", "openai:judge", "--base-url", server.url, "--json")
    (found,) = checked.json
    assert (found["n"], found["agree"], found["judged"], found["given"]) == (2, 0.5, 0.5, 1.0)
    assert run("eval", "jsonl", own, "--judge", "openai:judge").code == 2


def test_answers_of_any_program_are_scored(run, tmp_path: Path) -> None:
    rows = [
        {"answer": "Vento", "response": "It is Vento.", "category": "4"},
        {"answer": 2023, "response": "2023", "category": 2},
        {"response": "No information available", "category": 5},
    ]
    (tmp_path / "given.json").write_text(json.dumps(rows))
    found = {row["category"]: row for row in run("eval", "score", "given.json", "--json").json}
    assert (found["2"]["locomo_f1"], found["5"]["amem_f1"]) == (1.0, 1.0)
    assert found["4"]["memoryos_f1"] == pytest.approx(0.5)
    assert found["overall"]["n"] == 3
    (tmp_path / "given.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert run("eval", "score", "given.jsonl", "--json").json[-1] == found["overall"]
    (tmp_path / "other.json").write_text('[{"answer": "x"}]')
    assert "[0]: 'response' is missing" in run("eval", "score", "other.json").err
