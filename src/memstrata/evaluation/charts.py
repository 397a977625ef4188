"""Plots as SVG text, with nothing to install and nothing to load: lines, bars, points, whiskers, clouds.

Every series comes with its name and its colour, so that a run looks the same in all plots. Ink and grid are the page's
(classes, see page.css), so that they follow its light and dark.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

COLOURS = (  # told apart on white and on black
    "#3b82f6",
    "#ef4444",
    "#10b981",
    "#f59e0b",
    "#8b5cf6",
    "#06b6d4",
    "#ec4899",
    "#84cc16",
    "#a16207",
    "#64748b",
    "#14b8a6",
    "#f472b6",
    "#6366f1",
    "#c2410c",
    "#65a30d",
    "#9333ea",
)
DASHES = ("", "6 3", "2 3")  # of lines, once the colours begin again
WIDTH, HEIGHT = 480, 290  # of a plot: as wide as a phone, so that its letters can be read there
LEFT, RIGHT, TOP, BOTTOM = 50, 12, 10, 42  # margins
TICKS = 5
LEVEL_NAMES = 5  # groups whose names fit beside each other; those of more are written aslant
LETTER, LINE = 6.8, 14.0  # about the width and the height of a letter
ROW = 20  # height of a row of whiskers
CLOUD = 360  # side of a cloud

Colours = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Axes:
    """Maps values to places on the plot; an axis of no length becomes one of length 1. `log`: x by its logarithm."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float
    log: bool = False
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT

    def x(self, value: float) -> float:
        low, high, at = self.x_low, self.x_high, value
        if self.log:
            low, high, at = math.log10(low), math.log10(high), math.log10(max(value, self.x_low))
        return self.left + (self.width - self.left - RIGHT) * (at - low) / ((high - low) or 1.0)

    def y(self, value: float) -> float:
        span = (self.y_high - self.y_low) or 1.0
        return self.height - BOTTOM - (self.height - TOP - BOTTOM) * (value - self.y_low) / span

    def x_ticks(self) -> list[float]:
        """Round values along x: 1, 2, 5 and so on."""
        if not self.log:
            return ticks(self.x_low, self.x_high)
        first, last = math.floor(math.log10(self.x_low)), math.ceil(math.log10(self.x_high))
        steps = (1, 2, 5) if last - first < 4 else (1,)
        found = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        return [each for each in found if self.x_low <= each <= self.x_high]


def ticks(low: float, high: float) -> list[float]:
    """At most some TICKS round values from `low` to `high`.

    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    >>> ticks(1.0, 20.0)
    [5.0, 10.0, 15.0, 20.0]
    """
    rough = ((high - low) or 1.0) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(each * power for each in (1.0, 2.0, 5.0, 10.0) if each * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(n * step, 10) for n in range(first, last + 1)]


