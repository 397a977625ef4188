"""Heat of pages, in closed form.

The recurrence is h_t = alpha h_(t-1) + (1 - alpha) r_t, where r_t is 1 when the page is recalled at tick t and 0
otherwise; a page starts at h = 1. Between two recalls r is 0, so the heat stored n ticks ago is h alpha^n: it is
computed when read and never swept. Ticks are counted for each (tenant, user, agent): one for each page made and each
touching recall.
"""

from __future__ import annotations

from math import floor, log

from memstrata.errors import SettingsError

START_HEAT = 1.0


def check_heat_settings(alpha: float, beta: float) -> None:
    """Refuse constants under which heat has no closed form: both must lie strictly between 0 and 1."""
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not 0.0 < value < 1.0:
            raise SettingsError(f"{name} must lie strictly between 0 and 1, not {value!r}")


def heat_at(h: float, ticks_since: int, alpha: float) -> float:
    """The heat now of a page whose heat was `h` `ticks_since` ticks ago and that was not recalled since: h alpha^n."""
    return float(h * alpha**ticks_since)


def heat_after_recall(h: float, ticks_since: int, alpha: float) -> float:
    """The heat of a page recalled at this tick, `ticks_since` >= 1 ticks after its heat was `h`: h alpha^n + 1 - alpha.

    A recall itself is a tick, so `ticks_since` counts it.
    """
    return heat_at(h, ticks_since, alpha) + (1.0 - alpha)


def cools_at(h: float, tick: int, alpha: float, beta: float) -> int:
    """The first tick at which a page with heat `h` at `tick` has a heat below `beta` if nobody recalls it.

    tick + max(0, floor(ln(beta / h) / ln(alpha)) + 1). The logarithms may round across a whole number, so the result
    is checked against `heat_at` and moved by a tick where they disagree: an index on it never contradicts the heat.
    """
    if h < beta:
        return tick
    ticks = max(0, floor(log(beta / h) / log(alpha)) + 1)
    while ticks > 0 and heat_at(h, ticks - 1, alpha) < beta:
        ticks -= 1
    while heat_at(h, ticks, alpha) >= beta:
        ticks += 1
    return tick + ticks
