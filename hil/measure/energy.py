"""Energy of a training step from windows of autonomous steps (docs/energy.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hil.errors import Blocked
from hil.measure.data_sheet import CurrentRange, DataSheet
from hil.measure.uncertainty import Contribution, combined, coverage_factor, effective_dof, rectangular
from hil.measure.window import WindowTrace

FEWEST_READINGS = 10  # a step: fewer, and a step's shape is lost between them
FEWEST_WINDOWS = 6  # the range of five covers the median with 93.75 % only
IDLE_DRIFT = 0.02  # of the idle power between before and after, above which it is flagged


@dataclass(frozen=True)
class Window:
    """One window: energies in joules, powers in watts, its duration in seconds."""

    gross: float
    idle: float
    net: float
    idle_power: float
    active_power: float
    duration: float
    readings: int


@dataclass
class EnergyResult:
    """The energy of a step and what stands behind it.

    Attributes:
        windows: every window.
        steps: autonomous steps in each.
        budget: what the standard uncertainty of the net energy of a step is made of, in joules.
        gross_uncertainty, idle_uncertainty: standard uncertainty of the means over the windows, in joules.
        meter: name, identity, range and aperture of the instrument.
        provenance: `measured`, or `modelled` on a stand-in.
        assumptions, flags: what the reader must know.
    """

    windows: list[Window]
    steps: int
    budget: list[Contribution]
    gross_uncertainty: float
    idle_uncertainty: float
    meter: dict[str, Any]
    provenance: str
    assumptions: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)

    @property
    def per_step(self) -> float:
        """Net energy of a step in joules: the mean over the windows."""
        return self._mean("net") / self.steps

    def _mean(self, name: str) -> float:
        return float(np.mean([getattr(window, name) for window in self.windows]))

    def _quantity(self, value: float, unit: str, uncertainty: float | None) -> dict[str, Any]:
        return {"value": value, "unit": unit, "uncertainty": uncertainty, "provenance": self.provenance}

    def to_json(self) -> dict[str, Any]:
        """Return the fields as they stand in results.json."""
        uncertainty, dof = combined(self.budget), effective_dof(self.budget)
        total = uncertainty**2
        per_step = self._quantity(self.per_step, "J", uncertainty) | {
            "coverage_factor": coverage_factor(dof),
            "dof": round(dof, 1) if math.isfinite(dof) else None,
        }
        return {
            "per_step": per_step,
            "gross": self._quantity(self._mean("gross"), "J", self.gross_uncertainty),
            "idle": self._quantity(self._mean("idle"), "J", self.idle_uncertainty),
            "net": self._quantity(self._mean("net"), "J", self.steps * uncertainty),
            "idle_power": self._quantity(self._mean("idle_power"), "W", None),
            "active_power": self._quantity(self._mean("active_power"), "W", None),
            "duration": self._quantity(self._mean("duration"), "s", None),
            "steps_per_window": self.steps,
            "windows": [dict(vars(window)) for window in self.windows],
            "budget": [
                {
                    "source": one.source,
                    "kind": one.kind,
                    "standard_uncertainty": one.standard,
                    "share": one.standard**2 / total if total else 0.0,
                }
                for one in self.budget
            ],
            "meter": self.meter,
            "assumptions": self.assumptions,
            "flags": self.flags,
        }


def energy_of_window(trace: WindowTrace, idle_s: float) -> Window:
    """Integrate one window: power times interval for each reading, the last prorated to the second edge.

    Raises:
        Blocked: too few readings to tell steps from idle.
    """
    idle = trace.idle(idle_s)
    if len(idle.t_s) < FEWEST_READINGS or len(trace.steps.t_s) < 2:
        raise Blocked(
            "energy",
            f"the meter made {len(idle.t_s)} readings while the board slept and {len(trace.steps.t_s)} while it trained: "
            "choose a shorter aperture, a longer sleep or more steps.",
        )
    lengths = np.diff(np.append(trace.steps.t_s, trace.after.t_s[0]))
    gross = float(np.sum(trace.steps.power_w * lengths))
    idle_power = float(np.mean(idle.power_w))
    duration = trace.duration_s
    return Window(
        gross,
        idle_power * duration,
        gross - idle_power * duration,
        idle_power,
        gross / duration,
        duration,
        len(lengths),
    )


def energy_of_windows(
    traces: list[WindowTrace], steps: int, idle_s: float, sheet: DataSheet, used: CurrentRange, meter: dict[str, Any], provenance: str
) -> EnergyResult:  # fmt: skip
    """Return the energy of a step from all windows, with its uncertainty budget.

    Args:
        traces: one a window.
        steps: autonomous steps in each.
        idle_s: sleep before and behind each.
        sheet, used: data sheet of the meter and the range that it was on.
        meter: what the record says of the instrument.
        provenance: word for every figure.
    """
    windows = [energy_of_window(trace, idle_s) for trace in traces]
    net = [window.net / steps for window in windows]
    voltage = float(np.mean([np.mean(trace.steps.voltage_v) for trace in traces]))
    interval = float(np.mean([trace.interval_s for trace in traces]))
    budget = _budget(windows, net, steps, voltage, interval, sheet, used)
    gross = float(np.mean([window.gross for window in windows]))
    duration = float(np.mean([window.duration for window in windows]))
    offset = rectangular(used.offset_a) * voltage * duration
    return EnergyResult(
        windows, steps, budget,
        math.hypot(rectangular(used.gain) * gross, offset), math.hypot(rectangular(used.gain) * (gross - steps * np.mean(net)), offset),
        meter, provenance, flags=_flags(traces, windows, steps),
    )  # fmt: skip


def _budget(
    windows: list[Window], net: list[float], steps: int, volt: float, interval: float, sheet: DataSheet, used: CurrentRange
) -> list[Contribution]:  # fmt: skip
    """The offset of the current is the same while the board sleeps and while it trains, on one range: it leaves the net energy."""
    n = len(windows)
    mean = abs(float(np.mean(net)))
    rise = float(np.mean([window.active_power - window.idle_power for window in windows]))
    edges = abs(rise) * interval * math.sqrt(2 / 12) / steps
    return [
        Contribution("current gain", "B", rectangular(used.gain) * mean),
        Contribution("current offset (cancels: one range)", "B", 0.0),
        Contribution("voltage gain", "B", rectangular(sheet.voltage_gain) * mean),
        Contribution("voltage offset", "B", rectangular(sheet.voltage_offset_v / volt) * mean),
        Contribution("time base", "B", rectangular(sheet.timebase) * mean),
        Contribution("resolution", "B", used.resolution_a / math.sqrt(12) * volt * windows[0].duration / steps),
        Contribution("both edges, found within one reading", "B", edges),
        Contribution(
            f"scatter of {n} windows", "A", float(np.std(net, ddof=1)) / math.sqrt(n) if n > 1 else math.inf, n - 1
        ),
    ]


def _flags(traces: list[WindowTrace], windows: list[Window], steps: int) -> list[str]:
    flags = []
    fewest = min(window.readings for window in windows) / steps
    if fewest < FEWEST_READINGS:
        flags.append(f"only {fewest:.0f} readings a step: phases within a step are not resolved.")
    if len(windows) < FEWEST_WINDOWS:
        flags.append(f"only {len(windows)} windows: fewer than {FEWEST_WINDOWS} do not cover their median with 95 %.")
    lost = max(_lost(trace) for trace in traces)
    if lost:
        flags.append(
            f"up to {lost} readings of a window are missing; their time was given to the readings before them."
        )
    for trace in traces:
        before, after = np.mean(trace.before.power_w[-20:-2]), np.mean(trace.after.power_w[2:20])
        if abs(after - before) > IDLE_DRIFT * before:
            flags.append(
                f"idle power drifts by {abs(after / before - 1):.0%} over a window: the board was not at rest."
            )
            break
    return flags


def _lost(trace: WindowTrace) -> int:
    """Count the readings that a gap in the time stamps swallowed."""
    return int(np.sum(np.round(np.diff(trace.steps.t_s) / trace.interval_s) - 1))
