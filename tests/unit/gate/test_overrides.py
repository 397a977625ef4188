"""Policies by scope and by kind, and budgets: the threshold that rises as notes are spent."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.errors import SettingsError
from memstrata.gate.budget import Spent, day_of, tightened
from memstrata.gate.policy import Budget, Policy, load_policy, policy_from
from memstrata.types import Scope

OURS = """
base = "memstrata"
name = "ours"
theta = 0.4

[theta_by_kind]
preference = 0.25

[budget]
per_day = 20

[[scopes]]
user = "ana"
theta = 0.6
budget = { per_user = 5 }
[scopes.theta_by_kind]
plan = 0.9

[[scopes]]
agent = "コーチ"
quarantine = []

[[scopes]]
tenant = "acme"
user = "王芳"
theta = 0.1
"""


def policy(text: str = OURS) -> Policy:
    return policy_from(tomllib.loads(text), where="the test")


def test_a_file_gives_only_what_differs() -> None:
    ours, base = policy(), load_policy("memstrata")
    assert (ours.name, ours.version, ours.theta) == ("ours", "1", 0.4)
    assert ours.weights == base.weights
    assert ours.theta_by_kind == {**base.theta_by_kind, "preference": 0.25}
    assert ours.budget == Budget(per_day=20)


def test_every_override_that_fits_is_in_force() -> None:
    ours = policy()
    ana = ours.for_scope(Scope("t", "ana"))
    assert (ana.theta, ana.theta_of("plan"), ana.theta_of("preference")) == (0.6, 0.9, 0.25)
    assert ana.budget == Budget(per_user=5)
    assert ana.name == "ours for user ana"
    both = ours.for_scope(Scope("t", "ana", "コーチ"))
    assert (both.theta, both.quarantine) == (0.6, ())
    assert ours.for_scope(Scope("acme", "王芳")).theta == 0.1
    assert ours.for_scope(Scope("other", "王芳")).theta == ours.for_scope(Scope("t", None, "a")).theta == 0.4
    assert ours.for_scope(Scope("t", "ana")) is ours.for_scope(Scope("u", "ana")), "it is made once"


def test_the_label_tells_policies_apart() -> None:
    ours = policy()
    labels = {
        each.label for each in (ours, ours.for_scope(Scope("t", "ana")), load_policy("memstrata"), load_policy("a-mac"))
    }
    assert len(labels) == 4
    assert policy().label == ours.label
    assert policy(OURS.replace("0.25", "0.26")).digest != ours.digest


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('base = "lenient"', "no such policy"),
        ("base = 3", "base must name a preset"),
        ('base = "memstrata"\nthta = 0.4', "unknown settings: thta"),
        ('base = "memstrata"\ntheta = "high"', "wrong type"),
        ('base = "memstrata"\n[budget]\nper_week = 3', "unknown settings: per_week"),
        ('base = "memstrata"\n[budget]\nper_day = 0', "from 1 on"),
        ('base = "memstrata"\nbudget = 3', "per_day, per_user or both"),
        ('base = "memstrata"\ntheta_by_kind = 3', "must be a table by kind"),
        ('base = "memstrata"\nscopes = 3', "must be tables"),
        ('base = "memstrata"\n[[scopes]]\ntheta = 0.3', "must name a tenant, a user or an agent"),
        ('base = "memstrata"\n[[scopes]]\nuser = "ana"\ntheta = 3', r"theta must lie in \[0, 1\]"),
        ('base = "memstrata"\n[[scopes]]\nuser = "ana"\nname = "x"', "unknown settings: name"),
        ('base = "memstrata"\n[[scopes]]\nuser = "ana"\n[scopes.theta_by_kind]\nwhim = 0.3', "no such kind"),
    ],
)
def test_mistakes_are_told(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        policy(text)


@given(
    theta=st.floats(0, 1),
    day=st.integers(0, 60),
    user=st.integers(0, 600),
    per_day=st.none() | st.integers(1, 50),
    per_user=st.none() | st.integers(1, 500),
)
def test_the_threshold_rises_with_what_is_spent(
    theta: float, day: int, user: int, per_day: int | None, per_user: int | None
) -> None:
    budget = Budget(per_day, per_user)
    found = tightened(theta, {"day": day, "user": user}, budget)
    spent = (per_day is not None and day >= per_day) or (per_user is not None and user >= per_user)
    assert (found is None) == spent
    if found is not None:
        assert theta <= found <= 1.0
        more = tightened(theta, {"day": day + 1, "user": user + 1}, budget)
        assert more is None or more >= found
        if (per_day is None or day <= per_day / 2) and (per_user is None or user <= per_user / 2):
            assert found == theta


def test_a_day_is_that_on_which_it_was_said() -> None:
    late = datetime(2026, 5, 1, 23, 30, tzinfo=timezone(-timedelta(hours=3)))
    assert day_of(late) == "2026-05-02"
    spent = Spent(owner=7, days={"2026-05-02": 2})
    spent.add(late)
    assert spent.at(late) == {"day": 3, "user": 8}
    assert spent.at(datetime(2026, 5, 3, tzinfo=UTC)) == {"day": 0, "user": 8}


TOWNS = ["Porto", "Kyoto", "Beijing", "Oslo", "Lima", "Cairo", "Quito", "Rome", "Paris", "Berlin", "Accra", "Osaka"]
SAID = [f"My cousin number {n} opened a bakery in {town} with her wife." for n, town in enumerate(TOWNS)]
SAID[1], SAID[2] = "私の妹は京都で小さなパン屋を始めました。", "我表妹在北京开了一家小面包店。"


@pytest.mark.parametrize(("limit", "most"), [("per_user", 4), ("per_day", 4)])
def test_no_more_notes_than_the_budget(make_bench: Any, tmp_path: Any, limit: str, most: int) -> None:
    file = tmp_path / "budget.toml"
    file.write_text(f'base = "memstrata"\nname = "small"\ntheta = 0.0\n[budget]\n{limit} = {most}\n', encoding="utf-8")
    bench = make_bench(policy=str(file))
    first = datetime(2026, 5, 1, 9, tzinfo=UTC)
    for text in SAID:
        bench.memory.remember(text, user_id="ana", at=first)
    decisions = bench.decisions()
    kept = [each for each in decisions if each["outcome"] == "admitted"]
    assert 2 <= len(kept) <= most
    thetas = [each["theta"] for each in decisions]
    assert thetas[0] == 0.0
    assert thetas == sorted(thetas)
    assert {each["rule"] for each in decisions} <= {None, "over_budget"}
    spent = [each["computed_from"]["spent"]["user" if limit == "per_user" else "day"] for each in decisions]
    assert spent == sorted(spent)
    before = len(kept)
    bench.memory.forget(bench.notes(user_id="ana")[0].id, user_id="ana")
    bench.memory.remember("私は東京の駅前の病院で看護師として働いています。", user_id="ana", at=first)
    assert bench.decisions()[-1]["computed_from"]["spent"]["user" if limit == "per_user" else "day"] == before - 1
    other = bench.memory.remember(SAID[0], user_id="ben", at=first)
    assert other.candidates[0].outcome == "admitted", "a budget is an owner's own"
    if limit == "per_day":
        later = bench.memory.remember("I bought a red bicycle in Braga.", user_id="ana", at=first + timedelta(days=1))
        assert later.candidates[0].outcome == "admitted"


def test_a_page_spends_its_budget_as_it_goes(make_bench: Any, tmp_path: Any) -> None:
    file = tmp_path / "budget.toml"
    file.write_text('base = "memstrata"\nname = "small"\ntheta = 0.0\n[budget]\nper_user = 2\n', encoding="utf-8")
    bench = make_bench(policy=str(file))
    bench.tell(*SAID[:5])
    spent = [each["computed_from"]["spent"]["user"] for each in bench.decisions()]
    assert spent[:2] == [0, 1]
    assert len(bench.notes(user_id="ana")) <= 2
    assert bench.decisions()[-1]["computed_from"]["in_force"]["budget"] == {"per_day": None, "per_user": 2}
