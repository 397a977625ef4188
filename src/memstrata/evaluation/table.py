"""Baselines, presets, ablations and sweeps: the systems of a table, and the table that their runs make.

Each system is a run in a folder of its own below the table's folder; all share one cache of vectors, so that a text is
encoded once for the whole table.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from memstrata.errors import InputError
from memstrata.evaluation.answering import WITH_ANSWER, abstention, answer_rows, answer_run
from memstrata.evaluation.benchmark import Benchmark
from memstrata.evaluation.compare import Interval, figures_of, intervals
from memstrata.evaluation.folder import RunFolder
from memstrata.evaluation.options import Options
from memstrata.evaluation.retrieval import CUTS
from memstrata.evaluation.run import CACHE, Evaluation, run_system
from memstrata.evaluation.systems import System
from memstrata.llm.base import LLM
from memstrata.presets import LEGS, PRESETS

WHOLE = 1_000_000  # tokens: no conversation is longer
BARE: Mapping[str, Any] = {"cold": False}  # these read no notes, so none are made
BASELINES = (
    System("full context", BARE, strategy="full", ranks=False, one_session=True, max_tokens=WHOLE),
    System("window", BARE, strategy="window", ranks=False, one_session=True),
    System("summary", BARE, strategy="summary", ranks=False, one_session=True),
    System("RAG BM25", retriever="bm25"),
    System("RAG dense", retriever="dense"),
    System("RAG hybrid", retriever="hybrid"),
)
OWN = tuple(System(name, {} if name == "memstrata" else {"preset": name}) for name in PRESETS)
RECALL: Mapping[str, Any] = {"legs": LEGS, "late_interaction": True, "hops": 2}  # the default's
FOUND_BY = ("legs", "late_interaction", "hops")
STEPS = (  # from the published systems to memstrata: is it what is kept, or how it is found?
    *(System(f"{name}, all legs", {"preset": name, **RECALL}) for name in PRESETS if name != "memstrata"),
    *(
        System(f"legs of {name}", {key: given[key] for key in FOUND_BY if key in given})
        for name, given in PRESETS.items()
        if name in ("memoryos", "a-mem")
    ),
)
ABLATIONS = (
    System("notes alone", {"warm": False, "legs": tuple(leg for leg in LEGS if leg != "transcript")}),
    System("without cold", {"cold": False}),
    System("without warm", {"warm": False}),
    System("hot only", {"cold": False, "warm": False}, strategy="window", ranks=False, one_session=True),
    System("without forgetting", {"forgetting": False}),
    System("without links", {"links": False, "evolution": False}),
    System("without evolution", {"evolution": False}),
    System("without the gate", {"policy": "open"}),
    *(System(f"without leg {leg}", {"legs": tuple(each for each in LEGS if each != leg)}) for leg in LEGS),
)
SYSTEMS: Mapping[str, System] = {system.name: system for system in (*BASELINES, *OWN, *STEPS, *ABLATIONS)}

GREEK = {"K": "hot_capacity", "lambda": "forgetting_rate"}  # the papers' letters, where the setting has another name
SWEEPS: Mapping[str, tuple[float, ...]] = {
    "K": (5, 8, 10, 12, 15, 20),
    "alpha": (0.7, 0.8, 0.9, 0.95),
    "lambda": (0.01, 0.02, 0.05),
    "gamma": (0.2, 0.4, 0.6, 0.8, 1.0),
    "beta": (0.1, 0.2, 0.3, 0.4, 0.5),
    "k": (5, 10, 15, 20, 30, 40),
}
"""What `sweep` varies, one at a time with the rest at its default."""

COLUMNS = ("frac@5", "frac@10", "frac@20", "mrr", "ndcg@10")


@dataclass(frozen=True, slots=True)
class Answerer:
    """A model that answers questions of a table, and of how many (a fixed sample)."""

    open: Callable[[], LLM]
    count: int


@dataclass(frozen=True, slots=True)
class Line:
    """One system's figures. `metrics` are None for what ranks nothing; `frac10` is frac@10 with its interval.

    in_context: the fraction of gold turns that contexts stand on; tokens: of a context, mean; ms: of a recall, mean;
    llm_calls, llm_tokens: a turn taken in; notes: kept; bytes: a turn; answer_f1: the official F1 of a model's answers
    to the questions that have one, abstains: the share of the others that it says are not answered, if it was asked.
    """

    system: str
    n: int
    metrics: Mapping[str, float] | None
    frac10: Interval | None
    in_context: float
    tokens: float
    ms: float
    llm_calls: float
    llm_tokens: float
    notes: int
    bytes: float
    answer_f1: float | None = None
    abstains: float | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "system": self.system,
            "n": self.n,
            **{name: None if self.metrics is None else round(self.metrics[name], 4) for name in COLUMNS},
            "frac@10 low": None if self.frac10 is None else round(self.frac10.low, 4),
            "frac@10 high": None if self.frac10 is None else round(self.frac10.high, 4),
            "in_context": round(self.in_context, 4),
            "tokens": round(self.tokens, 1),
            "ms": round(self.ms, 2),
            "llm_calls": round(self.llm_calls, 3),
            "llm_tokens": round(self.llm_tokens, 1),
            "notes": self.notes,
            "bytes": round(self.bytes, 1),
            "answer_f1": None if self.answer_f1 is None else round(self.answer_f1, 4),
            "abstains": None if self.abstains is None else round(self.abstains, 4),
        }


def line_of(name: str, evaluation: Evaluation, *, ranks: bool = True, seed: int = 0) -> Line:
    """The row of one run."""
    answered = evaluation.answered
    values = [figures_of(one) for one in answered]
    ingest = evaluation.ingest
    return Line(
        system=name,
        n=len(answered),
        metrics={column: fmean(each[column] for each in values) for column in COLUMNS} if ranks else None,
        frac10=intervals({"frac@10": [each["frac@10"] for each in values]}, seed=seed)["frac@10"] if ranks else None,
        in_context=fmean(one.in_context for one in answered),
        tokens=fmean(one.tokens for one in answered),
        ms=1000 * fmean(one.seconds for one in answered) if ranks else 0.0,
        llm_calls=ingest.calls_per_turn,
        llm_tokens=ingest.tokens_per_turn,
        notes=ingest.notes,
        bytes=ingest.bytes_per_turn,
    )


def shown(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows as they fit on a terminal of 80 columns: ctx, the gold turns in the context; calls and asked, the calls
    and tokens of a language model a turn; notes kept; kB a turn; F1 and abst, of a model's answers, if asked."""
    asked = any(row["llm_calls"] for row in rows)
    answered = any(row["answer_f1"] is not None for row in rows)
    return [
        {
            "system": row["system"],
            "frac@5/10/20": "" if row["mrr"] is None else " ".join(cell(row[f"frac@{k}"]) for k in CUTS),
            "mrr": row["mrr"],
            "ctx": row["in_context"],
            "tokens": round(row["tokens"]),
            "ms": round(row["ms"]),
            **({"calls": row["llm_calls"], "asked": round(row["llm_tokens"])} if asked else {}),
            "notes": row["notes"],
            "kB": round(row["bytes"] / 1000, 1),
            **({"F1": row["answer_f1"], "abst": row["abstains"]} if answered else {}),
        }
        for row in rows
    ]


