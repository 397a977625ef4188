"""The command `audit`: what is wrong with a memory store, as a table, as JSON, or as a page of HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memstrata.cli.common import bar, emit
from memstrata.cli.options import Json, Now

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.console import RenderableType

    from memstrata.audit.report import Audit, Example, Group

REASONS = 4  # of a problem, that the table names


def audit(
    file: Annotated[
        Path,
        typer.Argument(exists=True, dir_okay=False, help="A memstrata store, an export of it or of mem0, JSON Lines."),
    ],
    near: Annotated[
        str,
        typer.Option(help="How near duplicates are found: words, or the name of an embedder (minilm, multilingual)."),
    ] = "words",
    examples: Annotated[int, typer.Option(min=0, help="Examples of each problem.")] = 3,
    html: Annotated[Path | None, typer.Option("--html", help="Also write a page to this file.")] = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Say what in a memory store is junk, repeated, looped, secret, stale or unsupported.

    Reads memstrata's stores and exports, mem0's exports (a list, or {"results": [...]}), and JSON Lines with a text,
    memory or content. No model is asked, nothing is sent anywhere, and the file is not changed.
    """
    from memstrata.audit.report import as_dict
    from memstrata.audit.report import audit as audited

    at = datetime.now(UTC) if now is None else _time(now)
    with bar("reading") as progress:
        found = audited(file, now=at, examples=examples, embed=_embed(near), progress=progress)
    if html is not None:
        html.write_text(page(found), encoding="utf-8")
    emit(as_dict(found) if json else found, json, view)


def _time(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(f"--now {text!r} is no ISO 8601 time") from error
    if at.tzinfo is None:
        raise typer.BadParameter(f"--now {text!r} has no offset, such as +00:00")
    return at


def _embed(near: str) -> Callable[[Sequence[str]], NDArray[np.float32]] | None:
    """Vectors of texts by the embedder of this name; None for words."""
    if near == "words":
        return None
    import asyncio

    from memstrata.embed import create_embedder
    from memstrata.embed.base import sound

    embedder = create_embedder(near)

    async def run(texts: Sequence[str]) -> NDArray[np.float32]:
        try:
            return sound(await embedder.embed(texts), texts, embedder)
        finally:
            await embedder.close()

    return lambda texts: asyncio.run(run(texts))


# as a table -----------------------------------------------------------------------------------------------------------


def view(found: Audit) -> RenderableType:
    """The audit for reading."""
    from rich.console import Group as Rows
    from rich.text import Text

    from memstrata.cli.parts import add_row, dim, new_table

    head = Text.assemble((found.kind, "bold"), f"  {found.file}")
    sums = f"{found.entries:,} entries of {found.owners:,} owners; {found.flagged:,} with a problem ({found.share:.1%})"
    shown = new_table("problem", "entries", "share", "why")
    for group in found.groups:
        name = group.problem.replace("_", " ")
        if group.measured:
            add_row(shown, name, f"{group.entries:,}", f"{group.share:.1%}", _reasons(group))
        else:
            add_row(shown, name, "–", "–", "this file does not tell")
    parts: list[RenderableType] = [head, Text(sums), shown]
    for group in found.groups:
        if group.examples:
            parts.append(Text(group.problem.replace("_", " ").capitalize(), style="bold"))
        for example in group.examples:
            parts += [Text(f"  {example.text}"), dim(f"    {_about(example)}")]
    return Rows(*parts)


def _reasons(group: Group) -> str:
    named = list(group.reasons.items())[:REASONS]
    more = len(group.reasons) - len(named)
    return ", ".join(f"{why} {count:,}" for why, count in named) + (f", {more} more" if more else "")


def _about(example: Example) -> str:
    return " · ".join(part for part in (example.entry, example.owner, example.why) if part)


# as a page ------------------------------------------------------------------------------------------------------------

_STYLE = """
:root { color-scheme: light dark; --bad: #c2410c; --soft: #78716c; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 60rem; margin: 3rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid color-mix(in srgb, currentColor 15%, transparent); vertical-align: top; }
.bar { background: var(--bad); height: .5rem; border-radius: .25rem; min-width: 1px; }
.about { color: var(--soft); font-size: .85em; }
li { margin: .5rem 0; overflow-wrap: anywhere; }
"""  # noqa: E501


def page(found: Audit) -> str:
    """The audit as one page of HTML that needs nothing else."""
    rows = "".join(_html_row(group) for group in found.groups)
    lists = "".join(_html_examples(group) for group in found.groups if group.examples)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Audit of {escape(found.file)}</title><style>{_STYLE}</style>"
        f"<h1>{found.share:.1%} of {found.entries:,} entries have a problem</h1>"
        f"<p>{escape(found.kind)} {escape(found.file)}, {found.owners:,} owners, audited on {found.at:%Y-%m-%d}.</p>"
        f"<table><tr><th>problem<th>entries<th>share<th>why</tr>{rows}</table>{lists}</html>\n"
    )


def _html_row(group: Group) -> str:
    name = escape(group.problem.replace("_", " "))
    if not group.measured:
        return f"<tr><td>{name}<td>–<td>–<td>this file does not tell</tr>"
    bar_of = f'<div class="bar" style="width:{100 * group.share:.1f}%"></div>' if group.entries else ""
    return f"<tr><td>{name}<td>{group.entries:,}<td>{group.share:.1%}{bar_of}<td>{escape(_reasons(group))}</tr>"


def _html_examples(group: Group) -> str:
    items = "".join(
        f'<li dir="auto">{escape(each.text)}<div class="about">{escape(_about(each))}</div></li>'
        for each in group.examples
    )
    return f"<h2>{escape(group.problem.replace('_', ' ').capitalize())}</h2><ul>{items}</ul>"
