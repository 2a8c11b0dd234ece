"""What is said of many cycle counts: mean, median, spread, quantiles, histogram (docs/latency.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

QUANTILES = {"p5": 0.05, "median": 0.5, "p95": 0.95, "p99": 0.99}
MOST_BINS = 30  # of a histogram


@dataclass(frozen=True)
class Booking:
    """What one reading of the counter with its booking costs, in cycles: of `n` with nothing between them."""

    n: int
    least: int
    median: int
    most: int

    @classmethod
    def of(cls, cycles: Sequence[int]) -> Booking:
        """Return the booking of the agent's reply; the number of them is odd."""
        return cls(len(cycles), min(cycles), sorted(cycles)[len(cycles) // 2], max(cycles))


@dataclass(frozen=True)
class Cost:
    """What reading the counter costs a phase or layer of a step.

    Attributes:
        bookings: readings of the counter that ended a stretch of this phase, a step; where only those of the whole step are known, these.
        subtracted: cycles a step.
        bound: cycles a step by which a figure may still be too large.
    """

    bookings: int
    subtracted: int
    bound: int

    @classmethod
    def of(cls, bookings: int, booking: Booking) -> Cost:
        """Return the cost of so many bookings: the least of each is subtracted, what the slowest took beyond it is the bound."""
        return cls(bookings, bookings * booking.least, bookings * (booking.most - booking.least))

    @classmethod
    def counted(cls, bookings: Sequence[int], booking: Booking) -> Cost:
        """Return the cost in steps whose bookings were counted by the board: as many are subtracted as every one of them had."""
        subtracted = min(bookings) * booking.least
        return cls(max(bookings), subtracted, max(bookings) * booking.most - subtracted)

    @classmethod
    def among(cls, bookings: Sequence[int], booking: Booking) -> Cost:
        """Return the cost in a part of such steps: which bookings were of the part is not known; nothing is subtracted, and all of them are the bound."""
        return cls(max(bookings), 0, max(bookings) * booking.most)


@dataclass(frozen=True)
class Figures:
    """One phase or layer over many steps, in cycles, less what its bookings cost at least.

    Attributes:
        n: steps.
        sd: standard deviation of the steps (n - 1).
        bookings, subtracted, bound: see Cost.
        histogram: `edges` (n + 1, cycles) and `counts` (n); the last bin holds its right edge.
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

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON takes them."""
        return asdict(self)


def figures(cycles: Sequence[int], cost: Cost) -> Figures:
    """Return the figures of one phase or layer.

    Args:
        cycles: of every step, as the counter gave them.
        cost: of reading the counter.
    """
    net = np.array(cycles, np.int64) - cost.subtracted
    quantiles = {
        name: float(value) for name, value in zip(QUANTILES, np.quantile(net, list(QUANTILES.values())), strict=True)
    }
    return Figures(
        n=len(net),
        mean=float(net.mean()),
        sd=float(net.std(ddof=1)) if len(net) > 1 else 0.0,
        least=int(net.min()),
        most=int(net.max()),
        **asdict(cost),
        histogram=_histogram(net),
        **quantiles,
    )


def _histogram(net: np.ndarray) -> dict[str, list[float] | list[int]]:
    """Return bins of whole cycles, at most MOST_BINS, all of one width."""
    least, reach = int(net.min()), int(net.max()) - int(net.min()) + 1
    width = -(-reach // MOST_BINS)
    edges = least + width * np.arange(-(-reach // width) + 1)
    counts, _ = np.histogram(net, edges)
    return {"edges": [int(edge) for edge in edges], "counts": [int(count) for count in counts]}