def lines(
    series: Mapping[str, Sequence[tuple[float, float]]],
    colours: Colours,
    x_title: str,
    y_title: str,
    *,
    log: bool = False,
) -> str:
    """One line a series of (x, y) points; y from 0 to 1 or the highest value."""
    points = [point for each in series.values() for point in each]
    low = min(x for x, _ in points)
    highest = max(1.0, *(y for _, y in points))
    axes = Axes(max(low, 0.1) if log else low, max(x for x, _ in points), 0.0, highest, log)
    parts = _frame(axes, x_title, y_title)
    for n, (name, each) in enumerate(series.items()):
        path = " ".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y in each)
        dash = DASHES[n // len(COLOURS) % len(DASHES)]
        stroke = f'fill="none" stroke="{colours[name]}" stroke-width="2" stroke-dasharray="{dash}"'
        parts.append(f'<polyline points="{path}" {stroke}><title>{escape(name)}</title></polyline>')
    return _svg(parts, axes) + legend(list(series), colours)


def bars(groups: Sequence[str], series: Mapping[str, Sequence[float | None]], colours: Colours, y_title: str) -> str:
    """Bars of every series side by side in each group; None leaves a gap."""
    values = [value for each in series.values() for value in each if value is not None]
    axes = Axes(0.0, float(len(groups)), 0.0, max(1.0, *values) if values else 1.0)
    parts = _frame(axes, "", y_title, x_ticks=False)
    width = 0.8 / max(1, len(series))
    for g, group in enumerate(groups):
        at, below = axes.x(g + 0.5), HEIGHT - BOTTOM + 18
        if len(groups) <= LEVEL_NAMES:
            parts.append(_text(at, below, group, anchor="middle"))
        else:
            parts.append(f'<g transform="rotate(-20 {at:.1f} {below})">{_text(at, below, group, anchor="end")}</g>')
        for n, (name, each) in enumerate(series.items()):
            value = each[g]
            if value is not None:
                left, right = axes.x(g + 0.1 + n * width), axes.x(g + 0.1 + (n + 1) * width)
                top, floor = axes.y(value), axes.y(0.0)
                parts.append(
                    f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{floor - top:.1f}"'
                    f' fill="{colours[name]}"><title>{escape(name)}, {escape(group)}: {value:.3f}</title></rect>'
                )
    return _svg(parts, axes) + legend(list(series), colours)


def points(named: Mapping[str, tuple[float, float]], colours: Colours, x_title: str, y_title: str) -> str:
    """One named point each; x by its logarithm, y from 0 to 1. Names stay clear of each other."""
    values = [max(x, 1.0) for x, _ in named.values()]
    axes = Axes(min(values) / 1.5, max(values) * 1.5, 0.0, 1.0, log=True)
    parts = _frame(axes, x_title, y_title)
    dots = [(axes.x(max(x, 1.0)), axes.y(y)) for x, y in named.values()]
    taken = [(x - 5, x + 5, y) for x, y in dots]  # left, right, middle of what names stay clear of
    for name, (x, y) in sorted(named.items(), key=lambda each: -each[1][1]):
        at, height = axes.x(max(x, 1.0)), axes.y(y)
        left, right, middle = _free(taken, at, height, LETTER * len(name))
        taken.append((left, right, middle))
        parts.append(
            f'<circle cx="{at:.1f}" cy="{height:.1f}" r="5" fill="{colours[name]}">'
            f"<title>{escape(name)}: {x:,.0f}, {y:.3f}</title></circle>"
        )
        if abs(middle - height) > LINE / 2:
            end = left if left > at else right
            parts.append(f'<path class="leader" fill="none" d="M{at:.1f} {height:.1f}L{end:.1f} {middle:.1f}"/>')
        beside = _text(left, middle + 4, name) if left > at else _text(right, middle + 4, name, anchor="end")
        parts.append(beside)
    return _svg(parts, axes)


def _free(
    taken: Sequence[tuple[float, float, float]], at: float, height: float, wide: float
) -> tuple[float, float, float]:
    """The place (left, right, middle) nearest to a dot where a name meets no other: right of it, or left."""
    sides = [left for left in (at + 9, at - 9 - wide) if left > LEFT and left + wide < WIDTH] or [at + 9]
    for n in range(4 * len(taken) + 1):
        middle = height + LINE / 2 * ((n + 1) // 2) * (1 if n % 2 else -1)
        if not TOP <= middle <= HEIGHT - BOTTOM - LINE / 2:
            continue
        for left in sides:
            if not any(
                left < end and start < left + wide and abs(middle - other) < LINE for start, end, other in taken
            ):
                return left, left + wide, middle
    return sides[0], sides[0] + wide, height


def whiskers(spans: Mapping[str, tuple[float, float, float]], colours: Colours, x_title: str) -> str:
    """A row for each (mean, low, high): the interval as a line, the mean as a dot, beside the line at 0."""
    lows, highs = [low for _, low, _ in spans.values()], [high for _, _, high in spans.values()]
    left = int(LETTER * max(len(name) for name in spans)) + 12
    height = TOP + BOTTOM + ROW * len(spans)
    axes = Axes(min(0.0, *lows) - 0.01, max(0.0, *highs) + 0.01, 0.0, float(len(spans)), height=height, left=left)
    parts = _frame(axes, x_title, "", y_ticks=False)
    zero = axes.x(0.0)
    parts.append(f'<line class="axis" x1="{zero:.1f}" y1="{TOP}" x2="{zero:.1f}" y2="{height - BOTTOM}"/>')
    for n, (name, (mean, low, high)) in enumerate(spans.items()):
        at = axes.y(len(spans) - n - 0.5)
        parts.append(_text(left - 8, at + 4, name, anchor="end"))
        parts.append(
            f'<line x1="{axes.x(low):.1f}" y1="{at:.1f}" x2="{axes.x(high):.1f}" y2="{at:.1f}"'
            f' stroke="{colours[name]}" stroke-width="2"/><circle cx="{axes.x(mean):.1f}" cy="{at:.1f}" r="4"'
            f' fill="{colours[name]}"><title>{escape(name)}: {mean:+.3f} [{low:+.3f}, {high:+.3f}]</title></circle>'
        )
    return _svg(parts, axes)


def cloud(
    places: Sequence[tuple[float, float]],
    joined: Sequence[tuple[int, int]],
    marked: Sequence[bool],
    bounds: tuple[float, float, float, float],
) -> str:
    """Points with lines between those that are joined; marked ones stand out. `bounds`: x low and high, y low and
    high."""
    (x_low, x_high, y_low, y_high), room = bounds, CLOUD - 16

    def place(x: float, y: float) -> tuple[float, float]:
        across, up = (x - x_low) / ((x_high - x_low) or 1.0), (y - y_low) / ((y_high - y_low) or 1.0)
        return 8 + room * across, CLOUD - 8 - room * up

    at = [place(x, y) for x, y in places]
    parts = [
        f'<line class="axis" x1="{at[a][0]:.1f}" y1="{at[a][1]:.1f}" x2="{at[b][0]:.1f}" y2="{at[b][1]:.1f}"'
        ' stroke-opacity=".35"/>'
        for a, b in joined
    ]
    for (x, y), stands_out in sorted(zip(at, marked, strict=True), key=lambda each: each[1]):
        fill, size = (COLOURS[1], 4.0) if stands_out else (COLOURS[0], 3.0)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{fill}" fill-opacity=".75"/>')
    return f'<svg viewBox="0 0 {CLOUD} {CLOUD}" role="img">{"".join(parts)}</svg>'


def legend(names: Sequence[str], colours: Colours) -> str:
    """The series' names beside their colours."""
    items = "".join(f'<span><i style="background:{colours[name]}"></i>{escape(name)}</span>' for name in names)
    return f'<div class="legend">{items}</div>'


def colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _frame(axes: Axes, x_title: str, y_title: str, *, x_ticks: bool = True, y_ticks: bool = True) -> list[str]:
    floor, right = axes.height - BOTTOM, axes.width - RIGHT
    parts = [_text((axes.left + right) / 2, axes.height - 8, x_title, anchor="middle")]
    if y_title:
        parts.append(
            f'<text transform="translate(14 {(TOP + floor) / 2:.0f}) rotate(-90)" text-anchor="middle">'
            f"{escape(y_title)}</text>"
        )
    for value in ticks(axes.y_low, axes.y_high) if y_ticks else ():
        at = f"{axes.y(value):.1f}"
        parts.append(f'<line class="grid" x1="{axes.left}" y1="{at}" x2="{right}" y2="{at}"/>')
        parts.append(_text(axes.left - 6, axes.y(value) + 4, f"{value:.3g}", anchor="end"))
    for value in axes.x_ticks() if x_ticks else ():
        at = f"{axes.x(value):.1f}"
        parts.append(f'<line class="grid" x1="{at}" y1="{TOP}" x2="{at}" y2="{floor}"/>')
        parts.append(_text(axes.x(value), floor + 18, f"{value:,.10g}", anchor="middle"))
    parts.append(f'<line class="axis" x1="{axes.left}" y1="{floor}" x2="{right}" y2="{floor}"/>')
    return parts


def _text(x: float, y: float, text: str, *, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(parts: Sequence[str], axes: Axes) -> str:
    return f'<svg viewBox="0 0 {axes.width} {axes.height}" role="img">{"".join(parts)}</svg>'
