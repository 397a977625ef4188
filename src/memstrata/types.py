"""The records that travel through memstrata: one frozen dataclass for each word of the glossary.

Times are aware datetimes. Internal numbers (`no`) count from 1 inside one owner (a user, or an agent without a
user) and never leave the package; what a caller sees is `id`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Role = Literal["user", "assistant", "system", "tool"]
Trust = Literal["user", "assistant", "tool", "web", "import", "system"]
Kind = Literal["identity", "preference", "relation", "event", "plan", "fact", "procedure", "state", "ephemeral"]
Precision = Literal["minute", "hour", "day", "week", "month", "season", "year", "decade"]
LinkType = Literal["related", "same_entity", "continues", "causes", "supersedes"]
NoteState = Literal["current", "superseded", "forgotten", "removed", "undone"]
Outcome = Literal[
    "admitted", "admitted_superseding", "superseded_on_arrival", "duplicate", "rejected", "deferred", "failed"
]
Tier = Literal["hot", "page", "transcript"]
HitKind = Literal["note", "page", "turn"]

Progress = Callable[[str, int, int], None]  # what is counted, how many are done, of how many

KINDS: tuple[Kind, ...] = (
    "identity",
    "preference",
    "relation",
    "event",
    "plan",
    "fact",
    "procedure",
    "state",
    "ephemeral",
)


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory: tenant, user and agent are walls, the session is provenance.

    `owner` is the partition every row lives in: the user, or the agent where no user is named.
    """

    tenant: str
    user: str | None = None
    agent: str | None = None
    session: str | None = None

    @property
    def owner(self) -> str:
        return f"u:{self.user}" if self.user is not None else f"a:{self.agent}"


@dataclass(frozen=True, slots=True)
class EventTime:
    """When something happened, as the interval [start, end) that the words allow, and how precise they were.

    "yesterday" said on 2023-05-08 is [2023-05-07, 2023-05-08) with precision "day".
    """

    start: datetime
    end: datetime
    precision: Precision


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a message that is not text: kept as a reference, its caption or alt text is indexed."""

    type: str
    ref: str | None = None
    caption: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Message:
    """One message after parsing and redaction, before it is stored."""

    role: Role
    text: str
    name: str | None = None
    at: datetime | None = None
    id: str | None = None
    parts: tuple[Part, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    redacted: tuple[str, ...] = ()
    is_source: bool = True  # False for tool calls: kept, never a source of notes

    @property
    def indexed_text(self) -> str:
        """What is searched and extracted from: the text and the captions of its parts."""
        captions = [f"[{part.caption}]" for part in self.parts if part.caption]
        return " ".join([self.text, *captions]).strip()


@dataclass(frozen=True, slots=True)
class Turn:
    """One message as it was said. Immutable but for the tier it is found in."""

    no: int
    id: str
    agent: str | None
    session: str
    position: int
    role: Role
    speaker: str | None
    text: str
    at: datetime
    recorded_at: datetime
    trust: Trust
    tier: Tier = "hot"
    page: int | None = None
    parts: tuple[Part, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    is_source: bool = True
    hidden: bool = False  # evidence of a note that its user forgot
    operation: str = ""

    @property
    def indexed_text(self) -> str:
        captions = [f"[{part.caption}]" for part in self.parts if part.caption]
        return " ".join([self.text, *captions]).strip()

    @property
    def said(self) -> str:
        """The text with who said it: "Ana: I moved to Porto"."""
        return f"{self.speaker or self.role}: {self.indexed_text}"


@dataclass(frozen=True, slots=True)
class Slot:
    """What a statement says of one subject: `attribute` is single-valued ("lives_in"), so a new value revises the old.

    All three are normalised (casefolded, NFKC, no articles).
    """

    subject: str
    attribute: str
    value: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible note before the gate."""

    text: str
    speaker: str | None
    kind: Kind
    evidence: tuple[int, ...]
    said_at: datetime
    context: str = ""
    keywords: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    event: EventTime | None = None
    slot: Slot | None = None
    negated: bool = False
    hedged: bool = False
    hearsay: bool = False
    question: bool = False
    language: str = "en"
    trust: Trust = "user"
    utility: float | None = None
    rule: str | None = None  # a named hard rule that extraction already saw (echo, instruction, ...)

    @property
    def content(self) -> str:
        """The statement with who said it."""
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


@dataclass(frozen=True, slots=True)
class Signals:
    """The five signals of A-MAC, each in [0, 1]."""

    utility: float
    confidence: float
    novelty: float
    recency: float
    type_prior: float

    def as_tuple(self) -> tuple[float, float, float, float, float]:
        return (self.utility, self.confidence, self.novelty, self.recency, self.type_prior)


@dataclass(frozen=True, slots=True)
class Decision:
    """The gate's stored record for one candidate, admitted or not: enough to recompute it."""

    id: str
    operation: str
    outcome: Outcome
    candidate: Candidate
    signals: Signals | None
    computed_from: Mapping[str, Any]
    weights: tuple[float, float, float, float, float]
    theta: float
    score: float | None
    rule: str | None
    reason: str
    nearest: str | None
    nearest_similarity: float | None
    note: str | None
    policy: str
    versions: Mapping[str, str | None]
    decided_at: datetime
    page: int | None = None

    @property
    def margin(self) -> float | None:
        return None if self.score is None else self.score - self.theta


