"""Plots as SVG text, with nothing to install and nothing to load: lines, bars, points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f", "#78350f", "#475569")
WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 16, 16, 44  # margins
TICKS = 5
LEVEL_NAMES = 6  # groups whose names fit beside each other; those of more are written aslant


@dataclass(frozen=True, slots=True)
class Axes:
    """Maps values to places on the plot; an axis of no length becomes one of length 1."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float

    def x(self, value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - self.x_low) / ((self.x_high - self.x_low) or 1.0)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - self.y_low) / ((self.y_high - self.y_low) or 1.0)


def lines(series: Mapping[str, Sequence[tuple[float, float]]], x_title: str, y_title: str) -> str:
    """One line a series of (x, y) points; y from 0 to 1 or the highest value."""
    points = [point for each in series.values() for point in each]
    axes = Axes(min(x for x, _ in points), max(x for x, _ in points), 0.0, max(1.0, max(y for _, y in points)))
    parts = _frame(axes, x_title, y_title)
    for n, each in enumerate(series.values()):
        path = " ".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y in each)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour(n)}" stroke-width="2"/>')
    return _svg(parts) + legend(list(series))


def bars(groups: Sequence[str], series: Mapping[str, Sequence[float | None]], y_title: str) -> str:
    """Bars of every series side by side in each group; None leaves a gap."""
    values = [value for each in series.values() for value in each if value is not None]
    axes = Axes(0.0, float(len(groups)), 0.0, max(1.0, *values) if values else 1.0)
    parts = _frame(axes, "", y_title, x_ticks=False)
    width = 0.8 / max(1, len(series))
    for g, group in enumerate(groups):
        at, below = axes.x(g + 0.5), HEIGHT - BOTTOM + 16
        if len(groups) <= LEVEL_NAMES:
            parts.append(_text(at, below, group, anchor="middle"))
        else:
            parts.append(f'<g transform="rotate(-20 {at:.1f} {below})">{_text(at, below, group, anchor="end")}</g>')
        for n, each in enumerate(series.values()):
            value = each[g]
            if value is not None:
                left, right = axes.x(g + 0.1 + n * width), axes.x(g + 0.1 + (n + 1) * width)
                top, floor = axes.y(value), axes.y(0.0)
                parts.append(
                    f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{floor - top:.1f}"'
                    f' fill="{colour(n)}"><title>{escape(group)}: {value:.3f}</title></rect>'
                )
    return _svg(parts) + legend(list(series))


def points(named: Mapping[str, tuple[float, float]], x_title: str, y_title: str) -> str:
    """One named point each; x from 0, y from 0 to 1."""
    axes = Axes(0.0, max(x for x, _ in named.values()) * 1.15, 0.0, 1.0)
    parts = _frame(axes, x_title, y_title)
    for n, (name, (x, y)) in enumerate(named.items()):
        parts.append(
            f'<circle cx="{axes.x(x):.1f}" cy="{axes.y(y):.1f}" r="5" fill="{colour(n)}">'
            f"<title>{escape(name)}: {x:,.0f}, {y:.3f}</title></circle>"
        )
        parts.append(_text(axes.x(x) + 8, axes.y(y) + 4, name))
    return _svg(parts)


def cloud(
    places: Sequence[tuple[float, float]],
    joined: Sequence[tuple[int, int]],
    marked: Sequence[bool],
    bounds: Axes,
) -> str:
    """Points with lines between those that are joined; marked ones stand out."""
    parts = [
        f'<line x1="{bounds.x(places[a][0]):.1f}" y1="{bounds.y(places[a][1]):.1f}"'
        f' x2="{bounds.x(places[b][0]):.1f}" y2="{bounds.y(places[b][1]):.1f}" stroke="#94a3b8" stroke-opacity=".35"/>'
        for a, b in joined
    ]
    for (x, y), stands_out in zip(places, marked, strict=True):
        fill, size = (COLOURS[1], 3.0) if stands_out else (COLOURS[0], 2.2)
        parts.append(
            f'<circle cx="{bounds.x(x):.1f}" cy="{bounds.y(y):.1f}" r="{size}" fill="{fill}" fill-opacity=".7"/>'
        )
    return _svg(parts)


def legend(names: Sequence[str]) -> str:
    """The series' names beside their colours."""
    items = "".join(
        f'<span><i style="background:{colour(n)}"></i>{escape(name)}</span>' for n, name in enumerate(names)
    )
    return f'<p class="legend">{items}</p>'


def colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _frame(axes: Axes, x_title: str, y_title: str, *, x_ticks: bool = True) -> list[str]:
    floor, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = [
        f'<line x1="{LEFT}" y1="{floor}" x2="{right}" y2="{floor}" stroke="#64748b"/>',
        _text((LEFT + right) / 2, HEIGHT - 8, x_title, anchor="middle"),
        f'<text transform="translate(14 {(TOP + floor) / 2:.0f}) rotate(-90)" text-anchor="middle">'
        f"{escape(y_title)}</text>",
    ]
    for n in range(TICKS + 1):
        value = axes.y_low + (axes.y_high - axes.y_low) * n / TICKS
        parts.append(
            f'<line x1="{LEFT}" y1="{axes.y(value):.1f}" x2="{right}" y2="{axes.y(value):.1f}" stroke="#e2e8f0"/>'
        )
        parts.append(_text(LEFT - 6, axes.y(value) + 4, f"{value:.3g}", anchor="end"))
        if x_ticks:
            at = axes.x_low + (axes.x_high - axes.x_low) * n / TICKS
            parts.append(_text(axes.x(at), floor + 16, f"{at:,.4g}", anchor="middle"))
    return parts


def _text(x: float, y: float, text: str, *, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(parts: Sequence[str]) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{"".join(parts)}</svg>'
