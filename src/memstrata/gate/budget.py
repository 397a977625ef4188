"""Budget mode: at most so many notes a day, or of an owner, by a threshold that rises as the budget is spent.

Up to half of a budget the policy's own threshold holds; from there it rises to 1 with the square of what is spent, so
that the last places go to the best, and at the limit nothing new is taken (the rule `over_budget`). What is spent is
counted from the notes that are current when the decision is taken, in the same read, and stored with it: the decision
can be taken again. A revision replaces a note and is not held back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from memstrata.gate.policy import Budget

FREE = 0.5  # the share of a budget that is spent at the policy's own threshold


def day_of(said_at: datetime) -> str:
    """The day of a budget: that on which it was said, in UTC. An import of old days has the budgets of those days."""
    return f"{said_at.astimezone(UTC):%Y-%m-%d}"


@dataclass(slots=True)
class Spent:
    """Current notes of an owner: in all, and said on each day of interest. Grows as a plan admits notes."""

    owner: int = 0
    days: dict[str, int] = field(default_factory=dict)

    def at(self, said_at: datetime) -> dict[str, int]:
        """What a decision stores of it."""
        return {"day": self.days.get(day_of(said_at), 0), "user": self.owner}

    def add(self, said_at: datetime) -> None:
        """One more note was admitted."""
        day = day_of(said_at)
        self.owner += 1
        self.days[day] = self.days.get(day, 0) + 1


def tightened(theta: float, spent: Mapping[str, int], budget: Budget) -> float | None:
    """The threshold with so much spent (`Spent.at`), in [theta, 1]; None when a limit is reached.

    theta + (1 - theta) * max(0, (s - FREE) / (1 - FREE)) ** 2, where s is the larger spent share of the two limits.
    """
    limits = (("day", budget.per_day), ("user", budget.per_user))
    share = max((spent[name] / limit for name, limit in limits if limit is not None), default=0.0)
    if share >= 1.0:
        return None
    return theta + (1.0 - theta) * max(0.0, (share - FREE) / (1.0 - FREE)) ** 2
