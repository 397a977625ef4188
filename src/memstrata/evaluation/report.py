"""An evaluation as one JSON object, and as tables for people."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as Grid

from memstrata.evaluation import longmemeval
from memstrata.evaluation.benchmark import Benchmark, Finding
from memstrata.evaluation.retrieval import CUTS, NDCG_CUT, Row, Table
from memstrata.evaluation.run import Evaluation
from memstrata.evaluation.systems import Ingest

COLUMNS: Mapping[str, tuple[str, ...]] = {  # narrow enough, all together, for a terminal of 80 columns
    **{f"{name}@{'/'.join(map(str, CUTS))}": tuple(f"{name}@{k}" for k in CUTS) for name in ("frac", "any", "all")},
    "mrr": ("mrr",),
    f"ndcg@{NDCG_CUT}": (f"ndcg@{NDCG_CUT}",),
}
FINDINGS_SHOWN = 12


def to_json(evaluation: Evaluation) -> dict[str, Any]:
    """The evaluation as plain data.

    {"overall": row, "categories_1_4": row, "categories": {"1": row, ...}, "bm25": {..., the same of BM25, its overall
    row first}, "ingest": {...}, "recall": {...}, "loader": {..., "findings": [...]}}, and "official" or "statements"
    where the benchmark has them. A row is {"n": questions, "frac@5": ..., "any@5": ..., "all@5": ..., ..., "mrr": ...,
    "ndcg@10": ...}; "categories_1_4" is over the questions that have an answer.
    """
    ours, baseline = evaluation.tables()
    return {
        "overall": ours.overall.as_dict(),
        **_groups(ours),
        "bm25": {**baseline.overall.as_dict(), **_groups(baseline)},
        "ingest": _ingest(evaluation.ingest),
        "recall": _recall(evaluation),
        **_of_benchmark(evaluation),
        "loader": _loader(evaluation.data),
    }


def _of_benchmark(evaluation: Evaluation) -> dict[str, Any]:
    """What a benchmark has besides: "official", LongMemEval's own figures; "statements", how the notes on a turn word
    what people wrote down of it (shares of the turns with a note, ROUGE-L F over those, and over all)."""
    found: dict[str, Any] = {}
    if evaluation.data.name == longmemeval.NAME:
        found["official"] = longmemeval.official_means(
            [(one.ranking, one.conversation, one.gold) for one in evaluation.answered], evaluation.data.conversations
        )
    if evaluation.statements:
        scores = [one.rouge_l for one in evaluation.statements]
        noted = [one.rouge_l for one in evaluation.statements if one.note]
        found["statements"] = {
            "n": len(scores),
            "noted": round(len(noted) / len(scores), 4),
            "rouge_l_noted": round(statistics.fmean(noted), 4) if noted else 0.0,
            "rouge_l": round(statistics.fmean(scores), 4),
        }
    return found


def print_report(evaluation: Evaluation, console: Console) -> None:
    """The scores of each category and overall beside BM25's, what the ingest did, and what the loader repaired."""
    ours, baseline = evaluation.tables()
    console.print(_scores(ours, baseline, evaluation.data.categories))
    console.print(_pairs("Ingest", _ingest(evaluation.ingest)))
    console.print(_pairs("Recall", _recall(evaluation)))
    for title, values in _of_benchmark(evaluation).items():
        console.print(_pairs(title.capitalize(), values))
    console.print(_pairs("File", evaluation.data.counts()))
    _print_findings(evaluation.data, console)


def _groups(table: Table) -> dict[str, Any]:
    return {
        "categories_1_4": table.answerable.as_dict() if table.answerable else None,
        "categories": {category: row.as_dict() for category, row in table.categories.items()},
    }


def _ingest(ingest: Ingest) -> dict[str, float]:
    return {
        "turns": ingest.turns,
        "seconds": round(ingest.seconds, 3),
        "turns_per_second": round(ingest.turns_per_second, 1),
        "bytes": ingest.bytes,
        "bytes_per_turn": round(ingest.bytes_per_turn, 1),
        "pages": ingest.pages,
        "notes": ingest.notes,
        "admitted": ingest.admitted,
        "rejected": ingest.rejected,
        "duplicate": ingest.duplicate,
        "superseded": ingest.superseded,
        "linked": ingest.linked,
        "evolved": ingest.evolved,
        **(_asked(ingest) if ingest.llm_calls else {}),
    }


