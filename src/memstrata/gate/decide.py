"""The decision: rules, duplicates, then A-MAC's score; taken from stored facts, so that it can be taken again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from memstrata.gate.policy import SIGNALS, Policy, Weights
from memstrata.gate.rules import RULES, rule_for
from memstrata.gate.signals import age_hours, confidence, happened_at, novelty, recency, support, type_prior
from memstrata.gate.utility import ESTIMATOR, estimate_utility, is_of_listener
from memstrata.notes.classify import Relation
from memstrata.text.tokens import words
from memstrata.types import Candidate, Decision, Signals, Turn

GateOutcome = Literal["admitted", "rejected", "duplicate"]

_WORDING = {
    "utility": "useful",
    "confidence": "confident",
    "novelty": "new",
    "recency": "recent",
    "type_prior": "kind",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate says of one candidate, before a revision is resolved.

    `signals` and `score` are stored for refused candidates too; a duplicate is not scored and has neither.
    `computed_from` holds plain values (text, numbers, ISO times), enough to take the decision again: `redecide`.
    """

    outcome: GateOutcome
    signals: Signals | None
    score: float | None
    weights: Weights
    theta: float
    rule: str | None
    reason: str
    computed_from: Mapping[str, Any]
    policy: str

    @property
    def admitted(self) -> bool:
        return self.outcome == "admitted"


def decide(
    candidate: Candidate,
    *,
    sources: Sequence[Turn],
    relation: Relation,
    newest_at: datetime,
    policy: Policy,
    agreeing: int = 0,
) -> Verdict:
    """Decide on a candidate that was classified.

    `sources` are the turns it cites, in their order; `newest_at` is the time of the newest turn in the scope when the
    page fell due; `agreeing` counts other turns that say the same. Utility is the candidate's own where extraction
    gave one, else it is estimated.
    """
    return _judge(candidate, _facts(candidate, sources, relation, newest_at, agreeing), policy)


def redecide(decision: Decision, policy: Policy) -> Verdict:
    """The stored decision under another policy: no model call, no text of turns, no search.

    What classification found stays as it was: a duplicate remains one whatever the policy's duplicate threshold.
    """
    return _judge(decision.candidate, decision.computed_from, policy)


def _facts(
    candidate: Candidate, sources: Sequence[Turn], relation: Relation, newest_at: datetime, agreeing: int
) -> dict[str, Any]:
    happened = happened_at(candidate)
    if candidate.utility is not None:
        utility, utility_from = candidate.utility, "extraction"
    else:
        utility, utility_from = estimate_utility(candidate), ESTIMATOR
    return {
        "utility": utility,
        "utility_from": utility_from,
        "support": _support(candidate, sources),
        "sources": [turn.id for turn in sources],
        "of_listener": is_of_listener(candidate.text),
        "agreeing": agreeing,
        "relation": relation.kind,
        "relation_reason": relation.reason,
        "nearest": relation.note.id if relation.note is not None else None,
        "similarity": relation.similarity,
        "happened_at": happened.isoformat(),
        "newest_at": newest_at.isoformat(),
        "age_hours": age_hours(newest_at, happened),
    }


def _support(candidate: Candidate, sources: Sequence[Turn]) -> float:
    """Support by the cited turns; the common case, a verbatim sentence, needs no subsequence."""
    texts = [turn.indexed_text for turn in sources]
    if candidate.text and any(candidate.text in text for text in texts):
        return 1.0
    return support(words(candidate.text), [words(text) for text in texts])


def _judge(candidate: Candidate, facts: Mapping[str, Any], policy: Policy) -> Verdict:
    signals = Signals(
        utility=facts["utility"],
        confidence=confidence(
            facts["support"],
            trust=candidate.trust,
            hedged=candidate.hedged,
            hearsay=candidate.hearsay,
            question=candidate.question,
            of_listener=facts["of_listener"],
            agreeing=facts["agreeing"],
        ),
        novelty=1.0 if facts["relation"] == "revision" else novelty(facts["similarity"]),
        recency=recency(candidate.kind, facts["age_hours"], policy.recency_rates),
        type_prior=type_prior(candidate.kind, policy.type_priors),
    )
    score = sum(weight * value for weight, value in zip(policy.weights, signals.as_tuple(), strict=True))
    theta = policy.theta_of(candidate.kind)
    rule = rule_for(candidate, signals.confidence, policy)

    def verdict(outcome: GateOutcome, reason: str, *, scored: bool = True) -> Verdict:
        return Verdict(
            outcome=outcome,
            signals=signals if scored else None,
            score=score if scored else None,
            weights=policy.weights,
            theta=theta,
            rule=rule,
            reason=reason,
            computed_from=facts,
            policy=f"{policy.name} {policy.version}",
        )

    if rule is not None:
        return verdict("rejected", f"not kept: {RULES[rule]}")
    if facts["relation"] == "duplicate":
        return verdict("duplicate", f"already known as {facts['nearest']}: {facts['relation_reason']}", scored=False)
    parts = _parts(signals, candidate)
    if score < theta:
        return verdict("rejected", f"not kept: score {score:.2f} < {theta:.2f} ({parts})")
    revises = f"; revises {facts['nearest']}: {facts['relation_reason']}" if facts["relation"] == "revision" else ""
    return verdict("admitted", f"kept: score {score:.2f} >= {theta:.2f} ({parts}){revises}")


def _parts(signals: Signals, candidate: Candidate) -> str:
    values = zip(SIGNALS, signals.as_tuple(), strict=True)
    return ", ".join(
        f"{candidate.kind if name == 'type_prior' else _WORDING[name]} {value:.2f}" for name, value in values
    )
