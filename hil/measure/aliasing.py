"""Readings that do not cover the time: whether they saw all of a step, or always the same instants of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hil.measure.capture import Capture
from hil.measure.window import edges_of

FEWEST_READINGS = 10  # a step: fewer, and a step's shape is lost between them
COVERED = 0.99  # of the time: readings that cover more cannot alias
PARTS = 10  # of a step that must all have been looked at
ENOUGH = 8  # readings a part: at random none of ten parts stays empty with 99.8 %
PROBES = 11  # points of an aperture that are looked at


def readings_a_step(capture: Capture, step_s: float) -> float:
    """Return how many readings fall into one step."""
    return step_s / capture.interval_s


def is_aliased(capture: Capture, laps_s: Sequence[float]) -> bool:
    """Whether readings of one window left a part of the step unseen, so that their mean is not the step's.

    The window's time is folded to one step. Where polls and steps are commensurate the readings gather at a few places of it, however long the
    window is; where they are not, or jitter, they fill it.

    Args:
        capture: one window.
        laps_s: time of each step in order; the mean goes on where there are fewer than steps.
    """
    if capture.aperture_s >= COVERED * capture.interval_s or capture.aperture_s >= max(laps_s):
        return False
    up, down = edges_of(capture)
    inside = capture.t_s[(capture.t_s >= up.t_s) & (capture.t_s + capture.aperture_s < down.t_s)]
    parts = min(PARTS, max(len(inside) // ENOUGH, 2))
    points = inside[:, None] + np.linspace(0, capture.aperture_s, PROBES)
    seen = np.floor(parts * (_steps_done(points.ravel() - up.t_s, np.asarray(laps_s)) % 1))
    return len(np.unique(seen)) < parts


def _steps_done(since_s: np.ndarray, laps_s: np.ndarray) -> np.ndarray:
    """Return how many steps were done after each time since the first edge, with their parts."""
    ends = np.concatenate([[0.0], np.cumsum(laps_s)])
    within = np.interp(since_s, ends, np.arange(len(ends)))
    return np.where(since_s <= ends[-1], within, len(laps_s) + (since_s - ends[-1]) / np.mean(laps_s))
