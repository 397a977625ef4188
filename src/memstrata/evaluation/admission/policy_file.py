"""A fitted gate as a policy file that `load_policy` reads, and its figures above it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memstrata.evaluation.admission.fit import Fitted
from memstrata.gate.policy import SIGNALS, Policy


def policy_of(fitted: Fitted, base: Policy, *, name: str, estimator: bool = True) -> Policy:
    """The fitted gate as a policy: priors, rates and rules of `base`, one threshold for every kind.

    `estimator=False` leaves the shipped utility estimator in place.
    """
    return replace(
        base,
        name=name,
        version="1",
        weights=fitted.weights,
        theta=fitted.theta,
        theta_by_kind={},
        utility=fitted.utility if estimator else None,
        scopes=(),
    )


def as_toml(policy: Policy, comments: Sequence[str]) -> str:
    """The policy as TOML, with comments above it."""
    lines = [f"# {line}" for line in comments]
    lines += [
        f'name = "{_escaped(policy.name)}"',
        f'version = "{_escaped(policy.version)}"',
        f"theta = {policy.theta:.4f}",
        f"unsupported = {policy.unsupported}",
        f"duplicate = {policy.duplicate}",
        "quarantine = [" + ", ".join(f'"{trust}"' for trust in policy.quarantine) + "]",
    ]
    lines += _table("weights", dict(zip(SIGNALS, _rounded(policy.weights), strict=True)))
    lines += _table("type_priors", policy.type_priors) + _table("recency_rates", policy.recency_rates)
    if policy.theta_by_kind:
        lines += _table("theta_by_kind", policy.theta_by_kind)
    if policy.utility is not None:
        lines += ["", "[utility]", f"intercept = {policy.utility.intercept:.4f}"]
        lines += _table("utility.coefficients", {n: round(v, 4) for n, v in policy.utility.coefficients.items()})
    return "\n".join(lines) + "\n"


def _rounded(weights: Sequence[float]) -> list[float]:
    """The weights with four decimals that add up to 1: the largest takes up the rest."""
    found = [round(weight, 4) for weight in weights]
    largest = found.index(max(found))
    found[largest] = round(1.0 - sum(found[:largest]) - sum(found[largest + 1 :]), 4)
    return found


def _table(name: str, values: Mapping[Any, float]) -> list[str]:
    return ["", f"[{name}]", *(f"{key} = {value}" for key, value in values.items())]


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
