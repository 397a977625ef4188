"""Fitting and measuring the gate on small labelled conversations in three languages."""

from __future__ import annotations

import gzip
import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from memstrata.errors import InputError
from memstrata.evaluation.admission import fit as fitting
from memstrata.evaluation.admission import metrics
from memstrata.evaluation.admission.baselines import cheap_features
from memstrata.evaluation.admission.candidates import Table, table_of
from memstrata.evaluation.admission.data import load
from memstrata.evaluation.admission.distillation import against_statements
from memstrata.evaluation.admission.evaluate import answerable_curve, evaluate
from memstrata.evaluation.admission.fit import Objective, fit, grid, held_out, objective
from memstrata.evaluation.admission.folds import fold_of
from memstrata.evaluation.admission.policy_file import as_toml, policy_of
from memstrata.evaluation.admission.records import is_records, read_records, table_of_records
from memstrata.evaluation.admission.report import markdown
from memstrata.gate.policy import SIGNALS, load_policy, policy_from
from memstrata.index.units import Vectors

TOLD = (
    ("I moved to Porto with my sister in 2019.", "I live in Porto with a sister."),
    ("My dog Vento is a greyhound, I adopted him last week.", "I have a greyhound called Vento."),
    ("I work as a nurse at St. John's hospital.", "I am a nurse."),
    ("私は京都で茶碗を集めています。", "私は茶碗を集めている。"),
    ("去年我在北京开了一家面包店。", "我在北京有一家面包店。"),
    ("My favourite food is ramen, I cook it every Sunday.", "I love ramen."),
)
CHAT = (
    "Wow, that sounds great!",
    "Thanks, see you soon!",
    "How are you doing today?",
    "すごい、いいね！",
    "太好了，谢谢你！",
    "That is nice weather out there for walking.",
)


def embed(texts: Sequence[str]) -> Vectors:
    """Vectors of hashed words: the same words, the same direction."""
    found = np.zeros((len(texts), 64), dtype=np.float32)
    for n, text in enumerate(texts):
        for word in text.split():
            found[n, sum(word.encode()) % 64] += 1.0
        found[n, 0] += 0.01
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float32)


def chain(number: int) -> dict[str, Any]:
    """A chain of four sessions; every second turn tells something, each chain another thing at another place."""
    sessions = []
    for session in range(1, 5):
        turns = []
        for place in range(6):
            said, wanted = TOLD[(number + place + session) % len(TOLD)]
            tells = (place + number) % 2 == 0
            turns.append(
                {
                    "speaker": f"bot_{place % 2}",
                    "text": f"{said} ({number}-{session})" if tells else CHAT[(place + session) % len(CHAT)],
                    "persona_text": wanted if tells else None,
                }
            )
        sessions.append(
            {"session": session, "time_back": f"{9 - session} days ago" if session < 3 else None, "turns": turns}
        )
    return {"initial_data_id": f"chain_{number}", "sessions": sessions}


@pytest.fixture
def chains(tmp_path: Path) -> Path:
    path = tmp_path / "chains.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(json.dumps(chain(n)) for n in range(6)).encode()))
    return path


@pytest.fixture
def table(chains: Path) -> Table:
    return table_of(load(chains), embed, load_policy("memstrata"))


def test_every_turn_is_an_example_and_what_is_told_has_candidates(table: Table) -> None:
    assert len(table.label) == 6 * 4 * 6
    assert table.label.mean() == 0.5
    drafted = np.zeros(len(table.label), dtype=bool)
    drafted[table.example] = True
    assert drafted[table.label].all(), "every telling turn, in each language, is drafted"
    assert not drafted[~table.label].all(), "small talk is not"
    signals = table.signals(np.full(len(table.example), 0.5), load_policy("memstrata"))
    assert ((signals >= 0.0) & (signals <= 1.0)).all()
    assert (signals.std(axis=0)[1:] > 0).all(), "confidence, novelty, recency and type prior are alive"
    assert cheap_features(table).shape == (len(table.label), 15)


def test_the_best_candidate_stands_for_its_example(table: Table) -> None:
    scores = np.linspace(0.0, 1.0, len(table.example))
    best = table.best(scores)
    for example in range(len(table.label)):
        mine = scores[table.example == example]
        assert best[example] == (mine.max() if len(mine) else -1.0)


@given(st.lists(st.integers(0, 30), min_size=12, max_size=80), st.integers(2, 8))
def test_a_group_is_never_on_both_sides(groups: list[int], folds: int) -> None:
    group = np.array([*groups, 0, 0, 1, 1], dtype=np.int64)
    label = np.arange(len(group)) % 2 == 0
    try:
        fold = fold_of(group, label, folds=folds)
    except InputError:
        return  # some fold alone has one of the labels
    for number in np.unique(group):
        assert len(np.unique(fold[group == number])) == 1
    assert set(np.unique(fold)) == set(range(int(fold.max()) + 1))


