"""Complete and check the two edges of a window: the recorded marker against the power."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hil.energy.capture import Capture, joined
from hil.energy.edge_check import WrongEdges, check_changes, checked_edges
from hil.energy.edge_search import POWER, HostTimes, NoEdges, Stamped, edges_by_power
from hil.meters.meter import InvalidWindow, Meter, Streaming
from hil.meters.reading_checks import require_within_range

BLOCKS = 200  # means per sleep, by which the edges of a streamed window are checked


def with_both_edges(capture: Capture, idle_s: float) -> Capture:
    """Return a capture with both edges: recorded ones are checked against the power, missing ones found by the power.

    Args:
        capture: begins and ends with the board asleep.
        idle_s: length of each sleep.

    Raises:
        InvalidWindow: readings at the end of the range, a marker that bounced, a power that does not show a missing
            edge or shows an edge elsewhere than the marker.
    """
    require_within_range(capture)
    levels = [edge.high for edge in capture.edges]
    try:
        check_changes(levels)
        if len(levels) == 2:
            return checked_edges(capture, idle_s) if capture.synchronisation != POWER else capture
    except WrongEdges as error:
        raise InvalidWindow(str(error)) from error
    readings = Stamped(capture.t_s, capture.power_w, np.zeros(len(capture.t_s)), capture.aperture_s)
    try:
        up, down = edges_by_power(readings, HostTimes(idle_s))
    except NoEdges as error:
        raise InvalidWindow(f"the meter recorded {len(levels)} of two edges, and {error}") from error
    for seen in capture.edges:
        # A spike on the marker's wire, or a trigger that the instrument dates wrongly.
        if abs(seen.t_s - up.t_s) > seen.half_s + up.half_s:
            raise InvalidWindow(
                f"the meter saw the marker rise at {seen.t_s:.6g} s of its readings, and the power rises at "
                f"{up.t_s:.6g} s: check the marker's wire"
            )
    return replace(capture, edges=(*capture.edges, *((up, down)[len(levels) :])), synchronisation=POWER)


def pieces(meter: Meter, deadline_s: float, idle_s: float) -> Iterator[Capture]:
    """Yield a window with both of its edges: in pieces from a meter that streams, as one piece from any other.

    Raises:
        InvalidWindow: measure the window again, and discard its pieces.
        Blocked: no edge within the deadline, or the instrument failed.
    """
    if not isinstance(meter, Streaming):
        yield with_both_edges(meter.capture(deadline_s), idle_s)
        return
    thin: list[Capture] = []
    held: Capture | None = None  # one piece behind: the last piece carries the notes about the edges
    for piece in meter.pieces(deadline_s):
        require_within_range(piece)
        thin.append(_thinned(piece, idle_s / BLOCKS))
        if held is not None:
            yield held
        held = piece
    if held is None:
        raise InvalidWindow("the meter streamed no reading of the window")
    for note in with_both_edges(joined(thin), idle_s).notes:
        held = held.noted(note)
    yield held


def _thinned(piece: Capture, block_s: float) -> Capture:
    """Return means over blocks of consecutive readings, so that a window of any length fits in memory; edges stay."""
    size = max(1, round(block_s / piece.interval_s))
    starts = np.arange(0, max(len(piece.t_s) - size, 0) + 1, size)

    def mean(values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values, starts) / np.diff(np.append(starts, len(values)))

    last = np.append(starts[1:], len(piece.t_s)) - 1
    return replace(
        piece, t_s=piece.t_s[starts], power_w=mean(piece.power_w), current_a=mean(piece.current_a),
        voltage_v=mean(piece.voltage_v),
        aperture_s=size * piece.interval_s, interval_s=size * piece.interval_s,
        ends_s=piece.t_s[last] + piece.interval_s,
    )  # fmt: skip
