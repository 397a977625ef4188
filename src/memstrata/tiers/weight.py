"""Weight of notes: Ebbinghaus forgetting in closed form.

w(t) = w0 exp(-lambda d), d the days since the note was last accessed; an access sets it back to w0 = 1. The weight is
computed when read from the stored last access and the clock, never accumulated, so one sweep equals a hundred.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from math import exp, log
from types import MappingProxyType

from memstrata.errors import SettingsError
from memstrata.types import Kind

START_WEIGHT = 1.0
FORGET_BELOW = 0.1
_DAY = timedelta(days=1)

FORGETTING_RATES: Mapping[Kind, float] = MappingProxyType(
    {
        "identity": 0.005,
        "preference": 0.005,
        "relation": 0.005,
        "event": 0.01,
        "fact": 0.01,
        "procedure": 0.01,
        "plan": 0.02,
        "state": 0.05,
        "ephemeral": 0.2,
    }
)
"""lambda, a day, by kind. At theta = .1 an unused preference lasts 460 days, a fact 230, a state 46, small talk 11."""


def check_weight_settings(rates: Mapping[Kind, float], theta: float) -> None:
    """Refuse a negative rate or a threshold outside (0, 1). A rate of 0 means: never forgotten."""
    if not 0.0 < theta < 1.0:
        raise SettingsError(f"the forgetting threshold must lie strictly between 0 and 1, not {theta!r}")
    for kind, rate in rates.items():
        if not rate >= 0.0:
            raise SettingsError(f"the forgetting rate of {kind} must not be negative, but is {rate!r}")


def weight_at(last_access: datetime, now: datetime, rate_per_day: float, w0: float = START_WEIGHT) -> float:
    """The weight at `now`, in [0, w0]: w0 exp(-rate days). A clock that went back counts as no time passed."""
    days = max(0.0, (now - last_access) / _DAY)
    return w0 * exp(-rate_per_day * days)


def forgets_at(
    last_access: datetime, rate_per_day: float, theta: float = FORGET_BELOW, w0: float = START_WEIGHT
) -> datetime | None:
    """When the weight falls to `theta` if nobody accesses the note: last_access + ln(w0 / theta) / rate days.

    None when that never happens within the calendar (a rate of 0, or one so small that the year exceeds 9999).
    """
    if w0 <= theta:
        return last_access
    if rate_per_day == 0.0:
        return None
    try:
        return last_access + timedelta(days=log(w0 / theta) / rate_per_day)
    except OverflowError:
        return None
