"""From labelled conversations to candidates with their five signals: the pipeline's own stages, without a store.

A conversation is cut into pages of five, each page is drafted, and its candidates are classified and scored in order
against everything the conversation drafted before, as if all of it had been kept. So the signals do not depend on the
policy that is fitted to them. What a page's candidates know of the time is the newest turn when the page would cool.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import nan

import numpy as np
from numpy.typing import NDArray

from memstrata.distil.knowledge import NEAREST, PER_NAME
from memstrata.distil.plan import Occasion
from memstrata.distil.planning import new_note, surroundings
from memstrata.distil.stages import AROUND
from memstrata.evaluation.admission.data import Conversation, Labelled
from memstrata.extract.candidates import draft
from memstrata.gate.decide import decide
from memstrata.gate.policy import Policy
from memstrata.gate.signals import age_hours, happened_at
from memstrata.gate.utility import FEATURES, utility_features
from memstrata.index.units import Vectors, note_document
from memstrata.notes.classify import Neighbour, agreeing_turns, classify
from memstrata.text.measure import size
from memstrata.text.names import name_key
from memstrata.text.tokens import statement_key
from memstrata.tiers.heat import cools_at
from memstrata.types import KINDS, Candidate, Note, Progress, Turn

PAGE = 5
COOLS_AFTER = cools_at(1.0, 0, 0.9, 0.3)  # pages made until one that nobody recalls is due, at the default settings

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
Embed = Callable[[Sequence[str]], Vectors]


@dataclass(frozen=True)
class Drafts:
    """The candidates of one conversation in order, the page of each, and the time each page was due at."""

    conversation: Conversation
    candidates: tuple[Candidate, ...]
    pages: tuple[int, ...]
    due: tuple[Turn, ...]  # by page: the newest turn when it cools

    @property
    def texts(self) -> list[str]:
        """What is embedded of each candidate: the first chunk of its note."""
        return [
            note_document(0, each.content, each.context, each.keywords, each.tags).dense[0] for each in self.candidates
        ]


@dataclass(frozen=True)
class Table:
    """Examples (turns, or candidates that were labelled themselves) with the candidates that stand for them.

    By candidate: `features` (n, features) of the utility estimator; `confidence`, `novelty`, `hours` since it happened
    and `kind` (an index into KINDS); `example`, in rising order; and `given` (n, 5): signals that came with the data,
    NaN where they are computed. By example: `label`, `group` (its conversation), `position` in it, `words`, `texts`.
    `questions` are the examples that each later question stands on, `milliseconds` what one candidate cost in CPU
    beside the encoder, `thirds` the same over the first, second and last third of the longest conversation.
    """

    name: str
    features: Floats
    confidence: Floats
    novelty: Floats
    hours: Floats
    kind: Integers
    example: Integers
    given: Floats
    label: Booleans
    group: Integers
    position: Integers
    words: Floats
    texts: tuple[str, ...]
    groups: tuple[str, ...]
    questions: tuple[tuple[int, ...], ...] = ()
    milliseconds: float = 0.0
    thirds: tuple[float, ...] = ()
    repairs: Mapping[str, int] = field(default_factory=dict)

    def rows(self, examples: Booleans) -> Booleans:
        """Which candidates stand for the chosen examples."""
        return examples[self.example]

    def best(self, scores: Floats) -> Floats:
        """Each example's score: that of its best candidate; -1 where it has none, for it is never kept."""
        best = np.full(len(self.label), -1.0)
        if len(scores):
            first = np.flatnonzero(np.diff(self.example, prepend=-1))
            best[self.example[first]] = np.maximum.reduceat(scores, first)
        return best

    def signals(self, utility: Floats, policy: Policy) -> Floats:
        """The five signals of each candidate, shape (n, 5), under a policy's priors and rates."""
        rates = np.array([policy.recency_rates[kind] for kind in KINDS])
        priors = np.array([policy.type_priors[kind] for kind in KINDS])
        recency = np.exp(-rates[self.kind] * self.hours / 24.0)
        computed = np.column_stack([utility, self.confidence, self.novelty, recency, priors[self.kind]])
        return np.where(np.isnan(self.given), computed, self.given)


