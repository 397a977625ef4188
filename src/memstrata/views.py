"""The records of the verbs that look around: sessions, turns, pages and heat, decisions, operations, jobs, graph.

Lists come in pages: each names its `cursor` to the next, None after the last. A page stays true while others are added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memstrata.types import Decision, Kind, LinkType, NoteState, Page, Turn


@dataclass(frozen=True, slots=True)
class Owner:
    """Somebody of whom there is memory: a user, or an agent without a user."""

    user: str | None
    agent: str | None
    turns: int
    notes: int  # current ones
    last_at: datetime | None  # when the newest turn was said


@dataclass(frozen=True, slots=True)
class OwnerPage:
    """Owners by name."""

    owners: tuple[Owner, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation: its turns, how many of them are hot, and when it began and was last spoken in."""

    session: str
    agent: str | None
    turns: int
    hot: int
    state: Literal["open", "ended"]
    started_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class SessionPage:
    """Sessions, the last spoken in first."""

    sessions: tuple[Session, ...]
    cursor: str | None = None

    def __iter__(self) -> Iterator[Session]:
        return iter(self.sessions)


@dataclass(frozen=True, slots=True)
class TurnPage:
    """Turns in the order they were said, each with the tier it is found in."""

    turns: tuple[Turn, ...]
    cursor: str | None = None

    def __iter__(self) -> Iterator[Turn]:
        return iter(self.turns)


@dataclass(frozen=True, slots=True)
class PagePage:
    """Pages of turns, the newest first. One that is not warm has no heat."""

    pages: tuple[Page, ...]
    cursor: str | None = None

    def __iter__(self) -> Iterator[Page]:
        return iter(self.pages)


@dataclass(frozen=True, slots=True)
class HeatPoint:
    """The heat of a page at a tick, and when that tick was. Between two points it falls by alpha a tick."""

    tick: int
    at: datetime
    heat: float
    recalled: bool  # this tick was a recall of the page


@dataclass(frozen=True, slots=True)
class HeatCurve:
    """How the heat of a warm page went: a point for each tick, from its making on."""

    page: str
    agent: str | None
    points: tuple[HeatPoint, ...]


@dataclass(frozen=True, slots=True)
class DecisionPage:
    """Decisions, the newest first. `judged` has those that a person spoke on: True, it belongs into the memory."""

    decisions: tuple[Decision, ...]
    judged: Mapping[str, bool]
    cursor: str | None = None

    def __iter__(self) -> Iterator[Decision]:
        return iter(self.decisions)


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the log. `undone_by` is the operation that took it back."""

    id: str
    verb: str
    at: datetime
    agent: str | None
    session: str | None
    counts: Mapping[str, int]
    undone_by: str | None


@dataclass(frozen=True, slots=True)
class OperationPage:
    """Operations, the newest first."""

    operations: tuple[Operation, ...]
    cursor: str | None = None

    def __iter__(self) -> Iterator[Operation]:
        return iter(self.operations)


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """Queued or failed work: of whom, since which operation, how often it was tried and what the last try said."""

    kind: str
    state: Literal["queued", "failed"]
    user: str | None
    agent: str | None
    operation: str
    attempts: int
    run_after: datetime
    error: str | None


@dataclass(frozen=True, slots=True)
class GraphNote:
    """A note as a point of the graph."""

    id: str
    content: str
    kind: Kind
    tags: tuple[str, ...]
    agent: str | None
    session: str | None
    said_at: datetime
    recorded_at: datetime
    valid_to: datetime | None
    state: NoteState
    pinned: bool
    weight: float
    revision: int


@dataclass(frozen=True, slots=True)
class GraphLink:
    """A link as a line of the graph, with the time it was made."""

    source: str
    target: str
    type: LinkType
    score: float
    reason: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Graph:
    """Notes and the links between them. `more` notes were left out by the limit: the oldest."""

    notes: tuple[GraphNote, ...]
    links: tuple[GraphLink, ...]
    more: int = 0
