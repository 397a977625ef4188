"""The run against a memory small enough to see through: it finds turns by shared words and counts calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
from rich.console import Console

from memstrata.errors import InputError, MemstrataError
from memstrata.evaluation.bm25 import TurnBaseline, baseline_terms
from memstrata.evaluation.locomo import load_locomo
from memstrata.evaluation.report import print_report, to_json
from memstrata.evaluation.retrieval import METRICS
from memstrata.evaluation.run import evaluate
from memstrata.evaluation.systems import FIRST_K, recall_turns
from memstrata.types import Context, Evidence, Hit, Recall

Write = Callable[[Any], Path]


class WordMemory:
    """Hits are turns that share a word with the query; those of the newest come `repeat` times over, as notes would."""

    def __init__(self, path: Path, repeat: int = 1) -> None:
        path.write_bytes(b"x" * 1000)
        self.path, self.repeat, self.failing = path, repeat, 0
        self.turns: list[tuple[str, Evidence]] = []
        self.calls: list[str] = []
        self.ks: list[int] = []

    def __enter__(self) -> WordMemory:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.path.with_name(f"{self.path.name}-wal").write_bytes(b"x" * 500)

    def add(self, messages: list[dict[str, Any]], *, user_id: str, session_id: str) -> None:
        self.calls.append(f"add {session_id}")
        for position, message in enumerate(messages):
            content = message["content"]
            text = content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)
            at = message["at"]
            found = Evidence(message["id"], session_id, position, at, "user", message["name"], text)
            self.turns.append((user_id, found))

    def end_session(self, *, user_id: str, session_id: str) -> None:
        self.calls.append(f"end {session_id}")

    def flush(self) -> dict[str, int]:
        self.calls.append("flush")
        return {"failed": self.failing, "waiting": 0}

    def recall(self, query: str, *, user_id: str, k: int, touch: bool) -> Recall:
        assert self.calls[-1] == "flush"
        assert touch is False
        self.ks.append(k)
        wanted = set(baseline_terms(query))
        mine = [turn for user, turn in self.turns if user == user_id and wanted & set(baseline_terms(turn.text))]
        hits = [
            Hit(turn.id, "turn", turn.text, 0.5, (), (), (turn,), turn.at) for turn in mine for _ in range(self.repeat)
        ]
        return Recall(query, tuple(hits[:k]))

    def maintain(self) -> None:
        self.calls.append("maintain")

    def context(self, query: str, *, user_id: str, max_tokens: int, strategy: Any, **_more: Any) -> Context:
        first = self.recall(query, user_id=user_id, k=2, touch=False).hits
        return Context("text", 7, strategy, (), (), {f"[{n}]": hit for n, hit in enumerate(first)})

    def stats(self, *, user_id: str) -> dict[str, Any]:
        decisions = {
            "admitted": 5,
            "admitted_superseding": 2,
            "superseded_on_arrival": 1,
            "rejected": 3,
            "duplicate": 4,
        }
        counts = {"pages": 7, "notes": 8, "links": 6, "evolved": 1}
        llm = {"calls": 2, "unreadable": 1, "input_tokens": 90, "output_tokens": 10}
        return {**counts, "decisions": decisions, "llm": llm}


def test_a_run_ingests_ends_flushes_asks_and_scores(write: Write, harbour: dict[str, Any], tmp_path: Path) -> None:
    opened: list[WordMemory] = []

    def open_memory(path: Path) -> WordMemory:
        opened.append(WordMemory(path))
        return opened[-1]

    store = tmp_path / "kept.db"
    other = {**harbour, "sample_id": "other", "qa": []}
    data = load_locomo(write([harbour, other]))
    evaluation = evaluate(data, open_memory, store=store, progress=False)
    one_user = ["add session_2", "end session_2", "add session_10", "end session_10", "flush"]
    assert [each.calls for each in opened] == [one_user, one_user]
    assert store.exists()
    first, second = evaluation.answered[:2]
    assert (first.conversation, first.category, first.gold) == ("harbour", "4", ("D2:1",))
    assert first.ranking == ("D2:1", "D2:3", "D10:1")
    assert second.gold == ("D2:1", "D2:3")
    assert list(second.baseline) == TurnBaseline(data.conversations[0]).rank(second.question, 20)
    ours, baseline = evaluation.tables()
    assert ours.overall.n == baseline.overall.n == 5
    assert ours.categories["4"].values["mrr"] == 0.5  # the second of its two questions shares no word with a turn

    figures = evaluation.ingest
    assert (figures.turns, figures.bytes, figures.bytes_per_turn) == (10, 1500, 150)
    assert (figures.admitted, figures.superseded, figures.rejected, figures.duplicate) == (16, 6, 6, 8)
    assert (figures.pages, figures.notes, figures.linked, figures.evolved) == (14, 16, 12, 2)
    assert (figures.llm_calls, figures.llm_unreadable) == (4, 2)
    assert (figures.calls_per_turn, figures.tokens_per_turn) == (0.4, 20.0)
    assert figures.turns_per_second > 0


def test_the_report_is_one_json_object_and_tables(write: Write, harbour: dict[str, Any]) -> None:
    evaluation = evaluate(load_locomo(write([harbour])), WordMemory, progress=False)
    data = json.loads(json.dumps(to_json(evaluation)))
    assert set(data) == {"overall", "categories_1_4", "categories", "bm25", "ingest", "recall", "loader"}
    assert set(data["overall"]) == {"n", *METRICS}
    assert set(data["categories"]) == set(data["bm25"]["categories"]) == {"1", "2", "3", "4"}
    assert data["overall"]["n"] == data["bm25"]["n"] == sum(row["n"] for row in data["categories"].values()) == 5
    assert data["loader"]["evidence_repaired"] == 3
    assert len(data["loader"]["findings"]) == 11
    assert data["ingest"]["turns"] == 5
    console = Console(record=True, width=200)
    print_report(evaluation, console)
    text = console.export_text()
    for word in (
        "multi-hop",
        "BM25",
        "overall",
        "turns per second",
        "evidence repaired",
        "D2:1; D2:3",
        "no turn id in it",
    ):
        assert word in text


def test_more_hits_are_asked_for_until_there_are_enough_turns(tmp_path: Path) -> None:
    memory = WordMemory(tmp_path / "m.db", repeat=5)
    at = datetime(2024, 3, 1, tzinfo=UTC)
    messages = [{"id": f"D1:{n}", "name": "Ines", "content": f"boat {n}", "at": at} for n in range(1, 31)]
    memory.add(messages, user_id="u", session_id="s")
    memory.flush()
    assert recall_turns(memory, "boat", "u", 20) == [f"D1:{n}" for n in range(1, 21)]
    assert memory.ks == [20 * FIRST_K, 40 * FIRST_K, 80 * FIRST_K]
    memory.ks.clear()
    assert recall_turns(memory, "7", "u", 20) == ["D1:7"]
    assert memory.ks == [20 * FIRST_K]


def test_a_memory_that_is_not_ready_is_not_scored(write: Write, harbour: dict[str, Any]) -> None:
    def failing(path: Path) -> WordMemory:
        memory = WordMemory(path)
        memory.failing = 3
        return memory

    with pytest.raises(MemstrataError, match="3 attempts"):
        evaluate(load_locomo(write([harbour])), failing, progress=False)


def test_nothing_to_score_and_a_store_in_use_are_refused(write: Write, harbour: dict[str, Any], tmp_path: Path) -> None:
    data = load_locomo(write([harbour]))
    store = tmp_path / "used.db"
    store.write_bytes(b"mine")
    with pytest.raises(InputError, match="needs a new store"):
        evaluate(data, WordMemory, store=store, progress=False)
    assert store.read_bytes() == b"mine"
    with pytest.raises(InputError, match="nothing to score"):
        evaluate(load_locomo(write([{**harbour, "qa": []}])), WordMemory, progress=False)
