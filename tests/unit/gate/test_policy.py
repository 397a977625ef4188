"""Presets load, wrong ones are refused with what is wrong."""

from pathlib import Path
from typing import Any

import pytest

from memstrata.errors import SettingsError
from memstrata.gate.policy import PRESETS, SIGNALS, load_policy, policy_from
from memstrata.types import KINDS


def tables(**changes: Any) -> dict[str, Any]:
    good = {
        "name": "mine",
        "version": "1",
        "theta": 0.5,
        "weights": dict.fromkeys(SIGNALS, 0.2),
        "type_priors": dict.fromkeys(KINDS, 0.5),
        "recency_rates": dict.fromkeys(KINDS, 0.01),
    }
    return {**good, **changes}


@pytest.mark.parametrize("name", PRESETS)
def test_presets_load_and_are_named_after_their_file(name: str) -> None:
    policy = load_policy(name)
    assert policy.name == name
    assert sum(policy.weights) == pytest.approx(1.0)


def test_the_published_policy() -> None:
    policy = load_policy("a-mac")
    assert policy.weights == (0.1, 0.1, 0.1, 0.1, 0.6)
    assert policy.theta == 0.55
    assert policy.type_priors["preference"] == 0.9


def test_the_default_gives_every_signal_a_weight_and_strict_asks_for_more() -> None:
    default, strict = load_policy("memstrata"), load_policy("strict")
    assert min(default.weights) >= 0.05
    assert strict.theta > default.theta


def test_an_own_file(tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "src/memstrata/gate/data/memstrata.toml").read_text(encoding="utf-8")
    mine = tmp_path / "mine.toml"
    mine.write_text(
        text.replace('name = "memstrata"', 'name = "mine"').replace("[theta_by_kind]", "[theta_by_kind]\nplan = 0.9")
    )
    policy = load_policy(str(mine))
    assert policy.name == "mine"
    assert policy.theta_of("plan") == 0.9
    assert policy.theta_of("fact") == policy.theta == load_policy("memstrata").theta
    with pytest.raises(TypeError):
        policy.type_priors["plan"] = 1.0  # type: ignore[index]


@pytest.mark.parametrize(
    "changes, complaint",
    [
        ({"weights": {**dict.fromkeys(SIGNALS, 0.2), "novelty": 0.4}}, "add up to 1"),
        ({"weights": {**dict.fromkeys(SIGNALS, 0.4), "novelty": -0.6}}, "none negative"),
        ({"weights": {**dict.fromkeys(SIGNALS, 0.2), "novelty": float("nan")}}, "none negative"),
        ({"weights": {"novelty": 1.0}}, "each of utility"),
        ({"weights": [0.2] * 5}, "each of utility"),
        ({"theta": 1.5}, "theta must lie"),
        ({"theta": "high"}, "wrong type"),
        ({"thetta": 0.5}, "unknown settings: thetta"),
        ({"theta_by_kind": {"gossip": 0.5}}, "no such kind: 'gossip'"),
        ({"type_priors": {"fact": 0.5}}, "type_priors lacks identity"),
        ({"recency_rates": {**dict.fromkeys(KINDS, 0.01), "plan": -1}}, "recency rate of plan"),
        ({"quarantine": ["gossip"]}, "no such trust class: gossip"),
    ],
)
def test_wrong_policies_are_refused(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(SettingsError, match=complaint):
        policy_from(tables(**changes), where="the test")


def test_missing_settings_and_unreadable_files(tmp_path: Path) -> None:
    incomplete = tables()
    del incomplete["theta"]
    with pytest.raises(SettingsError, match="missing settings: theta"):
        policy_from(incomplete, where="the test")
    with pytest.raises(SettingsError, match="no such policy: 'lenient'"):
        load_policy("lenient")
    with pytest.raises(SettingsError, match="cannot be read"):
        load_policy(tmp_path / "absent.toml")
    (tmp_path / "broken.toml").write_text("weights = [")
    with pytest.raises(SettingsError, match="is not TOML"):
        load_policy(tmp_path / "broken.toml")


def test_leaving_a_signal_out() -> None:
    policy = load_policy("memstrata").without("novelty")
    assert policy.weights[2] == 0.0
    assert sum(policy.weights) == pytest.approx(1.0)
    with pytest.raises(SettingsError, match="no such signal"):
        policy.without("charm")
    only = policy_from(tables(weights={**dict.fromkeys(SIGNALS, 0.0), "utility": 1.0}), where="the test")
    with pytest.raises(SettingsError, match="rests on utility alone"):
        only.without("utility")
