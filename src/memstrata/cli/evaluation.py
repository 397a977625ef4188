"""The commands that measure: one for each benchmark, and those over runs: table, sweep, replay, compare, report."""

from __future__ import annotations

import itertools
import json as jsonlib
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memstrata.cli.common import bar, emit, stderr
from memstrata.cli.options import Embedder, Json
from memstrata.errors import InputError

if TYPE_CHECKING:
    from memstrata.evaluation.benchmark import Benchmark
    from memstrata.evaluation.compare import Difference
    from memstrata.evaluation.run import Evaluation, Options

    Loader = Callable[[Path], Benchmark]

File = Annotated[Path, typer.Argument(exists=True, help="The file, or for BEAM the folder of chats.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Only the first conversations.")]
Out = Annotated[Path | None, typer.Option(help="The run folder; a run that was cut is gone on with.")]
TableOut = Annotated[Path, typer.Option(help="The folder of the runs; what is done there is not done again.")]
Cache = Annotated[Path | None, typer.Option(help="A folder of vectors, shared by runs with the same embedder.")]
Jobs = Annotated[int, typer.Option(min=1, help="Processes.")]
Keep = Annotated[Path | None, typer.Option(help="Keep the store that is made, here.")]
Preset = Annotated[str | None, typer.Option(help="memstrata, memoryos, a-mem or a-mac.")]
Set = Annotated[list[str] | None, typer.Option("--set", help="A setting, such as gamma=0.8; may repeat.")]
Clock = Annotated[str, typer.Option(help="said: a clock moves with the sessions; now: all is taken in at once.")]
Tokens = Annotated[int, typer.Option(min=1, help="The budget of a context.")]
Contexts = Annotated[bool, typer.Option("--contexts", help="Keep every context: `answer` needs them.")]
Seed = Annotated[int, typer.Option(help="Of the resampling and of samples.")]
Names = Annotated[list[str] | None, typer.Option("--row", help="Only this row; may repeat.")]
Runs = Annotated[list[Path], typer.Argument(exists=True, file_okay=False, help="Run folders.")]


BENCHMARKS: Mapping[str, tuple[str, str, str]] = {  # command: module, loader, help
    "locomo": ("locomo", "load_locomo", "Retrieval of evidence turns, beside BM25 in the same run."),
    "beam": ("beam", "load_beam", "Retrieval of the messages that BEAM's questions name."),
    "longmemeval": (
        "longmemeval",
        "load_longmemeval",
        "Retrieval on LongMemEval, with its official figures over sessions and the user's turns.",
    ),
    "msc": (
        "msc",
        "load_msc",
        "Multi-Session Chat: the turn behind each sentence that people wrote down, and the note made of it.",
    ),
    "jsonl": ("questions", "load_questions", "Your own conversations and questions (see docs/evaluation.md)."),
}


def benchmark_command(name: str) -> Callable[..., None]:
    """The command of one of BENCHMARKS: they differ only in what they read."""
    module, loader, shown = BENCHMARKS[name]

    def command(
        path: File,
        limit: Limit = None,
        out: Out = None,
        cache: Cache = None,
        jobs: Jobs = 1,
        keep: Keep = None,
        preset: Preset = None,
        settings: Set = None,
        clock: Clock = "now",
        max_tokens: Tokens = 2500,
        contexts: Contexts = False,
        embedder: Embedder = None,
        json: Json = False,
    ) -> None:
        load: Loader = getattr(import_module(f"memstrata.evaluation.{module}"), loader)
        options = _options(cache, jobs, keep, clock, max_tokens, embedder, contexts)
        _benchmark(_limited(load(path), limit), out, options, _settings(preset, settings), json)

    command.__name__, command.__doc__ = name, shown
    return command


