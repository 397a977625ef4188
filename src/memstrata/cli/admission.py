"""`memstrata admission`: fit the gate, measure it with conversations held out, draw the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memstrata.cli.common import bar, emit, stderr
from memstrata.cli.options import Embedder, Json

if TYPE_CHECKING:
    from memstrata.evaluation.admission.candidates import Embed, Table
    from memstrata.evaluation.admission.evaluate import Evaluation
    from memstrata.evaluation.admission.fit import Objective
    from memstrata.gate.policy import Policy
    from memstrata.index.units import Vectors

Data = Annotated[
    Path,
    typer.Argument(
        exists=True,
        help="LoCoMo (.json), Multi-Session Chat (.jsonl.gz), a folder of BEAM chats, conversations with questions "
        "(.jsonl), or labelled candidates (.jsonl with text and label).",
    ),
]
PolicyOption = Annotated[str | None, typer.Option("--policy", help="A preset or a file, taken as it stands.")]
Base = Annotated[str, typer.Option("--base", help="The policy whose priors, rates and rules are kept.")]
Aim = Annotated[str, typer.Option("--objective", help="f1, recall (a floor) or cost.")]
Floor = Annotated[float, typer.Option("--recall-floor", help="For the objective recall.")]
Miss = Annotated[float, typer.Option("--miss", help="For the objective cost: losing one, in false alarms.")]
Least = Annotated[float, typer.Option("--least", min=0.0, max=0.19, help="The least weight of a signal.")]
Folds = Annotated[int | None, typer.Option("--folds", help="How many; leave one out for up to twelve conversations.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Only the first conversations.")]
Cache = Annotated[Path | None, typer.Option("--cache", help="A folder of vectors, shared by runs.")]


def fit(
    path: Data,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the policy is written (TOML).")],
    also: Annotated[
        list[Path] | None, typer.Option("--also", exists=True, help="More data, weighing the same; may repeat.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="The policy's name; the file's, when none is given.")
    ] = None,
    base: Base = "memstrata",
    aim: Aim = "f1",
    floor: Floor = 0.95,
    miss: Miss = 3.0,
    least: Least = 0.0,
    limit: Limit = None,
    cache: Cache = None,
    embedder: Embedder = None,
) -> None:
    """Fit utility estimator, weights and threshold; the figures in the file are with conversations held out."""
    import numpy as np

    from memstrata.evaluation.admission.fit import fit as fit_gate
    from memstrata.evaluation.admission.fit import held_out
    from memstrata.evaluation.admission.metrics import auc, average_precision, bootstrap, kept
    from memstrata.evaluation.admission.policy_file import as_toml, policy_of
    from memstrata.gate.policy import load_policy

    policy, objective = load_policy(base), _objective(aim, floor, miss)
    tables = [_table(each, policy, limit, cache, embedder) for each in (path, *(also or ()))]
    comments = [f"Fitted by `memstrata admission fit`, objective {objective.described}. With conversations held out,"]
    for table in tables:
        others = [other for other in tables if other is not table]
        held = held_out(table, policy, objective, floor=least, others=others)
        label, admitted = table.label, held.admitted
        f1 = bootstrap(table.group, lambda rows: kept(label[rows], admitted[rows]).f1)  # noqa: B023
        found = kept(label, admitted)
        comments += [
            f"- {table.name}, {len(table.groups)} conversations: F1 {f1}, precision {found.precision:.3f}, recall",
            f"  {found.recall:.3f}, {found.share:.1%} admitted; AUC {auc(label, held.score):.3f}, average precision "
            f"{average_precision(label, held.score):.3f}",
        ]
    everything = [(table, np.ones(len(table.label), dtype=np.bool_)) for table in tables]
    fitted = policy_of(fit_gate(everything, policy, objective, floor=least), policy, name=name or out.stem)
    out.write_text(as_toml(fitted, comments), encoding="utf-8")
    console = stderr()
    for line in comments:
        console.print(line)
    console.print(f"written: {out}")


def eval_(
    path: Data,
    policy: PolicyOption = None,
    base: Base = "memstrata",
    aim: Aim = "f1",
    floor: Floor = 0.95,
    miss: Miss = 3.0,
    least: Least = 0.0,
    folds: Folds = None,
    ablation: Annotated[bool, typer.Option(help="Also without each signal.")] = False,
    statements: Annotated[bool, typer.Option(help="Also drafts beside what people wrote (MSC).")] = False,
    limit: Limit = None,
    cache: Cache = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Measure the gate beside its baselines. Without --policy everything is fitted on the other conversations."""
    from rich.console import Console
    from rich.markdown import Markdown

    from memstrata.evaluation.admission.report import markdown

    found = _evaluated(path, policy, base, _objective(aim, floor, miss), least, folds, ablation, limit, cache, embedder)
    figures = found.as_dict()
    if statements:
        figures["statements"] = _statements(path, limit, cache, embedder)
    if json:
        emit(figures, json)
    else:
        Console(highlight=False).print(Markdown(markdown(figures)))
        if statements:
            emit(figures["statements"], json)


