"""The report of one or more runs: one HTML file that loads nothing, and the same tables in Markdown."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from statistics import fmean, quantiles
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from memstrata.embed.base import require
from memstrata.evaluation import charts
from memstrata.evaluation.answering import ANSWERS, answer_rows
from memstrata.evaluation.compare import Interval, figures_of, intervals
from memstrata.evaluation.folder import RunFolder
from memstrata.evaluation.notes import NoteMap
from memstrata.evaluation.outcome import Answered, Outcome
from memstrata.evaluation.retrieval import METRICS
from memstrata.evaluation.systems import Ingest
from memstrata.evaluation.table import cell, markdown

Projection = Literal["pca", "tsne", "none"]
AGES = (0.0, 7.0, 30.0, 90.0, 180.0, float("inf"))  # days from the newest evidence to the question
CURVE = 20
MAPPED = 3000  # notes of a map, all runs together: a map of more is a blot, and t-SNE takes minutes
STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:1000px;margin:2rem auto;padding:0 1rem;color:#0f172a}
table{border-collapse:collapse;margin:1rem 0;font-size:13px}td,th{padding:.25rem .6rem;text-align:right}
td:first-child,th:first-child{text-align:left}tr:nth-child(even){background:#f1f5f9}th{border-bottom:2px solid #64748b}
svg{width:100%;max-width:760px;font:11px system-ui,sans-serif}.legend span{margin-right:1rem;font-size:13px}
.legend i{display:inline-block;width:.8em;height:.8em;margin-right:.3em}.maps{display:flex;flex-wrap:wrap}
.maps figure{flex:1 1 45%;margin:.5rem}figcaption{font-size:13px}
"""


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
        runs.append(Run(name, manifest, answered, _ingest(outcomes), tuple(folder.maps()), answers))
    return runs


def _ingest(outcomes: Sequence[Outcome]) -> Ingest:
    return Ingest.total([outcome.ingest for outcome in outcomes])


def html(runs: Sequence[Run], *, projection: Projection = "pca", seed: int = 0) -> str:
    """The whole page."""
    sections = [(title, table(runs, seed)) for title, table in TABLES]
    body = [f"<h1>{escape(_title(runs))}</h1>"]
    body += [f"<h2>{escape(title)}</h2>{_html_table(rows)}" for title, rows in sections if rows]
    body += [f"<h2>{escape(title)}</h2>{plot}" for title, plot in _plots(runs) if plot]
    if projection != "none" and sum(len(each.vectors) for run in runs for each in run.maps) > 2:
        body.append(f"<h2>Notes in two dimensions ({projection})</h2>{_maps(runs, projection, seed)}")
    head = f'<meta charset="utf-8"><title>{escape(_title(runs))}</title><style>{STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>'


def as_markdown(runs: Sequence[Run], *, seed: int = 0) -> str:
    """The tables of the page."""
    parts = [f"# {_title(runs)}\n"]
    for title, table in TABLES:
        if rows := table(runs, seed):
            parts.append(f"## {title}\n\n{markdown(rows)}")
    return "\n".join(parts)


def _title(runs: Sequence[Run]) -> str:
    return " and ".join(dict.fromkeys(str(run.manifest["benchmark"]) for run in runs)) + ": evaluation"


# tables ---------------------------------------------------------------------------------------------------------------


def _overall(runs: Sequence[Run], seed: int) -> list[dict[str, Any]]:
    rows = []
    for run in runs:
        values = [figures_of(one) for one in run.answered]
        found = intervals({name: [each[name] for each in values] for name in METRICS}, seed=seed)
        row: dict[str, Any] = {"run": run.name, "n": len(values)}
        row |= {name: _with_bounds(found[name]) if run.ranks else None for name in METRICS}
        row["in context"] = fmean(each["in_context"] for each in values)
        row["tokens"] = fmean(each["tokens"] for each in values)
        rows.append(row)
    return rows


def _with_bounds(found: Interval) -> str:
    return f"{cell(found.mean)} [{cell(found.low)}, {cell(found.high)}]"


