"""What a plan is: all that one commit will write, made by `distil.planning`, applied by `distil.commit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memstrata.notes.classify import Neighbour
from memstrata.types import Decision, Link, Note


@dataclass(frozen=True, slots=True)
class Occasion:
    """What a plan is made for: the operation, its time, the scope's newest turn, and where the candidates come from."""

    operation: str
    now: datetime
    newest_at: datetime
    agent: str | None
    session: str | None
    page: int | None = None
    versions: Mapping[str, str | None] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)  # of the notes it makes
    metadata_of: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)  # where turns have their own, by number
    accepted: str | None = None  # the decision that its user took back: its candidate is kept


@dataclass(slots=True)
class Plan:
    """What a commit will do. `notes` are new ones, `updated` the new versions of existing notes, both by id."""

    notes: dict[str, Note] = field(default_factory=dict)
    updated: dict[str, Note] = field(default_factory=dict)
    turns: dict[str, set[int]] = field(default_factory=dict)  # evidence to add, by note id
    changed: set[str] = field(default_factory=set)  # existing notes with new values; the others only gained links
    refreshed: set[str] = field(default_factory=set)  # notes whose weight is set to 1
    re_embedded: set[str] = field(default_factory=set)
    folded: set[str] = field(default_factory=set)  # superseded notes that say the same: their turns stay open to recall
    links: list[Link] = field(default_factory=list)
    unlinked: list[tuple[str, str]] = field(default_factory=list)  # "supersedes" links that no longer stand, by ends
    decisions: list[Decision] = field(default_factory=list)
    made: dict[int, str] = field(default_factory=dict)  # ids of the new notes by the place of their candidate

    def latest(self, note: Note) -> Note:
        """The note as this plan leaves it so far."""
        return self.notes.get(note.id) or self.updated.get(note.id) or note

    def as_left(self, neighbours: Sequence[Neighbour]) -> list[Neighbour]:
        """Neighbours with their notes as this plan leaves them so far."""
        if not self.updated and not self.notes:
            return list(neighbours)
        left = []
        for each in neighbours:
            note = self.latest(each.note)
            left.append(each if note is each.note else Neighbour(note, each.similarity))
        return left

    def put(self, note: Note) -> None:
        """A new version of a note, planned or existing."""
        (self.notes if note.id in self.notes else self.updated)[note.id] = note