def table(
    path: File,
    out: TableOut,
    rows: Names = None,
    limit: Limit = None,
    cache: Cache = None,
    jobs: Jobs = 1,
    clock: Clock = "said",
    max_tokens: Tokens = 2500,
    llm: Annotated[str | None, typer.Option(help="A model that answers a sample of the questions.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Endpoint of openai:NAME.")] = None,
    sample: Annotated[int, typer.Option(min=1, help="Questions that it answers.")] = 100,
    seed: Seed = 0,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Baselines, presets and ablations in one table: the same questions, the same embedder."""
    from memstrata.evaluation.table import Answerer, chosen, make_table, shown
    from memstrata.llm.registry import create_llm

    data = _limited(_load(path), limit)
    options = _options(cache, jobs, None, clock, max_tokens, embedder)
    answerer = None if llm is None else Answerer(lambda: create_llm(llm, base_url=base_url), sample)
    shows = stderr().is_terminal
    lines = make_table(data, chosen(rows or ()), options, out, progress=shows, seed=seed, answerer=answerer)
    found = [line.as_dict() for line in lines]
    _print_rows(found if json else shown(found), json)


def sweep(
    path: File,
    out: TableOut,
    over: Annotated[
        list[str] | None, typer.Option(help="A setting and its values, such as alpha=0.8,0.9; may repeat.")
    ] = None,
    preset: Preset = None,
    settings: Set = None,
    limit: Limit = None,
    cache: Cache = None,
    jobs: Jobs = 1,
    clock: Clock = "said",
    max_tokens: Tokens = 2500,
    seed: Seed = 0,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """One setting at a time over its values: K, alpha, lambda, gamma, beta and k, or those given."""
    from memstrata.evaluation.table import SWEEPS, make_table, shown, swept

    data = _limited(_load(path), limit)
    systems = swept(_values(over) if over else SWEEPS, _settings(preset, settings))
    options = _options(cache, jobs, None, clock, max_tokens, embedder)
    lines = make_table(data, systems, options, out, progress=stderr().is_terminal, seed=seed)
    found = [line.as_dict() for line in lines]
    _print_rows(found if json else shown(found), json)


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
    _print_rows([_row(each, first.name, second.name, whole=False) for each in found], json)


def replay(
    path: File,
    out: TableOut,
    limit: Limit = None,
    cache: Cache = None,
    jobs: Jobs = 1,
    max_tokens: Tokens = 2500,
    seed: Seed = 0,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Ask half of the questions while the conversation goes on: do accesses, and the tiers' scores, help the others?"""
    from memstrata.evaluation.replay import replay as replayed

    data = _limited(_load(path), limit)
    options = _options(cache, jobs, None, "said", max_tokens, embedder)
    found = replayed(data, options, out, progress=stderr().is_terminal, seed=seed)
    rows = [
        {"against": name, **_row(each, "without", "with", whole=json)}
        for name, figures in found.differences
        for each in figures
    ]
    _print_rows(rows, json)


def answer(
    run: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="A run folder with contexts.")],
    llm: Annotated[str, typer.Option(help="openai:NAME, anthropic:NAME, local:PATH.gguf, ...")],
    judge: Annotated[str | None, typer.Option(help="The model that grades the answers, twice.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Endpoint of openai:NAME.")] = None,
    sample: Annotated[int | None, typer.Option(min=1, help="Only so many questions, the same for a seed.")] = None,
    at_once: Annotated[int, typer.Option(min=1, help="Calls under way at once.")] = 4,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Let a model answer a run's questions from their contexts, and score the answers as the field's programs do."""
    import asyncio

    from memstrata.embed import create_embedder
    from memstrata.evaluation import answering
    from memstrata.evaluation.folder import RunFolder
    from memstrata.llm.registry import create_llm

    folder = RunFolder(run)

    async def work() -> list[dict[str, Any]]:
        with bar("answers") as progress:
            done = itertools.count(1)
            model = create_llm(llm, base_url=base_url)
            tick = lambda: progress("answers", next(done), sample or 0)  # noqa: E731
            await answering.answer_run(folder, model, count=sample, seed=seed, at_once=at_once, done=tick)
            await model.close()
            if judge is not None:
                grader = create_llm(judge, base_url=base_url)
                await answering.judge_run(folder, grader, at_once=at_once, done=tick)
                await grader.close()
        embedder = create_embedder("minilm")
        rows = await answering.answer_rows(folder, embedder=embedder)
        await embedder.close()
        return rows

    _print_rows(asyncio.run(work()), json)
    agreed = answering.judge_agreement(folder)
    if agreed is not None:
        text = f"the judge agrees with itself on {agreed.share:.3f} of {agreed.n} answers (kappa {agreed.kappa:.3f})"
        stderr().print(text)


def report(
    runs: Runs,
    html: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    markdown: Annotated[Path | None, typer.Option(help="The tables as Markdown, too.")] = None,
    map_: Annotated[str, typer.Option("--map", help="The notes in two dimensions: pca, tsne or none.")] = "pca",
    seed: Seed = 0,
) -> None:
    """One self-contained page of tables and plots over runs."""
    from memstrata.evaluation import page
    from memstrata.evaluation.folder import RunFolder

    if map_ not in ("pca", "tsne", "none"):
        raise typer.BadParameter(f"{map_!r} is none of pca, tsne, none", param_hint="--map")
    read = page.read_runs([RunFolder(path) for path in runs])
    projection: page.Projection = "tsne" if map_ == "tsne" else "pca" if map_ == "pca" else "none"
    html.write_text(page.html(read, projection=projection, seed=seed), encoding="utf-8")
    if markdown is not None:
        markdown.write_text(page.as_markdown(read, seed=seed), encoding="utf-8")
    stderr().print(f"{html}: {len(read)} runs")


def _options(
    cache: Path | None,
    jobs: int,
    keep: Path | None,
    clock: str,
    max_tokens: int,
    embedder: str | None,
    contexts: bool = False,
) -> Options:
    from memstrata.evaluation.run import Options

    if clock not in ("said", "now"):
        raise typer.BadParameter(f"{clock!r} is neither said nor now", param_hint="--clock")
    if keep is not None and keep.exists():
        raise InputError(f"{keep}: exists; the evaluation needs a new store")
    return Options(
        embedder=embedder or "minilm",
        cache=cache,
        clock="said" if clock == "said" else "now",
        max_tokens=max_tokens,
        jobs=jobs,
        store=keep,
        contexts=contexts,
    )


def _settings(preset: str | None, given: list[str] | None) -> dict[str, Any]:
    """Settings from "name=value"; a value is read as JSON where it is some, and commas make a list of legs."""
    found: dict[str, Any] = {} if preset is None else {"preset": preset}
    for each in given or ():
        name, equals, text = each.partition("=")
        if not equals:
            raise typer.BadParameter(f"{each!r} is not written as name=value", param_hint="--set")
        found[name] = text.split(",") if name == "legs" else _json_or_text(text)
    return found


def _json_or_text(text: str) -> Any:
    try:
        return jsonlib.loads(text)
    except ValueError:
        return text


def _values(over: list[str]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for each in over:
        name, _, values = each.partition("=")
        try:
            found[name] = [float(value) for value in values.split(",")]
        except ValueError as error:
            raise typer.BadParameter(f"{each!r} is not written as alpha=0.8,0.9", param_hint="--over") from error
    return found


def _load(path: Path) -> Benchmark:
    """A benchmark of whichever schema: a folder is BEAM's, .jsonl a user's own or chains, .json LoCoMo's or
    LongMemEval's."""
    from memstrata.evaluation.beam import load_beam
    from memstrata.evaluation.locomo import load_locomo
    from memstrata.evaluation.longmemeval import load_longmemeval
    from memstrata.evaluation.msc import load_msc
    from memstrata.evaluation.questions import load_questions
    from memstrata.evaluation.schema import read_json, read_lines

    if path.is_dir():
        return load_beam(path)
    if ".jsonl" in path.suffixes:
        _, first = next(read_lines(path), ("", {}))
        return load_msc(path) if "initial_data_id" in first else load_questions(path)
    data = read_json(path)
    official = isinstance(data, list) and data and isinstance(data[0], dict) and "haystack_sessions" in data[0]
    return load_longmemeval(path) if official else load_locomo(path)


