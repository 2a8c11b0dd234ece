"""Detect current bursts and spikes shorter than a reading, from consecutive readings or from a faster capture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hil.energy.capture import Capture
from hil.energy.current_ranges import peak_current
from hil.energy.window import SWING, current_of, edges_of

ALONE = 3.0  # times the larger neighbour: a spike, or a burst within one reading
RARE = 0.02  # of all readings: if more stand out, that is how the board works


@dataclass(frozen=True)
class Fast:
    """Result of one capture at the meter's fastest rate.

    Attributes:
        aperture_s: of its readings; 0 for point samples.
        interval_s: from one reading to the next.
        peak_a: largest reading.
        current_a: float64[n], readings within the work.
    """

    aperture_s: float
    interval_s: float
    peak_a: float
    current_a: np.ndarray

    def hidden(self, interval_s: float) -> float:
        """Return by which share the mean square of the current exceeds that of slower readings.

        `interval_s` is the interval of the slower readings in seconds. What the fast readings hide in turn is estimated
        from the differences between consecutive ones.
        """
        size = max(1, round(interval_s / self.interval_s))
        blocks = self.current_a[: len(self.current_a) // size * size].reshape(-1, size).mean(axis=1)
        slow = float(np.mean(blocks**2)) if len(blocks) else 0.0
        return max(float(np.mean(self.current_a**2)) / slow - 1, 0.0) + roughness(self.current_a) if slow else 0.0


def fast_of(capture: Capture) -> Fast:
    """Return the readings between the edges of a capture at the fastest rate."""
    up, down = edges_of(capture)
    current = current_of(capture)
    work = (capture.t_s >= up.t_s + up.half_s) & (capture.t_s + capture.aperture_s <= down.t_s - down.half_s)
    return Fast(capture.aperture_s, capture.interval_s, peak_current(current), current[work & np.isfinite(current)])


def roughness(current_a: np.ndarray) -> float:
    """Return the variance between consecutive readings over the squared mean; `current_a`: float64[n] amperes.

    It is small if phases last many readings.
    """
    mean = float(np.mean(current_a)) if len(current_a) else 0.0
    return float(np.mean(np.diff(current_a) ** 2)) / 2 / mean**2 if len(current_a) > 1 and mean else 0.0


def count_isolated(current_a: np.ndarray) -> int:
    """Return how many readings, float64[n] amperes, exceed both neighbours more than ALONE times."""
    size = np.abs(current_a)
    return int(np.sum(size[1:-1] > ALONE * np.maximum(size[:-2], size[2:])))


def swing_flags(captures: Sequence[Capture], fast: Fast | None) -> list[str]:
    """Return what the readings do not show of the current, one sentence each.

    Args:
        captures: one per window.
        fast: fast capture of the same work; None if there was none.
    """
    found = []
    currents = [current_of(one) for one in captures]
    alone, readings = sum(map(count_isolated, currents)), sum(map(len, currents))
    if 0 < alone <= RARE * readings:
        found.append(
            f"{alone} of {readings} readings stand alone at more than {ALONE:g} times their neighbours: "
            "spikes of the meter, or bursts of the board that are shorter than a reading."
        )
    slow = captures[0]
    work = [fast_of(one).current_a for one in captures]
    rough = max(map(roughness, work)) if fast is None else roughness(fast.current_a)
    if fast is None:
        if slow.aperture_s:
            found.append(
                "no capture at a faster rate was made: "
                f"bursts shorter than a reading of {1000 * slow.aperture_s:.3g} ms were not looked for."
            )
        if rough > SWING:
            found.append(
                f"bursts: the current swings by {np.sqrt(rough):.0%} from one reading to the next; "
                "peaks, and the meter's burden at them, are higher."
            )
    elif rough > SWING:
        found.append(
            f"bursts: even readings of {1e6 * (fast.aperture_s or fast.interval_s):.3g} us swing by "
            f"{np.sqrt(rough):.0%} from one to the next; peaks, and the meter's burden at them, are higher."
        )
    return found
