"""The parts that shown results are made of: tables, rows, dimmed lines, a head beside lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

IDS = frozenset({"note", "turn", "to", "decision"})  # columns that are copied from, and so never broken


def new_table(*columns: str, title: str | None = None) -> Table:
    table = Table(
        title=Text(title, style="bold") if title else None, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False
    )
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in IDS)
    return table


def add_row(table: Table, *cells: str | Text) -> None:
    """A row of plain texts: a "[" in a cell is a "[" of the one who said it."""
    table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in cells))


def beside(left: Text, lines: Sequence[Text], width: int) -> Table:
    """Lines beside a narrow head, so that what is long wraps under itself."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=width)
    grid.add_column(overflow="fold")
    grid.add_row(left, Group(*lines))
    return grid


def dim(text: str) -> Text:
    return Text(text, style="dim")


def records(rows: Sequence[Any], cursor: str | None = None, *columns: str) -> Group:
    """Records of one kind as a table, all their fields or those that are named; and how to go on after the last."""
    if not rows:
        return Group(dim("nothing"))
    names = columns or tuple(field.name for field in fields(rows[0]))
    table = new_table(*names)
    for row in rows:
        add_row(table, *(_cell(getattr(row, name)) for name in names))
    return Group(table, *([dim(f"more: --cursor {cursor}")] if cursor is not None else []))


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {count}" for name, count in value.items())
    if isinstance(value, float):
        return f"{value:.3f}"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
