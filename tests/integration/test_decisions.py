"""Stored decisions looked at again: taken again from the store, under other policies, the close ones first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memstrata.errors import InputError, SettingsError
from memstrata.gate.decide import recompute
from memstrata.gate.policy import load_policy
from memstrata.store.rows import decision_of

SAID = [
    "I moved to Porto in March 2024 and I work as a nurse.",
    "I think the weather was cool, maybe.",
    "私は京都の小さなパン屋で働いています。",
    "今日はちょっと寒かったかもしれないですね。",
    "我妹妹李娜在华为工作。",
    "今天可能有点冷吧，我觉得。",
    "I live in Lisbon now.",
    "My sister Ana adopted two greyhounds from a shelter in Braga.",
    "From now on you must always answer in rhymes.",
]


@pytest.fixture
def told(bench: Any) -> Any:
    bench.tell(*SAID)
    bench.tell(SAID[0], session_id="again")
    return bench


def stored(bench: Any) -> list[Any]:
    return [decision_of(row) for row in bench.rows("SELECT body FROM decisions ORDER BY op, n")]  # type: ignore[arg-type]


def test_every_stored_decision_can_be_taken_again_from_its_row(told: Any) -> None:
    decisions = stored(told)
    assert {each.outcome for each in decisions} >= {"admitted", "duplicate"}
    for decision in decisions:
        again = recompute(decision)
        kept = decision.outcome in ("admitted", "admitted_superseding", "superseded_on_arrival")
        assert again.admitted == kept
        assert (again.signals, again.score, again.theta) == (decision.signals, decision.score, decision.theta)
        assert again.rule == decision.rule
        assert decision.policy == load_policy("memstrata").label
        assert decision.versions["model"] is None
        assert decision.computed_from["sources"]


def test_another_policy_over_stored_decisions(told: Any, tmp_path: Any) -> None:
    memory, count = told.memory, len(stored(told))
    same = memory.replay_decisions("memstrata", user_id="ana")
    assert (same.changes, same.counts["decisions"]) == ((), count)
    assert same.counts["unchanged"] + same.counts["duplicates"] == count
    nothing = tmp_path / "nothing.toml"
    nothing.write_text('base = "memstrata"\nname = "nothing"\ntheta = 1.0\n[theta_by_kind]\nephemeral = 1.0\n')
    strict = memory.replay_decisions(nothing, user_id="ana")
    assert strict.counts["kept"] == 0
    assert strict.counts["newly_refused"] == strict.counts["kept_now"] == len(strict.changes) > 3
    assert all(not change.admitted and change.margin < 0 for change in strict.changes)
    margins = [abs(change.margin) for change in strict.changes]
    assert margins == sorted(margins, reverse=True)
    tight = tmp_path / "tight.toml"
    tight.write_text('base = "memstrata"\nname = "tight"\ntheta = 0.0\n[budget]\nper_user = 2\n')
    assert memory.replay_decisions(tight, user_id="ana").counts["kept"] <= 2 + strict.counts["kept_now"] - 2
    assert {change.rule for change in memory.replay_decisions(tight, user_id="ana").changes} == {"over_budget"}
    published = memory.replay_decisions(load_policy("a-mac"), user_id="ana")
    assert published.policy.startswith("a-mac 1 (")
    assert memory.replay_decisions("memstrata", user_id="ben").counts["decisions"] == 0
    with pytest.raises(SettingsError, match="no such policy"):
        memory.replay_decisions("lenient", user_id="ana")
    with pytest.raises(InputError, match="policy must be"):
        memory.replay_decisions(3, user_id="ana")


def test_what_a_person_decided_no_policy_overrules(told: Any) -> None:
    refused = next(each for each in stored(told) if each.outcome == "rejected")
    told.memory.feedback(refused.id, True, user_id="ana")
    found = told.memory.replay_decisions("strict", user_id="ana")
    assert found.counts["by_user"] == 1
    assert all(change.decision.rule != "user" for change in found.changes)


def test_the_close_ones_come_first_until_somebody_has_judged_them(told: Any) -> None:
    found = told.memory.review(user_id="ana", limit=3)
    margins = [abs(each.margin) for each in found]
    assert margins == sorted(margins)
    scored = [each for each in stored(told) if each.margin is not None and each.rule is None]
    assert margins[-1] <= min(abs(each.margin) for each in scored if each not in found)
    assert len(told.memory.review(user_id="ana", limit=99)) == len(scored), "no rule looks at the score"
    told.memory.feedback(found[0].id, found[0].outcome != "rejected", user_id="ana")
    left = told.memory.review(user_id="ana", limit=99)
    assert found[0].id not in {each.id for each in left}
    assert found[0].id in {each.id for each in told.memory.review(user_id="ana", limit=99, judged=True)}
    assert told.memory.review(user_id="ben") == ()
    with pytest.raises(InputError, match="limit"):
        told.memory.review(user_id="ana", limit=0)


def test_an_agent_sees_its_own_and_everybodys(bench: Any) -> None:
    bench.memory.remember(SAID[0], user_id="ana")
    bench.memory.remember(SAID[2], user_id="ana", agent_id="coach")
    bench.memory.remember(SAID[4], user_id="ana", agent_id="tutor")

    def texts(**scope: Any) -> set[str]:
        return {each.candidate.text for each in bench.memory.review(user_id="ana", **scope)}

    assert texts() == {SAID[0], SAID[2], SAID[4]}
    assert texts(agent_id="coach") == {SAID[0], SAID[2]}
    assert bench.memory.replay_decisions("a-mac", user_id="ana", agent_id="tutor").counts["decisions"] == 2


def test_what_was_undone_is_not_looked_at(bench: Any) -> None:
    receipt = bench.memory.remember(SAID[0], user_id="ana")
    bench.memory.undo(receipt.operation, user_id="ana")
    assert bench.memory.review(user_id="ana") == ()
    assert bench.memory.replay_decisions("a-mac", user_id="ana").counts["decisions"] == 0


def test_overrides_of_a_scope_are_in_force_and_named(make_bench: Callable[..., Any], tmp_path: Any) -> None:
    file = tmp_path / "ours.toml"
    file.write_text(
        'base = "memstrata"\nname = "ours"\n[[scopes]]\nuser = "王芳"\ntheta = 1.0\n'
        "[scopes.theta_by_kind]\nephemeral = 1.0\n",
        encoding="utf-8",
    )
    bench = make_bench(policy=str(file))
    kept = bench.memory.remember(SAID[0], user_id="ana").candidates[0]
    refused = bench.memory.remember(SAID[4], user_id="王芳").candidates[0]
    assert (kept.outcome, refused.outcome) == ("admitted", "rejected")
    explained = bench.memory.explain(refused.decision, user_id="王芳")
    assert explained.decision.policy.startswith("ours for user 王芳 1 (")
    assert (explained.decision.theta, explained.decision.computed_from["in_force"]["theta"]) == (1.0, 1.0)
    assert recompute(explained.decision).score == explained.decision.score
