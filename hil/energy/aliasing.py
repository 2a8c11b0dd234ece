"""Find readings with gaps that missed part of a step, or always sampled the same parts of it.

Readings at a fixed interval see what repeats with the same period either always or never, and so in every window: the
scatter of the windows does not show it. Meters that pause between readings take `interval_factors`: the error then
differs from window to window, and is in their scatter.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from hil.energy.capture import Capture
from hil.energy.window import edges_of, on_a_grid

SPREAD = 0.1  # longest increase, as a share of the interval
GOLDEN = (math.sqrt(5) - 1) / 2  # the multiples, modulo one, stay well apart (Weyl sequence)
FEWEST_READINGS = 10  # readings per step; with fewer the shape of a step is lost
COVERED = 0.99  # share of the time; readings that cover more cannot alias
PARTS = 10  # parts of a step that must each have been sampled
ENOUGH = 8  # readings per part: at random none of ten parts stays empty with 99.8 % probability
PROBES = 11  # points checked within an aperture
FINE = 400  # parts of a step in the finer check, for windows of at least FEWEST_STEPS steps
FEWEST_STEPS = 8
VARIED = 2.0  # readings by which window intervals must differ to drift through a whole interval


def is_aliased(capture: Capture, laps_s: Sequence[float]) -> bool:
    """Return whether the readings of one window missed a part of the step, so their mean is not that of the step.

    The time of the window is folded to one step. If reading interval and step time are commensurate, the readings
    gather at a few places of the step, however long the window is. Otherwise, or with jitter, they cover all of it.

    Args:
        capture: one window.
        laps_s: seconds of each step in order; if there are fewer than steps, their mean is used for the rest.
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
    """Return the number of steps done at each time since the first edge, with fractions."""
    ends = np.concatenate([[0.0], np.cumsum(laps_s)])
    within = np.interp(since_s, ends, np.arange(len(ends)))
    done: np.ndarray = np.where(since_s <= ends[-1], within, len(laps_s) + (since_s - ends[-1]) / np.mean(laps_s))
    return done


def _unseen(since_s: np.ndarray, aperture_s: float, laps_s: np.ndarray) -> float:
    """Return the share of a step that no aperture covered in any of the steps.

    `since_s` are the starts of the apertures, in seconds since the first edge. The step is divided into FINE parts. A
    part is covered if it lies completely within one aperture.
    """
    first = np.ceil(FINE * _steps_done(since_s, laps_s)).astype(np.int64)
    beyond = np.floor(FINE * _steps_done(since_s + aperture_s, laps_s)).astype(np.int64)
    first, beyond = first[beyond > first], beyond[beyond > first]
    if np.any(beyond - first >= FINE):
        return 0.0
    turns = np.zeros(2 * FINE + 1, np.int64)  # two steps: an aperture may reach from one step into the next
    np.add.at(turns, first % FINE, 1)
    np.add.at(turns, first % FINE + beyond - first, -1)
    covered = np.cumsum(turns)[: 2 * FINE].reshape(2, FINE).sum(axis=0)
    return float(np.mean(covered == 0))


def pace_flags(captures: Sequence[Capture]) -> list[str]:
    """Return a sentence if all windows were read at one interval and with gaps, else nothing.

    Such readings cannot show what the board does at that interval.
    """
    first = captures[0]
    gap_s = first.interval_s - first.aperture_s
    if gap_s <= (1 - COVERED) * first.interval_s or not all(map(on_a_grid, captures)):
        return []
    paces = np.array([float(np.median(np.diff(one.t_s))) for one in captures])
    drift = np.ptp(paces) / np.mean(paces) * min(len(one.t_s) for one in captures)
    if drift > VARIED:
        return []
    return [
        f"every window was read every {1000 * float(np.mean(paces)):.4g} ms, with {gap_s / first.interval_s:.0%} of "
        "the time between readings: what the board does at that interval is seen always or never (aliasing)."
    ]


def interval_factors() -> Iterator[float]:
    """Return the factors by which the intervals are longer: 1 in the first window, then from 1 to 1 + SPREAD."""
    return (1 + SPREAD * (window * GOLDEN % 1) for window in itertools.count())
