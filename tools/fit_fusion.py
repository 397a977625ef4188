"""Fit the coefficients of recall's fusion on evidence turns, and show what each ingredient brings.

    python tools/fit_fusion.py locomo7.json [--beam 100K] [--cache DIR] [--write]

Every conversation is taken in by a memory of its own; the features of each scored question are those that recall itself
computes. The fit is a listwise softmax (the log likelihood of the evidence turns among the best turns of their
question), coefficients not negative, L2 penalty 1e-3, by L-BFGS. Every row of the table is printed with each
conversation scored by a fit that never saw it; with --beam, the fit on all conversations ranks the turns of other data
untouched. `range` and `page` keep their starting values: too few questions need them. With --write the coefficients
fitted on everything are shipped, with late interaction and without, and Platt's scale and bias on left-out predictions.
The data stays where it is.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from memstrata import Memory
from memstrata.embed.base import Tokens, Vector
from memstrata.evaluation.beam import load_beam
from memstrata.evaluation.benchmark import Benchmark, Conversation, Question
from memstrata.evaluation.cache import CachedEmbedder
from memstrata.evaluation.locomo import load_locomo
from memstrata.evaluation.run import shared_embedder
from memstrata.evaluation.systems import MemoryRun, System
from memstrata.index.encode import encode_query
from memstrata.recall.fuse import FEATURES_OF, fusion
from memstrata.recall.query import understand
from memstrata.recall.rank import View, score_turns, visible_units, weights
from memstrata.store.base import Db
from memstrata.store.kinds import TURN
from memstrata.types import Scope

TARGET = Path(__file__).parent.parent / "src/memstrata/recall/data/fusion.toml"
FIXED = ("range", "page")
MODEL = fusion(late=True).coefficients
FITTED = tuple(name for name in MODEL if name not in FIXED)
HARDEST = 150  # turns of a question that a fit looks at, besides its evidence: the best by the shipped coefficients
L2 = 1e-3
WITHOUT = "without late interaction"
INGREDIENTS = {
    "the turn before asks": ("asked_cosine", "asked_coverage"),
    "terms of the neighbours": ("coverage_near", "coverage_around"),
    "cosines of the neighbours": ("cosine_before", "cosine_after", "cosine_before_two"),
    "speaker": ("speaker",),
    "dates": ("month", "year", "day"),
    "kind of answer": ("time_word", "proper_noun"),
    "late interaction": FEATURES_OF["late"],
    "late interaction with neighbours": ("late_near",),
    "late interaction, session": ("late_session",),
}


@dataclass(frozen=True)
class Asked:
    """One question: features of every turn (turns, FITTED), what the unfitted ones add, and which turns answer it."""

    x: np.ndarray
    offset: np.ndarray
    gold: np.ndarray
    category: str

    def hardest(self) -> Asked:
        best = np.argsort(-(self.x @ SHIPPED + self.offset))[:HARDEST]
        kept = np.union1d(best, self.gold)
        return Asked(self.x[kept], self.offset[kept], np.searchsorted(kept, self.gold), self.category)


SHIPPED = np.array([MODEL[name] for name in FITTED])


def questions(data: Benchmark, embedder: CachedEmbedder) -> list[list[Asked]]:
    """The questions of each conversation."""
    found = []
    for conversation in data.conversations:
        with (
            tempfile.TemporaryDirectory(prefix="memstrata-fit-") as scratch,
            Memory(Path(scratch) / "memory.db", embedder=embedder, worker=False, max_chars=1_000_000) as memory,
        ):
            MemoryRun(memory, conversation, System("memory")).take_in(lambda: None)
            found.append(list(asked(memory, conversation)))
        print(f"{conversation.id}: {len(found[-1])} questions", flush=True)
    return found


def asked(memory: Memory, conversation: Conversation) -> Iterator[Asked]:
    """The features that a recall computes, for every scored question."""
    engine = memory._async._engine
    scope = Scope(engine.settings.tenant, conversation.id, None)
    index, now = engine.index(scope), engine.now()
    for question in conversation.scored:
        vector, tokens = asyncio.run(encode_query(engine.embedder, question.text, late=True))

        def read(
            db: Db, question: Question = question, vector: Vector = vector, tokens: Tokens | None = tokens
        ) -> Asked:
            with index.lock:
                index.refresh(db)
                query = understand(question.text, [name for name, _ in index.speakers.items()], now)
                visible = visible_units(db, index, scope, View())
                weight = weights(index, now, engine.settings) * visible
                legs, _ = score_turns(db, index, scope, query, vector, tokens, visible, weight, engine.settings)
                numbers = {row["id"]: row["no"] for row in db.all("SELECT id, no FROM turns")}
            zero = np.zeros(len(legs.turns.units), dtype=np.float32)
            x = np.stack([legs.features.get(name, zero) for name in FITTED], axis=1)
            offset = sum(MODEL[name] * legs.features.get(name, zero) for name in FIXED)
            units = [index.unit(TURN, numbers[turn]) for turn in question.evidence]
            gold = np.unique(legs.turns.rank[[unit for unit in units if unit is not None]])
            return Asked(x, offset, gold, question.category)

        yield asyncio.run(engine.store.read(read))


def fit(asked: Sequence[Asked], columns: Collection[int], start: np.ndarray) -> np.ndarray:
    """The coefficients of some columns; those of the others are 0."""
    chosen = sorted(columns)
    sizes = [len(each.x) for each in asked]
    starts = np.cumsum([0, *sizes[:-1]])
    of = np.repeat(np.arange(len(asked)), sizes)
    x = np.concatenate([each.x[:, chosen] for each in asked]).astype(np.float64)
    offset = np.concatenate([each.offset for each in asked])
    y = np.zeros(len(x))
    for begin, each in zip(starts, asked, strict=True):
        y[begin + each.gold] = 1 / len(each.gold)
    wanted = x.T @ y

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        z = x @ w + offset
        top = np.maximum.reduceat(z, starts)
        e = np.exp(z - top[of])
        total = np.add.reduceat(e, starts)
        value = (np.log(total) + top).sum() - z @ y
        return value / len(asked) + L2 / 2 * w @ w, (x.T @ (e / total[of]) - wanted) / len(asked) + L2 * w

    found = minimize(loss, start[chosen], jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(chosen))
    coefficients = np.zeros(len(FITTED))
    coefficients[chosen] = found.x
    return coefficients


def held_out(data: Sequence[Sequence[Asked]], columns: Collection[int]) -> tuple[list[np.ndarray], np.ndarray]:
    """Scores of every question by a fit on the other conversations, and the fit on all."""
    hard = [[each.hardest() for each in conversation] for conversation in data]
    whole = fit([each for conversation in hard for each in conversation], columns, SHIPPED)
    scores = []
    for out, conversation in enumerate(data):
        rest = [each for n, others in enumerate(hard) if n != out for each in others]
        w = fit(rest, columns, whole)
        scores += [each.x @ w + each.offset for each in conversation]
    return scores, whole


def figures(asked: Sequence[Asked], scores: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """frac@5, 10, 20, any@10 and the reciprocal rank of each question."""
    rows = []
    for each, score in zip(asked, scores, strict=True):
        place = np.empty(len(score), dtype=np.int64)
        place[np.argsort(-score, kind="stable")] = np.arange(len(score))
        ranks = np.sort(place[each.gold])
        rows.append([*((ranks < k).mean() for k in (5, 10, 20)), ranks[0] < 10, 1 / (ranks[0] + 1)])
    return dict(zip(("frac@5", "frac@10", "frac@20", "any@10", "MRR"), np.array(rows, dtype=float).T, strict=True))


def line(name: str, data: Sequence[Asked], scores: Sequence[np.ndarray], split: bool = True) -> str:
    found = figures(data, scores)
    text = f"{name:42s}" + " ".join(f"{what} {values.mean():.3f}" for what, values in found.items())
    if split:
        categories = sorted({each.category for each in data})
        of = np.array([each.category for each in data])
        text += " | frac@10 by category " + " ".join(f"{found['frac@10'][of == c].mean():.3f}" for c in categories)
    return text


def platt(asked: Sequence[Asked], scores: Sequence[np.ndarray]) -> tuple[float, float]:
    """Scale and bias that make the chance of being evidence of left-out scores over all turns."""
    z = np.concatenate(scores)
    y = np.concatenate([np.isin(np.arange(len(each.x)), each.gold) for each in asked]).astype(float)
    w = np.array([0.5, -10.0])
    x = np.stack([z, np.ones_like(z)], axis=1)
    for _ in range(50):
        p = 1 / (1 + np.exp(-(x @ w)))
        step = np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x, x.T @ (y - p))
        w += step
        if np.abs(step).max() < 1e-8:
            break
    return float(w[0]), float(w[1])


def write(fitted: Mapping[str, float], *, late: bool) -> None:
    """Put the numbers of one of the two models into the shipped file; its words stay."""
    before, mark, after = TARGET.read_text(encoding="utf-8").partition("[late.coefficients]")
    part = after if late else before
    for name, value in fitted.items():
        part = re.sub(rf"(?m)^{name} = -?[\d.]+", f"{name} = {value:.{3 if name == 'scale' else 2}f}", part)
    TARGET.write_text(before + mark + part if late else part + mark + after, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("locomo", type=Path)
    parser.add_argument("--beam", type=Path, help="a folder of BEAM chats, ranked by what was fitted")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "memstrata-fit-cache")
    parser.add_argument("--write", action="store_true", help="ship the coefficients")
    arguments = parser.parse_args()
    with shared_embedder("minilm", arguments.cache) as embedder:
        data = questions(load_locomo(arguments.locomo), embedder)
        other = questions(load_beam(arguments.beam), embedder) if arguments.beam else []
    flat = [each for conversation in data for each in conversation]
    foreign = [each for conversation in other for each in conversation]
    everything = set(range(len(FITTED)))
    models: dict[str, dict[str, float]] = {}
    rows = {"all": everything} | {
        f"without {name}": everything - {FITTED.index(each) for each in off} for name, off in INGREDIENTS.items()
    }
    for name, columns in rows.items():
        scores, whole = held_out(data, columns)
        print(line(name, flat, scores))
        if foreign:
            print(line("  BEAM", foreign, [each.x @ whole + each.offset for each in foreign], split=False), flush=True)
        if name in ("all", WITHOUT):
            scale, bias = platt(flat, scores)
            models[name] = {**dict(zip(FITTED, whole, strict=True)), "scale": scale, "bias": bias}
        if name == "all":
            shipped = whole
    print(line("all, in-sample", flat, [each.x @ shipped + each.offset for each in flat]))
    shares = shipped * np.array([np.mean([np.ptp(each.x[:, n]) for each in flat]) for n in range(len(FITTED))])
    for name, value, share in zip(FITTED, shipped, shares / shares.sum(), strict=True):
        print(f"{name} = {value:.2f}  # {share:.3f} of the score, by its mean range over a question's turns")
    for name, model in models.items():
        print(name, {key: round(value, 3) for key, value in model.items()})
        if arguments.write:
            write(
                {key: value for key, value in model.items() if name == "all" or "late" not in key}, late=name == "all"
            )


if __name__ == "__main__":
    main()
