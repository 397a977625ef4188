"""The closed forms of heat and weight against their step-by-step recurrences."""

from datetime import UTC, datetime, timedelta
from math import exp

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memstrata.errors import SettingsError
from memstrata.tiers.heat import START_HEAT, check_heat_settings, cools_at, heat_after_recall, heat_at
from memstrata.tiers.weight import FORGETTING_RATES, check_weight_settings, forgets_at, weight_at
from memstrata.types import KINDS

START = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
alphas = st.floats(0.05, 0.99)
betas = st.floats(0.01, 0.99)
heats = st.floats(0.0, 1.0)


@given(recalls=st.lists(st.booleans(), max_size=80), alpha=alphas)
def test_heat_equals_the_recurrence(recalls: list[bool], alpha: float) -> None:
    stepped = START_HEAT
    stored, stored_at = START_HEAT, 0
    for tick, recalled in enumerate(recalls, start=1):
        stepped = alpha * stepped + (1 - alpha) * recalled
        if recalled:
            stored, stored_at = heat_after_recall(stored, tick - stored_at, alpha), tick
        assert heat_at(stored, tick - stored_at, alpha) == pytest.approx(stepped, abs=1e-12)
        assert 0.0 <= stepped <= 1.0 + 1e-12


@given(h=heats, tick=st.integers(0, 10**9), alpha=alphas, beta=betas)
@example(h=1.0, tick=0, alpha=0.5, beta=0.25)  # h alpha^2 is exactly beta: still warm
@example(h=0.3, tick=7, alpha=0.9, beta=0.3)
@example(h=0.0, tick=7, alpha=0.9, beta=0.3)
def test_cools_at_is_the_first_tick_below_beta(h: float, tick: int, alpha: float, beta: float) -> None:
    first = next(n for n in range(10_000) if h * alpha**n < beta)
    assert cools_at(h, tick, alpha, beta) == tick + first


def test_a_new_page_cools_after_twelve_ticks_by_default() -> None:
    assert cools_at(START_HEAT, 100, 0.9, 0.3) == 112


@given(h=heats, alpha=alphas, beta=betas, ticks=st.integers(1, 50))
def test_a_recall_never_brings_cooling_forward(h: float, alpha: float, beta: float, ticks: int) -> None:
    assert cools_at(heat_after_recall(h, ticks, alpha), ticks, alpha, beta) >= min(cools_at(h, 0, alpha, beta), ticks)


@pytest.mark.parametrize(
    "alpha, beta", [(0.0, 0.3), (1.0, 0.3), (1.5, 0.3), (0.9, 0.0), (0.9, 1.0), (float("nan"), 0.3)]
)
def test_heat_constants_outside_the_open_interval_are_refused(alpha: float, beta: float) -> None:
    with pytest.raises(SettingsError, match="strictly between 0 and 1"):
        check_heat_settings(alpha, beta)
    check_heat_settings(0.9, 0.3)


@given(rate=st.floats(0.001, 1.0), hours=st.lists(st.floats(0.0, 500.0), min_size=1, max_size=100))
def test_one_sweep_equals_a_hundred(rate: float, hours: list[float]) -> None:
    """Sweeping at each of many moments multiplies to the weight read once at the last."""
    stepped, now = 1.0, START
    for pause in hours:
        stepped *= exp(-rate * pause / 24)
        now += timedelta(hours=pause)
    assert weight_at(START, now, rate) == pytest.approx(stepped, rel=1e-4, abs=1e-12)
    for _ in range(100):
        again = weight_at(START, now, rate)
    assert again == weight_at(START, now, rate)


@given(rate=st.floats(0.005, 1.0), theta=st.floats(0.01, 0.9))
def test_forgets_at_is_where_the_weight_crosses_theta(rate: float, theta: float) -> None:
    moment = forgets_at(START, rate, theta)
    assert moment is not None
    assert weight_at(START, moment - timedelta(seconds=1), rate) > theta
    assert weight_at(START, moment + timedelta(seconds=1), rate) < theta


def test_weight_edges() -> None:
    assert weight_at(START, START, 0.05) == 1.0
    assert weight_at(START, START - timedelta(days=3), 0.05) == 1.0
    assert weight_at(START, START + timedelta(days=10_000), 0.0) == 1.0
    assert forgets_at(START, 0.0, 0.1) is None
    assert forgets_at(START, 1e-9, 0.1) is None
    assert forgets_at(START, 0.05, 0.1, w0=0.05) == START


def test_rates_cover_every_kind_and_bad_ones_are_refused() -> None:
    assert set(FORGETTING_RATES) == set(KINDS)
    check_weight_settings(FORGETTING_RATES, 0.1)
    with pytest.raises(SettingsError, match="plan"):
        check_weight_settings({"plan": -0.1}, 0.1)
    with pytest.raises(SettingsError, match="threshold"):
        check_weight_settings({}, 1.0)
