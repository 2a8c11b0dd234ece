"""Readings of a meter and edges of the marker, both on the meter's clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

ARRAYS = ("t_s", "power_w", "current_a", "voltage_v")
MARKER = "marker"  # Capture.synchronisation if the meter itself recorded the pin
SHARED = "their time was shared by their neighbours, and what the board did in it is unknown."  # of missing readings


@dataclass(frozen=True)
class Edge:
    """An edge of the marker at `t_s` +- `half_s` seconds (rectangular) of the meter's clock; `high`: the new level."""

    t_s: float
    half_s: float
    high: bool


def edge_between(first_s: float, last_s: float, *, high: bool) -> Edge:
    """Return the edge that lies anywhere between two times, such as those of the readings on both sides of it."""
    return Edge((first_s + last_s) / 2, (last_s - first_s) / 2, high)


@dataclass(frozen=True)
class WindowRequest:
    """When the host asked for a window, and when it had the reply.

    Attributes:
        asked_s, answered_s: UNIX times.
        utc_offset_s: of the host's local time, in which it writes its logs.
        idle_s: sleep of the board before and after the work.
    """

    asked_s: float
    answered_s: float
    utc_offset_s: float
    idle_s: float


@dataclass(frozen=True)
class Capture:
    """The readings of one window, with sleep before and after it.

    Attributes:
        t_s: float64[n], start of each reading's aperture, or the time of a point sample, in seconds; ascending.
        power_w: float64[n], power of each reading, from its own voltage and current.
        current_a, voltage_v: float64[n]; NaN if the meter does not report them.
        aperture_s: time over which each reading is a mean; 0 for point samples.
        interval_s: requested time from one reading to the next.
        edges: edges of the marker, in order.
        range_a: current range in amperes, the same for all readings.
        lost: number of readings known to be missing; None if the meter cannot tell.
        synchronisation: how the edges were found: `marker`, `power`, `serial` or `host` (hil/energy/edge_search.py).
        temperature_c: mean of the meter's own sensor; None if it has none.
        ends_s: float64[n], end of each aperture if their lengths differ (differences of a counter); else None.
        renewed_s: time between two new readings of an instrument that repeats its last one; 0 if every reading is new.
        notes: reservations about these readings, one sentence each; they become flags of the result.
        unseen_s: limit of the error of the time between the edges from samples that were lost without a trace in the
            meter's count, by the host's clock (hil/meters/arrivals.py).
        smoothed_j: energy between the edges that the meter's smoothing may have taken off or added, in joules: a limit.
        resolution_j: standard uncertainty of the energy between the edges from the resolution of written numbers, in
            joules; 0 if it is in the meter's data sheet.
        request: by which the host asked for the window; None if the window was not asked for.
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
    request: WindowRequest | None = None
    unseen_s: float = 0.0
    smoothed_j: float = 0.0
    resolution_j: float = 0.0

    def noted(self, sentence: str) -> Capture:
        """Return the capture with a sentence added to its notes, unless it is there already."""
        return self if sentence in self.notes else replace(self, notes=(*self.notes, sentence))

    def from_first_edge(self) -> Capture:
        """Return the capture with times relative to the first edge; unchanged without edges."""
        begin = self.edges[0].t_s if self.edges else 0.0
        ends_s = None if self.ends_s is None else self.ends_s - begin
        edges = tuple(replace(edge, t_s=edge.t_s - begin) for edge in self.edges)
        return replace(self, t_s=self.t_s - begin, ends_s=ends_s, edges=edges)


def joined(pieces: Sequence[Capture]) -> Capture:
    """Return the pieces of a capture, in order, as one capture."""
    first, lost = pieces[0], [piece.lost for piece in pieces]
    arrays: dict[str, Any] = {name: np.concatenate([getattr(piece, name) for piece in pieces]) for name in ARRAYS}
    return replace(
        first,
        **arrays,
        edges=tuple(edge for piece in pieces for edge in piece.edges),
        lost=None if None in lost else sum(one or 0 for one in lost),
        unseen_s=sum(piece.unseen_s for piece in pieces),
        smoothed_j=sum(piece.smoothed_j for piece in pieces),
        ends_s=None
        if first.ends_s is None
        else np.concatenate([piece.ends_s for piece in pieces if piece.ends_s is not None]),
        notes=tuple(dict.fromkeys(note for piece in pieces for note in piece.notes)),
    )


def tail(capture: Capture, readings: int) -> Capture:
    """Return a copy of the last readings of a capture, without edges."""
    kept = slice(-readings, None)
    return replace(
        capture,
        **{name: getattr(capture, name)[kept].copy() for name in ARRAYS},
        edges=(),
        unseen_s=0.0,
        smoothed_j=0.0,
        ends_s=None if capture.ends_s is None else capture.ends_s[kept].copy(),
    )
