"""A line chart as SVG: what an experiment's rows come to, epoch by epoch or column by column."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

WIDTH, HEIGHT = 560, 260
LEFT, RIGHT, TOP, BOTTOM = 36, 150, 10, 34
LABEL_GAP = 13  # least distance between two labels at the ends of their lines
COLOURS = 10  # that the page's style knows; further lines begin with the first again
STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)  # between two lines of the grid


@dataclass(frozen=True)
class Axes:
    """Both axes.

    Attributes:
        top: largest value on the vertical one, which begins at 0.
        title: of the horizontal one.
        marks: what is written below places 0..1 of it.
        stretched: whether every line goes from end to end, however many places it has.
    """

    top: float = 100
    title: str = "epoch"
    marks: Mapping[float, str] | None = None
    stretched: bool = False


def chart(lines: Mapping[str, Sequence[float]], title: str, axes: Axes | None = None) -> Markup:
    """Draw lines over places 0, 1, ...; every line is named at its end.

    Args:
        lines: values from 0 on, by name; percent by epoch where no axes say otherwise. What lies above the top is drawn at it.
        title: said to who cannot see it.
        axes: what the chart spans.
    """
    axes = axes or Axes()
    last = max((len(values) - 1 for values in lines.values()), default=0)
    marks = axes.marks or {place / max(last, 1): str(place) for place in sorted({0, last // 2, last})}
    parts = [_grid(axes, marks)]
    ends = _spread([_y(values[-1], axes) for values in lines.values()])
    for number, ((name, values), end) in enumerate(zip(lines.items(), ends, strict=True)):
        end_place = max(len(values) - 1 if axes.stretched else last, 1)
        points = " ".join(f"{_x(place / end_place):.1f},{_y(value, axes):.1f}" for place, value in enumerate(values))
        label = Markup('<text x="{}" y="{:.1f}">{}</text>').format(WIDTH - RIGHT + 6, end + 4, name)
        line = Markup('<g class="line row{}"><polyline points="{}"/>{}</g>')
        parts.append(line.format(number % COLOURS, points, label))
    return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, HEIGHT, title, Markup("").join(parts)
    )


def _x(place: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * place


def _y(value: float, axes: Axes) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - min(max(value / axes.top, 0), 1))


def _grid(axes: Axes, marks: Mapping[float, str]) -> Markup:
    parts = []
    step = next((one for one in STEPS if axes.top / one <= 6), axes.top)
    for number in range(math.floor(axes.top / step + 1e-9) + 1):
        y = _y(number * step, axes)
        parts.append(
            Markup('<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>').format(LEFT, WIDTH - RIGHT, y, y)
        )
        tick = Markup('<text class="tick end" x="{}" y="{:.1f}">{:g}</text>')
        parts.append(tick.format(LEFT - 6, y + 4, number * step))
    for place, said in marks.items():
        parts.append(
            Markup('<text class="tick middle" x="{:.1f}" y="{}">{}</text>').format(_x(place), HEIGHT - 18, said)
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(Markup('<text class="tick middle" x="{:.1f}" y="{}">{}</text>').format(middle, HEIGHT - 4, axes.title))
    return Markup("").join(parts)


def _spread(places: Sequence[float]) -> list[float]:
    """Move labels down where they would lie on one another, in their order from the top."""
    moved = list(places)
    free = float("-inf")
    for index in sorted(range(len(places)), key=lambda i: places[i]):
        moved[index] = max(places[index], free)
        free = moved[index] + LABEL_GAP
    return moved
