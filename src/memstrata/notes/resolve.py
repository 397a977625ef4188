"""Resolution of a revision: which of the two statements holds from when on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memstrata.notes.classify import Relation, valid_from
from memstrata.types import Candidate, Note

ResolutionOutcome = Literal["admitted_superseding", "superseded_on_arrival", "deferred"]


@dataclass(frozen=True, slots=True)
class Resolution:
    """How a revision and the note that it revises are stored.

    The candidate's note is valid in [valid_from, valid_to), open when `valid_to` is None; `existing_valid_to` is the
    end that the existing note gets, None when it stays as it is. When deferred nothing is stored but the decision.
    """

    outcome: ResolutionOutcome
    valid_from: datetime
    valid_to: datetime | None
    existing_valid_to: datetime | None
    reason: str


def resolve(candidate: Candidate, relation: Relation, existing: Note) -> Resolution:
    """Decide between a candidate and the current note that it revises (`relation.note`, or one of `relation.also`).

    The later valid_from wins, not the later arrival. Where the event time of the candidate is an interval that the
    existing note's start falls into ("last year"), or both start at once, the later said wins, from the later start.
    A loser that comes late is closed on arrival. A note that is pinned, or that a person edited, never loses: deferred.
    """
    start = valid_from(candidate)
    if not _wins(candidate, start, existing):
        return Resolution(
            outcome="superseded_on_arrival",
            valid_from=min(start, existing.valid_from),
            valid_to=existing.valid_from,
            existing_valid_to=None,
            reason=f"{existing.id} holds since {existing.valid_from:%Y-%m-%d}, later than this ({relation.reason})",
        )
    start = max(start, existing.valid_from)
    if existing.pinned or existing.edited:
        why = "is pinned" if existing.pinned else "was edited by a person"
        return Resolution(
            outcome="deferred",
            valid_from=start,
            valid_to=None,
            existing_valid_to=None,
            reason=f"{existing.id} {why}: the user decides ({relation.reason})",
        )
    return Resolution(
        outcome="admitted_superseding",
        valid_from=start,
        valid_to=None,
        existing_valid_to=start,
        reason=f"supersedes {existing.id} from {start:%Y-%m-%d} on ({relation.reason})",
    )


def _wins(candidate: Candidate, start: datetime, existing: Note) -> bool:
    event = candidate.event if candidate.slot is not None else None
    undecided = start == existing.valid_from or (event is not None and event.start <= existing.valid_from < event.end)
    if undecided:
        return candidate.said_at >= existing.said_at
    return start > existing.valid_from
