"""What runs come to, as rows of tables: for the page, for Markdown, for whoever reads them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, quantiles
from typing import Any

from memstrata.evaluation.answering import ANSWERS, answer_rows
from memstrata.evaluation.compare import Difference, Interval, compare, figures_of, intervals
from memstrata.evaluation.folder import RunFolder
from memstrata.evaluation.notes import NoteMap
from memstrata.evaluation.outcome import Answered
from memstrata.evaluation.retrieval import METRICS
from memstrata.evaluation.systems import Ingest
from memstrata.evaluation.table import cell, chance

AGES = (0.0, 7.0, 30.0, 90.0, 180.0, float("inf"))  # days from the newest evidence to the question
SHOWN = ("frac@10", "mrr", "in_context")  # of a difference
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it is read from its folder. `name` tells it from the others of the report."""

    name: str
    manifest: Mapping[str, Any]
    answered: tuple[Answered, ...]
    ingest: Ingest
    maps: tuple[NoteMap, ...]
    answers: tuple[Mapping[str, Any], ...] = ()

    @property
    def ranks(self) -> bool:
        """Whether it recalls: else only its contexts are scored."""
        return bool(self.manifest["system"]["ranks"])


def read_runs(folders: Sequence[RunFolder]) -> list[Run]:
    """The runs in these folders; folders of the same name are told apart by a number."""
    runs: list[Run] = []
    for folder in folders:
        manifest, outcomes = folder.manifest(), folder.outcomes()
        name = folder.name
        while any(run.name == name for run in runs):
            name = f"{folder.name} ({len(runs) + 1})"
        answered = tuple(one for outcome in outcomes for one in outcome.answered)
        answers = tuple(asyncio.run(answer_rows(folder))) if folder.lines(ANSWERS) else ()
        runs.append(
            Run(
                name,
                manifest,
                answered,
                Ingest.total([each.ingest for each in outcomes]),
                tuple(folder.maps()),
                answers,
            )
        )
    return runs


def title_of(runs: Sequence[Run]) -> str:
    """The benchmarks that were run."""
    return " and ".join(dict.fromkeys(str(run.manifest["benchmark"]) for run in runs)) + ": evaluation"


def written(value: Any) -> str:
    """A figure as Markdown has it: an interval beside its mean."""
    if isinstance(value, Interval):
        return f"{cell(value.mean)} [{cell(value.low)}, {cell(value.high)}]"
    return cell(value)


def differences(runs: Sequence[Run], seed: int) -> list[tuple[str, Sequence[Difference]]]:
    """What every other run has more than the first one, by name, the least first: which stage makes the difference.

    Runs that rank nothing, or share no question with the first, are left out.
    """
    first = runs[0]
    asked = {(one.conversation, one.question) for one in first.answered}
    found = [
        (run.name, compare(first.answered, run.answered, figures=SHOWN, seed=seed))
        for run in runs[1:]
        if first.ranks and run.ranks and any((one.conversation, one.question) in asked for one in run.answered)
    ]
    return sorted(found, key=lambda each: each[1][0].difference.mean)


def _overall(runs: Sequence[Run], seed: int) -> Sequence[Row]:
    rows = []
    for run in runs:
        values = [figures_of(one) for one in run.answered]
        found = intervals({name: [each[name] for each in values] for name in METRICS}, seed=seed)
        row: dict[str, Any] = {"run": run.name, "n": len(values)}
        row["in context"] = fmean(each["in_context"] for each in values)
        row["tokens"] = round(fmean(each["tokens"] for each in values))
        row |= {name: found[name] if run.ranks else None for name in METRICS}
        rows.append(row)
    return rows


def _differences(runs: Sequence[Run], seed: int) -> Sequence[Row]:
    return [
        {
            "run": name,
            "n": found[0].n,
            **{each.figure.replace("_", " "): each.difference for each in found},
            "p of frac@10": chance(found[0].p),
        }
        for name, found in differences(runs, seed)
    ]


def _by_category(runs: Sequence[Run], _seed: int) -> Sequence[Row]:
    rows = []
    for run in runs:
        figure = "frac@10" if run.ranks else "in_context"
        row: dict[str, Any] = {"run": run.name, "figure": figure.replace("_", " ")}
        for name, label in categories(runs).items():
            values = [figures_of(one)[figure] for one in run.answered if one.category == name]
            row[label] = fmean(values) if values else None
        rows.append(row)
    counts = {label: sum(one.category == name for one in runs[0].answered) for name, label in categories(runs).items()}
    return [{"run": "questions", "figure": "n", **counts}, *rows]


