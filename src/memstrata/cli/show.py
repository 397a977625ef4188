"""Results as readable tables of at most the terminal's width, or as one JSON value.

What was stored is shown as it is: it is never read as the markup of the terminal library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import orjson
from rich.console import Console, Group, RenderableType
from rich.text import Text

from memstrata.cli.parts import add_row, beside, dim, new_table
from memstrata.gate.policy import SIGNALS
from memstrata.ledger.check import Disagreement
from memstrata.ledger.explain import because
from memstrata.store.copying import Copied
from memstrata.store.rows import dump, from_us
from memstrata.types import (
    Backup,
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
    Restored,
    Revision,
)

BAR = 10  # characters of a signal at 1
COLOURS = {
    "admitted": "green",
    "admitted_superseding": "cyan",
    "superseded_on_arrival": "yellow",
    "duplicate": "yellow",
    "rejected": "red",
    "deferred": "magenta",
    "failed": "bold red",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """A note with its changes."""

    note: Note
    history: tuple[Revision, ...]


TIME_COLUMNS = frozenset(
    (
        "event_start",
        "event_end",
        "said_at",
        "valid_from",
        "valid_to",
        "recorded_at",
        "closed_at",
        "last_access",
        "forgets_at",
    )
)
DERIVED_COLUMNS = frozenset(("statement", "rate", "revision"))


def as_json(result: Any) -> None:
    """One JSON value on standard output."""
    if isinstance(result, Shown):
        result = {**asdict(result.note), "history": result.history}
    print(orjson.dumps(orjson.loads(dump(result)), option=orjson.OPT_INDENT_2).decode())


def as_tables(
    result: Any, console: Console | None = None, *, view: Callable[[Any], RenderableType] | None = None
) -> None:
    """A result for reading."""
    (console or Console(highlight=False)).print((view or render)(result))


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


# parts ----------------------------------------------------------------------------------------------------------------


def _more(cursor: str | None) -> list[RenderableType]:
    return [dim(f"more: --cursor {cursor}")] if cursor else []


def mapping(result: Mapping[str, Any], title: str | None = None) -> RenderableType:
    """Names and values; values that are mappings or lists in one cell."""
    table = new_table("", "", title=title)
    table.show_header = False
    for name, value in result.items():
        add_row(table, dim(name.replace("_", " ")), _cell(value))
    return table


def _cell(value: Any) -> str:
    match value:
        case None:
            return "–"
        case Mapping():
            return ", ".join(f"{name} {_cell(item)}" for name, item in value.items()) or "none"
        case list() | tuple():
            return "\n".join(map(_cell, value)) or "none"
        case Disagreement():
            return " · ".join(part for part in (value.owner, value.table, value.row, value.problem) if part)
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.2f}"
    return str(value)


# results --------------------------------------------------------------------------------------------------------------


def receipt(result: Receipt) -> RenderableType:
    parts: list[RenderableType] = [Text.assemble((result.verb, "bold"), (f"  {result.operation}", "dim"))]
    if result.repeated:
        parts.append(Text("the same call was made before: this is its receipt", style="yellow"))
    for message in result.messages:
        remark = f"  ({', '.join(message.redacted) or message.reason})" if message.redacted or message.reason else ""
        parts.append(Text(f"message {message.index}: {message.outcome} as {message.turn}{remark}"))
    for candidate in result.candidates:
        lines = [Text(candidate.content, style="bold"), Text(candidate.reason, style="italic")]
        made = f"note {candidate.note} · " if candidate.note else ""
        parts.append(_outcome(candidate.outcome, [*lines, dim(f"{made}decision {candidate.decision}")]))
    if result.pending:
        parts.append(dim(f"turns that wait for their page to cool: {result.pending:,}"))
    if any(result.counts.values()):
        parts.append(dim(", ".join(f"{_words(name)} {count:,}" for name, count in result.counts.items() if count)))
    return Group(*parts)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _outcome(outcome: str, lines: Sequence[Text]) -> RenderableType:
    name = _words(outcome)
    return beside(Text(name, style=COLOURS[outcome]), lines, width=len("duplicate") + 1 if len(name) < 11 else 11)


def preview(result: Preview) -> RenderableType:
    parts: list[RenderableType] = [Text("What would become of it; nothing was written", style="bold")]
    for message in result.messages:
        if message.redacted or message.outcome != "stored":
            parts.append(Text(f"message {message.index}: {message.outcome} ({', '.join(message.redacted)})"))
    for decision in result.decisions:
        lines = [Text(decision.candidate.content, style="bold"), Text(decision.reason, style="italic")]
        parts.append(_outcome(decision.outcome, [*lines, dim(decision.candidate.kind)]))
    parts.append(dim(f"notes {len(result.notes)}, links {len(result.links)}"))
    return Group(*parts)


def recall(result: Recall) -> RenderableType:
    if not result.hits:
        return dim("nothing found")
    return Group(*(hit(number, item) for number, item in enumerate(result.hits, 1)), *_more(result.cursor))


def hit(number: int, item: Hit) -> RenderableType:
    """A memory with its score, when and by whom it was said, and why it was found."""
    score = f"{item.score:.2f}" if item.score >= 0.01 else "<.01"
    head = Text.assemble(f"{number:>2}  ", (score, "bold green" if item.score >= 0.3 else "yellow"))
    kind = item.note.kind if item.note else item.kind
    when = f"said {day(item.at)}" + (f", about {day(item.event.start)}" if item.event else "")
    turns = ", ".join(evidence.id for evidence in item.evidence[:4])
    about = f"{kind} · {when} · {item.id}" + (f" · from {turns}" if turns != item.id else "")
    lines = [Text(item.text, style="bold"), dim(about), Text(item.reason, style="dim italic")]
    return beside(head, lines, width=8)


def context(result: Context) -> RenderableType:
    return Group(Text(result.text), dim(f"\n{result.tokens:,} tokens, {result.strategy}"))


def profile(result: Profile) -> RenderableType:
    table = new_table("kind", "what is known", "since", "note")
    for notes in (result.identity, result.preference, result.relation):
        for note in notes:
            add_row(table, note.kind, note.content, day(note.valid_from), note.id)
    return table if table.row_count else dim("nothing is known yet")


def note_page(result: NotePage) -> RenderableType:
    if not result.notes:
        return dim("no notes")
    table = new_table("note", "content", "kind", "said", "weight")
    for note in result.notes:
        kind = note.kind if note.state == "current" else f"{note.kind}, {note.state}"
        add_row(
            table, note.id, note.content, kind, day(note.said_at), "pinned" if note.pinned else f"{note.weight:.2f}"
        )
    return Group(table, *_more(result.cursor))


def note(result: Note) -> RenderableType:
    fades = f", forgotten after {day(result.forgets_at)}" if result.forgets_at else ""
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
        "weight": f"{result.weight:.2f}" + (", pinned" if result.pinned else fades),
        "revision": str(result.revision),
        "edited": ", ".join(result.edited),
        "decision": result.decision or "",
    }
    parts: list[RenderableType] = [mapping({name: value for name, value in rows.items() if value}, title=result.id)]
    if result.links:
        links = new_table("link", "to", "score", "why")
        for link in result.links:
            other = link.target if link.source == result.id else link.source
            way = link.type if link.source == result.id else f"{link.type} (from)"
            add_row(links, way, other, f"{link.score:.2f}", link.reason)
        parts.append(links)
    evidence = new_table("turn", "session", "said", "who", "text", title="Evidence")
    for turn in result.evidence:
        add_row(evidence, turn.id, turn.session, day(turn.at), turn.speaker or turn.role, turn.text)
    return Group(*parts, evidence)


def shown(result: Shown) -> RenderableType:
    return Group(note(result.note), revisions(result.history))


def explanation(result: Explanation) -> RenderableType:
    decision = result.decision
    about = [f"note {result.note.id}"] if result.note else []
    about += [f"decision {decision.id}", f"policy {decision.policy}"]
    if decision.nearest is not None:
        near = decision.nearest_similarity
        about.append(f"nearest {decision.nearest}" + ("" if near is None else f" ({near:.2f})"))
    parts: list[RenderableType] = [Text(result.sentence, style="bold"), dim(" · ".join(about)), signals(decision)]
    if result.history:
        parts.append(revisions(result.history))
    return Group(*parts)


def signals(decision: Decision) -> RenderableType:
    """The five signals as bars, with their weights, and the score against the threshold."""
    if decision.signals is None:
        return dim("a duplicate is not scored")
    table = new_table("signal", "value", "", "weight", "from")
    reasons = because(decision)
    for name, value, weight in zip(SIGNALS, decision.signals.as_tuple(), decision.weights, strict=True):
        bar = Text("█" * round(BAR * value), style="blue")
        add_row(table, name.replace("_", " "), f"{value:.2f}", bar, f"{weight:.2f}", reasons[name])
    if decision.score is not None:
        passed = decision.score >= decision.theta
        bar = Text("█" * round(BAR * decision.score), style="green" if passed else "red")
        mark = f"{'≥' if passed else '<'} {decision.theta:.2f}"
        add_row(table, "score", f"{decision.score:.2f}", bar, mark, f"margin {decision.margin:+.3f}")
    return table


def revisions(result: Sequence[Revision]) -> RenderableType:
    parts: list[RenderableType] = [Text("History", style="bold")]
    for revision in result:
        head = Text.assemble(
            f"{revision.at:%Y-%m-%d %H:%M}  ", (revision.verb, "bold"), (f"  {revision.operation}", "dim")
        )
        parts += [head, *(beside(Text(), [line], width=2) for line in _changes(revision))]
    return Group(*parts)


def _changes(revision: Revision) -> list[Text]:
    after = revision.after or {}
    if revision.before is None:
        return [Text(f"born: {after.get('content', '')}")]
    return [
        Text(f"{name}: {_column(name, value)} → {_column(name, after.get(name))}")
        for name, value in revision.before.items()
        if name not in DERIVED_COLUMNS
    ]


def _column(name: str, value: Any) -> str:
    """A column of a note as the log has it, for a reader."""
    if value is None:
        return "–"
    if name in TIME_COLUMNS:
        return f"{from_us(value):%Y-%m-%d %H:%M}"
    if name == "pinned":
        return "yes" if value else "no"
    if isinstance(value, str) and value.startswith("["):
        return _cell(orjson.loads(value)).replace("\n", ", ")
    return _cell(value)


def erasure(result: Erasure) -> RenderableType:
    state = "no byte of it is left" if result.complete else "its bytes go when the last other reader has left"
    if not any(result.counts.values()):
        state = "there was no memory of this subject (names are exact)"
    head = Text.assemble(("erased", "bold"), (f"  {result.operation}", "dim"))
    still = [Text(f"still in the backup {path}", style="yellow") for path in result.backups]
    return Group(head, mapping({name: n for name, n in result.counts.items() if n}), Text(state, style="bold"), *still)


def backup(result: Backup) -> RenderableType:
    made = f"{result.at:%Y-%m-%d %H:%M:%S}, schema {result.schema}, {result.bytes:,} bytes, verified"
    head = Text.assemble(("backup", "bold"), f"  {result.path}\n", (made, "dim"))
    return Group(head, mapping({name: n for name, n in result.counts.items() if n}))


def copied(result: Copied) -> RenderableType:
    head = Text.assemble(("copied", "bold"), f"  {result.source} → {result.target}\n", ("verified", "dim"))
    return Group(head, mapping({name: n for name, n in result.counts.items() if n}))


def restored(result: Restored) -> RenderableType:
    head = Text.assemble(("restored", "bold"), f"  {result.path}")
    back = [
        Text(f"erased after the backup, and back: erase again ({id})", style="yellow") for id in result.erased_since
    ]
    return Group(head, backup(result.backup), *back)


VIEWS: tuple[tuple[type, Callable[[Any], RenderableType]], ...] = (
    (Receipt, receipt),
    (Preview, preview),
    (Recall, recall),
    (Context, context),
    (Profile, profile),
    (NotePage, note_page),
    (Note, note),
    (Shown, shown),
    (Explanation, explanation),
    (Erasure, erasure),
    (Backup, backup),
    (Restored, restored),
    (Copied, copied),
)
