"""The commands over runs that are done, and over answers: compare, report, answer, score."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memstrata.cli.common import bar, emit, stderr
from memstrata.cli.options import Json

if TYPE_CHECKING:
    from memstrata.evaluation.compare import Difference
    from memstrata.evaluation.folder import RunFolder

PATIENCE = 900.0  # seconds for an answer: a local model on a busy machine is slow, and nobody waits for it
Seed = Annotated[int, typer.Option(help="Of the resampling and of samples.")]
Runs = Annotated[list[Path], typer.Argument(exists=True, file_okay=False, help="Run folders.")]


def compare(
    first: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="A run folder.")],
    second: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="Another.")],
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Two runs question by question: differences with paired bootstrap intervals."""
    from dataclasses import asdict

    from memstrata.evaluation.compare import compare as compared
    from memstrata.evaluation.folder import RunFolder

    one, other = ([a for each in RunFolder(path).outcomes() for a in each.answered] for path in (first, second))
    found = compared(one, other, seed=seed)
    if json:
        emit([asdict(each) for each in found], json)
        return
    print_rows([row_of(each, first.name, second.name, whole=False) for each in found], json)


Llm = Annotated[str, typer.Option(help="openai:NAME, anthropic:NAME, local:PATH.gguf, ...")]
Judge = Annotated[str | None, typer.Option(help="The model that grades the answers, twice.")]
BaseUrl = Annotated[str | None, typer.Option(help="Endpoint of openai:NAME.")]
Sample = Annotated[int | None, typer.Option(min=1, help="Only so many questions, the same for a seed.")]


def answer(
    run: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="A run folder with contexts.")],
    llm: Llm,
    judge: Judge = None,
    base_url: BaseUrl = None,
    sample: Sample = None,
    at_once: Annotated[int, typer.Option(min=1, help="Calls under way at once.")] = 4,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Let a model answer a run's questions from their contexts, and score the answers as the field's programs do."""
    from memstrata.evaluation.folder import RunFolder

    rows = answers_of(RunFolder(run), llm, judge, base_url, sample, seed, at_once)
    print_rows(rows if json else across(rows), json)
    print_agreement(RunFolder(run))


def answers_of(
    folder: RunFolder,
    llm: str,
    judge: str | None,
    base_url: str | None,
    sample: int | None,
    seed: int,
    at_once: int = 4,
) -> list[dict[str, Any]]:
    """Has the models answer and grade what is not there yet; the scores by category and overall."""
    import asyncio

    from memstrata.embed import create_embedder
    from memstrata.evaluation import answering
    from memstrata.llm.registry import create_llm

    async def work() -> list[dict[str, Any]]:
        with bar("answers") as progress:
            done = itertools.count(1)
            model = create_llm(llm, base_url=base_url, timeout=PATIENCE)
            tick = lambda: progress("answers", next(done), sample or 0)  # noqa: E731
            await answering.answer_run(folder, model, count=sample, seed=seed, at_once=at_once, done=tick)
            await model.close()
            if judge is not None:
                grader = create_llm(judge, base_url=base_url, timeout=PATIENCE)
                await answering.judge_run(folder, grader, at_once=at_once, done=tick)
                await grader.close()
        embedder = create_embedder("minilm")
        rows = await answering.answer_rows(folder, embedder=embedder)
        await embedder.close()
        return rows

    return asyncio.run(work())


def print_agreement(folder: RunFolder) -> None:
    """How far the judge agrees with itself, where there is one, to stderr."""
    from memstrata.evaluation.answering import judge_agreement

    agreed = judge_agreement(folder)
    if agreed is not None:
        text = f"the judge agrees with itself on {agreed.share:.3f} of {agreed.n} answers (kappa {agreed.kappa:.3f})"
        stderr().print(text)


def score(
    path: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="Answers as JSON or JSON Lines.")],
    judge: Annotated[
        str | None, typer.Option(help="A model that is held against the file's own verdicts (llm_score) instead.")
    ] = None,
    base_url: BaseUrl = None,
    sample: Annotated[int | None, typer.Option(min=1, help="Only so many answers for the judge.")] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Answers that any program gave, under every definition of the field: {answer, response, category} each."""
    import asyncio

    from memstrata.evaluation.answering import judge_file, score_file
    from memstrata.llm.registry import create_llm

    if judge is None:
        rows = score_file(path)
        print_rows(rows if json else across(rows), json)
        return

    async def work() -> dict[str, Any]:
        grader = create_llm(judge, base_url=base_url, timeout=PATIENCE)
        with bar("verdicts") as progress:
            done = itertools.count(1)
            tick = lambda: progress("verdicts", next(done), sample or 0)  # noqa: E731
            try:
                found = await judge_file(path, grader, count=sample, seed=seed, done=tick)
            finally:
                await grader.close()
        agreed = found.agreement
        shares = {"judged": found.judged, "given": found.given}
        return {"judge": grader.name, "n": agreed.n, **shares, "agree": agreed.share, "kappa": agreed.kappa}

    print_rows([asyncio.run(work())], json)


def report(
    runs: Runs,
    html: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    markdown: Annotated[Path | None, typer.Option(help="The tables as Markdown, too.")] = None,
    map_: Annotated[str, typer.Option("--map", help="The notes in two dimensions: pca, tsne or none.")] = "pca",
    seed: Seed = 0,
) -> None:
    """One self-contained page of tables and plots over runs; the others are compared with the first."""
    from memstrata.evaluation import page
    from memstrata.evaluation.folder import RunFolder
    from memstrata.evaluation.rows import read_runs

    if map_ not in ("pca", "tsne", "none"):
        raise typer.BadParameter(f"{map_!r} is none of pca, tsne, none", param_hint="--map")
    read = read_runs([RunFolder(path) for path in runs])
    projection: page.Projection = "tsne" if map_ == "tsne" else "pca" if map_ == "pca" else "none"
    html.write_text(page.html(read, projection=projection, seed=seed), encoding="utf-8")
    if markdown is not None:
        markdown.write_text(page.as_markdown(read, seed=seed), encoding="utf-8")
    stderr().print(f"{html}: {len(read)} runs")


def row_of(found: Difference, first: str, second: str, *, whole: bool) -> dict[str, Any]:
    """A difference as a row: whole for programs, for people with its interval in one cell."""
    from memstrata.evaluation.table import cell, chance

    row = {"figure": found.figure, "n": found.n, first: found.first, second: found.second}
    mean, low, high = found.difference.mean, found.difference.low, found.difference.high
    if whole:
        return row | {"difference": mean, "low": low, "high": high, "p": found.p}
    return row | {"difference": f"{cell(mean)} [{cell(low)}, {cell(high)}]", "p": chance(found.p)}


def across(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a figure, one column a category: there are more figures than a terminal has room for."""
    figures = [name for name in rows[0] if name != "category"]
    return [{"figure": name, **{row["category"]: row.get(name) for row in rows}} for name in figures]


def print_rows(rows: list[dict[str, Any]], json: bool) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from memstrata.evaluation.table import cell

    if json:
        emit(rows, json)
        return
    grid = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for head in rows[0]:
        words = isinstance(rows[0][head], str)
        grid.add_column(head, justify="left" if words else "right", no_wrap=True)
    for row in rows:
        grid.add_row(*(cell(value) for value in row.values()))
    Console(highlight=False).print(grid)