def _by_age(runs: Sequence[Run], _seed: int) -> Sequence[Row]:
    ages = ages_of(runs)
    return [
        {"run": run.name, **{name: frac10(run, low, high) for name, (low, high) in ages.items()}}
        for run in runs
        if run.ranks
    ]


def _answers(runs: Sequence[Run], _seed: int) -> Sequence[Row]:
    return [{"run": run.name, **row} for run in runs for row in run.answers]


def _latency(runs: Sequence[Run], _seed: int) -> Sequence[Row]:
    rows = []
    for run in runs:
        taken = sorted(1000 * one.seconds for one in run.answered)
        if run.ranks and len(taken) > 1:
            cuts = quantiles(taken, n=100)
            figures = {"mean ms": fmean(taken), "median": cuts[49], "p95": cuts[94], "max": taken[-1]}
            rows.append({"run": run.name, **figures})
    return rows


def _ingests(runs: Sequence[Run], _seed: int) -> Sequence[Row]:
    return [
        {
            "run": run.name,
            "turns": run.ingest.turns,
            "turns/s": run.ingest.turns_per_second,
            "bytes a turn": round(run.ingest.bytes_per_turn),
            "LLM calls a turn": run.ingest.calls_per_turn,
            "LLM tokens a turn": round(run.ingest.tokens_per_turn),
            "notes": run.ingest.notes,
            "admitted": run.ingest.admitted,
            "rejected": run.ingest.rejected,
            "links": run.ingest.linked,
            "evolved": run.ingest.evolved,
        }
        for run in runs
    ]


def _settings(runs: Sequence[Run], _seed: int) -> Sequence[Row]:
    rows = []
    for run in runs:
        system, options = run.manifest["system"], run.manifest["options"]
        rows.append(
            {
                "run": run.name,
                "settings": ", ".join(f"{name}={_set(value)}" for name, value in system["settings"].items())
                or "default",
                "context": system["retriever"] or system["strategy"],
                "embedder": options["embedder"],
                "clock": options["clock"],
                "started": run.manifest["started"][:16].replace("T", " "),
            }
        )
    return rows


def _set(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _versions(runs: Sequence[Run], _seed: int) -> Sequence[Row]:
    """The versions of each run, or once where all have the same."""
    kept = {run.name: ", ".join(f"{name} {value}" for name, value in run.manifest["versions"].items()) for run in runs}
    if len(set(kept.values())) == 1:
        kept = {"all": kept[runs[0].name]}
    return [{"run": name, "versions": text} for name, text in kept.items()]


TABLES: Sequence[tuple[str, Callable[[Sequence[Run], int], Sequence[Row]]]] = (
    ("Retrieval, with 95 % bootstrap intervals", _overall),
    ("Differences from the first", _differences),
    ("By category", _by_category),
    ("By age of the evidence", _by_age),
    ("Answers", _answers),
    ("Latency of a recall", _latency),
    ("Ingest", _ingests),
    ("Settings", _settings),
    ("Versions", _versions),
)


def frac10(run: Run, low: float, high: float) -> float | None:
    """frac@10 over the questions whose newest evidence is so many days old; None without any."""
    values = [figures_of(one)["frac@10"] for one in run.answered if low <= one.age_days < high]
    return fmean(values) if values else None


def ages_of(runs: Sequence[Run]) -> dict[str, tuple[float, float]]:
    """The spans of AGES that any question falls into, by name."""
    return {
        f"{low:g}-{high:g} days" if high < AGES[-1] else f"over {low:g} days": (low, high)
        for low, high in pairwise(AGES)
        if any(low <= one.age_days < high for run in runs for one in run.answered)
    }


def categories(runs: Sequence[Run]) -> dict[str, str]:
    """The categories that any run has a question of, with their names, in the benchmark's order."""
    found = {one.category for run in runs for one in run.answered}
    names = {name: str(label) for run in runs for name, label in run.manifest["categories"].items()}
    return {name: names.get(name, name) for name in (*names, *sorted(found - set(names))) if name in found}
