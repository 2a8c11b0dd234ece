"""What a meter saw: readings and edges of the marker, both in the meter's own time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Edge:
    """An edge of the marker: it happened at `t_s` seconds of the meter's time, up to `half_s` earlier or later (rectangular); `high` is its new level."""

    t_s: float
    half_s: float
    high: bool


@dataclass(frozen=True)
class Capture:
    """The readings of one window, with sleep before and behind it.

    Attributes:
        t_s: float64[n], when each reading's aperture began, or the instant of a point sample, in seconds of the meter's time; ascending.
        power_w: float64[n], power of each reading: of its own voltage and current, never the product of means.
        current_a, voltage_v: float64[n]; NaN where the meter does not tell them.
        aperture_s: the time each reading is a mean over; 0 for point samples.
        interval_s: the time from one reading to the next that was asked for.
        edges: those of the marker, in order.
        range_a: the current range in amperes, the same for all readings.
        lost: how many readings are known to be missing; None where the meter cannot tell.
        synchronisation: how the edges were had: `marker`, or one of hil/measure/synchronise.py, best first: `power`, `serial`, `host`.
        temperature_c: mean of what the meter's own sensor said meanwhile; None where it has none.
    """

    t_s: np.ndarray
    power_w: np.ndarray
    current_a: np.ndarray
    voltage_v: np.ndarray
    aperture_s: float
    interval_s: float
    edges: tuple[Edge, ...]
    range_a: float
    lost: int | None
    synchronisation: str = "marker"
    temperature_c: float | None = None

    def from_first_edge(self) -> Capture:
        """Return the same with times from the first edge on; one without edges stays as it is."""
        begin = self.edges[0].t_s if self.edges else 0.0
        return replace(self, t_s=self.t_s - begin, edges=tuple(replace(edge, t_s=edge.t_s - begin) for edge in self.edges))
