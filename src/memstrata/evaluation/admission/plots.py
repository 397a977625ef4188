"""The report's figures as SVG: precision and recall, calibration, signals, ablation, what can still be answered."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from memstrata.errors import MissingExtraError
from memstrata.evaluation.admission.evaluate import Evaluation, answerable_curve
from memstrata.evaluation.admission.metrics import curve, kept
from memstrata.gate.policy import SIGNALS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 10
_COLOURS = {"the gate": "#1b5e8c", "tf-idf": "#c46a1b", "a-mac": "#7a4b94", "25 words": "#6b6b6b"}


def check_matplotlib() -> None:
    """Raises MissingExtraError without matplotlib: told before the work, not after it."""
    if find_spec("matplotlib") is None:
        raise MissingExtraError("the report", "eval")


def figures_of(found: Evaluation, figures: Mapping[str, Any]) -> dict[str, str]:
    """Each figure by its title, as an <svg> element. Raises MissingExtraError without matplotlib."""
    check_matplotlib()
    from matplotlib.figure import Figure

    def drawn(draw: Callable[[Axes], None], width: float = 5.2, height: float = 3.6) -> str:
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(figure.subplots())
        return _svg(figure)

    made = {
        "Precision and recall": drawn(lambda axes: _precision_recall(axes, found)),
        "Calibration of the utility": drawn(lambda axes: _calibration(axes, found)),
    }
    if found.table.questions:
        made["What can still be answered"] = drawn(lambda axes: _answerable(axes, found))
    if "ablation" in figures:
        made["Without one signal"] = drawn(lambda axes: _ablation(axes, figures["ablation"]))
    signals = Figure(figsize=(10.4, 2.4), layout="constrained")
    values = found.signal_values()
    worth = found.table.label[found.table.example]
    for n, axes in enumerate(signals.subplots(1, len(SIGNALS), sharey=False)):
        bins = np.linspace(0.0, 1.0, 2 * BINS + 1)
        axes.hist(values[~worth, n], bins=bins, density=True, alpha=0.55, color="#6b6b6b", label="not worth keeping")
        axes.hist(values[worth, n], bins=bins, density=True, alpha=0.55, color="#1b5e8c", label="worth keeping")
        axes.set_title(SIGNALS[n].replace("_", " "), fontsize=9)
        axes.set_yticks([])
    signals.axes[0].legend(fontsize=6)
    made["Each signal"] = _svg(signals)
    return made


def _svg(figure: Any) -> str:
    """A figure as an element that stands in a page; nothing in it depends on when it was made."""
    from matplotlib import rc_context

    out = io.StringIO()
    with rc_context({"svg.hashsalt": "memstrata"}):
        figure.savefig(out, format="svg", metadata={"Date": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def _precision_recall(axes: Axes, found: Evaluation) -> None:
    label = found.table.label
    ranked = {"the gate": found.held.score} | {n: b.score for n, b in found.baselines.items() if b.score is not None}
    for name, score in ranked.items():
        line = curve(label, score)
        axes.plot(line.recall, line.precision, label=name, color=_COLOURS.get(name), linewidth=1.3)
    at = kept(label, found.held.admitted)
    axes.plot([at.recall], [at.precision], "o", color=_COLOURS["the gate"], markersize=6)
    axes.axhline(label.mean(), color="#bbbbbb", linewidth=0.8, linestyle="--")
    axes.set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, 1))
    axes.legend(fontsize=7)


def _calibration(axes: Axes, found: Evaluation) -> None:
    score, label = found.held.score, found.table.label
    possible = score >= 0.0
    edges = np.quantile(score[possible], np.linspace(0, 1, BINS + 1))
    bins = np.clip(np.searchsorted(edges, score[possible], side="right") - 1, 0, BINS - 1)
    means = [(score[possible][bins == n].mean(), label[possible][bins == n].mean()) for n in np.unique(bins)]
    axes.plot(*zip(*means, strict=True), "o-", color=_COLOURS["the gate"], linewidth=1.2)
    axes.set(xlabel="score S (tenths of the examples)", ylabel="share worth keeping", ylim=(0, 1))


def _answerable(axes: Axes, found: Evaluation) -> None:
    shares, answered = answerable_curve(found.table, found.held.score)
    axes.plot(shares, answered, color=_COLOURS["the gate"], linewidth=1.4)
    axes.plot([0, 1], [0, 1], color="#bbbbbb", linewidth=0.8, linestyle="--")
    for name, held in found.uses.items():
        share = float(held.admitted.mean())
        reached = float(np.mean([held.admitted[list(each)].all() for each in found.table.questions]))
        axes.plot([share], [reached], "o", markersize=6, label=f"{name}: {share:.0%} kept, {reached:.0%} answerable")
    axes.set(xlabel="share admitted", ylabel="share of later questions answerable", xlim=(0, 1), ylim=(0, 1))
    axes.legend(fontsize=7, loc="lower right")


def _ablation(axes: Axes, ablation: Mapping[str, Any]) -> None:
    names = list(ablation)
    for offset, (figure, colour) in enumerate((("auc", "#1b5e8c"), ("f1", "#c46a1b"))):
        values = np.array([[ablation[name][figure][part] for part in ("value", "low", "high")] for name in names])
        errors = np.abs(np.stack([values[:, 0] - values[:, 1], values[:, 2] - values[:, 0]]))
        axes.errorbar(
            values[:, 0],
            np.arange(len(names)) + 0.2 * offset,
            xerr=errors,
            fmt="o",
            color=colour,
            label=figure.upper(),
            markersize=4,
        )
    axes.axvline(0.0, color="#bbbbbb", linewidth=0.8)
    axes.set_yticks(np.arange(len(names)), [f"without {name.replace('_', ' ')}" for name in names], fontsize=8)
    axes.set_xlabel("change when it is left out")
    axes.legend(fontsize=7)
