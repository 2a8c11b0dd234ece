"""A window with both of its edges: some meters have an input that begins a series and none that tells where it ends, which their readings then do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hil.measure.capture import Capture
from hil.measure.synchronise import POWER, NoEdges, Stamped, Told, edges_by_power
from hil.meters.meter import Meter, Spoiled, Streams


def with_both_edges(capture: Capture, idle_s: float) -> Capture:
    """Return a capture with an edge up and one down: those that it has, the others by the change of power.

    Args:
        capture: begins and ends with the board asleep.
        idle_s: for how long.

    Raises:
        Spoiled: the power does not tell, or rises elsewhere than at the edge that it has.
    """
    levels = [edge.high for edge in capture.edges]
    if levels not in ([], [True]):
        return capture
    readings = Stamped(capture.t_s, capture.power_w, np.zeros(len(capture.t_s)), capture.aperture_s)
    try:
        up, down = edges_by_power(readings, Told(idle_s))
    except NoEdges as error:
        raise Spoiled(f"the meter recorded {len(levels)} of two edges, and {error}") from error
    for seen in capture.edges:
        if abs(seen.t_s - up.t_s) > seen.half_s + up.half_s:  # a spike on the marker's wire, or a trigger that its instrument dates wrongly
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
    if isinstance(meter, Streams):
        yield from meter.pieces(deadline_s)
    else:
        yield with_both_edges(meter.capture(deadline_s), idle_s)