def test_nothing_is_fitted_on_the_conversation_that_is_left_out(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the estimator, nor the weights and threshold, see an example of the fold they are applied to."""
    seen: list[tuple[str, frozenset[int]]] = []
    estimator, weigher = fitting.fit_utility, fitting.weigh

    def watched_fit(parts: Any) -> Any:
        seen.append(("utility", frozenset(np.flatnonzero(parts[0][1]).tolist())))
        return estimator(parts)

    def watched_weigh(parts: Any, *rest: Any, **more: Any) -> Any:
        seen.append(("weights", frozenset(np.flatnonzero(parts[0][1]).tolist())))
        return weigher(parts, *rest, **more)

    monkeypatch.setattr(fitting, "fit_utility", watched_fit)
    monkeypatch.setattr(fitting, "weigh", watched_weigh)
    found = held_out(table, load_policy("memstrata"), Objective(), folds=3)
    per_fold = len(seen) // 3
    for fold in range(3):
        out = set(np.flatnonzero(found.fold == fold).tolist())
        mine = seen[fold * per_fold : (fold + 1) * per_fold]
        assert {what for what, _ in mine} == {"utility", "weights"}
        assert all(out.isdisjoint(examples) for _, examples in mine)


def test_inner_utilities_do_not_see_their_own_conversation(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[set[int]] = []
    estimator = fitting.fit_utility

    def watched(parts: Any) -> Any:
        fitted.append(set(table.group[parts[0][1]].tolist()))
        return estimator(parts)

    monkeypatch.setattr(fitting, "fit_utility", watched)
    everything = np.ones(len(table.label), dtype=np.bool_)
    fitting.crossed(table, everything, [(table, everything)])
    assert all(len(groups) < 6 for groups in fitted)
    assert set.union(*fitted) == set(range(6))


@pytest.mark.parametrize("floor", [0.0, 0.05, 0.1])
@pytest.mark.parametrize("without", [None, "novelty"])
def test_weights_are_on_the_simplex(floor: float, without: str | None, table: Table) -> None:
    vectors = grid(floor, without)
    assert np.allclose(vectors.sum(axis=1), 1.0)
    others = [n for n, name in enumerate(SIGNALS) if name != without]
    assert vectors[:, others].min() >= floor - 1e-12
    everything = np.ones(len(table.label), dtype=np.bool_)
    gate = fit([(table, everything)], load_policy("memstrata"), Objective(), floor=floor, without=without)
    assert sum(gate.weights) == pytest.approx(1.0)
    assert min(gate.weights[n] for n in others) >= floor - 1e-12
    if without is not None:
        assert gate.weights[SIGNALS.index(without)] == 0.0


@settings(max_examples=40)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), min_size=4, max_size=60))
def test_areas_and_thresholds_agree_with_their_definitions(rows: list[tuple[bool, int]]) -> None:
    label = np.array([True, False, *(each for each, _ in rows)])
    score = np.array([0.5, 0.4, *(value / 10 for _, value in rows)])
    pairs = [(a > b) + 0.5 * (a == b) for a in score[label] for b in score[~label]]
    assert metrics.auc(label, score) == pytest.approx(float(np.mean(pairs)))
    best = max(metrics.kept(label, score >= theta).f1 for theta in np.unique(score))
    theta, value = Objective("f1").best(label, score)
    assert value == pytest.approx(best)
    assert metrics.kept(label, score >= theta).f1 == pytest.approx(best)
    floor, _ = Objective("recall", floor=0.8).best(label, score)
    assert metrics.kept(label, score >= floor).recall >= 0.8
    dear, cheap = Objective("cost", miss=50.0).best(label, score)[0], Objective("cost", miss=0.1).best(label, score)[0]
    assert dear <= cheap


def test_a_wrong_objective_is_told() -> None:
    with pytest.raises(InputError, match="must be f1, recall, cost, not 'accuracy'"):
        objective("accuracy")
    with pytest.raises(InputError, match="recall floor"):
        objective("recall", floor=1.5)
    with pytest.raises(InputError, match="positive"):
        objective("cost", miss=0.0)


def test_a_run_tells_every_figure(table: Table) -> None:
    found = evaluate(table, load_policy("memstrata"), Objective(), folds=3, floor=0.05)
    figures = json.loads(json.dumps(found.as_dict()))
    wanted = {"f1", "precision", "recall", "auc", "average_precision", "threshold", "baselines", "folds", "ablation"}
    assert wanted <= set(figures)
    assert {"always", "25 words", "a-mac", "tf-idf"} == set(figures["baselines"])
    assert set(figures["ablation"]) == set(SIGNALS)
    assert figures["baselines"]["always"]["recall"] == 1.0
    assert figures["f1"] > figures["baselines"]["always"]["f1"]
    for name, each in figures["intervals"].items():
        assert each["low"] <= each["value"] <= each["high"] or name == "share"
    assert sorted(group for fold in figures["folds"] for group in fold["held_out"]) == sorted(table.groups)
    text = markdown(figures)
    assert "without recency" in text
    assert "25 words" in text
    shares, answered = answerable_curve(table, found.held.score)
    assert answered[0] == 0.0
    assert answered[-1] == 1.0
    assert (np.diff(answered) >= 0).all()
    assert (np.diff(shares) > 0).all()


def test_a_policy_is_taken_as_it_stands_and_read_back_the_same(table: Table, tmp_path: Path) -> None:
    everything = np.ones(len(table.label), dtype=np.bool_)
    base = load_policy("memstrata")
    policy = policy_of(fit([(table, everything)], base, Objective()), base, name="ours")
    path = tmp_path / "ours.toml"
    path.write_text(as_toml(policy, ["Fitted."]), encoding="utf-8")
    again = load_policy(path)
    assert again.weights == pytest.approx(policy.weights, abs=1e-4)
    assert again.utility is not None
    assert policy_from(tomllib.loads(path.read_text(encoding="utf-8")), where="x").label == again.label
    one = evaluate(table, policy, Objective(), untouched=True, folds=3, ablation=False)
    two = evaluate(table, again, Objective(), untouched=True, folds=3, ablation=False)
    assert one.fitted is None
    assert two.held.score == pytest.approx(one.held.score, abs=1e-3)
    assert (two.held.theta == again.theta).all()


@pytest.mark.parametrize("label, complaint", [(1, "worth keeping"), (0, "not worth keeping")])
def test_one_class_is_refused_by_name(label: int, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text("\n".join(json.dumps({"text": f"I like tea {n}", "label": label}) for n in range(3)))
    with pytest.raises(InputError, match=rf"one\.jsonl: everything in it is {complaint}"):
        read_records(path)


@pytest.mark.parametrize(
    "line, complaint",
    [
        ({"label": 1}, "line 2: text is missing"),
        ({"text": "I like tea"}, "line 2: label must be 1"),
        ({"text": "I like tea", "label": "yes"}, "line 2: label must be 1"),
        ({"text": "I like tea", "label": 1, "at": "2024-01-01T00:00"}, "has no offset"),
        ({"text": "I like tea", "label": 1, "at": 5}, "not written as ISO 8601"),
        ({"text": "I like tea", "label": 1, "kind": "gossip"}, "no such kind: 'gossip'"),
        ({"text": "I like tea", "label": 1, "signals": {"charm": 1}}, "signals must be some of"),
        ({"text": "I like tea", "label": 1, "signals": {"novelty": 2}}, "novelty must lie"),
    ],
)
def test_a_wrong_line_is_told_with_its_place(line: dict[str, Any], complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text(json.dumps({"text": "ok", "label": 0}) + "\n" + json.dumps(line))
    with pytest.raises(InputError, match=complaint):
        read_records(path)


def test_labelled_candidates_are_examples_of_their_own(tmp_path: Path) -> None:
    lines = [
        {
            "text": TOLD[n % 6][0] if n % 2 == 0 else CHAT[n % 6],
            "label": int(n % 2 == 0),
            "group": f"u:{n % 4}",
            "at": f"2024-03-{n + 1:02d}T10:00:00+00:00",
            "previous": [{"text": "Where do you live?"}],
            "next": ["Great!"],
            "signals": {"utility": 0.25} if n == 0 else None,
        }
        for n in range(24)
    ]
    path = tmp_path / "labels.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert is_records(path)
    table = table_of_records(path, embed, load_policy("memstrata"))
    assert len(table.label) == 24
    assert set(table.groups) == {"u:0", "u:1", "u:2", "u:3"}
    signals = table.signals(np.full(len(table.example), 0.75), load_policy("memstrata"))
    assert sorted(set(signals[:, 0])) == [0.25, 0.75]


def test_distillation_beside_what_people_wrote(chains: Path) -> None:
    found = against_statements(load(chains), embed)
    assert set(found) >= {"en", "ja", "zh"}
    assert found["en"]["drafted"] == 1.0
    assert 0.0 < found["en"]["rouge_l"] <= 1.0


def test_the_commands(chains: Path, tmp_path: Path) -> None:
    from memstrata.cli.app import app

    runner = CliRunner()
    out = tmp_path / "policy.toml"
    common = ["--embedder", "hashing", "--limit", "4"]
    result = runner.invoke(app, ["admission", "fit", str(chains), "--out", str(out), *common])
    assert result.exit_code == 0, result.output
    assert load_policy(out).name == "policy"
    result = runner.invoke(app, ["admission", "eval", str(chains), "--policy", str(out), "--json", *common])
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert figures["fitted"] is False
    assert {"f1", "auc", "threshold", "baselines", "folds"} <= set(figures)
    page = tmp_path / "report.html"
    result = runner.invoke(app, ["admission", "report", str(chains), "--out", str(page), *common])
    assert result.exit_code == 0, result.output
    html = page.read_text(encoding="utf-8")
    assert html.count("<svg") >= 5
    assert "src=" not in html
    assert 'href="http' not in html
