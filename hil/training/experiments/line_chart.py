"""A line chart in SVG, with one line per row of an experiment; both axes are scaled to the values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from hil.training.experiments.shared_lines import Point, strokes

WIDTH, HEIGHT = 560, 260
TOP, BOTTOM = 10, 34
LABEL_GAP = 13  # least distance between two labels at the ends of lines
LETTER = 6.6  # upper limit of the width of a letter in a label
LEADER = 22  # from the ends of the lines to their labels, with room for the connecting leaders
COLOURS = 10  # colours in the page's style; further lines start again with the first
MOST_GRID_LINES = 7
# Of the larger value: what the axis spans at least, so that its numbers differ in the digits that are written.
LEAST_SPAN = 1e-3
HIDDEN = 1.5  # lines that are nearer than this cover each other: a line is 2 wide


@dataclass(frozen=True)
class Axes:
    """The horizontal axis. The vertical one spans the values."""

    title: str = "epoch"
    marks: Mapping[float, str] | None = None  # labels by place 0..1; None: the numbers of the places
    stretched: bool = False  # whether every line spans the whole axis, for any number of places


@dataclass(frozen=True)
class Frame:
    """Scale of the drawing: values of the lowest and highest grid line, and edges of the drawing in SVG units."""

    low: float
    high: float
    step: float
    left: float
    right: float
    height: float

    @property
    def ticks(self) -> list[float]:
        """The values of the grid lines, from the lowest one."""
        values = (self.low + number * self.step for number in range(round((self.high - self.low) / self.step) + 1))
        return [0.0 if abs(value) < self.step / 2 else value for value in values]

    def x(self, place: float) -> float:
        """Return the horizontal position of a place in 0..1."""
        return self.left + (self.right - self.left) * place

    def y(self, value: float) -> float:
        """Return the vertical position of a value."""
        return TOP + (self.height - TOP - BOTTOM) * (self.high - value) / (self.high - self.low)


def chart(lines: Mapping[str, Sequence[float]], title: str, axes: Axes | None = None) -> Markup:
    """Draw lines over places 0, 1, ... with their names at the ends; coinciding lines have alternate dashes.

    Args:
        lines: values by name, of any sign; a value that is not finite leaves a gap.
        title: for screen readers.
        axes: the horizontal axis.
    """
    axes = axes or Axes()
    named = {name: values for name, values in lines.items() if any(map(math.isfinite, values))}
    frame = _frame(named)
    last = max((len(values) - 1 for values in named.values()), default=0)
    marks = axes.marks or {place / max(last, 1): str(place) for place in sorted({0, last // 2, last})}
    points = _points(named.values(), frame, None if axes.stretched else max(last, 1))
    ends = [next(point for point in reversed(line) if point is not None) for line in points]
    labels = spread([y for _, y in ends], TOP, frame.height - BOTTOM)
    parts = [_grid(frame, axes, marks)]
    for number, (name, drawn, end, label) in enumerate(zip(named, strokes(points), ends, labels, strict=True)):
        line = Markup('<g class="line row{}">{}{}</g>')
        parts.append(line.format(number % COLOURS, Markup("").join(drawn), _label(name, end, label, frame)))
    return Markup('<svg viewBox="0 0 {} {:g}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, frame.height, title, Markup("").join(parts)
    )


def _frame(lines: Mapping[str, Sequence[float]]) -> Frame:
    """Return the smallest grid that includes all finite values; many lines make it higher, for their labels."""
    finite = [value for values in lines.values() for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    step = _step(max(high - low, LEAST_SPAN * max(abs(low), abs(high))) or 1.0)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    if first == last:
        first, last = first - 1, last + 1
    right = WIDTH - LEADER - min(max((len(name) * LETTER for name in lines), default=0.0), WIDTH / 2)
    frame = Frame(first * step, last * step, step, 0.0, right, max(HEIGHT, TOP + BOTTOM + LABEL_GAP * len(lines)))
    return replace(frame, left=10 + LETTER * max(len(f"{value:.6g}") for value in frame.ticks))


def _step(span: float) -> float:
    """Return a step of 1, 2 or 5 times a power of ten that divides a span into few parts."""
    power = 10.0 ** math.floor(math.log10(span / (MOST_GRID_LINES - 2)))
    return next(power * times for times in (1, 2, 5, 10) if power * times * (MOST_GRID_LINES - 2) >= span * (1 - 1e-9))


def _points(lines: Iterable[Sequence[float]], frame: Frame, last: int | None) -> list[list[Point | None]]:
    """Return the points of every line; a point that would partly cover another line's is moved onto it."""
    found: list[list[Point | None]] = []
    seen: dict[float, list[float]] = {}
    for values in lines:
        line: list[Point | None] = []
        for place, value in enumerate(values):
            if not math.isfinite(value):
                line.append(None)
                continue
            x, y = round(frame.x(place / (last or max(len(values) - 1, 1))), 1), round(frame.y(value), 1)
            others = seen.setdefault(x, [])
            covered = [other for other in others if abs(other - y) <= HIDDEN]
            y = min(covered, key=lambda other: abs(other - y), default=y)
            others.append(y)
            line.append((x, y))
        found.append(line)
    return found


def _label(name: str, end: Point, at: float, frame: Frame) -> Markup:
    """Return the name at the end of its line, with a leader if the name was moved away."""
    begin = frame.right + LEADER - 4
    text = Markup('<text x="{:.1f}" y="{:.1f}">{}</text>').format(begin, at + 4, name)
    leader = Markup('<path class="leader" d="M{:.1f},{:.1f}L{:.1f},{:.1f}"/>').format(end[0] + 3, end[1], begin - 3, at)
    return Markup("").join([leader, text])


def _grid(frame: Frame, axes: Axes, marks: Mapping[float, str]) -> Markup:
    line = Markup('<line class="{}" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>')
    number = Markup('<text class="tick end" x="{:.1f}" y="{:.1f}">{:.6g}</text>')
    below = Markup('<text class="tick middle" x="{:.1f}" y="{:g}">{}</text>')
    parts = []
    for value in frame.ticks:
        y, kind = frame.y(value), "grid" if value else "grid zero"
        parts += [line.format(kind, frame.left, frame.right, y, y), number.format(frame.left - 6, y + 4, value)]
    parts += [below.format(frame.x(place), frame.height - 18, label) for place, label in marks.items()]
    parts.append(below.format((frame.left + frame.right) / 2, frame.height - 4, axes.title))
    return Markup("").join(parts)


def spread(places: Sequence[float], low: float, high: float) -> list[float]:
    """Return label positions at least `LABEL_GAP` apart, in the order of the lines and near to them."""
    order = sorted(range(len(places)), key=lambda index: places[index])
    moved, free = list(places), low
    for index in order:
        moved[index] = max(places[index], free)
        free = moved[index] + LABEL_GAP
    taken = high + LABEL_GAP
    for index in reversed(order):
        moved[index] = min(moved[index], taken - LABEL_GAP)
        taken = moved[index]
    return moved
