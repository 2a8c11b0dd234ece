"""What a meter saw: readings and edges of the marker, both in the meter's own time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

MARKER = "marker"  # how edges were had, where the meter saw the pin itself


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
        ends_s: float64[n], when each aperture ended where their lengths differ, as those between two values of a counter; else None.
        renewed_s: the time between two new readings of an instrument that repeats its last one until then; 0 where every reading is new.
        notes: what is to be doubted of these readings, a sentence each; they become flags of the result.
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
    synchronisation: str = MARKER
    ends_s: np.ndarray | None = None
    temperature_c: float | None = None
    renewed_s: float = 0.0
    notes: tuple[str, ...] = ()

    def noted(self, sentence: str) -> Capture:
        """Return the same with one more doubt, once."""
        return self if sentence in self.notes else replace(self, notes=(*self.notes, sentence))

    def from_first_edge(self) -> Capture:
        """Return the same with times from the first edge on; one without edges stays as it is."""
        begin = self.edges[0].t_s if self.edges else 0.0
        ends_s = None if self.ends_s is None else self.ends_s - begin
        edges = tuple(replace(edge, t_s=edge.t_s - begin) for edge in self.edges)
        return replace(self, t_s=self.t_s - begin, ends_s=ends_s, edges=edges)


def joined(pieces: Sequence[Capture]) -> Capture:
    """Return pieces of one capture, in their order, as one."""
    first, lost = pieces[0], [piece.lost for piece in pieces]
    return replace(
        first, t_s=np.concatenate([piece.t_s for piece in pieces]), power_w=np.concatenate([piece.power_w for piece in pieces]),
        current_a=np.concatenate([piece.current_a for piece in pieces]), voltage_v=np.concatenate([piece.voltage_v for piece in pieces]),
        edges=tuple(edge for piece in pieces for edge in piece.edges), lost=None if None in lost else sum(one or 0 for one in lost),
        ends_s=None if first.ends_s is None else np.concatenate([piece.ends_s for piece in pieces if piece.ends_s is not None]),
        notes=tuple(dict.fromkeys(note for piece in pieces for note in piece.notes)),
    )  # fmt: skip


def tail(capture: Capture, readings: int) -> Capture:
    """Return the last readings of a capture, without edges and in memory of their own."""
    kept = slice(-readings, None)
    return replace(
        capture, t_s=capture.t_s[kept].copy(), power_w=capture.power_w[kept].copy(), current_a=capture.current_a[kept].copy(),
        voltage_v=capture.voltage_v[kept].copy(), edges=(), ends_s=None if capture.ends_s is None else capture.ends_s[kept].copy(),
    )  # fmt: skip
