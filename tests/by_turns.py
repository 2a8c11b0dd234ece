"""Measure one of something and two, by turns, on a computer that does nothing else."""

from __future__ import annotations

import statistics
from collections.abc import Callable


def median_ratio(what: str, seconds: Callable[[int], float], turns: int, asked: float) -> float:
    """Return the median of the ratios of the time of one to that of two; print a line a turn, and the median.

    Args:
        what: is measured, such as "worker".
        seconds: measures 1 or 2 of them, and returns the wall time.
        turns: each measures both, in alternating order.
        asked: what the ratio is to be, for the last line.
    """
    ratios = []
    for turn in range(turns):
        times = {count: seconds(count) for count in ((1, 2) if turn % 2 else (2, 1))}
        ratios.append(times[1] / times[2])
        print(f"one {what} {times[1]:.1f} s, two {times[2]:.1f} s, ratio {ratios[-1]:.3f}", flush=True)
    found = statistics.median(ratios)
    print(f"median of {turns} ratios: {found:.3f}, asked for: {asked}")
    return found
