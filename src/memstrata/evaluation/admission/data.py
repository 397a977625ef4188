"""Labelled conversations for the gate, from any benchmark whose questions name the turns they stand on.

A turn is worth keeping when the evidence of any question names it. In LoCoMo and BEAM that is a question of the
benchmark; in Multi-Session Chat it is the sentence that people wrote down of the turn. Candidates that somebody
labelled themselves, without their conversation, are read by `records`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from memstrata.errors import InputError
from memstrata.evaluation import benchmark
from memstrata.evaluation.beam import load_beam
from memstrata.evaluation.benchmark import Benchmark, Said
from memstrata.evaluation.locomo import load_locomo
from memstrata.evaluation.msc import load_msc
from memstrata.evaluation.questions import load_questions
from memstrata.types import Part, Turn


@dataclass(frozen=True)
class Conversation:
    """One conversation with a label for each of its turns.

    `sessions` hold turns in order, `labels` are by `Turn.no`; `questions` are the turns that each later question stands
    on, `statements` what people made of a turn, where the data has that.
    """

    id: str
    sessions: tuple[tuple[Turn, ...], ...]
    labels: Mapping[int, bool]
    questions: tuple[tuple[int, ...], ...] = ()
    statements: Mapping[int, str] = field(default_factory=dict)

    @property
    def turns(self) -> list[Turn]:
        return [turn for session in self.sessions for turn in session]


@dataclass(frozen=True)
class Labelled:
    """A data set: its name, its conversations, and how much of it had to be repaired or dropped."""

    name: str
    conversations: tuple[Conversation, ...]
    repairs: Mapping[str, int] = field(default_factory=dict)


def load(path: Path, *, limit: int | None = None) -> Labelled:
    """The labelled conversations of a benchmark: a folder is BEAM's, .jsonl (also .gz) Multi-Session Chat's or a user's
    own with questions, .json LoCoMo's. `limit` takes the first so many.

    Raises InputError, naming the file and the place, for what is none of these or has one label only.
    """
    data = _benchmark(path)
    return labelled(data if limit is None else data.first(limit), str(path))


def _benchmark(path: Path) -> Benchmark:
    if path.is_dir():
        return load_beam(path)
    if ".jsonl" not in path.suffixes:
        return load_locomo(path)
    return load_msc(path) if path.suffix == ".gz" or _begins_with_chain(path) else load_questions(path)


def _begins_with_chain(path: Path) -> bool:
    with path.open("rb") as file:
        return b'"initial_data_id"' in file.readline()


def labelled(data: Benchmark, where: str) -> Labelled:
    """A benchmark as labelled turns; `where` names it in errors."""
    counts = data.counts()
    repairs = {
        name: counts[name] for name in ("evidence_repaired", "evidence_dropped", "turns_dropped") if counts[name]
    }
    found = Labelled(data.name, tuple(map(_conversation, data.conversations)), repairs)
    check_labels({label for each in found.conversations for label in each.labels.values()}, where)
    return found


def check_labels(labels: set[bool], where: str) -> None:
    """Raises InputError unless both labels occur: of one class nothing can be learnt or measured."""
    if not labels:
        raise InputError(f"{where}: nothing labelled is in it")
    if len(labels) == 1:
        only = "worth keeping (label 1)" if True in labels else "not worth keeping (label 0)"
        raise InputError(f"{where}: everything in it is {only}; examples of both are needed")


def _conversation(data: benchmark.Conversation) -> Conversation:
    sessions: list[tuple[Turn, ...]] = []
    numbers: dict[str, int] = {}
    for session in data.sessions:
        for said in session.turns:
            numbers[said.id] = len(numbers) + 1
        sessions.append(
            tuple(turn_of(said, numbers[said.id], session.id, place) for place, said in enumerate(session.turns))
        )
    questions = tuple(tuple(numbers[turn] for turn in question.evidence) for question in data.scored)
    cited = {no for evidence in questions for no in evidence}
    return Conversation(
        id=data.id,
        sessions=tuple(sessions),
        labels={no: no in cited for no in numbers.values()},
        questions=questions,
        statements={numbers[turn]: statement for turn, statement in data.statements.items()},
    )


def turn_of(said: Said, no: int, session: str, position: int) -> Turn:
    """A turn of a benchmark as the store would hold it."""
    return Turn(
        no=no,
        id=said.id,
        agent=None,
        session=session,
        position=position,
        role=said.role,
        speaker=said.speaker,
        text=said.text,
        at=said.at,
        recorded_at=said.at,
        trust="assistant" if said.role == "assistant" else "user",
        parts=(Part("image_url", caption=said.caption),) if said.caption else (),
    )
