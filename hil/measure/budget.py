"""What the energy of a step is uncertain by: every contribution with its sensitivity, from the windows and the data sheet (docs/energy.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from hil.measure.conditions import Conditions, rows
from hil.measure.data_sheet import CurrentRange, DataSheet
from hil.measure.monte_carlo import MEAN, efficiency
from hil.measure.synchronise import HOST, SERIAL
from hil.measure.uncertainty import Contribution, least_variance, rectangular
from hil.measure.window import Window

NET, GROSS, IDLE = "net", "gross", "idle"
DECLARED = Conditions(supply_error=0.0)
DITHER = 0.5  # of the resolution: noise of that standard deviation turns rounding into noise (to 1 % of a step)


def energies(windows: Sequence[Window], figure: str) -> np.ndarray:
    """Return an energy of every window in joules, float64[n], less the middle of what the meter itself may have taken of it."""
    return np.array([getattr(window, figure) - window.burden_share * _burden(window, figure) for window in windows])


def budget(
    windows: Sequence[Window], steps: int, figure: str, sheet: DataSheet, used: CurrentRange, volt: float, aperture_s: float,
    statistic: str = MEAN, conditions: Conditions = DECLARED, *, voltage_read: bool = True,
) -> list[Contribution]:  # fmt: skip
    """Return the contributions to the net, gross or idle energy of a step, in joules.

    Args:
        windows: at least two.
        steps: in each.
        figure: `net`, `gross` or `idle`.
        sheet, used: data sheet of the meter and the range that it was on.
        volt: supply.
        aperture_s: of a reading; 0 for an instant.
        statistic: of the windows, `mean` or `median`.
        conditions: of supply and room.
        voltage_read: whether the power is of voltages that the meter read.
    """
    per_step = energies(windows, figure) / steps
    size = abs(float(np.mean(per_step)))
    return [
        Contribution("current gain", "B", rectangular(used.gain) * size),
        Contribution("voltage gain", "B", rectangular(sheet.voltage_gain) * size),
        Contribution("voltage offset", "B", rectangular(sheet.voltage_offset_v / volt) * size),
        Contribution("time base", "B", rectangular(sheet.timebase) * size),
        *_of_the_current(windows, steps, figure, used, volt),
        *_resolution(windows, steps, figure, used, volt, aperture_s),
        *rows(conditions, sheet, size, _supplied_j(windows, steps, figure), voltage_read=voltage_read),
        Contribution(
            f"burden voltage, {windows[0].burden_share:.0%} of the largest taken off",
            "B",
            rectangular(_mean(windows, lambda w: abs((1 - w.burden_share) * _burden(w, figure))) / steps),
        ),
        *_of_the_windows(windows, steps, figure, per_step, used, volt, aperture_s, statistic),
    ]


def _supplied_j(windows: Sequence[Window], steps: int, figure: str) -> float:
    """Return what the supply gave for a figure: for a net energy all that it gave in the window, since it need not give way asleep."""
    return abs(float(np.mean(energies(windows, IDLE if figure == IDLE else GROSS)))) / steps


def _mean(windows: Sequence[Window], of: Callable[[Window], float]) -> float:
    return float(np.mean([of(window) for window in windows]))


def _of_the_current(
    windows: Sequence[Window], steps: int, figure: str, used: CurrentRange, volt: float
) -> list[Contribution]:
    """The offset is the same asleep and awake, on one range: it leaves the net energy, and so does a drift about the window's middle."""
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
    """Rounding of a steady level is the same in all readings, and the net energy has two levels; noise of half a step blurs it."""
    levels = {NET: ("awake", "asleep"), GROSS: ("awake",), IDLE: ("asleep",)}[figure]
    standard = used.resolution_a / math.sqrt(12) * volt * _mean(windows, lambda w: w.duration) / steps
    noise = used.noise_a / math.sqrt(aperture_s) if aperture_s else used.noise_a
    blurred = noise >= DITHER * used.resolution_a
    return [
        Contribution(f"resolution, {level}" + " (blurred by noise)" * blurred, "B", standard, counted=not blurred)
        for level in levels
    ]


def _burden(window: Window, figure: str) -> float:
    """Return what the meter takes of an energy at its full burden voltage, in joules; negative where the work draws less than the sleep."""
    return {NET: window.burden, IDLE: window.idle_burden, GROSS: window.burden + window.idle_burden}[figure]


def _of_the_windows(
    windows: Sequence[Window], steps: int, figure: str, per_step: np.ndarray, used: CurrentRange, volt: float, aperture_s: float, statistic: str
) -> list[Contribution]:  # fmt: skip
    """What differs from window to window is in their scatter, and is not added again; unless they scatter less than what is known of them could by chance.

    On a grid, windows of one length hold one of two counts of readings; six of them may hold the same one, scatter by nothing, and be wrong together.
    Where their scatter is one to be expected it is believed: the larger of it and of what is known would be wider than either claims.
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
    noise = (
        used.noise_a / math.sqrt(aperture_s) * volt * math.sqrt(_mean(windows, lambda w: w.duration) * aperture_s)
        if aperture_s
        else 0.0
    )
    return [
        Contribution("lost readings (limit)", "B", rectangular(missing) / math.sqrt(n)),
        Contribution("noise (in the scatter)", "B", noise / steps * share, counted=False),
        Contribution("readings beside the edges (in the scatter)", "B", ends * share, counted=False),
        Contribution("both edges, times the idle power (in the scatter)", "B", edges * share, counted=False),
        Contribution("what the scatter does not show of these two", "B", hidden * share, shape="normal"),
        *([Contribution("both edges, dated by the host (alike in all windows)", "B", hosted)] if hosted else []),
        Contribution(f"scatter of {n} windows", "A", scatter * share, n - 1, "scatter"),
    ]  # fmt: skip


def _edges(window: Window, *, by_host: bool) -> float:
    """Return the uncertainty of a window's gross and idle energy by its edges, if they were had in one of two ways, in joules.

    What the link and the host's scheduler take on the way is the same in every window, and does not show in their scatter.
    """
    dated_by_host = window.synchronisation in (SERIAL, HOST)
    return window.duration_u * abs(window.idle_power) if dated_by_host is by_host else 0.0
