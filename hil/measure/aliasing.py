"""Readings that do not cover the time: whether they saw all of a step, or always the same instants of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hil.measure.capture import Capture
from hil.measure.window import edges_of, on_a_grid

FEWEST_READINGS = 10  # a step: fewer, and a step's shape is lost between them
COVERED = 0.99  # of the time: readings that cover more cannot alias
PARTS = 10  # of a step that must all have been looked at
ENOUGH = 8  # readings a part: at random none of ten parts stays empty with 99.8 %
PROBES = 11  # points of an aperture that are looked at
FINE, FEWEST_STEPS = (
    400,
    8,
)  # parts of a step, which readings with short gaps must all have looked at in a window of so many steps
VARIED = 2.0  # readings by which windows must differ, for one pace to drift through all of another


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
    if (
        capture.aperture_s
        and len(laps_s) >= FEWEST_STEPS
        and len(inside) * capture.aperture_s >= FEWEST_STEPS * float(np.mean(laps_s))
    ):
        return _unseen(inside - up.t_s, capture.aperture_s, np.asarray(laps_s)) > 1 - COVERED
    parts = min(PARTS, max(len(inside) // ENOUGH, 2))
    points = inside[:, None] + np.linspace(0, capture.aperture_s, PROBES)
    seen = np.floor(parts * (_steps_done(points.ravel() - up.t_s, np.asarray(laps_s)) % 1))
    return len(np.unique(seen)) < parts


def _steps_done(since_s: np.ndarray, laps_s: np.ndarray) -> np.ndarray:
    """Return how many steps were done after each time since the first edge, with their parts."""
    ends = np.concatenate([[0.0], np.cumsum(laps_s)])
    within = np.interp(since_s, ends, np.arange(len(ends)))
    return np.where(since_s <= ends[-1], within, len(laps_s) + (since_s - ends[-1]) / np.mean(laps_s))


def _unseen(since_s: np.ndarray, aperture_s: float, laps_s: np.ndarray) -> float:
    """Return the share of a step that no aperture covered in any of the steps, of apertures that began so long after the first edge.

    Of FINE parts of the step those count as covered that lie within one aperture as a whole.
    """
    first = np.ceil(FINE * _steps_done(since_s, laps_s)).astype(np.int64)
    beyond = np.floor(FINE * _steps_done(since_s + aperture_s, laps_s)).astype(np.int64)
    first, beyond = first[beyond > first], beyond[beyond > first]
    if np.any(beyond - first >= FINE):
        return 0.0
    turns = np.zeros(
        2 * FINE + 1, np.int64
    )  # a step and the next, which one that goes over the end of a step reaches into
    np.add.at(turns, first % FINE, 1)
    np.add.at(turns, first % FINE + beyond - first, -1)
    covered = np.cumsum(turns)[: 2 * FINE].reshape(2, FINE).sum(axis=0)
    return float(np.mean(covered == 0))


def pace_doubts(captures: Sequence[Capture]) -> list[str]:
    """Return what readings with gaps cannot show where all windows are read at one pace, a sentence: what the board does at that very pace."""
    first = captures[0]
    gap_s = first.interval_s - first.aperture_s
    if gap_s <= (1 - COVERED) * first.interval_s or not all(map(on_a_grid, captures)):
        return []
    paces = np.array([float(np.median(np.diff(one.t_s))) for one in captures])
    drift = np.ptp(paces) / np.mean(paces) * min(len(one.t_s) for one in captures)
    if drift > VARIED:
        return []
    return [
        f"every window was read every {1000 * float(np.mean(paces)):.4g} ms with {gap_s / first.interval_s:.0%} of the time between readings: "
        "what the board does at that very pace is seen always or never (aliasing)."
    ]
