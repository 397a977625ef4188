"""The report of one or more runs: one HTML file that loads nothing, and the same tables in Markdown."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from statistics import fmean
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from memstrata.embed.base import require
from memstrata.evaluation import charts
from memstrata.evaluation.answering import WITH_ANSWER
from memstrata.evaluation.compare import Interval, figures_of
from memstrata.evaluation.notes import NoteMap
from memstrata.evaluation.outcome import Answered
from memstrata.evaluation.rows import TABLES, Run, ages_of, categories, differences, frac10, title_of, written
from memstrata.evaluation.table import cell, markdown

Projection = Literal["pca", "tsne", "none"]
CURVE = 20
MAPPED = 3000  # notes of a map, all runs together: a map of more is a blot, and t-SNE takes minutes


def html(runs: Sequence[Run], *, projection: Projection = "pca", seed: int = 0) -> str:
    """The whole page. The first run is what the others are compared with."""
    tables = {title: rows for title, table in TABLES if (rows := table(runs, seed))}
    plots = _plots(runs, seed)
    body = [f"<h1>{escape(title_of(runs))}</h1>"]
    for title in dict.fromkeys((TABLES[0][0], *plots, *tables)):
        body.append(f"<h2>{escape(title)}</h2>{plots.get(title, '')}")
        if title in tables:
            body.append(_html_table(tables[title]))
    if projection != "none" and sum(len(each.vectors) for run in runs for each in run.maps) > 2:
        body.append(f"<h2>Notes in two dimensions ({projection})</h2>{_maps(runs, projection, seed)}")
    style = (files("memstrata.evaluation") / "page.css").read_text(encoding="utf-8")
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title_of(runs))}</title><style>{style}</style>"
    )
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>'


def as_markdown(runs: Sequence[Run], *, seed: int = 0) -> str:
    """The tables of the page."""
    parts = [f"# {title_of(runs)}\n"]
    for title, table in TABLES:
        if rows := table(runs, seed):
            parts.append(
                f"## {title}\n\n{markdown([{name: written(each) for name, each in row.items()} for row in rows])}"
            )
    return "\n".join(parts)


def _html_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows in a box of their own that scrolls where they are wider than the page."""
    words = [name for name in rows[0] if all(isinstance(row[name], str) for row in rows)]

    def cells(row: Mapping[str, Any], kind: str) -> str:
        marks = {name: ' class="words"' if name in words else "" for name in row}
        return "".join(f"<{kind}{marks[name]}>{value}</{kind}>" for name, value in row.items())

    head = cells({name: escape(name) for name in rows[0]}, "th")
    body = "".join(f"<tr>{cells({name: _cell(each) for name, each in row.items()}, 'td')}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(value: Any) -> str:
    if isinstance(value, Interval):
        return f"{cell(value.mean)}<small>{cell(value.low)} to {cell(value.high)}</small>"
    return escape(cell(value))


# plots ----------------------------------------------------------------------------------------------------------------


def _plots(runs: Sequence[Run], seed: int) -> dict[str, str]:
    """Each plot under its title, some of which are also a table's. A run has one colour in all of them."""
    colours = {run.name: charts.colour(n) for n, run in enumerate(runs)}
    ranking = [run for run in runs if run.ranks]
    tokens = {run.name: fmean(one.tokens for one in run.answered) for run in runs}
    held = {run.name: (tokens[run.name], fmean(one.in_context for one in run.answered)) for run in runs}
    plots = {"Quality against tokens": charts.points(held, colours, "tokens of a context", "gold turns in the context")}
    scores = {run.name: (tokens[run.name], f1) for run in runs if (f1 := _answer_f1(run)) is not None}
    if scores:
        plots["Answers against tokens"] = charts.points(scores, colours, "tokens of a context", "F1 of the answers")
    if found := differences(runs, seed):
        bounds = {name: each[0].difference for name, each in found}
        spans = {name: (each.mean, each.low, each.high) for name, each in bounds.items()}
        plots["Differences from the first"] = charts.whiskers(spans, colours, f"frac@10 less {runs[0].name}'s")
    if ranking:
        named, ages = categories(ranking), ages_of(ranking)
        by_category = {run.name: [_frac10(run, name) for name in named] for run in ranking}
        by_age = {run.name: [frac10(run, low, high) for low, high in ages.values()] for run in ranking}
        curves = {run.name: _curve(run.answered) for run in ranking}
        times = {run.name: _shares(run) for run in ranking}
        plots |= {
            "Recall at k": charts.lines(curves, colours, "k distinct turns", "fraction of gold turns"),
            "By category": charts.bars(list(named.values()), by_category, colours, "frac@10"),
            "By age of the evidence": charts.bars(list(ages), by_age, colours, "frac@10"),
            "Latency of a recall": charts.lines(times, colours, "ms", "share of recalls below", log=True),
        }
    return plots


def _answer_f1(run: Run) -> float | None:
    return next((row["locomo_f1"] for row in run.answers if row["category"] == WITH_ANSWER), None)


def _curve(answered: Sequence[Answered]) -> list[tuple[float, float]]:
    """frac@k for each k from 1 to CURVE."""
    return [
        (float(k), fmean(len(set(one.ranking[:k]) & set(one.gold)) / len(set(one.gold)) for one in answered))
        for k in range(1, CURVE + 1)
    ]


def _frac10(run: Run, category: str) -> float | None:
    values = [figures_of(one)["frac@10"] for one in run.answered if one.category == category]
    return fmean(values) if values else None


def _shares(run: Run) -> list[tuple[float, float]]:
    """The share of recalls that took at most so many milliseconds."""
    taken = sorted(1000 * one.seconds for one in run.answered)
    return [(each, (n + 1) / len(taken)) for n, each in enumerate(taken)]


# map ------------------------------------------------------------------------------------------------------------------


def _maps(runs: Sequence[Run], projection: Projection, seed: int) -> str:
    """Every run's notes in one common projection, a panel a run: what links and evolution do to them is seen."""
    mapped = [run for run in runs if any(len(each.vectors) for each in run.maps)]
    share = MAPPED // len(mapped)
    joined = [_cut(run.maps, share) for run in mapped]
    places = project(np.concatenate([each.vectors for each in joined]).astype(np.float32), projection, seed)
    low, high = places.min(axis=0), places.max(axis=0)
    bounds = (float(low[0]), float(high[0]), float(low[1]), float(high[1]))
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
