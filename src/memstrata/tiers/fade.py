"""Fading applied: a note's rate, when it is forgotten, and what an access does to its row."""

from __future__ import annotations

from datetime import datetime

from memstrata.journal.recorder import Recorder
from memstrata.settings import Settings
from memstrata.store.rows import to_us
from memstrata.tiers.weight import FORGETTING_RATES, forgets_at
from memstrata.types import Kind


def rate_of(kind: Kind, settings: Settings) -> float:
    """The forgetting rate a day of a note of this kind."""
    return settings.forgetting_rate or FORGETTING_RATES[kind]


def forgets_us(last_access: datetime, kind: Kind, pinned: bool, settings: Settings) -> int | None:
    """When a note falls below theta, in microseconds; None for one that does not fade."""
    if pinned or not settings.forgetting:
        return None
    at = forgets_at(last_access, rate_of(kind, settings), settings.theta)
    return None if at is None else to_us(at)


def refresh_weight(
    rec: Recorder, no: int, kind: Kind, pinned: bool, settings: Settings, *, at: datetime | None = None
) -> None:
    """Weight 1 from `at` (None: now) on. An access is no revision: it is replayed from the log, not undone."""
    at = rec.now if at is None else at
    rec.db.run(
        "UPDATE notes SET last_access = ?, forgets_at = ? WHERE tenant = ? AND owner = ? AND no = ?",
        (to_us(at), forgets_us(at, kind, pinned, settings), *rec.key, no),
    )
    rec.mark("notes", no)
