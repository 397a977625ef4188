"""One figure of a benchmark."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. `limit` is the value not to be exceeded, or with `floor` the least one, where there is one."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    floor: bool = False

    @property
    def ratio(self) -> float | None:
        """How much of the limit is used: above 1 is too slow."""
        if self.limit is None:
            return None
        return self.limit / self.value if self.floor else self.value / self.limit
