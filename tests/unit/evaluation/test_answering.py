"""Answers and judgements by a scripted model, from the contexts of a real run: resumed, scored, agreed upon."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memstrata.embed.hashing import HashingEmbedder
from memstrata.errors import InputError, LLMUnavailableError
from memstrata.evaluation.answering import (
    agreement,
    answer_rows,
    answer_run,
    digest,
    judge_agreement,
    judge_file,
    judge_run,
    prompt,
    sample,
)
from memstrata.evaluation.folder import RunFolder
from memstrata.evaluation.locomo import load_locomo
from memstrata.evaluation.options import Options
from memstrata.evaluation.page import as_markdown, html
from memstrata.evaluation.rows import read_runs
from memstrata.evaluation.run import run_system
from memstrata.evaluation.systems import System
from memstrata.evaluation.table import SYSTEMS, Answerer, make_table
from memstrata.llm.base import Request
from memstrata.llm.fakes import ScriptedLLM

Write = Callable[[Any], Path]


@pytest.fixture
def folder(write: Write, harbour: dict[str, Any], tmp_path: Path) -> RunFolder:
    harbour["qa"].append({"question": "Who sails?", "evidence": ["D2:1"], "category": 5, "adversarial_answer": "Ines"})
    folder = RunFolder(tmp_path / "run")
    options = Options(embedder="hashing", contexts=True)
    run_system(load_locomo(write([harbour])), System("memstrata"), options, folder, progress=False)
    return folder


def knows(request: Request) -> dict[str, str]:
    """Answers what it read in the context, as a model would."""
    if "greyhound called" in request.text.rpartition("Question:")[2] and "Vento" in request.text:
        return {"answer": "Vento"}
    return {"answer": "No information available."}


def test_answers_are_asked_for_once_and_scored(folder: RunFolder) -> None:
    def cut(request: Request) -> dict[str, str]:
        if "ferry" in request.text.rpartition("Question:")[2]:
            raise LLMUnavailableError("away")
        return knows(request)

    with pytest.raises(LLMUnavailableError):
        asyncio.run(answer_run(folder, ScriptedLLM(cut), at_once=1))
    half = ScriptedLLM(knows)
    already = len(folder.lines("answers.jsonl"))
    assert already == 2
    asyncio.run(answer_run(folder, half))
    assert len(half.requests) == 6 - already
    assert half.requests[0].instructions == prompt("answer")
    rows = {row["category"]: row for row in asyncio.run(answer_rows(folder, embedder=HashingEmbedder()))}
    assert rows["adversarial"]["locomo_f1"] == 1.0  # it abstained
    assert (rows["single-hop"]["n"], rows["single-hop"]["amem_f1"]) == (1, 1.0)  # another has no answer in the file
    assert rows["multi-hop"]["locomo_f1"] == 0.0
    assert (rows["with an answer"]["n"], rows["overall"]["n"]) == (3, 4)
    assert rows["single-hop"]["sbert"] == pytest.approx(1.0)
    assert folder.lines("answers.jsonl")[0]["prompt"] == digest("answer")


def test_the_judge_is_held_against_itself(folder: RunFolder) -> None:
    asyncio.run(answer_run(folder, ScriptedLLM(knows)))
    calls = iter(range(100))

    def wavers(request: Request) -> dict[str, bool]:
        right = "grade: Vento" in request.text
        return {"correct": right if next(calls) else not right}  # its first verdict is wrong

    judge = ScriptedLLM(wavers)
    asyncio.run(judge_run(folder, judge, at_once=1))
    assert len(judge.requests) == 2 * 3  # three questions have an answer in the file
    agreed = judge_agreement(folder)
    assert agreed is not None
    assert (agreed.n, round(agreed.share, 3)) == (3, 0.667)
    rows = {row["category"]: row for row in asyncio.run(answer_rows(folder))}
    assert rows["overall"]["judged"] is not None
    runs = read_runs([folder])
    assert "judged" in as_markdown(runs)
    assert "locomo_f1" in html(runs, projection="none")


def test_a_run_without_contexts_cannot_be_answered(write: Write, harbour: dict[str, Any], tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "bare")
    run_system(load_locomo(write([harbour])), System("memstrata"), Options(embedder="hashing"), folder, progress=False)
    with pytest.raises(InputError, match="--contexts"):
        asyncio.run(answer_run(folder, ScriptedLLM([])))
    with pytest.raises(InputError, match="no answers"):
        asyncio.run(answer_rows(folder))


def test_a_table_has_the_answers_of_a_model(write: Write, harbour: dict[str, Any], tmp_path: Path) -> None:
    models: list[ScriptedLLM] = []

    def opened() -> ScriptedLLM:
        models.append(ScriptedLLM(knows))
        return models[-1]

    rows = [SYSTEMS["RAG BM25"], SYSTEMS["memstrata"]]
    options = Options(embedder="hashing")
    data = load_locomo(write([harbour]))
    lines = make_table(data, rows, options, tmp_path / "t", progress=False, answerer=Answerer(opened, 3))
    assert [len(model.requests) for model in models] == [3, 3]
    asked = [[request.text.rpartition("Question:")[2] for request in model.requests] for model in models]
    assert asked[0] == asked[1]  # the same sample
    assert all(line.answer_f1 is not None for line in lines)


def test_a_judge_is_held_against_the_verdicts_of_another(tmp_path: Path) -> None:
    file = tmp_path / "answers.json"
    answers = [
        {"answer": "7 May", "response": "May 7", "category": "2", "llm_score": 1},
        {"answer": "京都", "response": "大阪", "category": "4", "llm_score": 0},
        {"answer": "狗", "response": "猫", "category": "4", "llm_score": 1, "question": "她养什么?"},
        {"answer": "tea", "response": "tea", "category": "4"},
    ]
    file.write_text(json.dumps(answers, ensure_ascii=False), encoding="utf-8")
    judge = ScriptedLLM(lambda request: {"correct": "May 7" in request.text})
    found = asyncio.run(judge_file(file, judge))
    assert (found.agreement.n, round(found.agreement.share, 3)) == (3, 0.667)
    assert (round(found.judged, 3), round(found.given, 3)) == (0.333, 0.667)
    assert sum("Question: 她养什么?" in request.text for request in judge.requests) == 1
    one = ScriptedLLM(lambda request: {"correct": True})
    assert asyncio.run(judge_file(file, one, count=2, seed=3)).agreement.n == len(one.requests) == 2
    file.write_text(json.dumps(answers[-1:]), encoding="utf-8")
    with pytest.raises(InputError, match="no answer has a verdict"):
        asyncio.run(judge_file(file, one))


def test_agreement_is_kappa() -> None:
    assert agreement([True, False], [True, False]).kappa == 1.0
    found = agreement([True, True, False, False], [True, False, True, False])
    assert (found.share, found.kappa) == (0.5, 0.0)
    assert agreement([True], [True]).kappa == 1.0
    with pytest.raises(ValueError, match="same length"):
        agreement([True], [])


def test_samples_are_fixed_by_their_seed(folder: RunFolder) -> None:
    answered = folder.outcomes()[0].answered
    assert sample(answered, 3, 7) == sample(answered, 3, 7)
    assert sample(answered, None, 7) == list(range(6))