def _by_category(runs: Sequence[Run], _seed: int) -> list[dict[str, Any]]:
    rows = []
    for name, label in _categories(runs).items():
        row: dict[str, Any] = {"category": label}
        for run in runs:
            values = [figures_of(one) for one in run.answered if one.category == name]
            figure = "frac@10" if run.ranks else "in_context"
            row[f"{run.name}: n"] = len(values)
            row[f"{run.name}: {figure}"] = fmean(each[figure] for each in values) if values else None
        rows.append(row)
    return rows


def _answers(runs: Sequence[Run], _seed: int) -> list[dict[str, Any]]:
    return [{"run": run.name, **row} for run in runs for row in run.answers]


def _latency(runs: Sequence[Run], _seed: int) -> list[dict[str, Any]]:
    rows = []
    for run in runs:
        milliseconds = sorted(1000 * one.seconds for one in run.answered)
        if run.ranks and len(milliseconds) > 1:
            cuts = quantiles(milliseconds, n=100)
            rows.append(
                {
                    "run": run.name,
                    "mean ms": fmean(milliseconds),
                    "median": cuts[49],
                    "p95": cuts[94],
                    "max": milliseconds[-1],
                }
            )
    return rows


def _ingests(runs: Sequence[Run], _seed: int) -> list[dict[str, Any]]:
    return [
        {
            "run": run.name,
            "turns": run.ingest.turns,
            "turns/s": run.ingest.turns_per_second,
            "bytes a turn": run.ingest.bytes_per_turn,
            "LLM calls a turn": run.ingest.calls_per_turn,
            "LLM tokens a turn": run.ingest.tokens_per_turn,
            "notes": run.ingest.notes,
            "admitted": run.ingest.admitted,
            "rejected": run.ingest.rejected,
            "links": run.ingest.linked,
            "evolved": run.ingest.evolved,
        }
        for run in runs
    ]


def _settings(runs: Sequence[Run], _seed: int) -> list[dict[str, Any]]:
    rows = []
    for run in runs:
        system, options = run.manifest["system"], run.manifest["options"]
        given = ", ".join(f"{name}={value}" for name, value in system["settings"].items())
        kept = ", ".join(f"{name} {value}" for name, value in run.manifest["versions"].items())
        rows.append(
            {
                "run": run.name,
                "settings": given or "default",
                "context": system["retriever"] or system["strategy"],
                "embedder": options["embedder"],
                "clock": options["clock"],
                "versions": kept,
                "started": run.manifest["started"],
            }
        )
    return rows


TABLES: Sequence[tuple[str, Callable[[Sequence[Run], int], list[dict[str, Any]]]]] = (
    ("Retrieval, with 95 % bootstrap intervals", _overall),
    ("By category", _by_category),
    ("Answers", _answers),
    ("Latency of a recall", _latency),
    ("Ingest", _ingests),
    ("Settings", _settings),
)


def _html_table(rows: Sequence[Mapping[str, Any]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell(value))}</td>' for value in row.values())}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


# plots ----------------------------------------------------------------------------------------------------------------


def _plots(runs: Sequence[Run]) -> list[tuple[str, str]]:
    ranking = [run for run in runs if run.ranks]
    tokens = {
        run.name: (fmean(one.tokens for one in run.answered), fmean(one.in_context for one in run.answered))
        for run in runs
    }
    plots = [("Quality against tokens", charts.points(tokens, "tokens of a context", "gold turns in the context"))]
    if ranking:
        curves = {run.name: _curve(run.answered) for run in ranking}
        categories = _categories(ranking)
        by_category = {
            run.name: [_frac10([one for one in run.answered if one.category == name]) for name in categories]
            for run in ranking
        }
        by_age = {
            run.name: [
                _frac10([one for one in run.answered if low <= one.age_days < high]) for low, high in pairwise(AGES)
            ]
            for run in ranking
        }
        plots += [
            ("Recall at k", charts.lines(curves, "k distinct turns", "fraction of gold turns")),
            ("By category", charts.bars(list(categories.values()), by_category, "frac@10")),
            ("By age of the evidence", charts.bars(_age_names(), by_age, "frac@10")),
            ("Latency", charts.lines({run.name: _shares(run) for run in ranking}, "ms", "share of recalls below")),
        ]
    return plots


