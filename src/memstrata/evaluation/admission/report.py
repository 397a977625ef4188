"""A run as text (Markdown) and as one HTML file that needs nothing beside it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from memstrata.evaluation.admission.evaluate import Evaluation, table_rows
from memstrata.evaluation.admission.plots import figures_of
from memstrata.gate.policy import SIGNALS

COLUMNS = ("f1", "precision", "recall", "share", "auc", "average_precision")
_HEAD = ("", "F1", "precision", "recall", "admitted", "AUC", "average precision")
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0 } th, td { padding: .25rem .7rem; text-align: right }
th:first-child, td:first-child { text-align: left } tr + tr { border-top: 1px solid #ddd }
figure { display: inline-block; margin: 0 1rem 1rem 0 } svg { max-width: 100%; height: auto }
"""


def markdown(figures: Mapping[str, Any]) -> str:
    """The figures of a run (`Evaluation.as_dict`) as Markdown."""
    return "\n\n".join(f"{title}\n\n{_grid(rows)}" if rows else title for title, rows in _sections(figures)) + "\n"


def write_report(found: Evaluation, out: Path) -> list[Path]:
    """Writes the report: to `out` when it ends in .html, else `admission.html` and `admission.md` into that folder.

    Returns the files written. Raises MissingExtraError without matplotlib.
    """
    figures = found.as_dict()
    page = html(found, figures)
    if out.suffix == ".html":
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(page, encoding="utf-8")
        return [out]
    out.mkdir(parents=True, exist_ok=True)
    files = [out / "admission.html", out / "admission.md"]
    for file, text in zip(files, (page, markdown(figures)), strict=True):
        file.write_text(text, encoding="utf-8")
    return files


def html(found: Evaluation, figures: Mapping[str, Any]) -> str:
    """The report as one page; its figures are SVG elements in it."""
    drawn = "".join(
        f"<figure><figcaption><b>{escape(title)}</b></figcaption>{svg}</figure>"
        for title, svg in figures_of(found, figures).items()
    )
    parts = []
    for title, rows in _sections(figures):
        parts.append(f"<p>{escape(title.lstrip('# '))}</p>")
        if rows:
            head, *body = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
            parts.append(
                f"<table><tr>{head.replace('td>', 'th>')}</tr>{''.join(f'<tr>{r}</tr>' for r in body)}</table>"
            )
    text = parts[0] + drawn + "".join(parts[1:])
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Admission: {escape(figures["data"])}</title>'
        f"<style>{_STYLE}</style><h1>Admission: {escape(figures['data'])}</h1>{text}</html>\n"
    )


def _sections(figures: Mapping[str, Any]) -> list[tuple[str, list[list[str]]]]:
    """Each part of the report: a line of text and the rows of its table, the head first (none: text alone)."""
    how = "everything fitted on the other conversations" if figures["fitted"] else f"{figures['policy']}, untouched"
    sections: list[tuple[str, list[list[str]]]] = [
        (
            f"# {figures['data']}: {figures['conversations']} conversations, {figures['examples']:,} examples, "
            f"{figures['worth_keeping']:.1%} worth keeping; {how}. Intervals: 95 %, over conversations.",
            [],
        ),
        ("The gate and its baselines", [list(_HEAD), *(_row(name, each) for name, each in table_rows(figures))]),
        (
            "Two uses, two thresholds",
            [
                ["", "recall", "precision", "F1", "admitted", "questions answerable"],
                *(
                    [name, *_cells(use, ("recall", "precision", "f1", "share", "answerable"))]
                    for name, use in figures["uses"].items()
                ),
            ],
        ),
        (
            "Signals and weights",
            [
                ["", "weight", "p5", "p50", "p95"],
                *(
                    [name, _cell(figures["weights"][name]), *_cells(figures["signals"][name], ("p5", "p50", "p95"))]
                    for name in SIGNALS
                ),
            ],
        ),
    ]
    for name, each in figures["baselines"].items():
        if "missing" in each:
            sections.append((f"{name}: {each['missing']}", []))
    if "ablation" in figures:
        rows = [
            [f"without {name}", _interval(each["auc"]), _interval(each["f1"])]
            for name, each in figures["ablation"].items()
        ]
        sections.append(("Without one signal: the change, paired", [["", "AUC", "F1"], *rows]))
    if first := figures.get("first_100_turns"):
        sections.append(
            (
                f"The first {first['turns']} turns of {first['conversation']} ({first['worth_keeping']} worth keeping, "
                f"never fitted on): F1 {_interval(first['interval'])}; always {first['always']:.3f}; "
                f"published by A-MAC {first['a_mac_published']:.3f}",
                [],
            )
        )
    sections.append(
        (
            "Folds",
            [
                ["held out", "examples", "F1", "precision", "recall", "AUC", "threshold"],
                *(
                    [
                        ", ".join(fold["held_out"][:3]) + (" ..." if len(fold["held_out"]) > 3 else ""),
                        str(fold["examples"]),
                        *_cells(fold, ("f1", "precision", "recall", "auc", "threshold")),
                    ]
                    for fold in figures["folds"]
                ),
            ],
        )
    )
    thirds = ", ".join(f"{each:.2f}" for each in figures["milliseconds_by_third"])
    cost = f"CPU beside the encoder: {figures['milliseconds_a_candidate']:.2f} ms a candidate"
    sections.append((f"{cost}; {thirds} ms over the thirds of the longest conversation" if thirds else cost, []))
    return sections


def _row(name: str, each: Mapping[str, Any]) -> list[str]:
    intervals = each["intervals"]
    return [name, *(_interval(intervals[column]) if column in intervals else "" for column in COLUMNS)]


def _interval(each: Mapping[str, float]) -> str:
    return f"{each['value']:.3f} [{each['low']:.3f}, {each['high']:.3f}]"


def _cells(each: Mapping[str, Any], names: tuple[str, ...]) -> list[str]:
    return [_cell(each[name]) for name in names]


def _cell(value: float) -> str:
    return f"{value:.3f}"


def _grid(rows: list[list[str]]) -> str:
    """A Markdown table; the first row is its head."""
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, f"|{'---|' * len(rows[0])}", *body])