def drafts_of(conversation: Conversation) -> Drafts:
    """The candidates of a conversation, drafted page by page as when every session has ended."""
    found: list[Candidate] = []
    pages: list[int] = []
    ends: list[Turn] = []
    for session in conversation.sessions:
        for first in range(0, len(session), PAGE):
            turns = session[first : first + PAGE]
            around = session[max(0, first - AROUND) : first], session[first + PAGE : first + PAGE + AROUND]
            drafted = draft(turns, before=around[0], after=around[1])
            found += drafted
            pages += [len(ends)] * len(drafted)
            ends.append(turns[-1])
    due = tuple(ends[min(page + COOLS_AFTER, len(ends) - 1)] for page in range(len(ends)))
    return Drafts(conversation, tuple(found), tuple(pages), due)


def table_of(data: Labelled, embed: Embed, policy: Policy, *, progress: Progress = lambda *_: None) -> Table:
    """Every turn of the data as an example, with its candidates.

    Candidates that a named rule refuses stand for nothing: no weight or threshold could change that.
    """
    columns = Columns()
    for number, conversation in enumerate(data.conversations):
        progress("candidates", number, len(data.conversations))
        drafts = drafts_of(conversation)
        vectors = embed(drafts.texts)
        columns.add_conversation(number, conversation)
        for scored in _timed(_scored(drafts, vectors, policy), columns.seconds):
            columns.add(columns.numbers[scored.candidate.evidence[0]], scored)
    progress("candidates", len(data.conversations), len(data.conversations))
    return columns.table(data.name, tuple(each.id for each in data.conversations), data.repairs)


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate with what its signals are made of; `given` are signals that came with it."""

    candidate: Candidate
    features: Sequence[float]
    confidence: float
    novelty: float
    hours: float
    given: Sequence[float] = (nan,) * 5


@dataclass
class Columns:
    """A table being made, row by row."""

    rows: list[Scored] = field(default_factory=list)
    example: list[int] = field(default_factory=list)
    label: list[bool] = field(default_factory=list)
    group: list[int] = field(default_factory=list)
    position: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    questions: list[tuple[int, ...]] = field(default_factory=list)
    numbers: dict[int, int] = field(default_factory=dict)  # the conversation's turns: their examples
    seconds: list[list[float]] = field(default_factory=list)  # of CPU, by conversation and candidate

    def add_conversation(self, number: int, conversation: Conversation) -> None:
        """The turns of a conversation as examples; candidates that are added then are from it."""
        self.numbers = {}
        for position, turn in enumerate(conversation.turns):
            self.numbers[turn.no] = self.add_example(turn.indexed_text, conversation.labels[turn.no], number, position)
        self.questions += [tuple(self.numbers[no] for no in each) for each in conversation.questions]

    def add_example(self, text: str, label: bool, group: int, position: int) -> int:
        """One example; returns its number."""
        self.label.append(label)
        self.group.append(group)
        self.position.append(position)
        self.texts.append(text)
        return len(self.label) - 1

    def add(self, example: int, scored: Scored) -> None:
        self.rows.append(scored)
        self.example.append(example)

    def table(self, name: str, groups: tuple[str, ...], repairs: Mapping[str, int]) -> Table:
        """What was added, as arrays."""
        order = np.argsort(np.array(self.example, dtype=np.int64), kind="stable")
        rows = [self.rows[n] for n in order]
        count = len(rows)
        spent = [second for each in self.seconds for second in each]
        longest = max(self.seconds, key=len, default=[])
        third = max(1, len(longest) // 3)
        return Table(
            name=name,
            features=np.array([row.features for row in rows], dtype=np.float64).reshape(count, len(FEATURES)),
            confidence=np.array([row.confidence for row in rows], dtype=np.float64),
            novelty=np.array([row.novelty for row in rows], dtype=np.float64),
            hours=np.array([row.hours for row in rows], dtype=np.float64),
            kind=np.array([KINDS.index(row.candidate.kind) for row in rows], dtype=np.int64),
            example=np.array(self.example, dtype=np.int64)[order],
            given=np.array([row.given for row in rows], dtype=np.float64).reshape(count, 5),
            label=np.array(self.label, dtype=np.bool_),
            group=np.array(self.group, dtype=np.int64),
            position=np.array(self.position, dtype=np.int64),
            words=np.array([size(text) for text in self.texts], dtype=np.float64),
            texts=tuple(self.texts),
            groups=groups,
            questions=tuple(self.questions),
            milliseconds=1000.0 * sum(spent) / max(1, len(spent)),
            thirds=tuple(1000.0 * sum(longest[n * third : (n + 1) * third]) / third for n in range(3)),
            repairs=repairs,
        )


def _timed(found: Iterator[Scored], seconds: list[list[float]]) -> Iterator[Scored]:
    """The same items, while the CPU time that each of them took is noted."""
    mine: list[float] = []
    seconds.append(mine)
    while True:
        started = time.process_time()
        scored = next(found, None)
        if scored is None:
            return
        mine.append(time.process_time() - started)
        yield scored


def _scored(drafts: Drafts, vectors: Vectors, policy: Policy) -> Iterator[Scored]:
    """Each candidate that no rule refuses, with what its signals are made of."""
    turns = {turn.no: turn for turn in drafts.conversation.turns}
    known = Known(vectors)
    for n, candidate in enumerate(drafts.candidates):
        if candidate.rule is not None:
            continue
        cited = [turns[no] for no in candidate.evidence]
        first = cited[0].no
        beside = {no: turns[no] for no in (first - 1, first, first + 1) if no in turns}
        newest = drafts.due[drafts.pages[n]].at
        if (scored := score(n, candidate, cited, beside, newest, known, policy)) is not None:
            yield scored


def score(
    n: int,
    candidate: Candidate,
    cited: Sequence[Turn],
    beside: Mapping[int, Turn],
    newest: datetime,
    known: Known,
    policy: Policy,
) -> Scored | None:
    """What the signals of a candidate are made of, None when a rule refuses it; it is known to the next ones then.

    `n` is the number of its vector in `known`, `newest` the time of the newest turn when its page is due.
    """
    neighbours = known.around(n, candidate)
    around = surroundings(cited, beside, neighbours)
    relation = classify(candidate, neighbours, duplicate=policy.duplicate)
    if relation.kind == "duplicate":  # kept or not is then up to its first telling; scored here like any other
        relation = replace(relation, kind="new")
    verdict = decide(
        candidate,
        sources=cited,
        relation=relation,
        newest_at=newest,
        policy=policy,
        agreeing=agreeing_turns(candidate, cited, neighbours),
        around=around,
    )
    known.add(n, new_note(f"n{n}", n, candidate, cited, Occasion("evaluation", newest, newest, None, None)))
    signals = verdict.signals
    if signals is None or (verdict.rule is not None and verdict.rule != "over_budget"):
        return None
    return Scored(
        candidate=candidate,
        features=tuple(utility_features(candidate, around).values()),
        confidence=signals.confidence,
        novelty=signals.novelty,
        hours=age_hours(newest, happened_at(candidate)),
    )


class Known:
    """Everything the conversation drafted so far, found as `distil.knowledge` finds it: by cosine, statement, slot and
    name."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._kept = np.zeros(len(vectors), dtype=np.intp)  # numbers of the notes made
        self._matrix = np.zeros_like(vectors)
        self._count = 0
        self._notes: dict[int, Note] = {}
        self._same: defaultdict[str, list[int]] = defaultdict(list)
        self._slots: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        self._names: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, n: int, note: Note) -> None:
        self._kept[self._count] = n
        self._matrix[self._count] = self._vectors[n]
        self._count += 1
        self._notes[n] = note
        self._same[statement_key(note.content)].append(n)
        if note.slot is not None:
            self._slots[note.slot.subject, note.slot.attribute].append(n)
        for name in dict.fromkeys(map(name_key, note.names)):
            self._names[name].append(n)

    def around(self, n: int, candidate: Candidate) -> tuple[Neighbour, ...]:
        vector = self._vectors[n]
        cosines = self._matrix[: self._count] @ vector
        top = np.argpartition(-cosines, NEAREST - 1)[:NEAREST] if self._count > NEAREST else np.arange(self._count)
        near = {int(self._kept[index]): float(cosines[index]) for index in top}
        related = list(self._same[statement_key(candidate.content)])
        if candidate.slot is not None:
            related += self._slots[candidate.slot.subject, candidate.slot.attribute]
        for name in candidate.names:
            related += self._names[name_key(name)][-PER_NAME:]
        for other in related:
            near.setdefault(other, float(self._vectors[other] @ vector))
        found = [Neighbour(self._notes[other], similarity) for other, similarity in near.items()]
        return tuple(sorted(found, key=lambda each: (-each.similarity, int(each.note.id[1:]))))