def report(
    path: Data,
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder, or the .html file to write.")],
    policy: PolicyOption = None,
    base: Base = "memstrata",
    aim: Aim = "f1",
    floor: Floor = 0.95,
    miss: Miss = 3.0,
    least: Least = 0.0,
    folds: Folds = None,
    limit: Limit = None,
    cache: Cache = None,
    embedder: Embedder = None,
) -> None:
    """Draw the run: precision and recall, calibration, signals, ablation, what can still be answered."""
    from memstrata.evaluation.admission.plots import check_matplotlib
    from memstrata.evaluation.admission.report import write_report

    check_matplotlib()
    found = _evaluated(path, policy, base, _objective(aim, floor, miss), least, folds, True, limit, cache, embedder)
    for file in write_report(found, out):
        typer.echo(str(file))


def _objective(aim: str, floor: float, miss: float) -> Objective:
    from memstrata.evaluation.admission.fit import objective

    return objective(aim, floor=floor, miss=miss)


def _evaluated(
    path: Path,
    policy: str | None,
    base: str,
    objective: Objective,
    least: float,
    folds: int | None,
    ablation: bool,
    limit: int | None,
    cache: Path | None,
    embedder: str | None,
) -> Evaluation:
    from memstrata.evaluation.admission.evaluate import evaluate
    from memstrata.gate.policy import load_policy

    chosen = load_policy(policy or base)
    table = _table(path, chosen, limit, cache, embedder)
    with bar("gate") as progress:
        return evaluate(
            table,
            chosen,
            objective,
            untouched=policy is not None,
            folds=folds,
            floor=least,
            ablation=ablation,
            progress=progress,
        )


def _table(path: Path, policy: Policy, limit: int | None, cache: Path | None, embedder: str | None) -> Table:
    """The candidates of a file with what their signals are made of."""
    from memstrata.evaluation.admission.candidates import table_of
    from memstrata.evaluation.admission.data import load
    from memstrata.evaluation.admission.records import is_records, table_of_records

    encode = _encoder(cache, embedder)
    if is_records(path):
        return table_of_records(path, encode, policy)
    data = load(path, limit=limit)
    with bar("candidates") as progress:
        return table_of(data, encode, policy, progress=progress)


def _statements(path: Path, limit: int | None, cache: Path | None, embedder: str | None) -> dict[str, dict[str, float]]:
    from memstrata.evaluation.admission.data import load
    from memstrata.evaluation.admission.distillation import against_statements

    return against_statements(load(path, limit=limit), _encoder(cache, embedder))


def _encoder(cache: Path | None, embedder: str | None) -> Embed:
    """Texts to vectors, with those that are in the cache read from there."""
    import asyncio

    from memstrata.embed import create_embedder
    from memstrata.evaluation.cache import CachedEmbedder

    model = create_embedder(embedder or "minilm")
    cached = model if cache is None else CachedEmbedder(model, cache)

    def encode(texts: Sequence[str]) -> Vectors:
        return asyncio.run(cached.embed(texts))

    return encode