def _curve(answered: Sequence[Answered]) -> list[tuple[float, float]]:
    """frac@k for each k from 1 to CURVE."""
    return [
        (float(k), fmean(len(set(one.ranking[:k]) & set(one.gold)) / len(set(one.gold)) for one in answered))
        for k in range(1, CURVE + 1)
    ]


def _frac10(answered: Sequence[Answered]) -> float | None:
    return fmean(figures_of(one)["frac@10"] for one in answered) if answered else None


def _shares(run: Run) -> list[tuple[float, float]]:
    """The share of recalls that took at most so many milliseconds."""
    taken = sorted(1000 * one.seconds for one in run.answered)
    return [(each, (n + 1) / len(taken)) for n, each in enumerate(taken)]


def _age_names() -> list[str]:
    return [f"{low:g}-{high:g} days" if high < AGES[-1] else f"over {low:g} days" for low, high in pairwise(AGES)]


def _categories(runs: Sequence[Run]) -> dict[str, str]:
    """The categories that any run has a question of, with their names, in the benchmark's order."""
    found = {one.category for run in runs for one in run.answered}
    names = {name: str(label) for run in runs for name, label in run.manifest["categories"].items()}
    return {name: names.get(name, name) for name in (*names, *sorted(found - set(names))) if name in found}


# map ------------------------------------------------------------------------------------------------------------------


def _maps(runs: Sequence[Run], projection: Projection, seed: int) -> str:
    """Every run's notes in one common projection, a panel a run: what links and evolution do to them is seen."""
    mapped = [run for run in runs if any(len(each.vectors) for each in run.maps)]
    share = MAPPED // len(mapped)
    joined = [_cut(run.maps, share) for run in mapped]
    places = project(np.concatenate([each.vectors for each in joined]).astype(np.float32), projection, seed)
    low, high = places.min(axis=0), places.max(axis=0)
    bounds = charts.Axes(float(low[0]), float(high[0]), float(low[1]), float(high[1]))
    figures, start = [], 0
    for run, each in zip(mapped, joined, strict=True):
        own = places[start : start + len(each.vectors)]
        start += len(each.vectors)
        plot = charts.cloud(
            [(float(x), float(y)) for x, y in own],
            [(int(a), int(b)) for a, b in each.links],
            [bool(one) for one in each.evolved],
            bounds,
        )
        caption = f"{run.name}: {len(own)} notes, {len(each.links)} links, {int(each.evolved.sum())} evolved (red)"
        figures.append(f"<figure>{plot}<figcaption>{escape(caption)}</figcaption></figure>")
    return f'<div class="maps">{"".join(figures)}</div>'


def _cut(maps: Sequence[NoteMap], most: int) -> NoteMap:
    """The notes of all conversations as one map, the first `most` of them."""
    vectors, links, evolved, start = [], [], [], 0
    kinds: list[str] = []
    for each in maps:
        if len(each.vectors):
            vectors.append(each.vectors)
            links.append(each.links + start)
            evolved.append(each.evolved)
            kinds += each.kinds
            start += len(each.vectors)
    pairs = np.concatenate(links)
    return NoteMap(
        np.concatenate(vectors)[:most],
        pairs[(pairs < most).all(axis=1)],
        np.concatenate(evolved)[:most],
        tuple(kinds[:most]),
    )


def project(vectors: NDArray[np.float32], projection: Projection, seed: int) -> NDArray[np.float64]:
    """Vectors of shape (n, dim) in two dimensions, shape (n, 2). Raises MissingExtraError without scikit-learn."""
    require("sklearn", "the map of the notes", "eval")
    if projection == "pca" or len(vectors) < 10:  # too few for neighbours
        model = importlib.import_module("sklearn.decomposition").PCA(n_components=2, random_state=seed)
    else:
        perplexity = min(30, len(vectors) // 4)
        model = importlib.import_module("sklearn.manifold").TSNE(random_state=seed, perplexity=perplexity, init="pca")
    return np.asarray(model.fit_transform(vectors), dtype=np.float64)
