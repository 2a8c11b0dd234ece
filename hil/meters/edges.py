"""The edges that a meter could not record, found in its readings: some have an input that begins a series, and none that tells where it ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hil.measure.capture import Capture
from hil.measure.synchronise import POWER, NoEdges, Stamped, Told, edges_by_power
from hil.meters.meter import Spoiled


def with_both_edges(capture: Capture, idle_s: float) -> Capture:
    """Return a capture with an edge up and one down: those that it has, the others by the change of power.

    Args:
        capture: begins and ends with the board asleep.
        idle_s: for how long.

    Raises:
        Spoiled: the power does not tell.
    """
    levels = [edge.high for edge in capture.edges]
    if levels not in ([], [True]):
        return capture
    readings = Stamped(capture.t_s, capture.power_w, np.zeros(len(capture.t_s)), capture.aperture_s)
    try:
        up, down = edges_by_power(readings, Told(idle_s))
    except NoEdges as error:
        raise Spoiled(f"the meter recorded {len(levels)} of two edges, and {error}") from error
    return replace(capture, edges=(*capture.edges, *((up, down)[len(levels) :])), synchronisation=POWER)
