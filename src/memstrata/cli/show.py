"""Results as readable tables, or as one JSON value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson
from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from memstrata.store.rows import dump
from memstrata.types import (
    Context,
    Decision,
    Erasure,
    Explanation,
    Hit,
    Note,
    NotePage,
    Preview,
    Profile,
    Recall,
    Receipt,
    Revision,
)

BAR = 20  # characters of a signal at 1
COLOURS = {
    "admitted": "green",
    "admitted_superseding": "cyan",
    "superseded_on_arrival": "yellow",
    "duplicate": "yellow",
    "rejected": "red",
    "deferred": "magenta",
    "failed": "bold red",
}


def as_json(result: Any) -> None:
    """One JSON value on standard output."""
    print(orjson.dumps(orjson.loads(dump(result)), option=orjson.OPT_INDENT_2).decode())


def as_tables(result: Any, console: Console | None = None) -> None:
    """A result for reading."""
    (console or Console(highlight=False)).print(render(result))


def render(result: Any) -> RenderableType:
    for kind, view in VIEWS:
        if isinstance(result, kind):
            return view(result)
    if isinstance(result, tuple) and all(isinstance(item, Revision) for item in result):
        return revisions(result)
    if isinstance(result, Mapping):
        return mapping(result)
    return Text(str(result))


def day(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d}"


def _table(*columns: str, title: str | None = None) -> Table:
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def receipt(result: Receipt) -> RenderableType:
    parts: list[RenderableType] = [Text(f"{result.verb} {result.operation}", style="bold")]
    if result.repeated:
        parts.append(Text("the same call was made before: this is its receipt", style="yellow"))
    if result.messages:
        table = _table("message", "outcome", "turn", "note")
        for message in result.messages:
            remark = ", ".join(message.redacted) or message.reason
            table.add_row(str(message.index), message.outcome, message.turn, remark)
        parts.append(table)
    if result.candidates:
        table = _table("outcome", "statement", "note", "why")
        for candidate in result.candidates:
            table.add_row(
                Text(candidate.outcome, style=COLOURS[candidate.outcome]),
                candidate.content,
                candidate.note or "",
                candidate.reason,
            )
        parts.append(table)
    if result.pending:
        parts.append(Text(f"{result.pending} turns wait for their page to cool", style="dim"))
    if result.counts:
        parts.append(mapping(result.counts))
    return Group(*parts)


def preview(result: Preview) -> RenderableType:
    table = _table("outcome", "statement", "kind", "why", title="What would become of it; nothing was written")
    for decision in result.decisions:
        table.add_row(
            Text(decision.outcome, style=COLOURS[decision.outcome]),
            decision.candidate.content,
            decision.candidate.kind,
            decision.reason,
        )
    return table


def recall(result: Recall) -> RenderableType:
    if not result.hits:
        return Text("nothing found", style="dim")
    parts: list[RenderableType] = [hit(number, item) for number, item in enumerate(result.hits, 1)]
    if result.cursor:
        parts.append(Text(f"more: --cursor {result.cursor}", style="dim"))
    return Group(*parts)


def hit(number: int, item: Hit) -> RenderableType:
    """A memory with its score, when and by whom it was said, and why it was found."""
    head = Text(f"{number:>2}  ")
    shown = f"{item.score:.2f} " if item.score >= 0.01 else "<.01 "
    head.append(shown, style="bold green" if item.score >= 0.3 else "yellow")
    head.append(item.text, style="bold")
    kind = item.note.kind if item.note else item.kind
    when = f"said {day(item.at)}" + (f", about {day(item.event.start)}" if item.event else "")
    turns = ", ".join(evidence.id for evidence in item.evidence[:4])
    about = Text(f"        {kind} · {when} · {item.id} · turns {turns}", style="dim")
    return Group(head, about, Text(f"        {item.reason}", style="dim italic"))


def context(result: Context) -> RenderableType:
    return Group(Text(result.text), Text(f"\n{result.tokens} tokens, {result.strategy}", style="dim"))


def profile(result: Profile) -> RenderableType:
    table = _table("kind", "what is known", "since", "note")
    for notes in (result.identity, result.preference, result.relation):
        for note in notes:
            table.add_row(note.kind, note.content, day(note.valid_from), note.id)
    return table if table.row_count else Text("nothing is known yet", style="dim")


def note_page(result: NotePage) -> RenderableType:
    table = _table("note", "kind", "content", "said", "state", "weight")
    for note in result.notes:
        table.add_row(note.id, note.kind, note.content, day(note.said_at), note.state, f"{note.weight:.2f}")
    more = [Text(f"more: --cursor {result.cursor}", style="dim")] if result.cursor else []
    return Group(table, *more)


def note(result: Note) -> RenderableType:
    rows = {
        "content": result.content,
        "context": result.context,
        "kind": result.kind,
        "state": result.state + (f", superseded by {result.superseded_by}" if result.superseded_by else ""),
        "keywords": ", ".join(result.keywords),
        "tags": ", ".join(result.tags),
        "names": ", ".join(result.names),
        "event": f"{day(result.event.start)} ({result.event.precision})" if result.event else "",
        "valid": f"{day(result.valid_from)} – {day(result.valid_to) or 'now'}",
        "said": day(result.said_at),
        "weight": f"{result.weight:.2f}"
        + (" pinned" if result.pinned else f", forgotten after {day(result.forgets_at)}" if result.forgets_at else ""),
        "revision": str(result.revision),
    }
    parts: list[RenderableType] = [mapping({name: value for name, value in rows.items() if value}, title=result.id)]
    if result.links:
        links = _table("link", "to", "score", "why")
        for link in result.links:
            other = link.target if link.source == result.id else link.source
            way = link.type if link.source == result.id else f"{link.type} (from)"
            links.add_row(way, other, f"{link.score:.2f}", link.reason)
        parts.append(links)
    evidence = _table("turn", "session", "said", "who", "text")
    for turn in result.evidence:
        evidence.add_row(turn.id, turn.session, day(turn.at), turn.speaker or turn.role, turn.text)
    return Group(*parts, evidence)


def explanation(result: Explanation) -> RenderableType:
    parts: list[RenderableType] = [Text(result.sentence, style="bold"), Text("")]
    parts.append(signals(result.decision))
    if result.history:
        parts.append(revisions(result.history))
    return Group(*parts)


def signals(decision: Decision) -> RenderableType:
    """The five signals as bars, with their weights, and the score against the threshold."""
    if decision.signals is None:
        return Text("a duplicate is not scored", style="dim")
    table = _table("signal", "value", "", "weight")
    names = ("utility", "confidence", "novelty", "recency", "type prior")
    for name, value, weight in zip(names, decision.signals.as_tuple(), decision.weights, strict=True):
        table.add_row(name, f"{value:.2f}", Text("█" * round(BAR * value), style="blue"), f"{weight:.2f}")
    if decision.score is not None:
        colour = "green" if decision.score >= decision.theta else "red"
        bar = Text("█" * round(BAR * decision.score), style=colour)
        table.add_row("score", f"{decision.score:.2f}", bar, f"≥ {decision.theta:.2f}?")
    return table


def revisions(result: Sequence[Revision]) -> RenderableType:
    table = _table("when", "by", "operation", "change", title="History")
    for revision in result:
        table.add_row(f"{revision.at:%Y-%m-%d %H:%M}", revision.verb, revision.operation, _change(revision))
    return table


def _change(revision: Revision) -> str:
    if revision.before is None:
        return f"born: {(revision.after or {}).get('content', '')}"
    after = revision.after or {}
    return "; ".join(f"{name}: {value!s} → {after.get(name)!s}" for name, value in revision.before.items())


def erasure(result: Erasure) -> RenderableType:
    state = "no byte of it is left" if result.complete else "its bytes go when the last other reader has left"
    return Group(mapping(result.counts, title=f"Erased ({result.operation})"), Text(state, style="bold"))


def mapping(result: Mapping[str, Any], title: str | None = None) -> RenderableType:
    table = _table("", "", title=title)
    table.show_header = False
    for name, value in result.items():
        if isinstance(value, Mapping):
            value = ", ".join(f"{key} {item}" for key, item in value.items())
        elif isinstance(value, list):
            value = "\n".join(map(str, value))
        table.add_row(Text(name.replace("_", " "), style="dim"), f"{value:,}" if isinstance(value, int) else str(value))
    return table


VIEWS: tuple[tuple[type, Callable[[Any], RenderableType]], ...] = (
    (Receipt, receipt),
    (Preview, preview),
    (Recall, recall),
    (Context, context),
    (Profile, profile),
    (NotePage, note_page),
    (Note, note),
    (Explanation, explanation),
    (Erasure, erasure),
)
