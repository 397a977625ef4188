"""How much of an admission budget is spent: counted from the notes, in the read that the plan is made on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from memstrata.gate.budget import Spent, day_of
from memstrata.gate.policy import Budget
from memstrata.store.base import Db
from memstrata.store.read import Key
from memstrata.store.rows import to_us
from memstrata.types import Candidate


def spent_by(db: Db, key: Key, budget: Budget | None, candidates: Sequence[Candidate]) -> Spent | None:
    """The current notes of an owner, and those said on the days of the candidates; None without a budget."""
    if budget is None:
        return None
    spent = Spent()
    if budget.per_user is not None:
        spent.owner = _count(db, key)
    if budget.per_day is not None:
        spent.days = {day: _count(db, key, day) for day in sorted({day_of(each.said_at) for each in candidates})}
    return spent


def _count(db: Db, key: Key, day: str | None = None) -> int:
    within = ""
    bounds: tuple[int, ...] = ()
    if day is not None:
        start = datetime.fromisoformat(f"{day}T00:00:00+00:00")
        within, bounds = " AND said_at >= ? AND said_at < ?", (to_us(start), to_us(start + timedelta(days=1)))
    row = db.one(
        f"SELECT count(*) AS n FROM notes WHERE tenant = ? AND owner = ? AND state = 'current'{within}",
        (*key, *bounds),
    )
    return row["n"] if row else 0