def _limited(data: Benchmark, limit: int | None) -> Benchmark:
    return data if limit is None else data.first(limit)


def _benchmark(data: Benchmark, out: Path | None, options: Options, settings: Mapping[str, Any], json: bool) -> None:
    """Run one benchmark under some settings and print its figures."""
    from rich.console import Console

    from memstrata.evaluation.folder import RunFolder
    from memstrata.evaluation.report import print_report, to_json
    from memstrata.evaluation.run import run_system
    from memstrata.evaluation.systems import System

    name = ", ".join(f"{key}={value}" for key, value in settings.items()) or "memstrata"
    with _folder(out) as folder:
        result: Evaluation = run_system(
            data,
            System(name, settings),
            options,
            RunFolder(folder),
            progress=stderr().is_terminal,
        )
        if json:
            emit(to_json(result), json)
        else:
            print_report(result, Console(highlight=False))


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    """The folder that is given, or one that is gone afterwards."""
    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="memstrata-eval-") as scratch:
        yield Path(scratch)


def _row(found: Difference, first: str, second: str, *, whole: bool) -> dict[str, Any]:
    """A difference as a row: whole for programs, for people with its interval in one cell."""
    from memstrata.evaluation.table import cell

    row = {"figure": found.figure, "n": found.n, first: found.first, second: found.second}
    mean, low, high = found.difference.mean, found.difference.low, found.difference.high
    if whole:
        return row | {"difference": mean, "low": low, "high": high, "p": found.p}
    return row | {"difference": f"{cell(mean)} [{cell(low)}, {cell(high)}]", "p": found.p}


def _print_rows(rows: list[dict[str, Any]], json: bool) -> None:
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
