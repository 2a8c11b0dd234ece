"""Whether what the processes hold stays flat: the rule on the numbers, which docs/defects.md states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hil.record.soak import SoakRow, series_of

from .kinds import FIRST, ROUND

WARM_UP = 0.1  # of the time
COUNTS = ("descriptors", "threads", "children", "files")  # never above the largest of the warm-up
HOUR_S = 3600.0
HOUR_KB = 16 << 10  # an hour's growth of memory by its slope
RISE = 0.05  # of the median of the last quarter over that of the first, both after the warm-up
RISE_KB = 8 << 10  # less is no growth: what allocators keep or give back, and a warm-up that was too short
KEPT_KB = {
    "bench": 13 << 10
}  # its latest 100,000 sleeps (hil/standins/virtual/chip/clock.py): full after some 300 trials
FEWEST = 24  # rows after the warm-up, for a judgement on memory
MOST = 600  # rows that a slope is taken from: it has the slopes of all their pairs
Z = 1.96  # standard deviations: the slope is above the bound with a confidence of 97.5 %


def not_flat(rows: Sequence[SoakRow], warm_up_s: float) -> list[str]:
    """Return a sentence for each figure of a process that is not flat: which, of which process, and by how much.

    Args:
        rows: of the whole soak.
        warm_up_s: seconds from its start.
    """
    found = []
    for (process, board), its in series_of(rows).items():
        before = [row for row in its if row.seconds <= warm_up_s]
        after = [row for row in its if row.seconds > warm_up_s]
        if not before or not after:
            continue
        said = [_counted(figure, before, after) for figure in COUNTS] + [_memory(after, KEPT_KB.get(process, 0))]
        found += [f"{process} of {board}: {sentence}" for sentence in said if sentence]
    return found


def warm_up_of(rows: Sequence[SoakRow], boards: Sequence[str], seconds: float) -> float:
    """Return the seconds of the warm-up: a tenth of the time, and until every board has met every kind of fault.

    What is loaded or opened once, when it is needed first, is no leak. Of a board with fewer trials than two rounds
    it is the first half of them, and at least the first of every sort of trial.

    Args:
        rows: of the soak so far.
        boards: that soak.
        seconds: that it has taken.
    """
    ends = [WARM_UP * seconds]
    for board in boards:
        its = [row for row in rows if row.board == board]
        needed = min(ROUND, max(len(FIRST), max((row.trials for row in its), default=0) // 2))
        ends.append(max((row.seconds for row in its if row.trials <= needed), default=0.0))
    return max(ends)


def is_judged(rows: Sequence[SoakRow], warm_up_s: float) -> bool:
    """Return whether every process that was there to the end has enough rows for a judgement on its memory."""
    counts = [sum(row.seconds > warm_up_s for row in its) for its in series_of(rows).values()]
    return bool(counts) and min(counts) >= FEWEST


def _counted(figure: str, before: Sequence[SoakRow], after: Sequence[SoakRow]) -> str:
    values = [(getattr(row, figure), row) for row in after if getattr(row, figure) is not None]
    known = [getattr(row, figure) for row in before if getattr(row, figure) is not None]
    if not values or not known:
        return ""
    most, where = max(values, key=lambda each: each[0])
    if most <= max(known):
        return ""
    return (
        f"{figure}: {most} after {where.seconds:,.0f} s and {where.trials} trials, "
        f"at most {max(known)} in the warm-up: {most - max(known)} too many."
    )


def _memory(after: Sequence[SoakRow], kept_kb: int) -> str:
    if len(after) < FEWEST:
        return ""
    seconds = np.array([row.seconds for row in after])
    kilobytes = np.array([row.rss_kb for row in after], float)
    quarter = len(after) // 4
    first, last = np.median(kilobytes[:quarter]), np.median(kilobytes[-quarter:])
    slope, least = theil_sen(seconds, kilobytes)
    if last - first <= RISE_KB + kept_kb or (least * HOUR_S <= HOUR_KB and last <= (1 + RISE) * first):
        return ""
    return (
        f"memory: {slope * HOUR_S / 1024:+,.0f} MB an hour "
        f"(at least {least * HOUR_S / 1024:+,.0f}, bound {HOUR_KB / 1024:.0f}), "
        f"and {last / first - 1:+.1%} from the first quarter after the warm-up to the last (bound {RISE:.0%}): "
        f"{(last - first) / 1024:.1f} MB more."
    )


def theil_sen(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return the median of the slopes of all pairs of points, and the lower end of its 95 % interval.

    Single values far off do not move it: 29 % of all may be. The interval is that of Sen (1968, Estimates of the
    regression coefficient based on Kendall's tau): the slopes in the middle of their order, as many as the
    standard deviation of Kendall's tau says.

    Args:
        x: of n >= 2 points, all different.
        y: the values there.
    """
    chosen = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST)).round().astype(int))
    x, y = x[chosen], y[chosen]
    one, other = np.triu_indices(len(x), 1)
    slopes = np.sort((y[other] - y[one]) / (x[other] - x[one]))
    n = len(x)
    beside = Z * np.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    lower = max(0, int((len(slopes) - beside) // 2))
    return float(np.median(slopes)), float(slopes[lower])
