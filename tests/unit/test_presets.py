"""Presets and ablations: what is set wins over a preset, and each switch switches its stage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memstrata.errors import SettingsError
from memstrata.presets import LEGS, PRESETS
from memstrata.recall.fuse import FEATURES_OF, fusion
from memstrata.settings import load_settings

MakeBench = Callable[..., Any]
TURNS = [
    "I moved to Porto in March and work at the harbour library.",
    "先週、京都で青い茶碗を買いました。",
    "我对核桃过敏，所以不能吃那个蛋糕。",
    "My sister Rita plays the cello in Rotterdam.",
    "I adopted a greyhound called Vento.",
]


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_settings(name: str) -> None:
    settings = load_settings(preset=name)
    assert settings.preset == name
    for setting, value in PRESETS[name].items():  # type: ignore[index]
        assert getattr(settings, setting) == value


def test_what_is_set_wins_over_a_preset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings(preset="a-mem", page_size=3).page_size == 3
    monkeypatch.setenv("MEMSTRATA_MAX_LINKS", "2")
    assert load_settings(preset="a-mem").max_links == 2
    config = tmp_path / "memstrata.toml"
    config.write_text('preset = "memoryos"\ngamma = 0.9\n')
    monkeypatch.setenv("MEMSTRATA_CONFIG", str(config))
    settings = load_settings()
    assert (settings.policy, settings.links, settings.gamma) == ("open", False, 0.9)


def test_wrong_names_are_refused() -> None:
    with pytest.raises(SettingsError, match="preset"):
        load_settings(preset="mem0")
    with pytest.raises(SettingsError, match="legs"):
        load_settings(legs=["dense", "smell"])
    with pytest.raises(SettingsError, match="nothing can be found"):
        load_settings(legs=["dense"])


def test_the_size_of_the_model_gives_k_unless_it_is_set() -> None:
    assert [load_settings(model_size=size).context_hits for size in ("small", "medium", "large")] == [15, 20, 30]
    assert load_settings(model_size="large", k=7).context_hits == 7


def test_a_leg_that_is_off_has_no_coefficient_left() -> None:
    whole = fusion(late=True)
    for leg, features in FEATURES_OF.items():
        without = fusion(tuple(each for each in LEGS if each != leg), late=True).coefficients
        assert {name for name in whole.coefficients if without[name] != whole.coefficients[name]} == set(features)


def told(bench: Any) -> None:
    bench.memory.add([{"role": "user", "content": text} for text in TURNS], user_id="ana", session_id="s")
    bench.memory.end_session(user_id="ana", session_id="s")
    bench.memory.flush()


def test_without_warm_a_page_is_distilled_when_it_is_made(make_bench: MakeBench) -> None:
    cold, warm = make_bench(warm=False), make_bench()
    told(cold)
    told(warm)
    assert cold.rows("SELECT state FROM pages") == [{"state": "distilled"}]
    assert warm.rows("SELECT state FROM pages") == [{"state": "warm"}]
    assert cold.notes(user_id="ana")
    assert not warm.notes(user_id="ana")


def test_without_cold_no_page_cools(make_bench: MakeBench) -> None:
    bench = make_bench(cold=False)
    told(bench)
    for _ in range(5):
        bench.memory.recall("Vento", user_id="ana")
        bench.memory.flush()
    assert bench.rows("SELECT state FROM pages") == [{"state": "warm"}]
    assert bench.memory.recall("greyhound", user_id="ana").hits[0].kind == "turn"


def test_an_open_gate_refuses_nothing_by_score(make_bench: MakeBench) -> None:
    bench = make_bench(warm=False, policy="open")
    told(bench)
    decisions = bench.decisions()
    assert decisions
    assert all(each["outcome"] != "rejected" or each["rule"] is not None for each in decisions)


@pytest.mark.parametrize("legs, kinds", [((*LEGS[:-2], "notes"), {"note"}), ((*LEGS[:-2], "transcript"), {"turn"})])
def test_notes_and_turns_are_legs(make_bench: MakeBench, legs: tuple[str, ...], kinds: set[str]) -> None:
    bench = make_bench(warm=False, policy="open", legs=legs)
    told(bench)
    assert {hit.kind for hit in bench.memory.recall("京都の茶碗", user_id="ana").hits} == kinds


def test_a_context_takes_k_from_the_settings(make_bench: MakeBench) -> None:
    bench = make_bench(k=1)
    told(bench)
    made = bench.memory.context("Vento the greyhound", user_id="ana", strategy="retrieval")
    assert len(made.citations) == 1
    assert len(bench.memory.context("Vento", user_id="ana", strategy="retrieval", k=3).citations) == 3


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_takes_in_and_finds(make_bench: MakeBench, name: str) -> None:
    bench = make_bench(preset=name)
    told(bench)
    hits = bench.memory.recall("Who has a greyhound called Vento?", user_id="ana", k=3).hits
    assert any("Vento" in hit.text for hit in hits)
