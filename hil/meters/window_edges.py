"""A window with both of its edges, each checked against the power: what the meter recorded of the marker, and what its readings show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hil.energy.capture import Capture, joined
from hil.energy.edge_check import WrongEdges, check_changes, checked_edges
from hil.energy.edge_search import POWER, HostTimes, NoEdges, Stamped, edges_by_power
from hil.meters.meter import Meter, Spoiled, Streams
from hil.meters.reading_checks import require_within_range

BLOCKS = 200  # means of a sleep that the edges of a window which streams are checked by


def with_both_edges(capture: Capture, idle_s: float) -> Capture:
    """Return a capture with an edge up and one down: those that it has, checked against the power, and the others by the change of power.

    Args:
        capture: begins and ends with the board asleep.
        idle_s: for how long.

    Raises:
        Spoiled: readings lie at the end of the range, the marker bounced, the power does not show an edge that is missing, or shows one elsewhere
            than the marker.
    """
    require_within_range(capture)
    levels = [edge.high for edge in capture.edges]
    try:
        check_changes(levels)
        if len(levels) == 2:
            return checked_edges(capture, idle_s) if capture.synchronisation != POWER else capture
    except WrongEdges as error:
        raise Spoiled(str(error)) from error
    readings = Stamped(capture.t_s, capture.power_w, np.zeros(len(capture.t_s)), capture.aperture_s)
    try:
        up, down = edges_by_power(readings, HostTimes(idle_s))
    except NoEdges as error:
        raise Spoiled(f"the meter recorded {len(levels)} of two edges, and {error}") from error
    for seen in capture.edges:
        if (
            abs(seen.t_s - up.t_s) > seen.half_s + up.half_s
        ):  # a spike on the marker's wire, or a trigger that its instrument dates wrongly
            raise Spoiled(
                f"the meter saw the marker rise at {seen.t_s:.6g} s of its readings, and the power rises at {up.t_s:.6g} s: look at the marker's wire"
            )
    return replace(capture, edges=(*capture.edges, *((up, down)[len(levels) :])), synchronisation=POWER)


def pieces(meter: Meter, deadline_s: float, idle_s: float) -> Iterator[Capture]:
    """Yield a window with both of its edges: as it comes from a meter that streams, at once from any other.

    Raises:
        Spoiled: measure the window again, and forget the pieces of it.
        Blocked: no edge within the deadline, or the instrument failed.
    """
    if not isinstance(meter, Streams):
        yield with_both_edges(meter.capture(deadline_s), idle_s)
        return
    thin: list[Capture] = []
    held: Capture | None = None  # one piece back, so that the last one takes what is to be doubted of the edges
    for piece in meter.pieces(deadline_s):
        require_within_range(piece)
        thin.append(_thinned(piece, idle_s / BLOCKS))
        if held is not None:
            yield held
        held = piece
    if held is None:
        raise Spoiled("the meter streamed no reading of the window")
    for note in with_both_edges(joined(thin), idle_s).notes:
        held = held.noted(note)
    yield held


def _thinned(piece: Capture, block_s: float) -> Capture:
    """Return means over blocks of readings that follow each other, so that a window of any length fits into memory; the edges stay."""
    size = max(1, round(block_s / piece.interval_s))
    starts = np.arange(0, max(len(piece.t_s) - size, 0) + 1, size)

    def mean(values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values, starts) / np.diff(np.append(starts, len(values)))

    last = np.append(starts[1:], len(piece.t_s)) - 1
    return replace(
        piece, t_s=piece.t_s[starts], power_w=mean(piece.power_w), current_a=mean(piece.current_a), voltage_v=mean(piece.voltage_v),
        aperture_s=size * piece.interval_s, interval_s=size * piece.interval_s, ends_s=piece.t_s[last] + piece.interval_s,
    )  # fmt: skip
