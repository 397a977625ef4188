"""How the heat of warm pages went: made again from the operation log, tick by tick.

Every page made and every touching recall is a tick of its agent, in the order of the log; what a recall returned is in
its operation. Ticks are counted back from the counter of now, so that a log that began late (after an import) fits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import orjson

from memstrata.engine import Engine
from memstrata.ledger.cursors import limit_of
from memstrata.ledger.look import wall
from memstrata.store.base import Db, Row
from memstrata.store.read import key_of
from memstrata.store.rows import from_us
from memstrata.tiers.heat import START_HEAT, heat_after_recall, heat_at
from memstrata.types import Scope
from memstrata.views import HeatCurve, HeatPoint

MOST_PAGES, MOST_TICKS = 100, 500  # of one answer; the newest


@dataclass(frozen=True, slots=True)
class _Tick:
    at: datetime
    made: int | None  # the page that was made
    recalled: frozenset[int]


async def heat(engine: Engine, scope: Scope, *, limit: int) -> tuple[HeatCurve, ...]:
    """See `AsyncMemory.heat`."""
    limit_of(limit, MOST_PAGES)
    seen, agents = wall(scope)
    alpha = engine.settings.alpha

    def read(db: Db) -> tuple[HeatCurve, ...]:
        pages = db.all(
            f"SELECT * FROM pages WHERE tenant = ? AND owner = ?{seen} AND state = 'warm' ORDER BY no DESC LIMIT ?",
            (*key_of(scope), *agents, limit),
        )
        by_agent: dict[str, list[Row]] = defaultdict(list)
        for page in pages:
            by_agent[page["agent"]].append(page)
        return tuple(
            curve for agent, rows in sorted(by_agent.items()) for curve in _curves(db, scope, agent, rows, alpha)
        )

    return await engine.store.read(read)


def _curves(db: Db, scope: Scope, agent: str, pages: list[Row], alpha: float) -> Iterator[HeatCurve]:
    row = db.one("SELECT tick FROM scopes WHERE tenant = ? AND owner = ? AND agent = ?", (*key_of(scope), agent))
    ticks = list(_ticks(db, scope, agent, min(page["no"] for page in pages)))[-MOST_TICKS:]
    first = (row["tick"] if row else len(ticks)) - len(ticks) + 1
    for page in pages:
        points = tuple(_points(page, ticks, first, alpha))
        if points:
            yield HeatCurve(f"p{page['no']}", agent or None, points)


def _points(page: Row, ticks: list[_Tick], first: int, alpha: float) -> Iterator[HeatPoint]:
    """A point for each tick since the page was made, or since the ticks that are looked at begin."""
    h = None if any(tick.made == page["no"] for tick in ticks) else _before(page, ticks, first, alpha)
    for n, tick in enumerate(ticks):
        recalled = page["no"] in tick.recalled
        if tick.made == page["no"]:
            h = START_HEAT
        elif h is not None:
            h = heat_after_recall(h, 1, alpha) if recalled else heat_at(h, 1, alpha)
        if h is not None:
            yield HeatPoint(first + n, tick.at, h, recalled)


def _before(page: Row, ticks: list[_Tick], first: int, alpha: float) -> float:
    """The heat just before these ticks, of a page that is older: the stored one, reckoned back."""
    h, at = page["h"], page["h_tick"]
    for n in range(len(ticks) - 1, -1, -1):
        if first + n <= at:
            h = (h - (1.0 - alpha if page["no"] in ticks[n].recalled else 0.0)) / alpha
    return float(h if at >= first else heat_at(h, first - 1 - at, alpha))


def _ticks(db: Db, scope: Scope, agent: str, page: int) -> Iterator[_Tick]:
    """The ticks of an agent from the operation on that made a page."""
    key = key_of(scope)
    begin = db.one(
        "SELECT o.seq FROM pages p JOIN operations o ON o.tenant = p.tenant AND o.owner = p.owner AND o.id = p.op"
        " WHERE p.tenant = ? AND p.owner = ? AND p.no = ?",
        (*key, page),
    )
    rows = db.all(
        "SELECT o.id, o.verb, o.at, o.payload, c.ref FROM operations o LEFT JOIN changes c ON c.tenant = o.tenant"
        " AND c.owner = o.owner AND c.op = o.id AND c.tbl = 'pages' AND c.before IS NULL AND c.after IS NULL"
        " WHERE o.tenant = ? AND o.owner = ? AND o.agent = ? AND o.seq >= ?"
        " AND (o.verb = 'touch' OR c.ref IS NOT NULL) ORDER BY o.seq, c.n",
        (*key, agent, begin["seq"] if begin else 0),
    )
    for row in rows:
        if row["verb"] == "touch":
            for touch in orjson.loads(row["payload"])["touches"]:
                yield _Tick(datetime.fromisoformat(touch["at"]), None, frozenset(touch["pages"]))
        else:
            yield _Tick(from_us(row["at"]), int(row["ref"]), frozenset())
