"""Fit the offline utility estimator and measure it, conversations held out.

    python tools/fit_utility.py --locomo locomo10.json --msc valid.jsonl.gz [--write]

A candidate is what extraction drafts from a page of five turns. Its label is its turn's: in LoCoMo, that the evidence
of any question names the turn; in Multi-Session Chat, that people wrote down a fact about its speaker from it. Which
candidate of such a turn was meant is not known: the best by the fit so far counts, the others are left out, a few
times over (multiple-instance learning). Logistic regression on standardised features with an L2 penalty, each data set
and each class weighing the same. Prints, for each
data set, the area under the ROC curve on conversations that were left out, and with --write ships the fit on
everything. The data stays where it is: only coefficients are kept.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby, islice
from pathlib import Path

import numpy as np

from memstrata.extract.candidates import draft
from memstrata.gate.utility import FEATURES, utility_features
from memstrata.types import Candidate, Part, Turn

TARGET = Path(__file__).parent.parent / "src/memstrata/gate/data/utility.toml"
TURN_ID = re.compile(r"D:?(\d+):0*(\d+)")
PAGE = 5
ROUNDS = 3
START = datetime(2023, 1, 1, tzinfo=UTC)
HEADER = """\
# Coefficients of the offline utility estimator: ln(p / (1 - p)) = intercept + sum of coefficient * feature.
# The features are described in gate/utility.py. Fitted by tools/fit_utility.py on the candidates that extraction
# drafts, labelled by their turns: in LoCoMo, does any question's evidence name the turn; in Multi-Session Chat, did
# people write down a fact from it; the best candidate stands for such a turn. Each data set and each class weighs the
# same, so that a utility of .5 is even odds between the classes, not a share of candidates. Area under the ROC curve on
# conversations that were left out, over candidates, and over all turns (a turn has its best candidate's utility; one
# without candidates comes last):
"""


@dataclass(frozen=True)
class Rows:
    """Features, label, conversation and turn of each candidate of a data set."""

    x: np.ndarray
    y: np.ndarray
    group: np.ndarray
    turn: np.ndarray
    labels: list[list[bool]]  # of every turn, by conversation

    def part(self, chosen: np.ndarray) -> Rows:
        """Some of the candidates."""
        return Rows(self.x[chosen], self.y[chosen], self.group[chosen], self.turn[chosen], self.labels)


def turn_of(no: int, session: str, speaker: str, text: str, caption: str | None, at: datetime) -> Turn:
    parts = (Part("image", caption=caption),) if caption else ()
    return Turn(no, str(no), None, session, no, "user", speaker, text, at, at, "user", parts=parts)


def locomo(path: Path) -> Iterator[tuple[list[Turn], list[bool]]]:
    """The turns of each session with their labels, conversation by conversation."""
    for conversation in json.loads(path.read_text(encoding="utf-8")):
        cited = {
            f"D{int(session)}:{int(turn)}"
            for question in conversation["qa"]
            for evidence in question.get("evidence", [])
            for session, turn in TURN_ID.findall(evidence)
        }
        turns: list[Turn] = []
        labels: list[bool] = []
        for key, session in conversation["conversation"].items():
            if not re.fullmatch(r"session_\d+", key):
                continue
            at = said_at(conversation["conversation"][f"{key}_date_time"])
            for raw in session:
                turns.append(turn_of(len(turns), key, raw["speaker"], raw["text"], raw.get("blip_caption"), at))
                labels.append(raw["dia_id"] in cited)
        yield turns, labels


def said_at(text: str) -> datetime:
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def msc(path: Path) -> Iterator[tuple[list[Turn], list[bool]]]:
    """The turns of each chain with their labels."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            turns: list[Turn] = []
            labels: list[bool] = []
            for session in json.loads(line)["sessions"]:
                at = START + timedelta(days=7 * session["session"])
                for raw in session["turns"]:
                    number = len(turns)
                    turns.append(turn_of(number, str(session["session"]), raw["speaker"], raw["text"], None, at))
                    labels.append(bool(raw["persona_text"]))
            yield turns, labels


def candidates_of(turns: list[Turn]) -> Iterator[tuple[Candidate, Turn]]:
    """Each candidate of a conversation with the turn it quotes; pages of five, as in the tiers."""
    for _, group in groupby(turns, key=lambda turn: turn.session):
        session = list(group)
        by_number = {turn.no: turn for turn in session}
        for first in range(0, len(session), PAGE):
            before, after = session[max(0, first - PAGE) : first], session[first + PAGE : first + 2 * PAGE]
            for candidate in draft(session[first : first + PAGE], before=before, after=after):
                if candidate.rule is None:
                    yield candidate, by_number[candidate.evidence[0]]


def rows(conversations: Iterator[tuple[list[Turn], list[bool]]]) -> Rows:
    """The features of every candidate of a data set, with the label of its turn."""
    found = []
    labels = []
    for number, (turns, wanted) in enumerate(conversations):
        labels.append(wanted)
        for candidate, turn in candidates_of(turns):
            values = utility_features(candidate).values()
            found.append(([*values], wanted[turn.no], number, turn.no))
    x, y, group, turn_no = (np.array(column, dtype=float) for column in zip(*found, strict=True))
    return Rows(x, y, group, turn_no, labels)


