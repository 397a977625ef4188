"""Decisions are true of what is stored with them: taken again from the record alone, they are the same."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstrata.errors import SignalError
from memstrata.gate.decide import decide, recompute, redecide
from memstrata.gate.policy import PRESETS, Budget, load_policy
from memstrata.gate.rules import RULES
from memstrata.notes.classify import Relation
from memstrata.store.rows import decision_of, dump
from memstrata.types import KINDS, Candidate, Decision, EventTime, Slot, Turn

AT = datetime(2026, 5, 8, 13, 56, tzinfo=UTC)
TEXTS = ["I think my sister moved to Porto in May.", "妹は看護師かもしれません。", "听说我妹妹在华为工作。", "!!", ""]
TRUSTS = ["user", "assistant", "import", "tool", "web", "system"]

times = st.integers(-900, 900).map(lambda hours: AT + timedelta(hours=hours))
events = st.none() | times.map(lambda at: EventTime(at, at + timedelta(days=1), "day"))
candidates = st.builds(
    Candidate,
    text=st.sampled_from(TEXTS),
    speaker=st.sampled_from([None, "Ana", "王芳"]),
    kind=st.sampled_from(KINDS),
    evidence=st.just((1,)),
    said_at=times,
    event=events,
    slot=st.none() | st.just(Slot("ana", "lives_in", "porto")),
    hedged=st.booleans(),
    hearsay=st.booleans(),
    question=st.booleans(),
    negated=st.booleans(),
    language=st.sampled_from(["en", "ja", "zh", "fr"]),
    trust=st.sampled_from(TRUSTS),
    utility=st.none() | st.floats(0, 1),
    rule=st.none() | st.sampled_from(sorted(RULES)),
)
relations = st.builds(
    Relation,
    kind=st.sampled_from(["new", "revision", "duplicate"]),
    note=st.none(),
    similarity=st.none() | st.floats(-1, 1),
    reason=st.just("as it was"),
)
policies = st.builds(
    lambda name, budget: replace(load_policy(name), budget=budget),
    st.sampled_from(PRESETS),
    st.none() | st.builds(Budget, st.none() | st.integers(1, 9), st.none() | st.integers(1, 9)),
)
spendings = st.fixed_dictionaries({"day": st.integers(0, 12), "user": st.integers(0, 12)})


def turn(text: str) -> Turn:
    return Turn(1, "t1", None, "s", 1, "user", None, text, AT, AT, "user")


def stored(candidate: Candidate, verdict: Any) -> Decision:
    """The decision after it was written and read."""
    decision = Decision(
        id="d_1",
        operation="op_1",
        outcome=verdict.outcome,
        candidate=candidate,
        signals=verdict.signals,
        computed_from=verdict.computed_from,
        weights=verdict.weights,
        theta=verdict.theta,
        score=verdict.score,
        rule=verdict.rule,
        reason=verdict.reason,
        nearest=None,
        nearest_similarity=None,
        note=None,
        policy=verdict.policy,
        versions={"model": None},
        decided_at=AT,
    )
    return decision_of({"body": dump(decision)})  # type: ignore[arg-type]


@settings(max_examples=300, deadline=None)
@given(candidates, relations, policies, spendings, st.sampled_from(TEXTS), st.integers(0, 3), st.booleans())
def test_a_stored_decision_can_be_taken_again(
    candidate: Candidate, relation: Relation, policy: Any, spent: Any, said: str, agreeing: int, accepted: bool
) -> None:
    verdict = decide(
        candidate,
        sources=[turn(said)],
        relation=relation,
        newest_at=AT,
        policy=policy,
        agreeing=agreeing,
        spent=spent,
        accepted="d_0" if accepted else None,
    )
    decision = stored(candidate, verdict)
    assert recompute(decision) == replace(verdict, computed_from=recompute(decision).computed_from)
    assert redecide(decision, policy) == replace(verdict, computed_from=redecide(decision, policy).computed_from)
    if verdict.signals is not None:
        assert verdict.score == sum(w * s for w, s in zip(verdict.weights, verdict.signals.as_tuple(), strict=True))
    if accepted and relation.kind != "duplicate" and verdict.rule != "empty":
        assert verdict.admitted
    elif verdict.outcome == "admitted":
        assert verdict.score is not None
        assert verdict.rule is None
        assert verdict.score >= verdict.theta


@pytest.mark.parametrize("utility", [float("nan"), -0.1, 1.5, float("inf")])
def test_a_signal_that_is_none_is_not_scored_with(utility: float) -> None:
    candidate = Candidate("I moved to Porto", None, "event", (1,), AT, utility=utility)
    relation = Relation("new", None, None, "nothing like it is known")
    settings_ = {"sources": [turn("I moved to Porto")], "newest_at": AT, "policy": load_policy("memstrata")}
    with pytest.raises(SignalError, match="utility"):
        decide(candidate, relation=relation, **settings_)  # type: ignore[arg-type]
    with pytest.raises(SignalError, match="nonsense"):
        decide(
            replace(candidate, utility=0.5),
            relation=replace(relation, similarity=float("nan")),
            **settings_,  # type: ignore[arg-type]
        )
