"""Answers of a language model from the contexts of a run, and their scores.

Answers are written to `answers.jsonl` of the run folder one by one, judgements to `judgements.jsonl`, so that nothing
that was paid for is asked twice. The prompts are files beside this module; their digests are in every record.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from typing import Any, TypeVar

from pydantic import BaseModel

from memstrata.embed.base import Embedder
from memstrata.errors import InputError
from memstrata.evaluation.answers import METRICS, abstains, sbert_similarities, score_answer
from memstrata.evaluation.folder import RunFolder
from memstrata.evaluation.outcome import Answered
from memstrata.evaluation.schema import Schema, read_json, read_lines
from memstrata.llm.answers import schema_of
from memstrata.llm.base import LLM, Request
from memstrata.llm.repair import read_answer

ANSWERS, JUDGEMENTS = "answers.jsonl", "judgements.jsonl"
ANSWER_TOKENS, JUDGE_TOKENS = 200, 100
WITH_ANSWER = "with an answer"  # the row over all categories but the adversarial ones
DEFAULT_METRICS = tuple(
    name for name in METRICS if name != "meteor"
)  # which needs data that its package does not bring
Shape = TypeVar("Shape", bound=BaseModel)
Done = Callable[[], None]


class GivenAnswer(BaseModel):
    """What a model answers."""

    answer: str


class Judgement(BaseModel):
    """What a judge says of an answer."""

    correct: bool


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two series of yes and no agree: the share of equal ones, and Cohen's kappa (0: as by chance)."""

    n: int
    share: float
    kappa: float


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What a judge says of answers that another judge has graded: the share that each takes for right, and how far they
    agree."""

    judged: float
    given: float
    agreement: Agreement


def agreement(one: Sequence[bool], other: Sequence[bool]) -> Agreement:
    """The agreement of two raters, or of one with itself, over the same items. ValueError without any."""
    if not one or len(one) != len(other):
        raise ValueError("two series of the same length are needed")
    share = fmean(a == b for a, b in zip(one, other, strict=True))
    first, second = fmean(one), fmean(other)
    chance = first * second + (1 - first) * (1 - second)
    return Agreement(len(one), share, 1.0 if chance == 1.0 else (share - chance) / (1 - chance))


def sample(answered: Sequence[object], count: int | None, seed: int) -> list[int]:
    """The numbers of the questions that are answered: all, or `count` of them, the same for the same seed."""
    numbers = range(len(answered))
    return (
        list(numbers) if count is None or count >= len(answered) else sorted(random.Random(seed).sample(numbers, count))
    )


async def answer_run(
    folder: RunFolder, llm: LLM, *, count: int | None = None, seed: int = 0, at_once: int = 4, done: Done = lambda: None
) -> None:
    """Has a model answer the run's questions (a sample of `count`) from their contexts; what is there stays.

    Raises InputError when the run kept no contexts.
    """
    answered = _questions(folder)
    known = {record["number"] for record in folder.lines(ANSWERS)}

    async def ask(number: int) -> None:
        one = answered[number]
        if one.context is None:
            raise InputError(f"{folder.path}: the run kept no contexts; run it into a new folder with --contexts")
        text = f"Recalled:\n{one.context}\n\nQuestion: {one.question}"
        given, usage = await _complete(llm, "answer", text, GivenAnswer, ANSWER_TOKENS)
        record = {"number": number, "model": llm.name, "prompt": digest("answer"), "answer": given.answer.strip()}
        folder.append(ANSWERS, record | usage)
        done()

    await _each(ask, [number for number in sample(answered, count, seed) if number not in known], at_once)


async def judge_run(
    folder: RunFolder, judge: LLM, *, rounds: int = 2, at_once: int = 4, done: Done = lambda: None
) -> None:
    """Has a model grade every answer `rounds` times, so that its agreement with itself is known; what is there stays.

    Questions without an answer are not graded: whether an answer abstains is plain.
    """
    answered = _questions(folder)
    known = {(record["number"], record["round"]) for record in folder.lines(JUDGEMENTS)}
    waiting = [
        (record, turn)
        for record in folder.lines(ANSWERS)
        for turn in range(rounds)
        if (record["number"], turn) not in known and answered[record["number"]].answer is not None
    ]

    async def grade(item: tuple[dict[str, Any], int]) -> None:
        record, turn = item
        correct, usage = await judged(judge, answered[record["number"]], record["answer"])
        verdict = {"number": record["number"], "round": turn, "model": judge.name, "prompt": digest("judge")}
        folder.append(JUDGEMENTS, {**verdict, "correct": correct} | usage)
        done()

    await _each(grade, waiting, at_once)


async def judged(judge: LLM, asked: Answered, answer: str) -> tuple[bool, dict[str, Any]]:
    """Whether a judge takes an answer for right, and what that cost."""
    text = f"Question: {asked.question}\n{_graded(asked.answer, answer)}"
    verdict, usage = await _complete(judge, "judge", text, Judgement, JUDGE_TOKENS)
    return verdict.correct, usage


def _graded(gold: str | None, answer: str) -> str:
    return f"Gold answer: {gold}\nAnswer to grade: {answer}"


async def answer_rows(
    folder: RunFolder, metrics: Sequence[str] = DEFAULT_METRICS, embedder: Embedder | None = None
) -> list[dict[str, Any]]:
    """The scores of the run's answers by category and overall; adversarial questions are scored by abstention,
    others for which the file has no answer are left out.

    With an embedder also "sbert", and where there are judgements "judged". Raises InputError without answers.
    """
    records, answered, manifest = folder.lines(ANSWERS), _questions(folder), folder.manifest()
    if not records:
        raise InputError(f"{folder.path}: holds no answers")
    adversarial = set(manifest["adversarial"])
    judgements = {each["number"]: each["correct"] for each in folder.lines(JUDGEMENTS) if each["round"] == 0}
    scored: list[tuple[str, dict[str, float]]] = []
    for record in records:
        one = answered[record["number"]]
        if one.category in adversarial:
            values = dict.fromkeys(("locomo_f1", *metrics), float(abstains(record["answer"])))
        elif one.answer is None:
            continue  # the file does not say what is right
        else:
            values = score_answer(record["answer"], one.answer, one.category, metrics)
            if embedder is not None:
                (values["sbert"],) = await sbert_similarities([record["answer"]], [one.answer], embedder)
        if record["number"] in judgements:
            values["judged"] = float(judgements[record["number"]])
        values["tokens in"], values["tokens out"] = float(record["tokens_in"]), float(record["tokens_out"])
        scored.append((one.category, values))
    groups = {name: [v for category, v in scored if category == name] for name in manifest["categories"]}
    groups[WITH_ANSWER] = [values for category, values in scored if category not in adversarial]
    groups["overall"] = [values for _, values in scored]
    columns = list(dict.fromkeys(name for _, values in scored for name in values))
    return [
        {"category": manifest["categories"].get(name, name), "n": len(values), **_means(values, columns)}
        for name, values in groups.items()
        if values
    ]


def abstention(folder: RunFolder) -> float | None:
    """The share of the answered adversarial questions whose answer says that there is none; None without any."""
    answered, adversarial = _questions(folder), set(folder.manifest()["adversarial"])
    given = [each for each in folder.lines(ANSWERS) if answered[each["number"]].category in adversarial]
    return fmean(abstains(each["answer"]) for each in given) if given else None


def score_file(path: Path, metrics: Sequence[str] = DEFAULT_METRICS) -> list[dict[str, Any]]:
    """The scores of answers that some program gave, by category and overall.

    The file is a JSON list, or JSON Lines, of {"answer": gold, "response": given, "category": "1" to "5"}, as projects
    publish theirs. Raises InputError that names the place.
    """
    schema = Schema(str(path), "answers")
    scored: list[tuple[str, dict[str, float]]] = []
    for where, item in _items(schema, path):
        category = schema.text(item, "category", where) or "4"
        gold, given = schema.text(item, "answer", where) or "", schema.get(item, "response", str, where)
        scored.append((category, score_answer(given, gold, category, metrics)))
    if not scored:
        raise InputError(f"{path}: holds no answers")
    groups = {name: [v for category, v in scored if category == name] for name in sorted({name for name, _ in scored})}
    groups["overall"] = [values for _, values in scored]
    columns = list(scored[0][1])
    return [{"category": name, "n": len(values), **_means(values, columns)} for name, values in groups.items()]


async def judge_file(
    path: Path, judge: LLM, *, count: int | None = None, seed: int = 0, at_once: int = 4, done: Done = lambda: None
) -> Verdicts:
    """Holds a judge against the verdicts that a file of answers has as "llm_score" (1 or 0), on a sample of `count`.

    Questions are shown where the file has them. Raises InputError when it has no verdicts.
    """
    schema = Schema(str(path), "answers")
    graded = [(where, item) for where, item in _items(schema, path) if "llm_score" in item]
    if not graded:
        raise InputError(f'{path}: no answer has a verdict ("llm_score")')
    given: list[bool] = []
    ours: list[bool] = []

    async def grade(number: int) -> None:
        where, item = graded[number]
        gold, answer = schema.text(item, "answer", where), schema.get(item, "response", str, where)
        question = schema.text(item, "question", where)
        text = (f"Question: {question}\n" if question else "") + _graded(gold, answer)
        verdict, _ = await _complete(judge, "judge", text, Judgement, JUDGE_TOKENS)
        given.append(bool(item["llm_score"]))
        ours.append(verdict.correct)
        done()

    await _each(grade, sample(graded, count, seed), at_once)
    return Verdicts(fmean(ours), fmean(given), agreement(ours, given))


def _items(schema: Schema, path: Path) -> list[tuple[str, dict[str, Any]]]:
    """The answers of a file, each with its place."""
    if path.suffixes[:1] == [".jsonl"]:
        items: list[tuple[str, Any]] = list(read_lines(path))
    else:
        items = [(f"[{n}]", each) for n, each in enumerate(schema.of(read_json(path), list, "the file"))]
    return [(where, schema.of(data, dict, where)) for where, data in items]


def judge_agreement(folder: RunFolder) -> Agreement | None:
    """How far the judge's first two rounds agree; None when there are no two."""
    rounds: dict[int, dict[int, bool]] = {}
    for record in folder.lines(JUDGEMENTS):
        rounds.setdefault(record["number"], {})[record["round"]] = record["correct"]
    pairs = [(verdicts[0], verdicts[1]) for verdicts in rounds.values() if {0, 1} <= set(verdicts)]
    return agreement([one for one, _ in pairs], [other for _, other in pairs]) if pairs else None


