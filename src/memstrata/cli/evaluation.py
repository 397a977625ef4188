"""The commands that run something to measure it: one for each benchmark, table, sweep and replay."""

from __future__ import annotations

import json as jsonlib
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memstrata.cli.common import emit, stderr
from memstrata.cli.options import Embedder, Json
from memstrata.cli.runs import (
    PATIENCE,
    BaseUrl,
    Judge,
    Sample,
    Seed,
    across,
    answers_of,
    print_agreement,
    print_rows,
    row_of,
)
from memstrata.errors import InputError

if TYPE_CHECKING:
    from memstrata.evaluation.benchmark import Benchmark
    from memstrata.evaluation.folder import RunFolder
    from memstrata.evaluation.options import Options
    from memstrata.evaluation.run import Evaluation

    Loader = Callable[[Path], Benchmark]

File = Annotated[Path, typer.Argument(exists=True, help="The file, or for BEAM the folder of chats.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Only the first conversations.")]
Turns = Annotated[
    int | None, typer.Option(min=1, help="Only the first turns of each, and the questions that stand on them.")
]
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
Names = Annotated[list[str] | None, typer.Option("--row", help="Only this row; may repeat.")]


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
        turns: Turns = None,
        out: Out = None,
        cache: Cache = None,
        jobs: Jobs = 1,
        keep: Keep = None,
        preset: Preset = None,
        settings: Set = None,
        clock: Clock = "now",
        max_tokens: Tokens = 2500,
        contexts: Contexts = False,
        llm: Annotated[str | None, typer.Option(help="A model that answers the questions from their contexts.")] = None,
        judge: Judge = None,
        base_url: BaseUrl = None,
        sample: Sample = None,
        seed: Seed = 0,
        embedder: Embedder = None,
        json: Json = False,
    ) -> None:
        if judge is not None and llm is None:
            raise typer.BadParameter("a judge grades the answers of --llm", param_hint="--judge")
        load: Loader = getattr(import_module(f"memstrata.evaluation.{module}"), loader)
        options = _options(cache, jobs, keep, clock, max_tokens, embedder, contexts or llm is not None)
        answering = None if llm is None else (lambda folder: answers_of(folder, llm, judge, base_url, sample, seed))
        _benchmark(_part(load(path), limit, turns), out, options, _settings(preset, settings), answering, json)

    command.__name__, command.__doc__ = name, shown
    return command


def table(
    path: File,
    out: TableOut,
    rows: Names = None,
    settings: Set = None,
    limit: Limit = None,
    turns: Turns = None,
    cache: Cache = None,
    jobs: Jobs = 1,
    clock: Clock = "said",
    max_tokens: Tokens = 2500,
    llm: Annotated[str | None, typer.Option(help="A model that answers a sample of the questions.")] = None,
    base_url: BaseUrl = None,
    sample: Annotated[int, typer.Option(min=1, help="Questions that it answers.")] = 100,
    seed: Seed = 0,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Baselines, presets and ablations in one table: the same questions, the same embedder."""
    from memstrata.evaluation.table import Answerer, chosen, make_table, shown, under
    from memstrata.llm.registry import create_llm

    data = _part(_load(path), limit, turns)
    options = _options(cache, jobs, None, clock, max_tokens, embedder)
    answerer = None if llm is None else Answerer(lambda: create_llm(llm, base_url=base_url, timeout=PATIENCE), sample)
    shows = stderr().is_terminal
    systems = [under(each, _settings(None, settings)) for each in chosen(rows or ())]
    lines = make_table(data, systems, options, out, progress=shows, seed=seed, answerer=answerer)
    found = [line.as_dict() for line in lines]
    print_rows(found if json else shown(found), json)


def sweep(
    path: File,
    out: TableOut,
    over: Annotated[
        list[str] | None, typer.Option(help="A setting and its values, such as alpha=0.8,0.9; may repeat.")
    ] = None,
    preset: Preset = None,
    settings: Set = None,
    limit: Limit = None,
    turns: Turns = None,
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

    data = _part(_load(path), limit, turns)
    systems = swept(_values(over) if over else SWEEPS, _settings(preset, settings))
    options = _options(cache, jobs, None, clock, max_tokens, embedder)
    lines = make_table(data, systems, options, out, progress=stderr().is_terminal, seed=seed)
    found = [line.as_dict() for line in lines]
    print_rows(found if json else shown(found), json)


def replay(
    path: File,
    out: TableOut,
    limit: Limit = None,
    turns: Turns = None,
    cache: Cache = None,
    jobs: Jobs = 1,
    max_tokens: Tokens = 2500,
    seed: Seed = 0,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Ask half of the questions while the conversation goes on: do accesses, and the tiers' scores, help the others?"""
    from memstrata.evaluation.replay import replay as replayed

    data = _part(_load(path), limit, turns)
    options = _options(cache, jobs, None, "said", max_tokens, embedder)
    found = replayed(data, options, out, progress=stderr().is_terminal, seed=seed)
    rows = [
        {"against": name, **row_of(each, "without", "with", whole=json)}
        for name, figures in found.differences
        for each in figures
    ]
    print_rows(rows, json)


def _options(
    cache: Path | None,
    jobs: int,
    keep: Path | None,
    clock: str,
    max_tokens: int,
    embedder: str | None,
    contexts: bool = False,
) -> Options:
    from memstrata.evaluation.options import Options

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


def _part(data: Benchmark, limit: int | None, turns: int | None) -> Benchmark:
    """The first conversations, and of each the first turns."""
    data = data if limit is None else data.first(limit)
    return data if turns is None else data.opening(turns)


def _benchmark(
    data: Benchmark,
    out: Path | None,
    options: Options,
    settings: Mapping[str, Any],
    answering: Callable[[RunFolder], list[dict[str, Any]]] | None,
    json: bool,
) -> None:
    """Run one benchmark under some settings, have it answered, and print its figures."""
    from rich.console import Console

    from memstrata.evaluation.folder import RunFolder
    from memstrata.evaluation.report import print_report, to_json
    from memstrata.evaluation.run import run_system
    from memstrata.evaluation.systems import System

    name = ", ".join(f"{key}={value}" for key, value in settings.items()) or "memstrata"
    with _folder(out) as path:
        folder = RunFolder(path)
        result: Evaluation = run_system(data, System(name, settings), options, folder, progress=stderr().is_terminal)
        answers = {} if answering is None else {"answers": answering(folder)}
        if json:
            emit(to_json(result) | answers, json)
        else:
            print_report(result, Console(highlight=False))
            if answers:
                print_rows(across(answers["answers"]), json)
        print_agreement(folder)


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    """The folder that is given, or one that is gone afterwards."""
    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="memstrata-eval-") as scratch:
        yield Path(scratch)
