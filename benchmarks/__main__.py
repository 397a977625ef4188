"""`python -m benchmarks [--json] [--sizes 1000 5000]`: measure, and print a table or one JSON object."""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.measures import Row, measure

SIZES = [1_000, 5_000, 10_000, 20_000, 50_000]


def main() -> None:
    """Run the benchmarks in a temporary folder."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="turns in one user's store")
    parser.add_argument("--folder", type=Path, help="where the stores are made: the disk that is measured")
    chosen = parser.parse_args()
    notices = Console(stderr=True)
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        rows = measure(Path(folder), sorted(chosen.sizes), lambda text: notices.print(text, style="dim"))
    if chosen.json:
        print(json.dumps({"machine": platform.platform(), "rows": [_json(row) for row in rows]}))
    else:
        Console().print(_table(rows))


def _json(row: Row) -> dict[str, object]:
    return {"name": row.name, "value": row.value, "unit": row.unit, "limit": row.limit, "ratio": row.ratio}


def _table(rows: list[Row]) -> Table:
    table = Table(title="memstrata", caption="ratio: value over limit; above 1 is too slow")
    table.add_column("row")
    for column in ("value", "unit", "limit", "ratio"):
        table.add_column(column, justify="right")
    for row in rows:
        ratio = row.ratio
        style = None if ratio is None else "green" if ratio <= 1 else "red"
        limit = "" if row.limit is None else f"{row.limit:,.2f}"
        shown = "" if ratio is None else f"{ratio:.2f}"
        table.add_row(row.name, f"{row.value:,.2f}", row.unit, limit, shown, style=style)
    return table


if __name__ == "__main__":
    main()