def _means(values: Sequence[Mapping[str, float]], columns: Sequence[str]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name in columns:
        own = [each[name] for each in values if name in each]
        found[name] = fmean(own) if own else None
    return found


def _questions(folder: RunFolder) -> list[Answered]:
    return [one for outcome in folder.outcomes() for one in outcome.answered]


async def _each(work: Callable[[Any], Any], items: Sequence[Any], at_once: int) -> None:
    """Runs `work` for every item, `at_once` at a time; the first error stops the rest."""
    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await work(item)

    tasks = [asyncio.create_task(worker()) for _ in range(at_once)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


async def _complete(
    llm: LLM, stage: str, text: str, shape: type[Shape], max_tokens: int
) -> tuple[Shape, dict[str, Any]]:
    """What a model answers to a prompt, in a shape, and its usage."""
    request = Request(f"eval {stage}", prompt(stage), text, stage, schema_of(shape), max_tokens)
    completion = await llm.complete(request)
    read = read_answer(completion.text, shape, complete=completion.complete)
    usage = completion.usage
    return read.value, {"tokens_in": usage.input_tokens, "tokens_out": usage.output_tokens, "cost": usage.cost}


@lru_cache
def prompt(stage: str) -> str:
    """The prompt "answer" or "judge"."""
    return (files("memstrata.evaluation") / "prompts" / f"{stage}.md").read_text(encoding="utf-8")


def digest(stage: str) -> str:
    """What tells whether two figures were made with the same prompt."""
    return blake2b(prompt(stage).encode(), digest_size=6).hexdigest()
