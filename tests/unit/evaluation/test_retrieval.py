from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.evaluation.retrieval import CUTS, DEPTH, METRICS, distinct_turns, mean, score, tabulate

NAMES = [f"D{number // 10}:{number % 10}" for number in range(60)]
rankings = st.lists(st.sampled_from(NAMES), unique=True, max_size=40)
golds = st.sets(st.sampled_from(NAMES), min_size=1, max_size=30)


def test_a_ranking_worked_out_by_hand() -> None:
    ranking = ["x1", "a", "x2", "x3", "x4", "x5", "b", *[f"y{i}" for i in range(8)], "c"]  # gold at 2, 7, 16
    values = score(ranking, {"a", "b", "c", "d"})
    assert [values[f"frac@{k}"] for k in CUTS] == [0.25, 0.5, 0.75]
    assert [values[f"any@{k}"] for k in CUTS] == [1, 1, 1]
    assert [values[f"all@{k}"] for k in CUTS] == [0, 0, 0]
    assert values["mrr"] == 0.5
    best = 1 + 1 / math.log2(3) + 1 / 2 + 1 / math.log2(5)
    assert values["ndcg@10"] == pytest.approx((1 / math.log2(3) + 1 / 3) / best)


def test_the_first_place_is_perfect_and_nothing_is_zero() -> None:
    assert set(score(["a", "b"], ["a"]).values()) == {1.0}
    assert set(score(["b"] * 30, ["a"]).values()) == {0.0}
    assert set(score([], ["a"]).values()) == {0.0}


def test_each_turn_of_a_page_uses_up_one_place_and_repeats_none() -> None:
    page = ["p1", "p2", "p3", "p4", "p5"]
    assert distinct_turns([["a"], page, ["p3", "b"], ["a"]]) == ["a", *page, "b"]
    values = score(distinct_turns([page, ["gold"]]), ["gold"])
    assert (values["any@5"], values["any@10"]) == (0, 1)
    assert values["mrr"] == pytest.approx(1 / 6)


def test_a_ranking_with_repeats_cannot_win_by_them() -> None:
    assert score(["x", "x", "a", "a", "a"], ["a", "b"]) == score(["x", "a"], ["a", "b"])


def test_places_below_the_depth_do_not_count() -> None:
    ranking = [f"x{i}" for i in range(DEPTH)] + ["a"]
    assert set(score(ranking, ["a"]).values()) == {0.0}
    assert distinct_turns([ranking]) == ranking[:DEPTH]


def test_no_gold_and_no_question_are_refused() -> None:
    with pytest.raises(ValueError, match="without gold"):
        score(["a"], [])
    with pytest.raises(ValueError, match="no question"):
        mean([])


@given(rankings, golds)
def test_order_of_the_metrics(ranking: list[str], gold: set[str]) -> None:
    values = score(ranking, gold)
    assert set(values) == set(METRICS)
    assert all(0 <= value <= 1 + 1e-12 for value in values.values())
    for k in CUTS:
        assert values[f"all@{k}"] <= values[f"frac@{k}"] <= values[f"any@{k}"]
    for name in ("frac", "any", "all"):
        assert values[f"{name}@5"] <= values[f"{name}@10"] <= values[f"{name}@20"]
    assert (values["mrr"] > 0) == (values["any@20"] > 0)
    assert (values["ndcg@10"] > 0) == (values["any@10"] > 0)
    assert (values["mrr"] >= 1 / 5) == (values["any@5"] > 0)


@given(rankings, golds)
def test_putting_gold_first_is_never_worse_and_is_best(ranking: list[str], gold: set[str]) -> None:
    sorted_ranking = sorted(ranking, key=lambda turn: turn not in gold)
    before, after = score(ranking, gold), score(sorted_ranking, gold)
    assert all(before[name] <= after[name] + 1e-12 for name in METRICS)
    perfect = score([*gold, *ranking], gold)
    assert perfect["mrr"] == 1
    assert perfect["ndcg@10"] == pytest.approx(1)


@given(st.lists(st.lists(st.sampled_from(NAMES), max_size=6), max_size=30))
def test_distinct_turns_keep_first_places(results: list[list[str]]) -> None:
    flat = [turn for result in results for turn in result]
    turns = distinct_turns(results, depth=len(flat) + 1)
    assert set(turns) == set(flat)
    assert [flat.index(turn) for turn in turns] == sorted(flat.index(turn) for turn in turns)
    assert len(set(turns)) == len(turns)


def test_a_table_weighs_questions_alike_and_sets_the_adversarial_apart() -> None:
    hit, miss = score(["a"], ["a"]), score(["b"], ["a"])
    table = tabulate([("4", hit), ("5", miss), ("1", miss), ("4", hit)], {"5"}, ("1", "2", "4", "5"))
    assert table.overall.as_dict()["frac@10"] == 0.5
    assert table.answerable is not None
    assert (table.answerable.n, round(table.answerable.values["mrr"], 4)) == (3, 0.6667)
    assert {category: row.n for category, row in table.categories.items()} == {"1": 1, "4": 2, "5": 1}
    assert list(table.categories) == ["1", "4", "5"]
    assert tabulate([("5", hit)], {"5"}).answerable is None
