"""Counts of what is stored, and what an operator should know: queued and failed work, sizes, languages, advice."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from memstrata.engine import Engine
from memstrata.journal.jobs import retry_failed
from memstrata.ledger.cost import CostLine, read_costs
from memstrata.llm.budget import WARN_AT, budget_used
from memstrata.store.base import Db
from memstrata.store.rows import from_us
from memstrata.types import Scope

ENGLISH_ONLY = "all-MiniLM"  # the name of an embedder that knows English only begins so


@dataclass(frozen=True, slots=True)
class _Part:
    """The part of the store that is counted: a tenant, an owner, or what one agent of an owner may see."""

    tenant: str
    scope: Scope | None

    def where(self, table: str, *, agents: bool = True) -> tuple[str, tuple[str, ...]]:
        """The condition on a table's alias that keeps to this part, and its parameters."""
        if self.scope is None:
            return f"{table}.tenant = ?", (self.tenant,)
        key = (self.scope.tenant, self.scope.owner)
        if self.scope.agent is None or not agents:
            return f"{table}.tenant = ? AND {table}.owner = ?", key
        return f"{table}.tenant = ? AND {table}.owner = ? AND {table}.agent IN ('', ?)", (*key, self.scope.agent)


async def stats(engine: Engine, scope: Scope | None) -> dict[str, Any]:
    """Counts of one scope, or of the whole tenant when it is None.

    turns, sessions, pages, notes, links, evolved, operations: how many there are (notes in every state that is stored).
    decisions, notes_by_kind, notes_by_state: counts by name (kinds and languages are of current notes).
    tiers: hot turns, warm pages, distilled pages. jobs: queued, failed, and since when the oldest queued one is due.
    errors: what failed jobs said. vectors: model, dim, count, token_bytes (of the owner, whichever agent asks).
    bytes: of the whole store; bytes_per_turn: bytes over the turns of the tenant. languages: shares in [0, 1].
    llm: what the language model cost, in all and a turn, and what it answered that could not be read.
    advice: what to change, in sentences; mostly empty.
    """
    part = _Part(engine.settings.tenant, scope)
    size = await engine.store.size()

    def read(db: Db) -> dict[str, Any]:
        turns = _one(db, *_count("turns", *_Part(part.tenant, None).where("x")))
        languages = _shares(_groups(db, "notes", "language", part, "x.state = 'current'"))
        return {
            **_totals(db, part),
            "decisions": _decisions(db, part),
            "notes_by_kind": _groups(db, "notes", "kind", part, "x.state = 'current'"),
            "notes_by_state": _groups(db, "notes", "state", part),
            "tiers": _tiers(db, part),
            "jobs": _jobs(db, part),
            "errors": _errors(db, part),
            "vectors": _vectors(db, part, engine),
            "bytes": size,
            "bytes_per_turn": size / turns if turns else 0.0,
            "languages": languages,
            "llm": _llm(db, part, engine),
            "advice": _advice(languages, engine.embedder.name) + _budget_advice(db, part, engine),
        }

    return await engine.store.read(read)


async def retry(engine: Engine) -> int:
    """Queue the tenant's failed jobs again; returns how many."""
    tenant, now = engine.settings.tenant, engine.now()
    return await engine.store.write(lambda db: retry_failed(db, tenant, now))


def _one(db: Db, sql: str, params: tuple[str, ...]) -> int:
    row = db.one(sql, params)
    return int(row["n"]) if row else 0


