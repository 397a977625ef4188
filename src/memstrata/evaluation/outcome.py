"""What one conversation of a run came to, and its form in a run folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from memstrata.evaluation.systems import Ingest


@dataclass(frozen=True, slots=True)
class Answered:
    """One scored question.

    What was recalled, and what by BM25, as distinct turns in order; what should have been (`gold`); the seconds the
    recall took; the tokens of the context and the fraction of the gold turns that it stands on; the days from the
    newest gold turn to the question; the answer that the file gives; and the context, where it is kept.
    """

    conversation: str
    question: str
    category: str
    gold: tuple[str, ...]
    ranking: tuple[str, ...]
    baseline: tuple[str, ...]
    seconds: float
    tokens: int
    in_context: float
    age_days: float
    answer: str | None = None
    context: str | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """What people wrote down of a turn, and the note that stands on the turn and comes closest ("" when none does);
    `rouge_l` is ROUGE-L F with the stemmer."""

    turn: str
    wanted: str
    note: str
    rouge_l: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """One conversation under one system."""

    conversation: str
    ingest: Ingest
    answered: tuple[Answered, ...]
    statements: tuple[Statement, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Outcome:
        lists = ("gold", "ranking", "baseline")
        answered = [Answered(**{**one, **{name: tuple(one[name]) for name in lists}}) for one in data["answered"]]
        statements = tuple(Statement(**one) for one in data["statements"])
        return cls(data["conversation"], Ingest(**data["ingest"]), tuple(answered), statements)
