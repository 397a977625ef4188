"""The commands about the gate's decisions: feedback and review; under `admission`, replay and export."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memstrata.cli.common import emit, reading, writing
from memstrata.cli.options import DEFAULT_STORE, Agent, Embedder, Json, Store, User

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memstrata.ledger.decisions import PolicyReplay
    from memstrata.types import Decision

SHOWN = 20  # changes that `admission replay` shows as a table
WORDS = 90  # characters of a statement in a table


def feedback(
    item: Annotated[str, typer.Argument(help="The id of a decision, or of a note.")],
    accept: Annotated[bool, typer.Option("--accept/--reject", help="Whether it belongs into the memory.")],
    reason: Annotated[str | None, typer.Option(help="Why; kept with it.")] = None,
    only_note: Annotated[bool, typer.Option("--only-note", help="Keep what was said, change nothing.")] = False,
    store: Store = DEFAULT_STORE,
    user: User = None,
    agent: Agent = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Say whether a decision was right: it is kept for fitting the gate, and done.

    A rejected note is forgotten; an accepted statement that was kept out becomes a note. `undo` takes it back.
    """
    with writing(store, embedder) as memory:
        receipt = memory.feedback(item, accept, reason=reason, apply=not only_note, user_id=user, agent_id=agent)
    emit(receipt, json)


def review(
    limit: Annotated[int, typer.Option(help="How many at most.")] = 20,
    judged: Annotated[bool, typer.Option("--judged", help="Also those with feedback.")] = False,
    store: Store = DEFAULT_STORE,
    user: User = None,
    agent: Agent = None,
    json: Json = False,
) -> None:
    """List the decisions nearest to the threshold; answer with `memstrata feedback`."""
    with reading(store) as memory:
        found = memory.review(user_id=user, agent_id=agent, limit=limit, judged=judged)
    emit(found, json, reviewed)


def replay(
    policy: Annotated[
        str, typer.Option("--policy", "-p", help="memstrata, strict, a-mac, or the path of a TOML file.")
    ],
    store: Store = DEFAULT_STORE,
    user: User = None,
    agent: Agent = None,
    json: Json = False,
) -> None:
    """Take the stored decisions again under another policy: what would be otherwise. No model is asked."""
    with reading(store) as memory:
        found = memory.replay_decisions(policy, user_id=user, agent_id=agent)
    emit(found, json, replayed)


def export_(
    out: Annotated[Path | None, typer.Option("--out", "-o", dir_okay=False, help="The file; else printed.")] = None,
    store: Store = DEFAULT_STORE,
    user: User = None,
    agent: Agent = None,
) -> None:
    """Write the feedback as JSON Lines of labelled candidates, to fit a policy on."""
    import orjson

    with reading(store) as memory:
        found = memory.labelled(user_id=user, agent_id=agent)
    lines = b"".join(orjson.dumps(item) + b"\n" for item in found)
    if out is None:
        typer.echo(lines.decode(), nl=False)
    else:
        out.write_bytes(lines)
        typer.echo(f"{len(found)} labelled candidates in {out}", err=True)


# for reading ----------------------------------------------------------------------------------------------------------


def reviewed(found: tuple[Decision, ...]) -> RenderableType:
    from memstrata.cli.parts import add_row, dim, new_table

    if not found:
        return dim("nothing to review")
    table = new_table("decision", "statement", "outcome", "margin")
    for decision in found:
        margin = "" if decision.margin is None else f"{decision.margin:+.3f}"
        add_row(table, decision.id, _short(decision), decision.outcome.replace("_", " "), margin)
    return table


def replayed(found: PolicyReplay) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from memstrata.cli.parts import add_row, dim, new_table

    counts = found.counts
    head = Text.assemble(
        (found.policy, "bold"),
        f": {counts['decisions']:,} decisions, {counts['kept']:,} would be kept, {counts['kept_now']:,} were"
        f" ({counts['newly_kept']:,} more, {counts['newly_refused']:,} fewer)",
    )
    table = new_table("decision", "statement", "would be", "margin")
    for change in found.changes[:SHOWN]:
        margin = change.rule if change.rule is not None else "" if change.margin is None else f"{change.margin:+.3f}"
        add_row(table, change.decision.id, _short(change.decision), "kept" if change.admitted else "not kept", margin)
    left = len(found.changes) - SHOWN
    more = [dim(f"{left:,} more: --json")] if left > 0 else []
    return Group(head, *([table] if found.changes else []), *more)


def _short(decision: Decision) -> str:
    text = decision.candidate.content
    return text if len(text) <= WORDS else f"{text[: WORDS - 1]}…"
