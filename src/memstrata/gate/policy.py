"""Admission policies: weights, thresholds, priors and rates of the gate, as readable TOML.

Presets lie in `gate/data/`: "memstrata" (the default), "strict", "a-mac" and "open" (no gate). A file may start from
one of them and give only what differs:

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

A policy is a value: decisions name it with its version and a digest of what was in force, and a stored decision can be
taken again under another one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from hashlib import blake2b
from importlib.resources import files
from math import isclose
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

import orjson

from memstrata.errors import SettingsError
from memstrata.gate.utility import UtilityModel, utility_model
from memstrata.types import KINDS, Kind, Scope, Trust

SIGNALS = ("utility", "confidence", "novelty", "recency", "type_prior")
PRESETS = ("memstrata", "strict", "a-mac", "open")
TABLES = ("type_priors", "recency_rates", "theta_by_kind")  # by kind; an override names only what differs
WALLS = ("tenant", "user", "agent")
Weights = tuple[float, float, float, float, float]


@dataclass(frozen=True, slots=True)
class Budget:
    """At most so many notes: of those said on one day (UTC), and of an owner in all. None: no limit.

    See `gate.budget` for how the threshold rises as a budget is spent.
    """

    per_day: int | None = None
    per_user: int | None = None

    def __post_init__(self) -> None:
        for name in ("per_day", "per_user"):
            limit = getattr(self, name)
            if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
                raise SettingsError(f"budget.{name} must be a whole number from 1 on, not {limit!r}")


@dataclass(frozen=True, slots=True)
class ScopePolicy:
    """What differs for a tenant, a user or an agent; every one that is named must be the scope's."""

    changes: Mapping[str, Any]
    tenant: str | None = None
    user: str | None = None
    agent: str | None = None

    def fits(self, scope: Scope) -> bool:
        return all(getattr(self, wall) in (None, getattr(scope, wall)) for wall in WALLS)

    @property
    def named(self) -> str:
        """The scope in words: "user ana, agent coach"."""
        return ", ".join(f"{wall} {getattr(self, wall)}" for wall in WALLS if getattr(self, wall) is not None)


