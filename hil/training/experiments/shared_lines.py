"""Lines of a chart as SVG paths; lines that coincide are drawn in alternate dashes, so that all stay visible."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from markupsafe import Markup

Point = tuple[float, float]
Segment = tuple[Point, Point]
DASH = 7  # length of a dash of a shared segment, in SVG units
RADIUS = 2.5  # of a single point; coinciding points are rings of increasing size


def strokes(lines: Sequence[Sequence[Point | None]]) -> list[list[Markup]]:
    """Return the paths and single points of every line of points as they are drawn; None is a gap."""
    shared: dict[Segment, list[int]] = defaultdict(list)
    lone: dict[Point, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        for segment in _segments(line):
            shared[segment].append(number)
        for point in _isolated_points(line):
            lone[point].append(number)
    return [
        [_path(run, shared[run[0]], number) for run in _runs(line, shared)]
        + [_ring(point, lone[point].index(number)) for point in _isolated_points(line)]
        for number, line in enumerate(lines)
    ]


def _segments(line: Sequence[Point | None]) -> list[Segment]:
    return [(a, b) for a, b in pairwise(line) if a is not None and b is not None]


def _isolated_points(line: Sequence[Point | None]) -> list[Point]:
    """Return the points without neighbours, which no path would show."""
    padded = [None, *line, None]
    return [
        point
        for before, point, after in zip(padded, padded[1:], padded[2:], strict=False)
        if point is not None and before is None and after is None
    ]


def _runs(line: Sequence[Point | None], shared: dict[Segment, list[int]]) -> list[list[Segment]]:
    """Split a line into connected parts, each shared by the same lines."""
    runs: list[list[Segment]] = []
    for segment in _segments(line):
        if runs and runs[-1][-1][1] == segment[0] and shared[runs[-1][-1]] == shared[segment]:
            runs[-1].append(segment)
        else:
            runs.append([segment])
    return runs


def _path(run: Sequence[Segment], sharers: Sequence[int], number: int) -> Markup:
    """Return one part of a line; each of the n lines that share it draws every n-th dash."""
    points = [run[0][0], *(end for _, end in run)]
    drawn = Markup("M{}").format("L".join(f"{x:.1f},{y:.1f}" for x, y in points))
    if len(sharers) == 1:
        return Markup('<path d="{}"/>').format(drawn)
    turn, others = sharers.index(number), len(sharers) - 1
    return Markup('<path d="{}" stroke-dasharray="{} {}" stroke-dashoffset="{}"/>').format(
        drawn, DASH, DASH * others, -DASH * turn
    )


def _ring(point: Point, inner: int) -> Markup:
    return Markup('<circle cx="{:.1f}" cy="{:.1f}" r="{:g}"/>').format(*point, RADIUS + 3 * inner)
