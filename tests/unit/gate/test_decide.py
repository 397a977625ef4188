"""Decisions: rules, duplicates, the score, the stored record and its replay."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memstrata.errors import InputError
from memstrata.gate.decide import Verdict, decide, redecide
from memstrata.gate.policy import Policy, load_policy
from memstrata.gate.rules import RULES, rule_for
from memstrata.notes.classify import Relation
from memstrata.types import KINDS, Candidate, Decision, Turn

AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
NEW = Relation("new", None, None, "nothing like it is known")


def turn(text: str, no: int = 1, **more: Any) -> Turn:
    return Turn(no, f"t{no}", None, "s1", no, "user", "Ana", text, AT, AT, "user", **more)


def say(text: str, **more: Any) -> Candidate:
    return Candidate(**{"text": text, "speaker": "Ana", "kind": "fact", "evidence": (1,), "said_at": AT, **more})


def judged(candidate: Candidate, *, relation: Relation = NEW, policy: Policy | None = None, **more: Any) -> Verdict:
    sources = more.pop("sources", [turn(candidate.text)])
    settings = {"newest_at": AT + timedelta(days=10), **more}
    return decide(candidate, sources=sources, relation=relation, policy=policy or load_policy("memstrata"), **settings)


def recorded(candidate: Candidate, verdict: Verdict) -> Decision:
    """The decision as a store gives it back: computed_from has been through JSON."""
    return Decision(
        id="d1",
        operation="o1",
        outcome=verdict.outcome,
        candidate=candidate,
        signals=verdict.signals,
        computed_from=json.loads(json.dumps(verdict.computed_from)),
        weights=verdict.weights,
        theta=verdict.theta,
        score=verdict.score,
        rule=verdict.rule,
        reason=verdict.reason,
        nearest=verdict.computed_from["nearest"],
        nearest_similarity=verdict.computed_from["similarity"],
        note=None,
        policy=verdict.policy,
        versions={},
        decided_at=AT,
    )


@pytest.mark.parametrize(
    "text, language",
    [
        ("My sister Ana and I adopted 2 puppies from the shelter in Porto last week", "en"),
        ("私は去年の春に京都で妻と小さなパン屋を始めました", "ja"),
        ("我去年春天和妻子在北京开始经营一家小面包店", "zh"),
    ],
)
def test_a_rich_statement_is_kept_and_says_why(text: str, language: str) -> None:
    verdict = judged(say(text, kind="event", language=language))
    assert verdict.admitted
    assert verdict.rule is None
    assert verdict.signals is not None
    assert verdict.score == pytest.approx(
        sum(w * s for w, s in zip(verdict.weights, verdict.signals.as_tuple(), strict=True))
    )
    assert verdict.reason.startswith(f"kept: score {verdict.score:.2f} >= {verdict.theta:.2f} (useful ")
    assert "event" in verdict.reason


@pytest.mark.parametrize("text, language", [("Wow, cool!", "en"), ("すごい！", "ja"), ("太好了！", "zh")])
def test_small_talk_that_resembles_what_is_known_is_not_kept(text: str, language: str) -> None:
    verdict = judged(say(text, kind="ephemeral", language=language), relation=Relation("new", None, 0.8, "nearest"))
    assert verdict.outcome == "rejected"
    assert verdict.rule is None
    assert verdict.score is not None
    assert verdict.score < verdict.theta
    assert verdict.reason.startswith("not kept: score")


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_extraction_saw_decides_and_the_score_is_stored_all_the_same(rule: str) -> None:
    verdict = judged(say("I adopted 2 puppies in Porto", rule=rule))
    assert (verdict.outcome, verdict.rule) == ("rejected", rule)
    assert verdict.score is not None
    assert verdict.reason == f"not kept: {RULES[rule]}"


def test_rules_of_the_gate_itself() -> None:
    policy = load_policy("memstrata")
    assert judged(say("The user owns seven yachts"), sources=[turn("Nice weather today")]).rule == "unsupported"
    assert judged(say("I own a yacht"), sources=[]).rule == "unsupported"
    assert judged(say("Reset the password", trust="system")).rule == "system"
    assert judged(say("The page says hello", trust="web")).rule == "quarantined"
    assert judged(say("The page says hello", trust="web"), policy=replace(policy, quarantine=())).rule is None
    assert judged(say("🎉🎉 !!")).rule == "empty"
    assert rule_for(say("I own a yacht"), policy.unsupported, policy) is None
    with pytest.raises(InputError, match="unknown rule 'whim'"):
        judged(say("I own a yacht", rule="whim"))


def test_a_duplicate_is_not_scored_but_an_echo_that_repeats_a_note_is_refused() -> None:
    note = Relation("duplicate", None, 1.0, "the same statement")
    verdict = judged(say("I own a yacht"), relation=note)
    assert (verdict.outcome, verdict.signals, verdict.score) == ("duplicate", None, None)
    assert "the same statement" in verdict.reason
    assert judged(say("I own a yacht", rule="echo"), relation=note).outcome == "rejected"


def test_a_revision_is_wholly_new_and_names_what_it_revises() -> None:
    relation = Relation("revision", None, 0.97, "lives_in of ana was porto, now rome")
    verdict = judged(say("I moved to Rome with my wife and started a bakery", kind="event"), relation=relation)
    assert verdict.signals is not None
    assert verdict.signals.novelty == 1.0
    assert "revises" in verdict.reason
    assert "was porto, now rome" in verdict.reason


def test_the_llm_utility_of_the_extract_call_is_taken_as_it_is() -> None:
    verdict = judged(say("I own a yacht", utility=0.123))
    assert verdict.signals is not None
    assert verdict.signals.utility == 0.123
    assert verdict.computed_from["utility_from"] == "extraction"


def test_other_turns_that_agree_raise_a_hedged_statement() -> None:
    hedged = say("I think I own a yacht", hedged=True)
    alone, agreed = judged(hedged), judged(hedged, agreeing=2)
    assert alone.signals is not None
    assert agreed.signals is not None
    assert alone.signals.confidence < agreed.signals.confidence < 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_stored_decision_can_be_taken_again(kind: Any) -> None:
    candidate = say("I think my sister moved to Porto", kind=kind, hedged=True, names=("Porto",))
    relation = Relation("new", None, 0.41, "nearest to n7, but not the same")
    verdict = judged(candidate, relation=relation, sources=[turn("I think my older sister has moved to Porto!")])
    again = redecide(recorded(candidate, verdict), load_policy("memstrata"))
    assert again == verdict
    published = load_policy("a-mac")
    assert redecide(recorded(candidate, verdict), published) == judged(
        candidate, relation=relation, sources=[turn("I think my older sister has moved to Porto!")], policy=published
    )


def test_the_threshold_of_a_kind_and_the_margin() -> None:
    policy = load_policy("memstrata")
    candidate = say("I adopted 2 puppies in Porto", kind="plan")
    assert judged(candidate, policy=policy).admitted
    never = replace(policy, theta_by_kind={"plan": 1.0})
    verdict = judged(candidate, policy=never)
    assert verdict.outcome == "rejected"
    assert verdict.theta == 1.0
    margin = recorded(candidate, verdict).margin
    assert margin is not None
    assert margin < 0
