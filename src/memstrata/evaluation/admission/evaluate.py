"""One run: a gate on labelled examples, with its baselines, folds, intervals and ablation.

Without a policy everything is fitted on the other conversations; a policy is taken as it stands, untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from memstrata.errors import MissingExtraError
from memstrata.evaluation.admission.baselines import Baseline, baselines, models_of, policy_scores, tf_idf
from memstrata.evaluation.admission.candidates import Booleans, Floats, Integers, Table
from memstrata.evaluation.admission.estimator import utilities
from memstrata.evaluation.admission.fit import Fitted, HeldOut, Objective, fit, held_out
from memstrata.evaluation.admission.folds import fold_of
from memstrata.evaluation.admission.metrics import Interval, auc, average_precision, bootstrap, kept
from memstrata.gate.policy import SIGNALS, Policy
from memstrata.gate.utility import default_model
from memstrata.types import Progress

A_MAC_TURNS, A_MAC_CONVERSATION, A_MAC_F1 = 100, "conv-26", 0.583  # what its published figure stands on
USES = {"may be asked": Objective("recall"), "worth keeping": Objective("f1")}
SHARES = np.linspace(0.0, 1.0, 41)  # of the examples admitted, for the curve of what can still be answered


@dataclass(frozen=True)
class Evaluation:
    """A gate on a table: held-out scores and thresholds, the baselines' too, and what can be said of them.

    `fitted` is the gate fitted on all of the table, None where a policy was taken as it stands; `uses` are the
    decisions under the threshold of each use; `ablations` the decisions of gates without one signal.
    """

    table: Table
    policy: Policy
    held: HeldOut
    fitted: Fitted | None
    baselines: Mapping[str, Baseline]
    missing: Mapping[str, str]
    uses: Mapping[str, HeldOut]
    ablations: Mapping[str, HeldOut]

    @property
    def threshold(self) -> float:
        return self.policy.theta if self.fitted is None else self.fitted.theta

    def as_dict(self) -> dict[str, Any]:
        """Every figure as plain values: f1, precision, recall, auc, average_precision, threshold, baselines, folds and
        more; an interval is {value, low, high}, over conversations."""
        table, held = self.table, self.held
        main = _figures(table, Baseline(held.score, held.admitted))
        found: dict[str, Any] = {
            "data": table.name,
            "conversations": len(table.groups),
            "examples": len(table.label),
            "worth_keeping": float(table.label.mean()),
            "candidates": len(table.example),
            "repairs": dict(table.repairs),
            "fitted": self.fitted is not None,
            "policy": self.policy.label,
            **{name: interval.value for name, interval in main.items()},
            "intervals": {name: asdict(interval) for name, interval in main.items()},
            "threshold": self.threshold,
            "weights": dict(
                zip(SIGNALS, self.policy.weights if self.fitted is None else self.fitted.weights, strict=True)
            ),
            "baselines": {
                **{name: _plain(_figures(table, each)) for name, each in self.baselines.items()},
                **{name: {"missing": why} for name, why in self.missing.items()},
            },
            "folds": [self._fold(number) for number in range(int(held.fold.max()) + 1)],
            "uses": {name: self._use(each) for name, each in self.uses.items()},
            "signals": self._signals(),
            "milliseconds_a_candidate": table.milliseconds,
            "milliseconds_by_third": list(table.thirds),
        }
        if self.ablations:
            found["ablation"] = {name: self._without(each) for name, each in self.ablations.items()}
        if A_MAC_CONVERSATION in table.groups:
            found["first_100_turns"] = self._first_turns()
        return found

    def _fold(self, number: int) -> dict[str, Any]:
        table, held = self.table, self.held
        out = held.fold == number
        gate = held.fitted[number] if held.fitted else None
        return {
            "held_out": [table.groups[group] for group in np.unique(table.group[out])],
            "examples": int(out.sum()),
            **kept(table.label[out], held.admitted[out]).as_dict(),
            "auc": auc(table.label[out], held.score[out]),
            "average_precision": average_precision(table.label[out], held.score[out]),
            "threshold": float(held.theta[out][0]),
            "weights": None if gate is None else dict(zip(SIGNALS, gate.weights, strict=True)),
        }

    def _use(self, held: HeldOut) -> dict[str, Any]:
        return {**kept(self.table.label, held.admitted).as_dict(), "answerable": answerable(self.table, held.admitted)}

    def _without(self, other: HeldOut) -> dict[str, Any]:
        """What leaving a signal out changes, paired: below 0 the signal pays."""
        table, held = self.table, self.held
        label, group = table.label, table.group

        def f1(rows: Integers) -> float:
            return kept(label[rows], other.admitted[rows]).f1 - kept(label[rows], held.admitted[rows]).f1

        def area(rows: Integers) -> float:
            return auc(label[rows], other.score[rows]) - auc(label[rows], held.score[rows])

        return {"f1": asdict(bootstrap(group, f1)), "auc": asdict(bootstrap(group, area))}

    def _signals(self) -> dict[str, dict[str, float]]:
        values = self.signal_values()
        return {
            name: {f"p{share}": float(np.percentile(values[:, n], share)) for share in (5, 50, 95)}
            for n, name in enumerate(SIGNALS)
        }

    def signal_values(self) -> Floats:
        """The five signals of every candidate; its utility is by the estimator that did not see it."""
        table = self.table
        utility = np.zeros(len(table.example))
        for number in range(int(self.held.fold.max()) + 1):
            gate = self.held.fitted[number] if self.held.fitted else None
            model = gate.utility if gate is not None else (self.policy.utility or default_model())
            rows = table.rows(self.held.fold == number)
            utility[rows] = utilities(model, table)[rows]
        return table.signals(utility, self.policy)

    def _first_turns(self) -> dict[str, Any]:
        table, held = self.table, self.held
        chosen = (table.group == table.groups.index(A_MAC_CONVERSATION)) & (table.position < A_MAC_TURNS)
        label, admitted = table.label[chosen], held.admitted[chosen]
        interval = bootstrap(table.group[chosen], lambda rows: kept(label[rows], admitted[rows]).f1)
        return {
            "conversation": A_MAC_CONVERSATION,
            "turns": int(chosen.sum()),
            "worth_keeping": int(label.sum()),
            **kept(label, admitted).as_dict(),
            "interval": asdict(interval),
            "always": kept(label, np.ones(len(label), dtype=np.bool_)).f1,
            "a_mac_published": A_MAC_F1,
        }


def evaluate(
    table: Table,
    policy: Policy,
    objective: Objective,
    *,
    untouched: bool = False,
    folds: int | None = None,
    floor: float = 0.0,
    ablation: bool = True,
    progress: Progress = lambda *_: None,
) -> Evaluation:
    """The gate on a table. `untouched` takes the policy as it stands; else everything is fitted in the folds, and the
    policy gives priors and rates."""
    steps = 4 + (len(SIGNALS) if ablation else 0)
    progress("gate", 0, steps)
    if untouched:
        held, fitted = as_it_stands(table, policy, folds=folds), None
        models = {n: policy.utility or default_model() for n in range(int(held.fold.max()) + 1)}
    else:
        held = held_out(table, policy, objective, folds=folds, floor=floor)
        models = models_of(held)
        everything = np.ones(len(table.label), dtype=np.bool_)
        fitted = fit([(table, everything)], policy, objective, floor=floor)
    progress("baselines", 1, steps)
    rivals: dict[str, Baseline] = baselines(table, held.fold, models)
    missing: dict[str, str] = {}
    try:
        rivals["tf-idf"] = tf_idf(table, held.fold, objective)
    except MissingExtraError as error:
        missing["tf-idf"] = str(error)
    progress("uses", 2, steps)
    uses: dict[str, HeldOut] = {}
    for name, use in USES.items():
        uses[name] = held if untouched or use == objective else held_out(table, policy, use, folds=folds, floor=floor)
    if untouched:
        uses = {"as it stands": held}
    ablations: dict[str, HeldOut] = {}
    if ablation:
        for n, signal in enumerate(SIGNALS):
            progress(f"without {signal}", 3 + n, steps)
            ablations[signal] = (
                as_it_stands(table, policy.without(signal), folds=folds)
                if untouched
                else held_out(table, policy, objective, folds=folds, without=signal)
            )
    progress("done", steps, steps)
    return Evaluation(table, policy, held, fitted, rivals, missing, uses, ablations)


def as_it_stands(table: Table, policy: Policy, *, folds: int | None = None) -> HeldOut:
    """A policy on every example, nothing fitted; the folds only say which conversations are shown together."""
    score = policy_scores(table, policy, policy.utility or default_model())
    fold = fold_of(table.group, table.label, folds=folds)
    return HeldOut(score, np.full(len(score), policy.theta), fold, ())


def answerable(table: Table, admitted: Booleans) -> float:
    """The share of later questions all of whose evidence is admitted; NaN for data without questions."""
    if not table.questions:
        return float("nan")
    return float(np.mean([admitted[list(each)].all() for each in table.questions]))


def answerable_curve(table: Table, score: Floats) -> tuple[Floats, Floats]:
    """Share admitted, and share of questions whose evidence is all among it, from nothing to everything."""
    ranked = np.argsort(-score, kind="stable")
    rank = np.empty(len(score), dtype=np.int64)
    rank[ranked] = np.arange(len(score))
    needed = np.array([rank[list(each)].max() + 1 for each in table.questions], dtype=np.float64) / len(score)
    return SHARES, np.array([float((needed <= share).mean()) for share in SHARES])


def _figures(table: Table, found: Baseline) -> dict[str, Interval]:
    label, group = table.label, table.group
    figures: dict[str, Callable[[Integers], float]] = {
        "f1": lambda rows: kept(label[rows], found.admitted[rows]).f1,
        "precision": lambda rows: kept(label[rows], found.admitted[rows]).precision,
        "recall": lambda rows: kept(label[rows], found.admitted[rows]).recall,
        "share": lambda rows: kept(label[rows], found.admitted[rows]).share,
    }
    if (score := found.score) is not None:
        figures["auc"] = lambda rows: auc(label[rows], score[rows])
        figures["average_precision"] = lambda rows: average_precision(label[rows], score[rows])
    return {name: bootstrap(group, figure) for name, figure in figures.items()}


def _plain(figures: Mapping[str, Interval]) -> dict[str, Any]:
    return {name: interval.value for name, interval in figures.items()} | {
        "intervals": {name: asdict(interval) for name, interval in figures.items()}
    }


def table_rows(figures: Mapping[str, Any]) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """The gate and its baselines, each with its figures, in the order to be shown."""
    named = [("the gate", figures), *figures["baselines"].items()]
    return [(name, each) for name, each in named if "missing" not in each]
