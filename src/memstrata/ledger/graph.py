"""The notes of a scope and their links, small enough to be drawn: what a point and a line need, and no more."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from memstrata.engine import Engine
from memstrata.intake.arguments import flag, kinds_of, words
from memstrata.ledger.cursors import limit_of
from memstrata.ledger.look import wall
from memstrata.store.base import Db, Row
from memstrata.store.read import key_of
from memstrata.store.rows import from_us
from memstrata.tiers.fade import rate_of
from memstrata.tiers.weight import weight_at
from memstrata.types import Kind, Scope
from memstrata.views import Graph, GraphLink, GraphNote

MOST_NOTES = 20_000
COLUMNS = (
    "no, id, content, kind, tags, agent, session, said_at, recorded_at, valid_to, state, pinned, last_access, revision"
)


async def graph(
    engine: Engine,
    scope: Scope,
    *,
    kinds: Sequence[Kind] | None,
    tags: Sequence[str] | None,
    include_superseded: bool,
    limit: int,
) -> Graph:
    """See `AsyncMemory.graph`."""
    limit_of(limit, MOST_NOTES)
    states = ("current", "superseded") if flag(include_superseded, "include_superseded") else ("current",)
    wanted, tagged = kinds_of(kinds or ()), {tag.casefold() for tag in words(tags or (), "tags")}
    seen, agents = wall(scope)

    def read(db: Db) -> Graph:
        rows = db.all(
            f"SELECT {COLUMNS} FROM notes WHERE tenant = ? AND owner = ?{seen}"
            f" AND state IN ({', '.join('?' * len(states))}) ORDER BY no DESC",
            (*key_of(scope), *agents, *states),
        )
        fitting = [row for row in rows if _fits(row, wanted, tagged)]
        kept = {row["no"]: row for row in fitting[:limit]}
        lines = db.all(
            "SELECT l.source, l.target, l.type, l.score, l.reason, o.at FROM links l LEFT JOIN operations o"
            " ON o.tenant = l.tenant AND o.owner = l.owner AND o.id = l.op"
            " WHERE l.tenant = ? AND l.owner = ? ORDER BY l.source, l.target, l.type",
            key_of(scope),
        )
        links = tuple(
            GraphLink(
                kept[row["source"]]["id"],
                kept[row["target"]]["id"],
                row["type"],
                row["score"],
                row["reason"],
                None if row["at"] is None else from_us(row["at"]),
            )
            for row in lines
            if row["source"] in kept and row["target"] in kept
        )
        return Graph(tuple(_point(engine, row) for row in kept.values()), links, len(fitting) - len(kept))

    return await engine.store.read(read)


def _fits(row: Row, kinds: Sequence[str], tags: set[str]) -> bool:
    if kinds and row["kind"] not in kinds:
        return False
    return not tags or {tag.casefold() for tag in orjson.loads(row["tags"])} >= tags


def _point(engine: Engine, row: Row) -> GraphNote:
    settings, fades = engine.settings, engine.settings.forgetting and not row["pinned"]
    last = from_us(row["last_access"])
    return GraphNote(
        row["id"],
        row["content"],
        row["kind"],
        tuple(orjson.loads(row["tags"])),
        row["agent"] or None,
        row["session"] or None,
        from_us(row["said_at"]),
        from_us(row["recorded_at"]),
        None if row["valid_to"] is None else from_us(row["valid_to"]),
        row["state"],
        bool(row["pinned"]),
        weight_at(last, engine.now(), rate_of(row["kind"], settings)) if fades else 1.0,
        row["revision"],
    )
