"""The report: one page that loads nothing, with a section for everything the runs have."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from memstrata.evaluation.folder import RunFolder
from memstrata.evaluation.locomo import load_locomo
from memstrata.evaluation.options import Options
from memstrata.evaluation.page import as_markdown, html, project, read_runs
from memstrata.evaluation.replay import ARMS, replay
from memstrata.evaluation.report import to_json
from memstrata.evaluation.run import run_system
from memstrata.evaluation.systems import System

Write = Callable[[Any], Path]
FAST = Options(embedder="hashing", clock="said")


@pytest.fixture
def folders(write: Write, harbour: dict[str, Any], tmp_path: Path) -> list[RunFolder]:
    data = load_locomo(write([harbour]))
    systems = (
        System("all <tiers>", {"warm": False, "policy": "open"}),
        System("window", strategy="window", ranks=False, one_session=True),
    )
    made = []
    for n, system in enumerate(systems):
        made.append(RunFolder(tmp_path / f"run{n}"))
        run_system(data, system, FAST, made[-1], progress=False)
    return made


@pytest.mark.parametrize("projection", ["pca", "tsne", "none"])
def test_the_page_is_whole(folders: list[RunFolder], projection: Any) -> None:
    page = html(read_runs(folders), projection=projection)
    for section in ("By category", "By age of the evidence", "Quality against tokens", "Recall at k", "Latency"):
        assert f"<h2>{section}</h2>" in page
    assert ("Notes in two dimensions" in page) == (projection != "none")
    assert not re.search(r"""(src|href)=|url\(|@import|<script""", page)
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(svg)
    assert "NaN" not in page
    text = as_markdown(read_runs(folders))
    assert text.count("\n## ") == 5
    assert "| run0 | 5 |" in text


def test_runs_of_one_name_are_told_apart(folders: list[RunFolder]) -> None:
    runs = read_runs([folders[0], folders[0]])
    assert [run.name for run in runs] == ["run0", "run0 (2)"]


def test_a_projection_keeps_what_lies_apart_apart() -> None:
    two = np.repeat(np.eye(2, 8, dtype=np.float32), 20, axis=0)
    two += np.random.default_rng(0).normal(0, 0.01, two.shape).astype(np.float32)
    places = project(two, "pca", 0)
    assert abs(places[:20, 0].mean() - places[20:, 0].mean()) > 1
    assert (project(two, "pca", 0) == places).all()


def test_a_replay_asks_every_second_question_in_between(write: Write, harbour: dict[str, Any], tmp_path: Path) -> None:
    found = replay(load_locomo(write([harbour])), FAST, tmp_path, progress=False)
    assert [len(run.answered) for run in found.runs] == [2] * len(
        ARMS
    )  # of five scored questions the second and fourth
    assert [name for name, _ in found.differences] == [arm.name for arm in ARMS[1:]]


def test_the_figures_that_only_a_benchmark_has(tmp_path: Path) -> None:
    from memstrata.evaluation.msc import load_msc

    turns = [
        {"speaker": "a", "text": "I have two jobs and I live in Porto.", "persona_text": "I have two jobs."},
        {"speaker": "b", "text": "My dog is called Vento.", "persona_text": "I have a dog called Vento."},
    ]
    path = tmp_path / "chains.jsonl"
    path.write_text(json.dumps({"initial_data_id": "x", "sessions": [{"session": 1, "turns": turns}]}))
    system = System("open", {"policy": "open", "warm": False})
    run = run_system(load_msc(path), system, FAST, RunFolder(tmp_path / "msc"), progress=False)
    figures = to_json(run)["statements"]
    assert figures["n"] == 2
    assert figures["noted"] == 1.0
    assert figures["rouge_l"] > 0.4
