"""A line chart as SVG: the accuracy of an experiment's rows by epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

WIDTH, HEIGHT = 560, 260
LEFT, RIGHT, TOP, BOTTOM = 36, 110, 10, 34
LABEL_GAP = 13  # least distance between two labels at the ends of their lines


def chart(lines: Mapping[str, Sequence[float]], title: str) -> Markup:
    """Draw lines over epochs 0, 1, ...; every line is named at its end.

    Args:
        lines: percent, 0..100, by name.
        title: said to who cannot see it.
    """
    last = max((len(values) - 1 for values in lines.values()), default=0)
    parts = [_grid(last)]
    ends = _spread([_y(values[-1]) for values in lines.values()])
    for number, ((name, values), end) in enumerate(zip(lines.items(), ends, strict=True)):
        points = " ".join(f"{_x(epoch, last):.1f},{_y(value):.1f}" for epoch, value in enumerate(values))
        label = Markup('<text x="{}" y="{:.1f}">{}</text>').format(WIDTH - RIGHT + 6, end + 4, name)
        parts.append(Markup('<g class="line row{}"><polyline points="{}"/>{}</g>').format(number, points, label))
    return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, HEIGHT, title, Markup("").join(parts)
    )


def _x(epoch: float, last: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * epoch / max(last, 1)


def _y(percent: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - percent / 100)


def _grid(last: int) -> Markup:
    parts = []
    for percent in range(0, 101, 20):
        y = _y(percent)
        parts.append(
            Markup('<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>').format(LEFT, WIDTH - RIGHT, y, y)
        )
        parts.append(Markup('<text class="tick end" x="{}" y="{:.1f}">{}</text>').format(LEFT - 6, y + 4, percent))
    for epoch in sorted({0, last // 2, last}):
        parts.append(
            Markup('<text class="tick middle" x="{:.1f}" y="{}">{}</text>').format(_x(epoch, last), HEIGHT - 16, epoch)
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(Markup('<text class="tick middle" x="{:.1f}" y="{}">epoch</text>').format(middle, HEIGHT - 2))
    return Markup("").join(parts)


def _spread(places: Sequence[float]) -> list[float]:
    """Move labels down where they would lie on one another, in their order from the top."""
    moved = list(places)
    free = float("-inf")
    for index in sorted(range(len(places)), key=lambda i: places[i]):
        moved[index] = max(places[index], free)
        free = moved[index] + LABEL_GAP
    return moved