@dataclass(frozen=True, slots=True)
class Link:
    """A directed, typed, scored edge between notes."""

    source: str
    target: str
    type: LinkType
    score: float
    reason: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """A turn that a note or hit stands on, as its writer knows it."""

    id: str
    session: str
    position: int
    at: datetime
    role: Role
    speaker: str | None
    text: str
    agent: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Note:
    """One idea, kept: a Zettelkasten note with its context, links, validity and weight."""

    id: str
    content: str
    context: str
    kind: Kind
    keywords: tuple[str, ...]
    tags: tuple[str, ...]
    names: tuple[str, ...]
    speaker: str | None
    agent: str | None
    session: str | None
    event: EventTime | None
    said_at: datetime
    valid_from: datetime
    valid_to: datetime | None
    recorded_at: datetime
    last_access: datetime
    pinned: bool
    state: NoteState
    revision: int
    trust: Trust
    language: str
    slot: Slot | None = None
    negated: bool = False
    superseded_by: str | None = None
    decision: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    edited: tuple[str, ...] = ()  # fields a person edited: evolution leaves them alone
    links: tuple[Link, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    weight: float = 1.0
    forgets_at: datetime | None = None
    no: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """Consecutive turns that left the hot tier, with a summary and a heat."""

    id: str
    no: int
    agent: str | None
    session: str
    first: int
    last: int
    summary: str
    heat: float
    recalls: int
    state: Literal["new", "warm", "distilled"]
    promoted: bool
    started_at: datetime
    ended_at: datetime


@dataclass(frozen=True, slots=True)
class MessageOutcome:
    """What became of one message of an `add`."""

    index: int
    outcome: Literal["stored", "skipped", "redacted"]
    turn: str
    position: int
    redacted: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CandidateOutcome:
    """What became of one candidate: one outcome each, with the note it made or met."""

    outcome: Outcome
    content: str
    decision: str
    note: str | None
    score: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an operation did, item by item; stored with it, true after a crash."""

    operation: str
    verb: str
    at: datetime
    messages: tuple[MessageOutcome, ...] = ()
    candidates: tuple[CandidateOutcome, ...] = ()
    pending: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    repeated: bool = False  # answered from an earlier call with the same idempotency key
    versions: Mapping[str, str] = field(default_factory=dict)  # of the model and the prompt, where one was asked


@dataclass(frozen=True, slots=True)
class Preview:
    """What an `add` would come to: each message, each decision, the notes and links; nothing of it is stored."""

    messages: tuple[MessageOutcome, ...]
    decisions: tuple[Decision, ...]
    notes: tuple[Note, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Leg:
    """One way a hit was found: the leg's own score in [0, 1] and rank (1 is best)."""

    name: str
    score: float
    rank: int


@dataclass(frozen=True, slots=True)
class Hit:
    """One memory that answers a query, and why.

    What was said very often brings the first ten and the last ten of its turns along as `evidence`.
    """

    id: str
    kind: HitKind
    text: str
    score: float
    legs: tuple[Leg, ...]
    path: tuple[str, ...]  # ids of the notes walked from the hit that led here; empty when found directly
    evidence: tuple[Evidence, ...]
    at: datetime
    event: EventTime | None = None
    note: Note | None = None
    reason: str = ""
    more_evidence: int = 0  # turns that it stands on besides `evidence`; `get` gives a note with all of them


@dataclass(frozen=True, slots=True)
class Recall:
    """The hits of one query, best first, and a cursor to the next page of them (None after the last)."""

    query: str
    hits: tuple[Hit, ...]
    cursor: str | None = None
    without: tuple[str, ...] = ()  # what should have been asked and could not be: a reranker, a model; and why

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, index: int) -> Hit:
        return self.hits[index]


ContextStrategy = Literal["hybrid", "window", "summary", "retrieval", "full"]


@dataclass(frozen=True, slots=True)
class Context:
    """What to put before a model: `text` within the token budget, and what it was made of.

    `citations` maps the marks in the text ("[1]") to hits.
    """

    text: str
    tokens: int
    strategy: ContextStrategy
    turns: tuple[Evidence, ...] = ()
    pages: tuple[Page, ...] = ()
    citations: Mapping[str, Hit] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Profile:
    """Who a user is: notes of identity, preference and relation, newest first in each kind."""

    user: str | None
    agent: str | None
    identity: tuple[Note, ...]
    preference: tuple[Note, ...]
    relation: tuple[Note, ...]

    @property
    def text(self) -> str:
        """One line a note, with its id."""
        groups = (("identity", self.identity), ("preference", self.preference), ("relation", self.relation))
        return "\n".join(f"{kind}: {note.content} [{note.id}]" for kind, notes in groups for note in notes)


@dataclass(frozen=True, slots=True)
class Revision:
    """One change of a note: by which operation, when, and what was before and after. `before` is None at its birth."""

    operation: str
    verb: str
    at: datetime
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class NotePage:
    """One page of a list of notes, and the cursor to the next (None after the last)."""

    notes: tuple[Note, ...]
    cursor: str | None = None

    def __iter__(self) -> Iterator[Note]:
        return iter(self.notes)

    def __len__(self) -> int:
        return len(self.notes)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why something was kept or not, in a sentence and in numbers."""

    sentence: str
    decision: Decision
    note: Note | None = None
    history: tuple[Revision, ...] = ()


@dataclass(frozen=True, slots=True)
class Erasure:
    """What an erasure removed, row by row counted. `complete` is False while another reader still holds old pages.

    `backups` are the files of backups made of this store that still hold the subject: replace or delete them.
    """

    operation: str
    at: datetime
    counts: Mapping[str, int]
    complete: bool
    backups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Backup:
    """What a backup holds. `counts` are rows by table; `erasures` how many subjects had been erased before it."""

    path: str
    at: datetime
    schema: int
    bytes: int
    counts: Mapping[str, int]
    erasures: int


@dataclass(frozen=True, slots=True)
class Restored:
    """What came back. `erased_since`: operations that erased a subject after the backup was made, in the store that it
    replaced: what they erased is back, and is to be erased again."""

    path: str
    backup: Backup
    erased_since: tuple[str, ...]
