"""What a gate is shown beside, on the same examples and folds.

- "always": everything is admitted
- "25 words": whatever has at least 25 words (two CJK characters count as one)
- "a-mac": the published weights, priors and threshold, with our signals
- "tf-idf": logistic regression on TF-IDF and fifteen cheap features of a turn and its neighbours, as readers of the
  benchmarks would build one first; its features are its own and stay where they are when the gate's get better
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import log1p

import numpy as np

from memstrata.errors import MissingExtraError
from memstrata.evaluation.admission.candidates import Booleans, Floats, Integers, Table
from memstrata.evaluation.admission.estimator import utilities
from memstrata.evaluation.admission.fit import HeldOut, Objective
from memstrata.gate.policy import Policy, load_policy
from memstrata.gate.utility import UtilityModel
from memstrata.types import KINDS

WORDS = 25.0
MIN_DOCUMENTS = 2  # a term of fewer is dropped

_TIME = re.compile(
    r"\b(?:yesterday|today|tomorrow|tonight|last|next|ago|since|recently|weeks?|weekend|months?|years?|days?|monday"
    r"|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|september"
    r"|october|november|december)\b|昨日|今日|明日|先週|来週|去年|昨天|今天|明天|上周|下周",
    re.IGNORECASE,
)
_SELF = re.compile(r"\b(?:i|i'm|i've|my|me|we|our)\b|私|僕|我", re.IGNORECASE)
_YOU = re.compile(r"\b(?:you|your)\b|あなた|[你您]", re.IGNORECASE)
_THANKS = re.compile(r"\b(?:thanks|thank you|thx|appreciate|congrats)\b|ありがとう|谢谢", re.IGNORECASE)
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
_DIGIT = re.compile(r"\d")
_ASKS = re.compile(r"[?？]")
_EXCLAIMS = re.compile(r"[!！]")


@dataclass(frozen=True, slots=True)
class Baseline:
    """Scores of every example and which are admitted; `score` is None where there is nothing to rank by."""

    score: Floats | None
    admitted: Booleans


def baselines(table: Table, fold: Integers, models: Mapping[int, UtilityModel]) -> dict[str, Baseline]:
    """Every baseline but TF-IDF, by name; `models` are the utility estimators by fold that A-MAC's policy is given."""
    long = table.words >= WORDS
    published = load_policy("a-mac")
    score = np.full(len(table.label), -1.0)
    for number, model in models.items():
        score = np.where(fold == number, policy_scores(table, published, model), score)
    return {
        "always": Baseline(None, np.ones(len(table.label), dtype=np.bool_)),
        "25 words": Baseline(table.words, long),
        "a-mac": Baseline(score, score >= published.theta),
    }


def policy_scores(table: Table, policy: Policy, model: UtilityModel) -> Floats:
    """Each example's score under a policy as it stands; a kind with a threshold of its own is shifted by the
    difference, so that `theta` decides for all."""
    shift = np.array([policy.theta - policy.theta_of(kind) for kind in KINDS])
    scores = table.signals(utilities(model, table), policy) @ np.array(policy.weights) + shift[table.kind]
    return table.best(np.maximum(scores, 0.0))


def tf_idf(table: Table, fold: Integers, objective: Objective) -> Baseline:
    """The TF-IDF baseline, fitted on the other folds; its threshold is the objective's on what it was fitted on.

    Raises MissingExtraError without scikit-learn.
    """
    try:
        from scipy.sparse import csr_matrix, hstack
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
    except ImportError as error:
        raise MissingExtraError("the TF-IDF baseline", "eval") from error

    features = cheap_features(table)
    score, admitted = np.zeros(len(table.label)), np.zeros(len(table.label), dtype=np.bool_)
    for number in range(int(fold.max()) + 1):
        inside, out = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        words = TfidfVectorizer(sublinear_tf=True, min_df=MIN_DOCUMENTS)
        terms = words.fit_transform([table.texts[n] for n in inside]), words.transform([table.texts[n] for n in out])
        mean, scale = features[inside].mean(axis=0), features[inside].std(axis=0)
        scaled = (features - mean) / np.where(scale == 0, 1.0, scale)
        model = LogisticRegression(max_iter=500)
        rows = hstack([csr_matrix(scaled[inside]), terms[0]]).tocsr()
        model.fit(rows, table.label[inside])
        theta, _ = objective.best(table.label[inside], model.predict_proba(rows)[:, 1])
        found = model.predict_proba(hstack([csr_matrix(scaled[out]), terms[1]]).tocsr())[:, 1]
        score[out], admitted[out] = found, found >= theta
    return Baseline(score, admitted)


def cheap_features(table: Table) -> Floats:
    """The fifteen features of each example, shape (n, 15): its length, question mark, exclamation mark, image, digits,
    names, novelty, time words, I, you, thanks; the question marks and lengths of the turns beside it."""
    novelty = np.ones(len(table.label))
    novelty[table.example[::-1]] = table.novelty[::-1]  # of its first candidate
    beside = [_beside(table, n) for n in range(len(table.label))]
    rows = [
        (
            log1p(table.words[n]),
            bool(_ASKS.search(text)),
            bool(_EXCLAIMS.search(text)),
            text.endswith("]"),
            bool(_DIGIT.search(text)),
            log1p(len(_NAME.findall(text))),
            novelty[n],
            bool(_TIME.search(text)),
            bool(_SELF.search(text)),
            bool(_YOU.search(text)),
            bool(_THANKS.search(text)),
            bool(_ASKS.search(before)),
            bool(_ASKS.search(after)),
            log1p(len(before.split())),
            log1p(len(after.split())),
        )
        for n, (text, (before, after)) in enumerate(zip(table.texts, beside, strict=True))
    ]
    return np.array(rows, dtype=np.float64)


def _beside(table: Table, n: int) -> tuple[str, str]:
    """The texts before and after an example in its group, empty at the ends."""
    before = n > 0 and table.group[n - 1] == table.group[n]
    after = n + 1 < len(table.texts) and table.group[n + 1] == table.group[n]
    return table.texts[n - 1] if before else "", table.texts[n + 1] if after else ""


def models_of(held: HeldOut) -> dict[int, UtilityModel]:
    """The utility estimators of a held-out run by fold."""
    return {number: gate.utility for number, gate in enumerate(held.fitted)}
