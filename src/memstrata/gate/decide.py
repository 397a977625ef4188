"""The decision: rules, duplicates, then A-MAC's score; taken from stored facts, so that it can be taken again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from math import isfinite
from typing import Any, Literal

from memstrata.errors import SignalError
from memstrata.gate.budget import tightened
from memstrata.gate.evidence import cues_found
from memstrata.gate.policy import SIGNALS, Budget, Policy, Weights
from memstrata.gate.rules import BY_USER, RULES, rule_for
from memstrata.gate.signals import age_hours, confidence, happened_at, novelty, recency, support, type_prior
from memstrata.gate.utility import ALONE, ESTIMATOR, Surroundings, default_model, is_of_listener, utility_features
from memstrata.notes.classify import Relation
from memstrata.text.overlap import lcs_length
from memstrata.text.tokens import words
from memstrata.types import KINDS, Candidate, Decision, Signals, Turn

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
    around: Surroundings = ALONE,
    spent: Mapping[str, int] | None = None,
    accepted: str | None = None,
) -> Verdict:
    """Decide on a candidate that was classified.

    `sources` are the turns it cites, in their order; `newest_at` is the time of the newest turn in the scope when the
    page fell due; `agreeing` counts other turns that say the same. Utility is the candidate's own where extraction
    gave one, else it is estimated from the candidate and what stands `around` it, by the policy's estimator. `spent` is
    what is used of the policy's budget (`budget.Spent.at`); `accepted` the id of an earlier decision that its user took
    back: then rules and score are recorded and do not decide.

    Raises SignalError when a signal cannot be computed: the candidate is to wait, no value is invented.
    """
    facts = _facts(candidate, sources, relation, newest_at, agreeing, around, policy)
    if policy.budget is not None:
        facts["spent"] = None if spent is None else dict(spent)
    if accepted is not None:
        facts["accepted"] = accepted
    return _judge(candidate, facts, policy)


def redecide(decision: Decision, policy: Policy, *, spent: Mapping[str, int] | None = None) -> Verdict:
    """The stored decision under another policy: no model call, no text of turns, no search.

    What classification found stays as it was: a duplicate remains one whatever the policy's duplicate threshold. A
    budget counts with `spent`, else with what was stored; where neither is known it does not.
    """
    facts = dict(decision.computed_from) if spent is None else {**decision.computed_from, "spent": dict(spent)}
    return _judge(decision.candidate, facts, policy)


def recompute(decision: Decision) -> Verdict:
    """The decision taken again from nothing but what is stored with it: the same, or the record is not true."""
    held = decision.computed_from["in_force"]
    policy = Policy(
        name=decision.policy,
        version="",
        weights=decision.weights,
        theta=held["theta"],
        type_priors=dict.fromkeys(KINDS, held["type_prior"]),
        recency_rates=dict.fromkeys(KINDS, held["rate"]),
        unsupported=held["unsupported"],
        quarantine=tuple(held["quarantine"]),
        budget=Budget(**held["budget"]) if held["budget"] is not None else None,
    )
    return replace(_judge(decision.candidate, decision.computed_from, policy), policy=decision.policy)


def _facts(
    candidate: Candidate,
    sources: Sequence[Turn],
    relation: Relation,
    newest_at: datetime,
    agreeing: int,
    around: Surroundings,
    policy: Policy,
) -> dict[str, Any]:
    happened = happened_at(candidate)
    if candidate.utility is not None:
        utility, utility_from = candidate.utility, "extraction"
    else:
        utility = (policy.utility or default_model()).estimate(utility_features(candidate, around))
        utility_from = ESTIMATOR if policy.utility is None else policy.label
    supported, support_from = _support(candidate, sources)
    for name, value in (("utility", utility), ("support", supported)):
        if not 0.0 <= value <= 1.0:
            raise SignalError(f"the {name} of a candidate is {value!r}, no number from 0 to 1")
    if relation.similarity is not None and not isfinite(relation.similarity):
        raise SignalError(f"the similarity to what is known is {relation.similarity!r}: the embedder gave nonsense")
    return {
        "utility": utility,
        "utility_from": utility_from,
        "support": supported,
        "support_from": support_from,
        "sources": [turn.id for turn in sources],
        "of_listener": is_of_listener(candidate.text),
        "agreeing": agreeing,
        "cues": cues_found(candidate),
        "relation": relation.kind,
        "relation_reason": relation.reason,
        "nearest": relation.note.id if relation.note is not None else None,
        "similarity": relation.similarity,
        "happened_at": happened.isoformat(),
        "newest_at": newest_at.isoformat(),
        "age_hours": age_hours(newest_at, happened),
    }


def _support(candidate: Candidate, sources: Sequence[Turn]) -> tuple[float, str]:
    """Support by the cited turns, and what it comes from; a verbatim sentence needs no subsequence."""
    texts = [turn.indexed_text for turn in sources]
    if candidate.text and any(candidate.text in text for text in texts):
        return 1.0, "verbatim"
    own, said = words(candidate.text), [words(turn.said) for turn in sources]  # "I" may stand there by its name
    return support(own, said), f"{lcs_length(own, list(chain.from_iterable(said)))} of {len(own)} words, in order"


def _judge(candidate: Candidate, facts: Mapping[str, Any], policy: Policy) -> Verdict:
    signals = _signals(candidate, facts, policy)
    score = sum(weight * value for weight, value in zip(policy.weights, signals.as_tuple(), strict=True))
    rule = rule_for(candidate, signals.confidence, policy)
    is_new = facts["relation"] == "new"  # a revision replaces a note: no budget holds it back
    theta: float | None = policy.theta_of(candidate.kind)
    if is_new and policy.budget is not None and facts.get("spent") is not None:
        theta = tightened(policy.theta_of(candidate.kind), facts["spent"], policy.budget)
    if rule is None and theta is None:
        rule = "over_budget"
    bar = 1.0 if theta is None else theta
    refused = _refusal(candidate, signals, score, bar, rule)

    def verdict(outcome: GateOutcome, reason: str, rule: str | None = rule, *, scored: bool = True) -> Verdict:
        return Verdict(
            outcome=outcome,
            signals=signals if scored else None,
            score=score if scored else None,
            weights=policy.weights,
            theta=bar,
            rule=rule,
            reason=reason,
            computed_from={**facts, "in_force": _in_force(policy, candidate)},
            policy=policy.label,
        )

    may_accept = facts.get("accepted") is not None and rule != "empty"
    if rule is not None and rule != "over_budget" and not may_accept:
        return verdict("rejected", f"not kept: {refused}")
    if facts["relation"] == "duplicate":
        reason = f"already known as {facts['nearest']}: {facts['relation_reason']}"
        return verdict("duplicate", reason, None, scored=False)
    revises = f"; revises {facts['nearest']}: {facts['relation_reason']}" if facts["relation"] == "revision" else ""
    if refused is not None and not may_accept:
        return verdict("rejected", f"not kept: {refused}")
    scored = f"score {score:.2f} >= {bar:.2f} ({_parts(signals, candidate)})"
    if may_accept:
        why = f"though {refused}" if refused is not None else scored
        return verdict("admitted", f"kept: its user accepted it, {why}{revises}", BY_USER)
    return verdict("admitted", f"kept: {scored}{revises}")


def _signals(candidate: Candidate, facts: Mapping[str, Any], policy: Policy) -> Signals:
    return Signals(
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


def _refusal(candidate: Candidate, signals: Signals, score: float, theta: float, rule: str | None) -> str | None:
    """Why the candidate is not to be kept, or None."""
    if rule is not None:
        return RULES[rule]
    if score < theta:
        return f"score {score:.2f} < {theta:.2f} ({_parts(signals, candidate)})"
    return None


def _in_force(policy: Policy, candidate: Candidate) -> dict[str, Any]:
    """What of the policy the decision rests on, beside the weights: stored, so that it can be taken again."""
    budget = policy.budget
    return {
        "theta": policy.theta_of(candidate.kind),
        "type_prior": policy.type_priors[candidate.kind],
        "rate": policy.recency_rates[candidate.kind],
        "unsupported": policy.unsupported,
        "quarantine": list(policy.quarantine),
        "budget": None if budget is None else {"per_day": budget.per_day, "per_user": budget.per_user},
    }


def _parts(signals: Signals, candidate: Candidate) -> str:
    values = zip(SIGNALS, signals.as_tuple(), strict=True)
    return ", ".join(
        f"{candidate.kind if name == 'type_prior' else _WORDING[name]} {value:.2f}" for name, value in values
    )
