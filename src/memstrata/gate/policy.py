"""Admission policies: weights, thresholds, priors and rates of the gate, as readable TOML.

Presets lie in `gate/data/`: "memstrata" (the default), "strict" and "a-mac". A policy is a value: decisions name it
with its version, and a stored decision can be taken again under another one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from importlib.resources import files
from math import isclose
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

from memstrata.errors import SettingsError
from memstrata.types import KINDS, Kind, Trust

SIGNALS = ("utility", "confidence", "novelty", "recency", "type_prior")
PRESETS = ("memstrata", "strict", "a-mac")
Weights = tuple[float, float, float, float, float]


@dataclass(frozen=True)
class Policy:
    """How the gate decides. S = weights . signals; a candidate is admitted when S >= the theta of its kind.

    `weights` are in the order of `SIGNALS`, not negative, with sum 1. `recency_rates` are a day. `unsupported` is the
    confidence below which a candidate is refused whatever its score; `duplicate` the cosine from which equal subject,
    names, numbers, dates and polarity mean the same note; `quarantine` the trust classes that never become notes.
    """

    name: str
    version: str
    weights: Weights
    theta: float
    type_priors: Mapping[Kind, float]
    recency_rates: Mapping[Kind, float]
    theta_by_kind: Mapping[Kind, float] = field(default_factory=dict)
    unsupported: float = 0.3
    duplicate: float = 0.95
    quarantine: tuple[Trust, ...] = ("tool", "web")

    def __post_init__(self) -> None:
        if len(self.weights) != len(SIGNALS) or any(not weight >= 0.0 for weight in self.weights):
            raise SettingsError(f"policy {self.name}: five weights are needed, none negative; got {self.weights}")
        if not isclose(sum(self.weights), 1.0, abs_tol=1e-6):
            raise SettingsError(f"policy {self.name}: the weights must add up to 1, not {sum(self.weights):.4f}")
        self._check_unit("theta", self.theta)
        self._check_unit("unsupported", self.unsupported)
        self._check_unit("duplicate", self.duplicate)
        for kind, theta in self.theta_by_kind.items():
            self._check_kind(kind)
            self._check_unit(f"theta of {kind}", theta)
        for what, table in (("type_priors", self.type_priors), ("recency_rates", self.recency_rates)):
            for kind in table:
                self._check_kind(kind)
            if missing := [kind for kind in KINDS if kind not in table]:
                raise SettingsError(f"policy {self.name}: {what} lacks {', '.join(missing)}")
        for kind, prior in self.type_priors.items():
            self._check_unit(f"type prior of {kind}", prior)
        for kind, rate in self.recency_rates.items():
            if not rate >= 0.0:
                raise SettingsError(f"policy {self.name}: the recency rate of {kind} must not be negative")
        if unknown := [trust for trust in self.quarantine if trust not in get_args(Trust)]:
            raise SettingsError(f"policy {self.name}: no such trust class: {', '.join(unknown)}")
        for table_name in ("type_priors", "recency_rates", "theta_by_kind"):
            object.__setattr__(self, table_name, MappingProxyType(dict(getattr(self, table_name))))

    def _check_unit(self, what: str, value: float) -> None:
        if not 0.0 <= value <= 1.0:
            raise SettingsError(f"policy {self.name}: {what} must lie in [0, 1], not {value!r}")

    def _check_kind(self, kind: str) -> None:
        if kind not in KINDS:
            raise SettingsError(f"policy {self.name}: no such kind: {kind!r} (one of {', '.join(KINDS)})")

    def theta_of(self, kind: Kind) -> float:
        """The threshold for a candidate of this kind."""
        return self.theta_by_kind.get(kind, self.theta)

    def without(self, signal: str) -> Policy:
        """The ablation that leaves one signal out: its weight 0, the others raised to add up to 1 again."""
        if signal not in SIGNALS:
            raise SettingsError(f"no such signal: {signal!r} (one of {', '.join(SIGNALS)})")
        rest = [0.0 if name == signal else weight for name, weight in zip(SIGNALS, self.weights, strict=True)]
        total = sum(rest)
        if total == 0.0:
            raise SettingsError(f"policy {self.name} rests on {signal} alone: nothing is left without it")
        utility, conf, new, recent, prior = (weight / total for weight in rest)
        return replace(self, name=f"{self.name} without {signal}", weights=(utility, conf, new, recent, prior))


def policy_from(data: Mapping[str, Any], *, where: str) -> Policy:
    """A policy from the tables of a TOML file; `where` names it in errors. Unknown keys are refused."""
    settings = dict(data)
    if unknown := sorted(set(settings) - {each.name for each in fields(Policy)}):
        raise SettingsError(f"{where}: unknown settings: {', '.join(unknown)}")
    weights = settings.get("weights")
    if not isinstance(weights, Mapping) or sorted(weights) != sorted(SIGNALS):
        raise SettingsError(f"{where}: [weights] must give each of {', '.join(SIGNALS)}")
    settings["weights"] = tuple(weights[signal] for signal in SIGNALS)
    if "quarantine" in settings:
        settings["quarantine"] = tuple(settings["quarantine"])
    if missing := sorted({"name", "version", "theta", "type_priors", "recency_rates"} - set(settings)):
        raise SettingsError(f"{where}: missing settings: {', '.join(missing)}")
    try:
        return Policy(**settings)
    except TypeError as error:
        raise SettingsError(f"{where}: a setting has the wrong type: {error}") from error


def load_policy(name: str | Path) -> Policy:
    """The preset of this name, or the policy in the TOML file at this path (a `Path`, or a string ending in .toml)."""
    if isinstance(name, str) and not name.endswith(".toml"):
        return _preset(name)
    path = Path(name)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"the policy file {path} cannot be read: {error}") from error
    return _parse(text, where=str(path))


@lru_cache
def _preset(name: str) -> Policy:
    if name not in PRESETS:
        raise SettingsError(f"no such policy: {name!r} (presets: {', '.join(PRESETS)}; or the path of a .toml file)")
    source = files("memstrata.gate") / "data" / f"{name}.toml"
    return _parse(source.read_text(encoding="utf-8"), where=f"the preset {name}")


def _parse(text: str, *, where: str) -> Policy:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{where} is not TOML: {error}") from error
    return policy_from(data, where=where)
