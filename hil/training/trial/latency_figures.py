"""Statistics of many cycle counts: mean, median, spread, quantiles, histogram (docs/performance.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

QUANTILES = {"p5": 0.05, "median": 0.5, "p95": 0.95, "p99": 0.99}
MOST_BINS = 30  # most bins in a histogram


@dataclass(frozen=True)
class BookingCost:
    """Cost of one counter reading and its bookkeeping, in cycles, from `n` successive readings."""

    n: int
    least: int
    median: int
    most: int

    @classmethod
    def of(cls, cycles: Sequence[int]) -> BookingCost:
        """Return the costs in the agent's reply, whose number is odd."""
        return cls(len(cycles), min(cycles), sorted(cycles)[len(cycles) // 2], max(cycles))


@dataclass(frozen=True)
class ReadingCost:
    """Cost of the counter readings in a phase or layer of a step.

    Attributes:
        bookings: readings per step that end a stretch of this phase; those of the whole step if only these are known.
        subtracted: cycles per step that are subtracted.
        bound: cycles per step by which a figure may still be too large.
    """

    bookings: int
    subtracted: int
    bound: int

    @classmethod
    def of(cls, bookings: int, booking: BookingCost) -> ReadingCost:
        """Return the cost of this many readings: their least cost is subtracted; the bound is the largest excess."""
        return cls(bookings, bookings * booking.least, bookings * (booking.most - booking.least))

    @classmethod
    def counted(cls, bookings: Sequence[int], booking: BookingCost) -> ReadingCost:
        """Return the cost in steps whose readings the board counted: the smallest number of them is subtracted."""
        subtracted = min(bookings) * booking.least
        return cls(max(bookings), subtracted, max(bookings) * booking.most - subtracted)

    @classmethod
    def among(cls, bookings: Sequence[int], booking: BookingCost) -> ReadingCost:
        """Return the cost in a part of such steps: all readings may be its own, or none, so nothing is subtracted."""
        return cls(max(bookings), 0, max(bookings) * booking.most)


@dataclass(frozen=True)
class CycleStatistics:
    """Statistics of one phase or layer over many steps, in cycles, less the least cost of its readings.

    Attributes:
        n: number of steps.
        sd: standard deviation of the steps (n - 1).
        bookings, subtracted, bound: see ReadingCost.
        histogram: `edges` (n + 1, cycles) and `counts` (n); the last bin includes its right edge.
    """

    n: int
    mean: float
    median: float
    sd: float
    least: int
    most: int
    p5: float
    p95: float
    p99: float
    bookings: int
    subtracted: int
    bound: int
    histogram: dict[str, list[float] | list[int]]


def figures(cycles: Sequence[int], cost: ReadingCost) -> CycleStatistics:
    """Return the figures of one phase or layer from the raw cycles of every step."""
    net = np.array(cycles, np.int64) - cost.subtracted
    quantiles = {name: float(np.quantile(net, share)) for name, share in QUANTILES.items()}
    return CycleStatistics(
        n=len(net),
        mean=float(net.mean()),
        sd=float(net.std(ddof=1)) if len(net) > 1 else 0.0,
        least=int(net.min()),
        most=int(net.max()),
        **asdict(cost),
        histogram=_histogram(net),
        median=quantiles["median"],
        p5=quantiles["p5"],
        p95=quantiles["p95"],
        p99=quantiles["p99"],
    )


def _histogram(net: np.ndarray) -> dict[str, list[float] | list[int]]:
    """Return at most MOST_BINS bins of whole cycles and equal width."""
    least, reach = int(net.min()), int(net.max()) - int(net.min()) + 1
    width = -(-reach // MOST_BINS)
    edges = least + width * np.arange(-(-reach // width) + 1)
    counts, _ = np.histogram(net, edges)
    return {"edges": [int(edge) for edge in edges], "counts": [int(count) for count in counts]}
