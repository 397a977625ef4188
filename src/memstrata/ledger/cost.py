"""What the language model cost: calls, tokens, seconds and money, by stage, model, session, user or day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from memstrata.engine import Engine
from memstrata.errors import InputError
from memstrata.store.base import Db, Row
from memstrata.types import Scope

# What a table may be told apart by, and the column that tells it.
GROUPS: Final = {
    "stage": "x.stage",
    "model": "x.model",
    "prompt": "x.prompt",
    "session": "x.session",
    "user": "x.owner",
    "agent": "x.agent",
    "day": "x.at / 86400000000",
}
SUMS: Final = (
    "count(*) AS calls, count(*) FILTER (WHERE x.outcome <> 'read') AS unreadable, sum(x.input_tokens) AS input_tokens,"
    " sum(x.output_tokens) AS output_tokens, sum(x.cached_tokens) AS cached_tokens, sum(x.seconds) AS seconds,"
    " sum(x.cost) AS money"
)


@dataclass(frozen=True, slots=True)
class CostLine:
    """What the calls of a group cost together; `money` is in US dollars, None where no price is known."""

    group: tuple[str, ...]
    calls: int
    unreadable: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    seconds: float
    money: float | None


@dataclass(frozen=True, slots=True)
class Costs:
    """A table of costs: its columns, a line for each group, and all of them together."""

    by: tuple[str, ...]
    lines: tuple[CostLine, ...]
    total: CostLine
    turns: int

    @property
    def calls_a_turn(self) -> float:
        return self.total.calls / self.turns if self.turns else 0.0

    @property
    def tokens_a_turn(self) -> float:
        return (self.total.input_tokens + self.total.output_tokens) / self.turns if self.turns else 0.0


async def costs(engine: Engine, scope: Scope | None, by: Sequence[str]) -> Costs:
    """The costs of one scope, or of the whole tenant. Raises InputError for a column that there is not."""
    if isinstance(by, str) or not by or (unknown := [each for each in by if each not in GROUPS]):
        wrong = by if isinstance(by, str) or not by else unknown[0]
        raise InputError(f"costs cannot be told apart by {wrong!r}; by a list of {', '.join(GROUPS)}")
    return await engine.store.read(lambda db: read_costs(db, engine.settings.tenant, scope, tuple(by)))


def read_costs(db: Db, tenant: str, scope: Scope | None, by: tuple[str, ...]) -> Costs:
    """The costs as they lie in the store."""
    where, params = _where(tenant, scope)
    columns = ", ".join(f"{GROUPS[name]} AS g{n}" for n, name in enumerate(by))
    order = ", ".join(f"g{n}" for n in range(len(by)))
    rows = db.all(f"SELECT {columns}, {SUMS} FROM calls x WHERE {where} GROUP BY {order} ORDER BY {order}", params)
    total = db.one(f"SELECT {SUMS} FROM calls x WHERE {where}", params)
    turns = db.one(f"SELECT count(*) AS n FROM turns x WHERE {where}", params)
    lines = tuple(_line(tuple(_shown(name, row[f"g{n}"]) for n, name in enumerate(by)), row) for row in rows)
    assert total is not None
    assert turns is not None
    return Costs(by, lines, _line((), total), turns["n"])


def _where(tenant: str, scope: Scope | None) -> tuple[str, tuple[Any, ...]]:
    if scope is None:
        return "x.tenant = ?", (tenant,)
    if scope.agent is None or scope.user is None:
        return "x.tenant = ? AND x.owner = ?", (scope.tenant, scope.owner)
    return "x.tenant = ? AND x.owner = ? AND x.agent IN ('', ?)", (scope.tenant, scope.owner, scope.agent)


def _shown(name: str, value: Any) -> str:
    if name == "user":
        return str(value).partition(":")[2]
    if name == "day":
        from datetime import UTC, datetime

        return f"{datetime.fromtimestamp(value * 86400, UTC):%Y-%m-%d}"
    return str(value)


def _line(group: tuple[str, ...], row: Row) -> CostLine:
    return CostLine(
        group,
        row["calls"],
        row["unreadable"] or 0,
        row["input_tokens"] or 0,
        row["output_tokens"] or 0,
        row["cached_tokens"] or 0,
        row["seconds"] or 0.0,
        row["money"],
    )
