"""Retrieval scored on evidence turns: no LLM, no judge, the same figures in every run.

A ranking is the list of distinct turns that the results stand on, in the results' order, so a page of five turns uses
up five places. Only the first `DEPTH` places count: a gold turn below them is not found, in every metric.

- frac@k: the fraction of the gold turns among the first k
- any@k, all@k: 1 when at least one, or every, gold turn is among the first k
- mrr: 1 / rank of the first gold turn
- ndcg@10: sum of 1 / log2(1 + rank) over gold turns in the first ten, divided by the best possible sum
  (Järvelin and Kekäläinen 2002, binary gains)
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from memstrata.evaluation.benchmark import DEPTH

CUTS = (5, 10, DEPTH)
NDCG_CUT = 10
METRICS = (*(f"{name}@{k}" for name in ("frac", "any", "all") for k in CUTS), "mrr", f"ndcg@{NDCG_CUT}")


@dataclass(frozen=True, slots=True)
class Row:
    """Means over `n` questions, one for each of METRICS."""

    n: int
    values: Mapping[str, float]

    def as_dict(self) -> dict[str, float]:
        """{"n": ..., "frac@5": ..., ...}, rounded to four places."""
        return {"n": self.n, **{name: round(self.values[name], 4) for name in METRICS}}


@dataclass(frozen=True, slots=True)
class Table:
    """One method's rows: over all scored questions, over those that have an answer (published figures often leave the
    adversarial ones out; None when there is none), and for each category that has any."""

    overall: Row
    answerable: Row | None
    categories: Mapping[str, Row]


def distinct_turns(results: Iterable[Iterable[str]], depth: int = DEPTH) -> list[str]:
    """The turns that results stand on, in order, each at its first place, at most `depth` of them.

    >>> distinct_turns([["D1:2"], ["D1:1", "D1:2", "D1:3"]])
    ['D1:2', 'D1:1', 'D1:3']
    """
    turns = dict.fromkeys(turn for result in results for turn in result)
    return list(turns)[:depth]


def score(ranking: Sequence[str], gold: Collection[str]) -> dict[str, float]:
    """Every metric of one question; repeats in the ranking are passed over. ValueError without any gold turn."""
    wanted = set(gold)
    if not wanted:
        raise ValueError("a question without gold turns cannot be scored")
    ranks = [rank for rank, turn in enumerate(distinct_turns([ranking]), start=1) if turn in wanted]
    values: dict[str, float] = {}
    for k in CUTS:
        found = sum(rank <= k for rank in ranks)
        values[f"frac@{k}"] = found / len(wanted)
        values[f"any@{k}"] = float(found > 0)
        values[f"all@{k}"] = float(found == len(wanted))
    values["mrr"] = 1 / ranks[0] if ranks else 0.0
    best = sum(_gain(rank) for rank in range(1, min(len(wanted), NDCG_CUT) + 1))
    values[f"ndcg@{NDCG_CUT}"] = sum(_gain(rank) for rank in ranks if rank <= NDCG_CUT) / best
    return values


def mean(scores: Sequence[Mapping[str, float]]) -> Row:
    """The mean of each metric over one or more questions."""
    if not scores:
        raise ValueError("no question was scored")
    return Row(len(scores), {name: math.fsum(values[name] for values in scores) / len(scores) for name in METRICS})


def tabulate(
    scored: Sequence[tuple[str, Mapping[str, float]]],
    adversarial: Collection[str] = (),
    order: Sequence[str] = (),
) -> Table:
    """Rows from (category, metrics of one question) pairs; every question weighs the same.

    `adversarial` names the categories that have no answer; those named in `order` come first, in its order.
    """
    by_category: dict[str, list[Mapping[str, float]]] = {category: [] for category in order}
    for category, values in scored:
        by_category.setdefault(category, []).append(values)
    answerable = [values for category, values in scored if category not in adversarial]
    return Table(
        overall=mean([values for _, values in scored]),
        answerable=mean(answerable) if answerable else None,
        categories={category: mean(values) for category, values in by_category.items() if values},
    )


def _gain(rank: int) -> float:
    return 1 / math.log2(1 + rank)