def _count(table: str, where: str, params: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    return f"SELECT count(*) AS n FROM {table} x WHERE {where}", params


def _groups(db: Db, table: str, column: str, part: _Part, condition: str = "1 = 1") -> dict[str, int]:
    where, params = part.where("x")
    rows = db.all(
        f"SELECT x.{column} AS name, count(*) AS n FROM {table} x WHERE {where} AND {condition}"
        f" GROUP BY x.{column} ORDER BY n DESC, name",
        params,
    )
    return {row["name"]: row["n"] for row in rows}


def _totals(db: Db, part: _Part) -> dict[str, int]:
    totals = {
        table: _one(db, *_count(table, *part.where("x")))
        for table in ("turns", "sessions", "pages", "notes", "operations")
    }
    where, params = part.where("n")
    totals["links"] = _one(
        db,
        "SELECT count(*) AS n FROM links x"
        f" JOIN notes n ON n.tenant = x.tenant AND n.owner = x.owner AND n.no = x.source WHERE {where}",
        params,
    )
    # A change holds the changed columns only, so one that has `context` or `tags` rewrote them.
    where, params = part.where("o")
    totals["evolved"] = _one(
        db,
        "SELECT count(*) AS n FROM operations o"
        " JOIN changes c ON c.tenant = o.tenant AND c.owner = o.owner AND c.op = o.id"
        f" WHERE {where} AND o.verb IN ('distill', 'remember') AND c.tbl = 'notes' AND c.before IS NOT NULL"
        """ AND (c.after LIKE '%"context":%' OR c.after LIKE '%"tags":%')""",
        params,
    )
    return totals


def _decisions(db: Db, part: _Part) -> dict[str, int]:
    where, params = part.where("o")
    rows = db.all(
        "SELECT d.outcome AS name, count(*) AS n FROM operations o"
        " JOIN decisions d ON d.tenant = o.tenant AND d.owner = o.owner AND d.op = o.id"
        f" WHERE {where} GROUP BY d.outcome ORDER BY n DESC, name",
        params,
    )
    return {row["name"]: row["n"] for row in rows}


def _tiers(db: Db, part: _Part) -> dict[str, int]:
    pages = _groups(db, "pages", "state", part)
    return {
        "hot_turns": _groups(db, "turns", "tier", part).get("hot", 0),
        "warm_pages": pages.get("warm", 0),
        "distilled_pages": pages.get("distilled", 0),
    }


def _jobs(db: Db, part: _Part) -> dict[str, Any]:
    states = _groups(db, "jobs", "state", part)
    where, params = part.where("x")
    row = db.one(f"SELECT min(x.run_after) AS oldest FROM jobs x WHERE {where} AND x.state = 'queued'", params)
    oldest = None if row is None or row["oldest"] is None else from_us(row["oldest"]).isoformat()
    return {"queued": states.get("queued", 0), "failed": states.get("failed", 0), "oldest": oldest}


def _errors(db: Db, part: _Part) -> list[dict[str, Any]]:
    where, params = part.where("x")
    rows = db.all(
        f"SELECT x.kind, x.error, count(*) AS n FROM jobs x WHERE {where} AND x.state = 'failed'"
        " GROUP BY x.kind, x.error ORDER BY n DESC, x.kind, x.error",
        params,
    )
    return [{"kind": row["kind"], "error": row["error"], "count": row["n"]} for row in rows]


def _vectors(db: Db, part: _Part, engine: Engine) -> dict[str, Any]:
    row = db.one("SELECT value FROM meta WHERE key = 'embedder'")
    return {
        "model": engine.embedder.name if row is None else row["value"],
        "dim": engine.embedder.dim,
        "count": _one(db, *_count("vectors", *part.where("x", agents=False))),
        "token_bytes": _token_bytes(db, part),
    }


def _token_bytes(db: Db, part: _Part) -> int:
    where, params = part.where("x", agents=False)
    return _one(db, f"SELECT coalesce(sum(length(x.tokens)), 0) AS n FROM vectors x WHERE {where}", params)


def _llm(db: Db, part: _Part, engine: Engine) -> dict[str, Any]:
    costs = read_costs(db, part.tenant, part.scope, ("stage",))
    return {
        "model": None if engine.llm is None else engine.llm.name,
        "calls": costs.total.calls,
        "unreadable": costs.total.unreadable,
        "input_tokens": costs.total.input_tokens,
        "output_tokens": costs.total.output_tokens,
        "cached_tokens": costs.total.cached_tokens,
        "seconds": costs.total.seconds,
        "money": costs.total.money,
        "calls_a_turn": costs.calls_a_turn,
        "tokens_a_turn": costs.tokens_a_turn,
        "stages": {line.group[0]: _told(line) for line in costs.lines},
    }


def _told(line: CostLine) -> dict[str, Any]:
    return {name: value for name, value in asdict(line).items() if name != "group"}


def _budget_advice(db: Db, part: _Part, engine: Engine) -> list[str]:
    share = budget_used(db, part.tenant, engine.now(), engine.settings)
    if share < WARN_AT:
        return []
    return [
        f"{share:.0%} of the language model's budget of the day is used: what comes after it waits until midnight UTC; "
        'raise llm_tokens_a_day or llm_money_a_day, or set llm_fallback="offline"'
    ]


def _shares(counts: dict[str, int]) -> dict[str, float]:
    total = sum(counts.values())
    return {name: count / total for name, count in counts.items()}


def _advice(languages: dict[str, float], embedder: str) -> list[str]:
    if embedder.startswith(ENGLISH_ONLY) and languages and languages.get("en", 0.0) < 0.5:
        return [
            f"{1 - languages.get('en', 0.0):.0%} of the notes are not in English, and {embedder} was trained on "
            'English: use embedder="multilingual", after moving the store with '
            "`memstrata reembed --embedder multilingual`"
        ]
    return []
