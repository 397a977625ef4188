"""The command that measures: every figure with its limit, both of this machine and this run."""

from __future__ import annotations

import platform
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memstrata.cli.common import stderr
from memstrata.cli.options import Json

if TYPE_CHECKING:
    from rich.table import Table

    from memstrata.bench.row import Row

VECTORS = [1_000, 10_000, 100_000]
SIZES = [1_000, 5_000, 10_000, 20_000, 50_000]


def bench(
    sizes: Annotated[
        list[int] | None,
        typer.Option("--size", help="Turns in one user's store; may repeat. One of 1000 takes less than a minute."),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(exists=True, file_okay=False, help="Where the stores are made: the disk measured.")
    ] = None,
    against: Annotated[
        bool,
        typer.Option("--compare", help="Instead: searches of --size vectors, beside numpy."),
    ] = False,
    picture: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="With --compare: draw cost against size to this SVG or PNG."),
    ] = None,
    json: Json = False,
) -> None:
    """Measure adds, imports, recall and opening as a store grows, beside limits of the same run."""
    from memstrata.bench.compare import compare, draw
    from memstrata.bench.measures import measure

    if picture is not None and not against:
        raise typer.BadParameter("--picture is of a comparison: give --compare too")

    console = stderr()
    with tempfile.TemporaryDirectory(dir=folder) as place, console.status("measuring") as status:
        if against:
            rows = list(compare(sorted(sizes or VECTORS), lambda text: status.update(text)))
        else:
            rows = measure(Path(place), sorted(sizes or SIZES), lambda text: status.update(text))
    if picture is not None:
        draw(rows, picture)
    if json:
        from memstrata.cli import show

        show.as_json({"machine": platform.platform(), "rows": [_plain(row) for row in rows]})
    else:
        from rich.console import Console

        Console().print(_table(rows))


def _plain(row: Row) -> dict[str, object]:
    return {"name": row.name, "value": row.value, "unit": row.unit, "limit": row.limit, "ratio": row.ratio}


def _table(rows: list[Row]) -> Table:
    from rich.table import Table

    table = Table(title="memstrata", caption="ratio: how much of the limit is used; above 1 is too slow")
    table.add_column("row")
    for column in ("value", "unit", "limit", "ratio"):
        table.add_column(column, justify="right")
    for row in rows:
        ratio = row.ratio
        style = None if ratio is None else "green" if ratio <= 1 else "red"
        limit = "" if row.limit is None else f"{'≥ ' if row.floor else ''}{row.limit:,.2f}"
        shown = "" if ratio is None else f"{ratio:.2f}"
        table.add_row(row.name, f"{row.value:,.2f}", row.unit, limit, shown, style=style)
    return table