def fit(sets: list[tuple[np.ndarray, np.ndarray]], penalty: float = 3.0) -> tuple[float, np.ndarray]:
    """Intercept and coefficients by Newton's method; the penalty is on standardised features."""
    x = np.concatenate([part for part, _ in sets])
    y = np.concatenate([labels for _, labels in sets])
    weight = np.concatenate([class_weights(labels) for _, labels in sets])
    weight *= len(y) / weight.sum()
    mean, scale = x.mean(axis=0), x.std(axis=0)
    scale[scale == 0] = 1.0
    z = np.column_stack([np.ones(len(x)), (x - mean) / scale])
    ridge = np.diag([0.0, *[penalty] * x.shape[1]])
    beta = np.zeros(z.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-z @ beta))
        gradient = z.T @ (weight * (y - p)) - ridge @ beta
        step = np.linalg.solve((z * (weight * p * (1 - p))[:, None]).T @ z + ridge, gradient)
        beta += step
        if np.abs(step).max() < 1e-8:
            break
    coefficients = beta[1:] / scale
    return float(beta[0] - coefficients @ mean), coefficients


def fit_best(sets: list[Rows]) -> tuple[float, np.ndarray]:
    """The fit in which each labelled turn is stood for by its best candidate."""
    model = fit([(each.x, each.y) for each in sets])
    for _ in range(ROUNDS):
        kept = [standing(each, model[0] + each.x @ model[1]) for each in sets]
        model = fit([(each.x[keep], each.y[keep]) for each, keep in zip(sets, kept, strict=True)])
    return model


def standing(data: Rows, scores: np.ndarray) -> np.ndarray:
    """Which candidates count: all of the turns without the label, and the best of each turn with it."""
    best: dict[tuple[float, float], int] = {}
    for index in np.flatnonzero(data.y):
        turn = (data.group[index], data.turn[index])
        if turn not in best or scores[index] > scores[best[turn]]:
            best[turn] = int(index)
    keep = data.y == 0
    keep[list(best.values())] = True
    return keep


def class_weights(y: np.ndarray) -> np.ndarray:
    """Weights by which both classes count the same and the set's sum is 1."""
    return np.where(y == 1, 0.5 / y.sum(), 0.5 / (1 - y).sum())


def auc(y: np.ndarray, score: np.ndarray) -> float:
    """Area under the ROC curve, ties counted half."""
    order = np.argsort(score, kind="stable")
    _, inverse, counts = np.unique(score[order], return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    positive = y[order] == 1
    ones, zeros = positive.sum(), (~positive).sum()
    return float((ranks[positive].sum() - ones * (ones + 1) / 2) / ones / zeros)


def held_out(target: Rows, other: list[Rows], folds: int) -> str:
    """AUC over candidates and over turns, each scored by a fit that saw none of its conversation."""
    scores = np.zeros(len(target.y))
    for fold in range(folds):
        out = target.group % folds == fold
        intercept, coefficients = fit_best([target.part(~out), *other])
        scores[out] = intercept + target.x[out] @ coefficients
    return areas(target, scores)


def areas(target: Rows, scores: np.ndarray) -> str:
    """AUC over candidates and over turns of these scores."""
    best = [np.full(len(labels), -np.inf) for labels in target.labels]
    for score, group, turn in zip(scores, target.group, target.turn, strict=True):
        best[int(group)][int(turn)] = max(best[int(group)][int(turn)], score)
    over_turns = auc(np.concatenate(target.labels).astype(float), np.concatenate(best))
    return f"{auc(target.y, scores):.3f} over {len(scores)} candidates, {over_turns:.3f} over turns"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--locomo", type=Path, required=True)
    parser.add_argument("--msc", type=Path, required=True)
    parser.add_argument("--chains", type=int, default=200, help="of Multi-Session Chat, the first so many")
    parser.add_argument("--write", action="store_true", help="ship the coefficients")
    arguments = parser.parse_args()
    first = rows(locomo(arguments.locomo))
    second = rows(islice(msc(arguments.msc), arguments.chains))
    conversations = int(first.group.max()) + 1
    measured = {
        f"LoCoMo, {conversations} conversations, leave one out": held_out(first, [second], conversations),
        "LoCoMo, leave one out, fitted on LoCoMo alone": held_out(first, [], conversations),
        f"Multi-Session Chat, {arguments.chains} chains, five folds": held_out(second, [first], 5),
        "Multi-Session Chat, fitted on LoCoMo alone": held_across(second, first),
    }
    intercept, coefficients = fit_best([first, second])
    lines = [f"# - {what}: {value}" for what, value in measured.items()]
    lines += ["", f"intercept = {intercept:.4f}", "", "[coefficients]"]
    lines += [f"{name} = {value:.4f}" for name, value in zip(FEATURES, coefficients, strict=True)]
    text = HEADER + "\n".join(lines) + "\n"
    print(text)
    if arguments.write:
        TARGET.write_text(text, encoding="utf-8")


def held_across(target: Rows, source: Rows) -> str:
    intercept, coefficients = fit_best([source])
    return areas(target, intercept + target.x @ coefficients)


if __name__ == "__main__":
    main()