def chosen(names: Sequence[str]) -> list[System]:
    """The systems of these names, all when none is named. Raises InputError for one that is not known."""
    if unknown := [name for name in names if name not in SYSTEMS]:
        raise InputError(f"no such row: {unknown[0]!r}; there are: {', '.join(SYSTEMS)}")
    return [SYSTEMS[name] for name in names or SYSTEMS]


def under(system: System, settings: Mapping[str, Any]) -> System:
    """A row's system with more settings, where the row does not say otherwise; plain retrieval has none."""
    return system if system.retriever is not None else replace(system, settings={**settings, **system.settings})


def swept(over: Mapping[str, Sequence[float]], base: Mapping[str, Any]) -> list[System]:
    """A system for each value of each setting, the others as `base` has them.

    K is the window of a session that goes on: its rows have the whole conversation as one session, and contexts of what
    is recalled and the window.
    """
    systems = []
    for name, values in over.items():
        setting = GREEK.get(name, name)
        live = setting == "hot_capacity"
        for value in values:
            number: float = int(value) if float(value).is_integer() and name in ("K", "k") else value
            given = {**base, setting: number}
            row = System(f"{name} = {number:g}", given, strategy="hybrid" if live else "retrieval", one_session=live)
            systems.append(row)
    return systems


def make_table(
    data: Benchmark,
    systems: Sequence[System],
    options: Options,
    folder: Path,
    *,
    progress: bool = True,
    seed: int = 0,
    answerer: Answerer | None = None,
) -> list[Line]:
    """Runs each system (or goes on with its run) below `folder`, and writes table.json and table.md there.

    With an `answerer` a model also answers the same sample of questions from every system's contexts.
    """
    contexts = options.contexts or answerer is not None
    shared = replace(options, cache=options.cache or folder / CACHE, contexts=contexts)
    lines = []
    for system in systems:
        own = RunFolder(folder / slug(system.name))
        line = line_of(
            system.name, run_system(data, system, shared, own, progress=progress), ranks=system.ranks, seed=seed
        )
        if answerer is not None:
            f1, abstains = asyncio.run(_answered(own, answerer, seed))
            line = replace(line, answer_f1=f1, abstains=abstains)
        lines.append(line)
    rows = [line.as_dict() for line in lines]
    (folder / "table.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    (folder / "table.md").write_text(markdown(rows), encoding="utf-8")
    return lines


async def _answered(folder: RunFolder, answerer: Answerer, seed: int) -> tuple[float | None, float | None]:
    """The official F1 of a model's answers to the questions that have one; the share of the others that it declines."""
    llm = answerer.open()
    try:
        await answer_run(folder, llm, count=answerer.count, seed=seed)
    finally:
        await llm.close()
    rows = {row["category"]: row for row in await answer_rows(folder, ())}
    return rows[WITH_ANSWER]["locomo_f1"] if WITH_ANSWER in rows else None, abstention(folder)


def slug(name: str) -> str:
    """A name as a folder's."""
    return re.sub(r"[^\w.=-]+", "-", name)


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows of equal keys as a table in Markdown."""
    if not rows:
        return ""
    heads = list(rows[0])
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    lines += [f"| {' | '.join(cell(row[head]) for head in heads)} |" for row in rows]
    return "\n".join(lines) + "\n"


def cell(value: Any) -> str:
    """A figure as it is printed: "" for None, ".608" for 0.608."""
    if value is None:
        return ""
    if isinstance(value, float):
        text = f"{value:,.3f}" if abs(value) < 10 else f"{value:,.1f}"
        return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
    return f"{value:,}" if isinstance(value, int) else str(value)


def chance(p: float) -> str:
    """A p as it is printed.

    >>> chance(0.0), chance(0.035)
    ('<.001', '.035')
    """
    return "<.001" if p < 0.001 else cell(p)
