"""The command line put together. Each command opens the store, calls one verb, and prints its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated

import typer

from memstrata._version import __version__
from memstrata.cli import admission, decisions, evaluation, look, mcp, model, notes, runs, serve, turns, upkeep, worker
from memstrata.cli.audit import audit
from memstrata.cli.bench import bench

COMMANDS: Mapping[str, tuple[Callable[..., None], ...]] = {
    "In": (turns.add, turns.remember, turns.preview, turns.end_session, upkeep.import_),
    "Out": (turns.recall, turns.context, model.ask, turns.profile, upkeep.export),
    "Notes": (notes.list_, notes.show, notes.history, notes.update, notes.pin, notes.forget, notes.restore),
    "Reasons and ways back": (notes.explain, notes.receipt, notes.undo, notes.erase),
    "The gate": (decisions.review, decisions.feedback),
    "Looking around": (
        look.owners,
        look.sessions,
        look.turns,
        look.pages,
        look.decisions,
        look.operations,
        look.jobs,
    ),
    "Upkeep": (
        upkeep.maintain,
        upkeep.flush,
        worker.worker,
        upkeep.distil,
        upkeep.stats,
        model.cost,
        upkeep.retry_failed,
        upkeep.reindex,
        upkeep.reembed,
        upkeep.check,
        upkeep.backup,
        upkeep.restore_backup,
        upkeep.copy,
        bench,
    ),
    "The service": (serve.serve,),
    "See it work": (upkeep.demo, audit),
}

EVALUATIONS: tuple[Callable[..., None], ...] = (
    *map(evaluation.benchmark_command, evaluation.BENCHMARKS),
    evaluation.table,
    evaluation.sweep,
    evaluation.replay,
    runs.answer,
    runs.score,
    runs.compare,
    runs.report,
)
ADMISSION: tuple[Callable[..., None], ...] = (
    admission.fit,
    admission.eval_,
    admission.report,
    decisions.replay,
    decisions.export_,
)
KEYS: tuple[Callable[..., None], ...] = (
    serve.create,
    serve.list_,
    serve.rotate,
    serve.revoke,
    serve.rules,
    serve.audit,
)

app = typer.Typer(
    name="memstrata",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Long-term memory for LLM agents that layers, gates and links what it keeps.",
)
evaluations = typer.Typer(no_args_is_help=True, help="Measure recall on public data, in its own definitions.")

admissions = typer.Typer(no_args_is_help=True, help="The gate: fit it, measure it, try another policy, export labels.")
keys = typer.Typer(no_args_is_help=True, help="Keys of the service: make, list, rotate, revoke; who used them.")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"memstrata {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Long-term memory for LLM agents that layers, gates and links what it keeps.

    Options come after the command; --store and --user may be set as MEMSTRATA_PATH and MEMSTRATA_USER.
    """


for panel, functions in COMMANDS.items():
    for function in functions:
        name = function.__name__.rstrip("_").replace("_", "-")
        app.command(name, rich_help_panel=panel)(function)
for measure in EVALUATIONS:
    evaluations.command(measure.__name__)(measure)
for measure in ADMISSION:
    admissions.command(measure.__name__.rstrip("_"))(measure)
for manage in KEYS:
    keys.command(manage.__name__.rstrip("_"))(manage)
app.add_typer(mcp.app, name="mcp", rich_help_panel="The service")
app.add_typer(keys, name="keys", rich_help_panel="The service")
app.add_typer(evaluations, name="eval", rich_help_panel="See it work")
app.add_typer(admissions, name="admission", rich_help_panel="The gate")
