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

from memstrata.evaluation.charts import LETTER, LINE, colour, points
from memstrata.evaluation.folder import RunFolder
from memstrata.evaluation.locomo import load_locomo
from memstrata.evaluation.options import Options
from memstrata.evaluation.page import as_markdown, html, project
from memstrata.evaluation.replay import ARMS, replay
from memstrata.evaluation.report import to_json
from memstrata.evaluation.rows import differences, read_runs
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
    sections = ("By category", "By age of the evidence", "Quality against tokens", "Recall at k", "Latency of a recall")
    for section in sections:
        assert f"<h2>{section}</h2>" in page
    assert ("Notes in two dimensions" in page) == (projection != "none")
    assert not re.search(r"""(src|href)=|url\(|@import|<script""", page)
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(svg)
    assert "NaN" not in page
    text = as_markdown(read_runs(folders))
    assert text.count("\n## ") == 7  # the second run ranks nothing: no differences; nothing was answered
    assert "| run0 | 5 |" in text


def test_runs_of_one_name_are_told_apart(folders: list[RunFolder]) -> None:
    runs = read_runs([folders[0], folders[0]])
    assert [run.name for run in runs] == ["run0", "run0 (2)"]


def test_other_runs_are_compared_with_the_first(
    folders: list[RunFolder], write: Write, harbour: dict[str, Any], tmp_path: Path
) -> None:
    other = RunFolder(tmp_path / "plain")
    run_system(load_locomo(write([harbour])), System("plain", retriever="dense"), FAST, other, progress=False)
    runs = read_runs([folders[0], folders[1], other])
    [(name, found)] = differences(runs, 0)
    assert name == "plain"
    assert found[0].difference.mean == pytest.approx(found[0].second - found[0].first)
    page = html(runs, projection="none")
    assert "frac@10 less run0&#x27;s" in page
    assert page.count("<h2>Differences from the first</h2>") == 1
    assert differences(runs[1:], 0) == []  # the first of these ranks nothing


def test_names_of_points_do_not_meet() -> None:
    named = {f"system {n}": (900.0 + n, 0.8) for n in range(9)}
    drawn = points(named, {name: colour(n) for n, name in enumerate(named)}, "tokens", "quality")
    wide = LETTER * len("system 0")
    found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="(start|end)">system', drawn)
    places = [(float(x) - (wide if anchor == "end" else 0), float(y)) for x, y, anchor in found]
    assert len(places) == 9
    for n, (x, y) in enumerate(places):
        assert all(abs(y - below) > LINE - 0.2 or abs(x - beside) >= wide - 0.2 for beside, below in places[:n])


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
