"""The budget of a day: what a tenant has spent on calls since midnight UTC, as a share of what it may."""

from __future__ import annotations

from datetime import UTC, datetime

from memstrata.settings import Settings
from memstrata.store.base import Db
from memstrata.store.rows import to_us

WARN_AT = 0.8  # of the budget


def midnight(now: datetime) -> datetime:
    """The beginning of the day (UTC) of `now`."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def budget_used(db: Db, tenant: str, now: datetime, settings: Settings) -> float:
    """The share of the day's budget that is used: the larger one of tokens and of money; 0 without a budget."""
    tokens, money = settings.llm_tokens_a_day, settings.llm_money_a_day
    if tokens is None and money is None:
        return 0.0
    row = db.one(
        "SELECT sum(input_tokens + output_tokens) AS tokens, sum(cost) AS money FROM calls"
        " WHERE tenant = ? AND at >= ?",
        (tenant, to_us(midnight(now))),
    )
    spent = (0, 0.0) if row is None else (row["tokens"] or 0, row["money"] or 0.0)
    limits = [(spent[0], tokens), (spent[1], money)]
    return max(used / limit for used, limit in limits if limit is not None)
