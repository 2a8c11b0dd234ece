"""Uncertainty budget of the energy of a step: contributions of the windows and the data sheet (docs/energy.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hil.energy.conditions import Conditions, rows
from hil.energy.data_sheet import CurrentRange, DataSheet
from hil.energy.edge_search import HOST
from hil.energy.monte_carlo import MEAN, efficiency
from hil.energy.uncertainty import SMOOTHING, Contribution, least_variance, rectangular
from hil.energy.window import Window

NET, GROSS, IDLE = "net", "gross", "idle"
DECLARED = Conditions(supply_error=0.0)
DITHER = 0.5  # of the resolution: noise of that standard deviation turns rounding into noise (within 1 %)


def energies(windows: Sequence[Window], figure: str) -> np.ndarray:
    """Return an energy of every window in joules, float64[n], less the mean share that the meter itself consumed."""
    return np.array([getattr(window, figure) - window.burden_share * _burden(window, figure) for window in windows])


@dataclass(frozen=True)
class Metering:
    """How the windows were read.

    Attributes:
        sheet, used: data sheet of the meter and the range in use.
        volt: supply in volts.
        aperture_s: of a reading; 0 for point samples.
        conditions: supply and room.
        voltage_read: whether the power comes from voltages that the meter read.
    """

    sheet: DataSheet
    used: CurrentRange
    volt: float
    aperture_s: float
    conditions: Conditions = DECLARED
    voltage_read: bool = True


def budget(
    windows: Sequence[Window], steps: int, figure: str, metering: Metering, statistic: str = MEAN
) -> list[Contribution]:
    """Return the contributions to the net, gross or idle energy of a step, in joules.

    Args:
        windows: at least two.
        steps: steps per window.
        figure: `net`, `gross` or `idle`.
        metering: how they were read.
        statistic: of the windows, `mean` or `median`.
    """
    sheet, used, volt = metering.sheet, metering.used, metering.volt
    per_step = energies(windows, figure) / steps
    size = abs(float(np.mean(per_step)))
    return [
        Contribution("current gain", "B", rectangular(used.gain) * size),
        Contribution("voltage gain", "B", rectangular(sheet.voltage_gain) * size),
        Contribution("voltage offset", "B", rectangular(sheet.voltage_offset_v / volt) * size),
        Contribution("time base", "B", rectangular(sheet.timebase) * size),
        *_of_the_current(windows, steps, figure, used, volt),
        *_resolution(windows, steps, figure, used, volt, metering.aperture_s),
        *rows(
            metering.conditions, sheet, size, _supplied_j(windows, steps, figure), voltage_read=metering.voltage_read
        ),
        Contribution(
            f"burden voltage, {windows[0].burden_share:.0%} of the largest taken off",
            "B",
            rectangular(_mean(windows, lambda w: abs((1 - w.burden_share) * _burden(w, figure))) / steps),
        ),
        *_of_the_windows(windows, steps, figure, per_step, metering, statistic),
    ]


def _supplied_j(windows: Sequence[Window], steps: int, figure: str) -> float:
    """Return the supplied energy to which an error of the supply voltage applies, in joules per step.

    For net energy this is the gross energy: a supply may sag under load without sagging while the board sleeps.
    """
    return abs(float(np.mean(energies(windows, IDLE if figure == IDLE else GROSS)))) / steps


def _mean(windows: Sequence[Window], of: Callable[[Window], float]) -> float:
    return float(np.mean([of(window) for window in windows]))


def _of_the_current(
    windows: Sequence[Window], steps: int, figure: str, used: CurrentRange, volt: float
) -> list[Contribution]:
    """On one range the offset is the same asleep and awake, so it cancels in the net energy.

    A drift cancels about the middle.
    """
    drift_s = _mean(windows, lambda w: w.duration * w.lever)
    if figure == NET:
        offset = Contribution("current offset (cancels: one range)", "B", 0.0)
    else:
        offset = Contribution(
            "current offset", "B", rectangular(used.offset_a) * volt * _mean(windows, lambda w: w.duration) / steps
        )
        drift_s += _mean(windows, lambda w: w.duration**2) / 2
    return [offset, Contribution("drift of the offset", "B", rectangular(used.drift_a_per_s) * volt * drift_s / steps)]


def _resolution(
    windows: Sequence[Window], steps: int, figure: str, used: CurrentRange, volt: float, aperture_s: float
) -> list[Contribution]:
    """The rounding error of a steady level is the same in all readings, and net energy has two levels.

    Enough noise removes it.
    """
    levels = {NET: ("awake", "asleep"), GROSS: ("awake",), IDLE: ("asleep",)}[figure]
    standard = used.resolution_a / math.sqrt(12) * volt * _mean(windows, lambda w: w.duration) / steps
    noise = used.noise_a / math.sqrt(aperture_s) if aperture_s else used.noise_a
    blurred = noise >= DITHER * used.resolution_a
    return [
        Contribution(f"resolution, {level}" + " (blurred by noise)" * blurred, "B", standard, counted=not blurred)
        for level in levels
    ]


def _burden(window: Window, figure: str) -> float:
    """Return what the meter consumes of an energy at its full burden voltage, in joules.

    It is negative if the steps draw less than sleep.
    """
    return {NET: window.burden, IDLE: window.idle_burden, GROSS: window.burden + window.idle_burden}[figure]


def _of_the_windows(
    windows: Sequence[Window], steps: int, figure: str, per_step: np.ndarray, metering: Metering, statistic: str
) -> list[Contribution]:
    """Contributions that differ between windows are contained in their scatter; add them only if it is too small.

    On a grid, windows of equal length hold one of two counts of readings. Six of them may hold the same count, have no
    scatter, and be wrong together. A plausible scatter is used unchanged; the larger of scatter and known contributions
    would be wider than either.
    """
    n = len(windows)
    share = efficiency(n, statistic)
    scatter = float(np.std(per_step, ddof=1))
    ends = _mean(windows, lambda w: w.ends_u) / steps if figure != IDLE else 0.0
    edges = _mean(windows, lambda w: _edges(w, by_host=False)) / steps if figure != NET else 0.0
    hosted = _mean(windows, lambda w: _edges(w, by_host=True)) / steps if figure != NET else 0.0
    known = math.hypot(ends, edges)
    believed = scatter**2 >= least_variance(n) * known**2
    hidden = 0.0 if believed else math.sqrt(known**2 - scatter**2)
    missing = _mean(windows, lambda w: w.missing) / steps if figure != IDLE else 0.0
    aperture_s = metering.aperture_s
    noise = (
        metering.used.noise_a
        / math.sqrt(aperture_s)
        * metering.volt
        * math.sqrt(_mean(windows, lambda w: w.duration) * aperture_s)
        if aperture_s
        else 0.0
    )
    smoothed = _mean(windows, lambda w: w.smoothed) / steps if figure != IDLE else 0.0
    return [
        *([Contribution(SMOOTHING, "B", rectangular(smoothed))] if smoothed else []),
        Contribution("lost readings (limit)", "B", rectangular(missing) / math.sqrt(n)),
        Contribution("noise (in the scatter)", "B", noise / steps * share, counted=False),
        Contribution("readings beside the edges (in the scatter)", "B", ends * share, counted=False),
        Contribution("both edges, times the idle power (in the scatter)", "B", edges * share, counted=False),
        Contribution("what the scatter does not show of these two", "B", hidden * share, shape="normal"),
        *([Contribution("both edges, dated by the host (alike in all windows)", "B", hosted)] if hosted else []),
        Contribution(f"scatter of {n} windows", "A", scatter * share, n - 1, "scatter"),
    ]  # fmt: skip


def _edges(window: Window, *, by_host: bool) -> float:
    """Return the uncertainty of a window's gross and idle energy from its edges, in joules.

    It is zero unless the host dated the edges (`by_host`), or did not date them (`by_host` False).

    Delays of the link and of the host's scheduler are the same in every window so the scatter does not show them.
    """
    dated_by_host = window.synchronisation == HOST
    return window.duration_u * abs(window.idle_power) if dated_by_host is by_host else 0.0