@dataclass(frozen=True)
class Policy:
    """How the gate decides. S = weights . signals; a candidate is admitted when S >= the theta of its kind.

    `weights` are in the order of `SIGNALS`, not negative, with sum 1. `recency_rates` are a day. `unsupported` is the
    confidence below which a candidate is refused whatever its score; `duplicate` the cosine from which equal subject,
    names, numbers, dates and polarity mean the same note; `quarantine` the trust classes that never become notes.
    `utility` is the estimator that was fitted with the weights; without one the shipped estimator is used.
    `scopes` are overrides for some tenants, users or agents, in force after `for_scope`.
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
    budget: Budget | None = None
    utility: UtilityModel | None = None
    scopes: tuple[ScopePolicy, ...] = ()

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
        for table_name in TABLES:
            object.__setattr__(self, table_name, MappingProxyType(dict(getattr(self, table_name))))
        for each in self.scopes:  # a mistake in an override is told now, not at the first statement of its user
            self._with(each)

    def _check_unit(self, what: str, value: float) -> None:
        if not 0.0 <= value <= 1.0:
            raise SettingsError(f"policy {self.name}: {what} must lie in [0, 1], not {value!r}")

    def _check_kind(self, kind: str) -> None:
        if kind not in KINDS:
            raise SettingsError(f"policy {self.name}: no such kind: {kind!r} (one of {', '.join(KINDS)})")

    def theta_of(self, kind: Kind) -> float:
        """The threshold for a candidate of this kind."""
        return self.theta_by_kind.get(kind, self.theta)

    @cached_property
    def digest(self) -> str:
        """Eight hexadecimal digits that differ wherever two policies decide differently."""
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in ("name", "version")}
        plain = {name: dict(value) if name in TABLES else value for name, value in values.items()}
        data = orjson.dumps(plain, option=orjson.OPT_SORT_KEYS, default=dict)
        return blake2b(data, digest_size=4).hexdigest()

    @property
    def label(self) -> str:
        """What decisions call it: "memstrata 1 (3f2a9c01)"."""
        return f"{self.name} {self.version} ({self.digest})"

    def for_scope(self, scope: Scope) -> Policy:
        """The policy in force for a scope: every override that fits is applied, in the order of the file."""
        return self._resolved(tuple(each.fits(scope) for each in self.scopes)) if self.scopes else self

    def _resolved(self, fits: tuple[bool, ...]) -> Policy:
        known: dict[tuple[bool, ...], Policy] = self.__dict__.setdefault("_by_scope", {})
        if fits not in known:
            policy = self
            for override, applies in zip(self.scopes, fits, strict=True):
                policy = policy._with(override) if applies else policy
            known[fits] = replace(policy, scopes=())
        return known[fits]

    def _with(self, override: ScopePolicy) -> Policy:
        changes = _merged(self, override.changes, where=f"policy {self.name}, the scope of {override.named}")
        return replace(self, **changes, name=f"{self.name} for {override.named}", scopes=())

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
    """A policy from the tables of a TOML file; `where` names it in errors. Unknown keys are refused.

    `base` names the preset that gives what the file leaves out; without it the file must be complete.
    """
    settings = dict(data)
    base = settings.pop("base", None)
    if base is not None and not isinstance(base, str):
        raise SettingsError(f"{where}: base must name a preset, not {base!r}")
    overrides = settings.pop("scopes", [])
    try:
        if base is None:
            policy = _complete(settings, where)
        else:
            policy = replace(_preset(base), name=settings.pop("name", base), version=settings.pop("version", "1"))
            policy = replace(policy, **_merged(policy, settings, where=where))
        return replace(policy, scopes=_scopes(overrides, where)) if overrides else policy
    except TypeError as error:
        raise SettingsError(f"{where}: a setting has the wrong type: {error}") from error


def _complete(settings: Mapping[str, Any], where: str) -> Policy:
    """A policy from a file that gives everything."""
    _refuse_unknown(settings, {each.name for each in fields(Policy)} - {"scopes"}, where)
    if "weights" not in settings:
        raise SettingsError(f"{where}: [weights] must give each of {', '.join(SIGNALS)}")
    if missing := sorted({"name", "version", "theta", "type_priors", "recency_rates"} - set(settings)):
        raise SettingsError(f"{where}: missing settings: {', '.join(missing)}")
    return Policy(**{name: _value(name, value, where) for name, value in settings.items()})


def _merged(policy: Policy, changes: Mapping[str, Any], *, where: str) -> dict[str, Any]:
    """The fields of a policy with some changes; of a table by kind only the kinds that are named change."""
    _refuse_unknown(changes, {each.name for each in fields(Policy)} - {"name", "version", "scopes"}, where)
    found = {name: _value(name, value, where) for name, value in changes.items()}
    return {name: {**getattr(policy, name), **value} if name in TABLES else value for name, value in found.items()}


def _refuse_unknown(settings: Mapping[str, Any], known: set[str], where: str) -> None:
    if unknown := sorted(set(settings) - known):
        raise SettingsError(f"{where}: unknown settings: {', '.join(unknown)}")


def _value(name: str, value: Any, where: str) -> Any:
    """A setting as the policy holds it."""
    if name == "weights":
        if not isinstance(value, Mapping) or sorted(value) != sorted(SIGNALS):
            raise SettingsError(f"{where}: [weights] must give each of {', '.join(SIGNALS)}")
        return tuple(value[signal] for signal in SIGNALS)
    if name == "quarantine":
        return tuple(value)
    if name == "budget":
        if not isinstance(value, Mapping):
            raise SettingsError(f"{where}: [budget] must give per_day, per_user or both")
        _refuse_unknown(value, {each.name for each in fields(Budget)}, f"{where}, [budget]")
        return Budget(**value)
    if name == "utility":
        return utility_model(value, f"{where}, [utility]")
    if name in TABLES and not isinstance(value, Mapping):
        raise SettingsError(f"{where}: [{name}] must be a table by kind")
    return value


def _scopes(overrides: Any, where: str) -> tuple[ScopePolicy, ...]:
    if not isinstance(overrides, list) or not all(isinstance(each, Mapping) for each in overrides):
        raise SettingsError(f"{where}: scopes must be tables: [[scopes]]")
    found = []
    for each in overrides:
        walls = {wall: each[wall] for wall in WALLS if wall in each}
        if not walls or not all(isinstance(value, str) for value in walls.values()):
            raise SettingsError(f"{where}: each of [[scopes]] must name a tenant, a user or an agent")
        changes = {name: value for name, value in each.items() if name not in WALLS}
        found.append(ScopePolicy(MappingProxyType(changes), **walls))
    return tuple(found)


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
