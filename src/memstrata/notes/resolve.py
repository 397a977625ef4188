"""Resolution of a revision: the place of a statement in time among those that cannot hold beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from memstrata.notes.classify import Relation, valid_from
from memstrata.types import Candidate, EventTime, Note

RECENT = timedelta(days=45)  # a change told within it is told as news: "last month" at the end of the next

ResolutionOutcome = Literal["admitted_superseding", "superseded_on_arrival", "deferred"]


@dataclass(frozen=True, slots=True)
class Resolution:
    """How a revision is stored among its rivals, the notes that cannot hold beside it.

    The candidate's note is valid in [valid_from, valid_to), open when `valid_to` is None. `ended` are the rivals whose
    validity it ends at its `valid_from`, or at their own where that is later; `next` is the nearest later rival, which
    ends it. When deferred nothing is stored but the decision.
    """

    outcome: ResolutionOutcome
    valid_from: datetime
    valid_to: datetime | None
    ended: tuple[Note, ...]
    next: Note | None
    reason: str


def resolve(candidate: Candidate, relation: Relation, rivals: Sequence[Note]) -> Resolution:
    """Find a candidate's place among the notes that it revises (`relation.note` and `relation.also`).

    The later valid_from wins, not the later arrival, so that every order of arrival leaves the same one current: the
    candidate ends the rivals that began before it and still held, and is closed by the nearest that began after it.
    Where the event time of one is an interval that the other's start falls into ("last year"), or both start at once,
    the later said wins, from the later start. So does a change that is told as news after a statement without a time
    of its own, from its own start: "I live in Berlin" and then "I moved to Porto last week".
    A current note that is pinned, or that a person edited, never loses: deferred.
    """
    start = valid_from(candidate)
    later = [rival for rival in rivals if not _wins(candidate, start, rival)]
    following = min(later, key=lambda rival: (rival.valid_from, rival.no), default=None)
    end = max(start, following.valid_from) if following is not None else None
    earlier = [rival for rival in rivals if rival not in later and (end is None or rival.valid_from <= end)]
    # Of the rivals that a vague event time reaches, the last one's start is the earliest that the candidate can have.
    start = max([start, *(rival.valid_from for rival in earlier if not _told_after(candidate, rival))])
    ended = tuple(rival for rival in earlier if rival.valid_to is None or rival.valid_to > start)
    outcome: ResolutionOutcome
    guarded = next((each for each in ended if each.state == "current" and (each.pinned or each.edited)), None)
    if guarded is not None:
        why = "is pinned" if guarded.pinned else "was edited by a person"
        outcome, reason = "deferred", f"{guarded.id} {why}: the user decides"
    elif following is not None:
        outcome = "superseded_on_arrival"
        reason = f"{following.id} holds since {following.valid_from:%Y-%m-%d}, later than this"
    else:
        outcome = "admitted_superseding"
        names = ", ".join(each.id for each in ended) or "nothing that still held"
        reason = f"supersedes {names} from {start:%Y-%m-%d} on"
    return Resolution(outcome, start, end, ended, following, f"{reason} ({relation.reason})")


def _wins(candidate: Candidate, start: datetime, rival: Note) -> bool:
    mine, theirs = _change(candidate), _change(rival)
    undecided = (
        start == rival.valid_from
        or (mine is not None and mine.start <= rival.valid_from < mine.end)
        or (theirs is not None and theirs.start <= start < theirs.end)
        or _told_after(candidate, rival)
        or _told_after(rival, candidate)
    )
    return candidate.said_at >= rival.said_at if undecided else start > rival.valid_from


def _change(item: Candidate | Note) -> EventTime | None:
    """When a state began, where that was said."""
    return item.event if item.slot is not None else None


def _told_after(news: Candidate | Note, other: Candidate | Note) -> bool:
    """Whether a change of late was told after a statement that has no time but that of being said, later than it."""
    change = _change(news)
    if change is None or _change(other) is not None:
        return False
    return change.end <= other.said_at <= news.said_at <= change.end + RECENT