def _asked(ingest: Ingest) -> dict[str, float]:
    """What a language model was asked while the conversations were taken in."""
    return {
        "llm_calls": ingest.llm_calls,
        "llm_unreadable": ingest.llm_unreadable,
        "llm_calls_per_turn": round(ingest.calls_per_turn, 3),
        "llm_tokens_in_per_turn": round(ingest.llm_tokens_in / ingest.turns, 1),
        "llm_tokens_out_per_turn": round(ingest.llm_tokens_out / ingest.turns, 1),
    }


def _recall(evaluation: Evaluation) -> dict[str, float]:
    milliseconds = [1000 * one.seconds for one in evaluation.answered]
    return {
        "questions": len(milliseconds),
        "ms_mean": round(statistics.fmean(milliseconds), 3),
        "ms_median": round(statistics.median(milliseconds), 3),
        "ms_max": round(max(milliseconds), 3),
        "context_tokens_mean": round(statistics.fmean(one.tokens for one in evaluation.answered), 1),
        "context_tokens_max": max(one.tokens for one in evaluation.answered),
        "in_context": round(statistics.fmean(one.in_context for one in evaluation.answered), 4),
    }


def _loader(data: Benchmark) -> dict[str, Any]:
    return {**data.counts(), "findings": [_finding(finding) for finding in data.findings]}


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "problem": finding.problem,
        "where": finding.where,
        "found": finding.found,
        "kept": list(finding.kept),
        "reason": finding.reason,
    }


def _scores(ours: Table, baseline: Table, names: Mapping[str, str]) -> Grid:
    grid = Grid(title="Retrieval of evidence turns", title_justify="left", box=SIMPLE_HEAD, padding=0, pad_edge=False)
    for heading in ("questions", "method", *COLUMNS):
        grid.add_column(heading, no_wrap=True)
    for category, row in ours.categories.items():
        _add(grid, title_of(category, names), row, baseline.categories[category])
    if ours.answerable and baseline.answerable:
        _add(grid, "with an answer", ours.answerable, baseline.answerable)
    _add(grid, "overall", ours.overall, baseline.overall)
    return grid


def title_of(category: str, names: Mapping[str, str]) -> str:
    """ "1 multi-hop", "knowledge update": a category's name, after its number where it has one."""
    name = names.get(category, category)
    return f"{category} {name}" if category.isdecimal() and name != category else name


def _add(grid: Grid, name: str, ours: Row, baseline: Row) -> None:
    grid.add_row(name, "memory", *_cells(ours))
    grid.add_row(f"  n = {ours.n}", "BM25", *_cells(baseline), style="dim")


def _cells(row: Row) -> list[str]:
    """The figures of each column, four characters each: "0.608" is written ".608", a whole "1.00"."""
    return [" ".join(f"{row.values[name]:.3f}".removeprefix("0")[:4] for name in names) for names in COLUMNS.values()]


def _pairs(title: str, values: dict[str, Any]) -> Grid:
    grid = Grid(title=title, title_justify="left", show_header=False)
    grid.add_column()
    grid.add_column(justify="right")
    for name, value in values.items():
        grid.add_row(name.replace("_", " "), f"{value:,}")
    return grid


def _print_findings(data: Benchmark, console: Console) -> None:
    labels = [finding for finding in data.findings if finding.problem != "empty_session"]
    for finding in labels[:FINDINGS_SHOWN]:
        kept = f" -> {', '.join(finding.kept)}" if finding.kept else ""
        line = f"{finding.where}: {finding.problem.replace('_', ' ')}: {finding.found!r}{kept} ({finding.reason})"
        console.print(line, markup=False, highlight=False)
    if len(labels) > FINDINGS_SHOWN:
        console.print(f"and {len(labels) - FINDINGS_SHOWN} more: --json lists all", markup=False)
