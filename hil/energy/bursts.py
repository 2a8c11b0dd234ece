"""Detect current bursts and spikes shorter than a reading, from consecutive readings or from a faster capture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hil.energy.capture import Capture
from hil.energy.current_ranges import peak_current
from hil.energy.window import SWING, current_of, edges_of

ALONE = 3.0  # times the larger neighbour: a spike, or a burst within one reading
ROW, FEWEST_ROWS = 16, 10  # readings whose mean is compared, and how many times as many are needed
SHORTEST_ROW = 8  # readings that are reported; fewer are spikes or bursts
FAR = 8.0  # median deviations of such means: 5.4 standard deviations of normal ones
MOST_SHIFTED = 0.25  # of the work: if more is at another level, that is how the board works
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


def shifted_stretch(current_a: np.ndarray) -> tuple[int, float]:
    """Return how many readings in a row are at another level than all others, and by how much; (0, 0.0) for none.

    Means over `ROW` readings are compared with their median. A board that repeats its steps spreads these means evenly,
    so that they stay within a few of their median deviations. A rare level far beyond is the meter's, or a phase that
    comes once: which of the two, the readings do not show.

    Args:
        current_a: float64[n] amperes, readings within the work, in order.
    """
    if len(current_a) < FEWEST_ROWS * ROW:
        return 0, 0.0
    means = np.convolve(current_a, np.full(ROW, 1 / ROW), "valid")
    off = means - np.median(means)
    spread = float(np.median(np.abs(off)))
    beyond = np.abs(off) > FAR * spread
    if not spread or not beyond.any() or np.mean(beyond) > MOST_SHIFTED:
        return 0, 0.0
    borders = np.flatnonzero(np.diff(np.concatenate([[False], beyond, [False]]).astype(np.int8)))
    lengths = borders[1::2] - borders[::2]
    longest = int(np.argmax(lengths))
    row = int(lengths[longest]) - ROW + 1  # each of its readings is in ROW means
    inside = off[borders[2 * longest] : borders[2 * longest + 1]]
    return (row, float(inside[np.argmax(np.abs(inside))])) if row >= SHORTEST_ROW else (0, 0.0)


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
    row, by_a = max((shifted_stretch(one) for one in work), key=lambda found: found[0])
    if row:
        found.append(
            f"about {row} readings in a row are {1000 * abs(by_a):.2g} mA {'above' if by_a > 0 else 'below'} the "
            "others: a fault of the meter, or work of the board that is not that of the other steps."
        )
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
