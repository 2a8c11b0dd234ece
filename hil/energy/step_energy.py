"""Energy of a training step from windows of autonomous steps (docs/energy.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hil.energy import bursts, conditions
from hil.energy.aliasing import COVERED, FEWEST_READINGS, is_aliased, pace_flags
from hil.energy.bursts import Fast
from hil.energy.capture import SHARED, Capture
from hil.energy.conditions import Conditions, reads_voltage
from hil.energy.current_ranges import coarser_stretch
from hil.energy.data_sheet import CurrentRange, DataSheet
from hil.energy.interval_figures import require_not_negative
from hil.energy.monte_carlo import DRAWS, MEAN, MEDIAN, interval
from hil.energy.step_budget import GROSS, IDLE, NET, Metering, budget, energies
from hil.energy.uncertainty import Contribution, combined, coverage_factor, effective_dof
from hil.energy.window import Window, window_of
from hil.errors import Blocked

FEWEST_WINDOWS = 6  # the range of five covers the median with a probability of only 93.75 %
IDLE_DRIFT = 0.02  # of the idle power, between before and after; a larger drift is flagged


@dataclass(frozen=True)
class MeasuredTask:
    """What the windows measure.

    Attributes:
        steps: autonomous steps in each window.
        idle_s: sleep before and after each window.
        volt: set supply voltage of the board.
        batch: samples per step.
        epoch: samples per epoch.
        rules: `mlperf-tiny` for the median of gross energies, else empty.
        laps_s: seconds of each step of a window by the board's clock; empty if unknown.
        conditions: supply and room.
        fast: result of a capture at the meter's fastest rate; None if there was none.
    """

    steps: int
    idle_s: float
    volt: float
    batch: int = 1
    epoch: int = 1
    rules: str = ""
    laps_s: tuple[float, ...] = ()
    conditions: Conditions = field(default_factory=Conditions)
    fast: Fast | None = None


@dataclass
class EnergyResult:
    """The energy of a step with its uncertainty.

    Attributes:
        windows: every window.
        task: what they measure.
        per_step: mean (or median) over the windows, in joules: net, or gross by MLPerf Tiny's rules.
        contributions: uncertainty budget of `per_step`.
        limits: 95 % Monte Carlo interval of `per_step`.
        others: standard uncertainty of net, gross and idle energy of a step, in joules.
        meter: name, identity, range and aperture of the instrument.
        provenance: `measured`, or `modelled` on a stand-in.
        aliased: whether the readings missed a part of the step.
        asked: requested uncertainty (`--energy-u`), and whether it was reached.
        phases: seconds of each phase, the energy of those that the meter resolves, and the reason for the others.
        temperature: of the room and of the meter's sensor in degrees Celsius, if known.
        assumptions, flags: sentences for the reader.
    """

    windows: list[Window]
    task: MeasuredTask
    per_step: float
    contributions: list[Contribution]
    limits: tuple[float, float]
    others: dict[str, float]
    meter: dict[str, Any]
    provenance: str
    aliased: bool
    asked: dict[str, Any] = field(default_factory=dict)
    phases: dict[str, Any] = field(default_factory=dict)
    temperature: dict[str, Any] = field(default_factory=dict)
    assumptions: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)

    @property
    def uncertainty(self) -> float:
        """Combined standard uncertainty of a step's energy, in joules."""
        return combined(self.contributions)

    @property
    def expanded(self) -> float:
        """Half of the GUM's 95 % interval, in joules."""
        return coverage_factor(effective_dof(self.contributions)) * self.uncertainty

    def to_json(self) -> dict[str, Any]:
        """Return the fields of results.json."""
        steps, u = self.task.steps, self.uncertainty
        dof, total = effective_dof(self.contributions), u**2
        headline = GROSS if self.task.rules else NET
        u_of = self.others | {headline: u}
        duration = self._mean("duration")
        return {
            "per_step": self._quantity(self.per_step, "J", u)
            | {
                "coverage_factor": round(coverage_factor(dof), 3),
                "dof": round(dof, 1) if math.isfinite(dof) else None,
                "interval_gum": [self.per_step - self.expanded, self.per_step + self.expanded],
                "interval": list(self.limits),
            },
            "per_sample": self._quantity(self.per_step / self.task.batch, "J", u / self.task.batch),
            "per_epoch": self._quantity(
                self.per_step * self.task.epoch / self.task.batch, "J", u * self.task.epoch / self.task.batch
            ),
            **{
                name: self._quantity(float(np.mean(energies(self.windows, name))), "J", steps * u_of[name])
                for name in (GROSS, IDLE, NET)
            },
            "idle_power": self._quantity(self._mean("idle_power"), "W", steps * u_of[IDLE] / duration),
            "active_power": self._quantity(self._mean("active_power"), "W", steps * u_of[GROSS] / duration),
            "duration": self._quantity(duration, "s", None),
            "per": self._per_unit(u_of),
            **{
                name: self._quantity(self._mean(name), unit, None)
                for name, unit in (("charge", "C"), ("voltage", "V"))
                if math.isfinite(self._mean(name))
            },
            "statistic": MEDIAN if self.task.rules else MEAN,
            "rules": self.task.rules or None,
            "subtracts_idle": not self.task.rules,
            "aliased": self.aliased,
            "asked": self.asked or None,
            "phases": self.phases or None,
            "temperature": self.temperature or None,
            "steps_per_window": steps,
            "windows": [{name: _finite(value) for name, value in vars(window).items()} for window in self.windows],
            "budget": [
                {
                    "source": one.source,
                    "kind": one.kind,
                    "distribution": one.shape,
                    "counted": one.counted,
                    "standard_uncertainty": one.standard,
                    "share": one.standard**2 / total if total and one.counted else 0.0,
                }
                for one in self.contributions
            ],
            "meter": self.meter,
            "assumptions": self.assumptions,
            "flags": self.flags,
        }

    def _per_unit(self, u_of: dict[str, float]) -> dict[str, Any]:
        """Return net, idle and gross energy and time of a step, a sample and an epoch: means, whatever the rules."""
        steps, batch = self.task.steps, self.task.batch
        figures = {
            name: (float(np.mean(energies(self.windows, name))) / steps, u_of[name]) for name in (NET, IDLE, GROSS)
        }
        time_s = self._mean("duration") / steps
        return {
            unit: {
                **{name: self._quantity(times * value, "J", times * u) for name, (value, u) in figures.items()},
                "time": self._quantity(times * time_s, "s", None),
            }
            for unit, times in (("step", 1.0), ("sample", 1 / batch), ("epoch", self.task.epoch / batch))
        }

    def _mean(self, name: str) -> float:
        return float(np.mean([getattr(window, name) for window in self.windows]))

    def _quantity(self, value: float, unit: str, uncertainty: float | None) -> dict[str, Any]:
        return {"value": value, "unit": unit, "uncertainty": uncertainty, "provenance": self.provenance}


def _finite(value: float | str | None) -> float | str | None:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def energy_of_windows(  # noqa: PLR0913 - six facts of a measurement; `draws` is lowered by tests and benchmarks
    captures: Sequence[Capture], task: MeasuredTask, sheet: DataSheet, used: CurrentRange, meter: dict[str, Any],
    provenance: str, draws: int = DRAWS
) -> EnergyResult:  # fmt: skip
    """Return the energy of a step from all windows, with both intervals.

    Args:
        captures: one per window.
        task: what the windows measure.
        sheet, used: data sheet of the meter and the range in use.
        meter: facts about the instrument for the record.
        provenance: provenance of every figure.
        draws: number of draws for the Monte Carlo interval.

    Raises:
        Blocked: fewer than two windows, one that cannot be evaluated, or an energy below 0.
    """
    if len(captures) < 2:
        raise Blocked("energy", f"{len(captures)} window has no scatter: measure {FEWEST_WINDOWS} or more.")
    hidden = None if task.fast is None else task.fast.hidden(captures[0].interval_s)
    windows = [
        window_of(capture, task.idle_s, used.burden_ohm, task.steps, used.burden_share, hidden) for capture in captures
    ]
    for joules in energies(windows, GROSS):  # net may be below 0: a step may draw less than sleep
        require_not_negative(float(joules), sheet.name)
    figure, statistic = (GROSS, MEDIAN) if task.rules else (NET, MEAN)
    volt = float(np.mean([w.voltage for w in windows]))
    volt = volt if math.isfinite(volt) else task.volt
    read = reads_voltage(captures, sheet, task.volt)
    metering = Metering(sheet, used, volt, captures[0].aperture_s, task.conditions, read)
    parts = {one: budget(windows, task.steps, one, metering, statistic) for one in (NET, GROSS, IDLE)}
    values = energies(windows, figure) / task.steps
    value = float(np.median(values) if task.rules else np.mean(values))
    limits = interval(value, parts[figure], len(windows), statistic, draws)
    aliased = any(is_aliased(one, _laps(task, window)) for one, window in zip(captures, windows, strict=True))
    others = {one: combined(parts[one]) for one in parts}
    result = EnergyResult(windows, task, value, parts[figure], limits, others, meter, provenance, aliased)
    result.assumptions = conditions.ambient_assumptions(task.conditions, sheet)
    result.flags = _flags(captures, windows, task, sheet, used, aliased)
    result.flags += conditions.supply_flags(task.conditions, sheet, voltage_read=read)
    return result


def _laps(task: MeasuredTask, window: Window) -> list[float]:
    """Return the seconds of each step on the meter's clock; all equal if the board did not report every step."""
    if len(task.laps_s) != task.steps:
        return [window.duration / task.steps] * task.steps
    return [lap * window.duration / sum(task.laps_s) for lap in task.laps_s]


def _flags(
    captures: Sequence[Capture], windows: list[Window], task: MeasuredTask, sheet: DataSheet, used: CurrentRange,
    aliased: bool,
) -> list[str]:  # fmt: skip
    flags = []
    first, name = captures[0], sheet.name
    fewest = min(window.readings for window in windows) / task.steps
    if fewest < FEWEST_READINGS and first.aperture_s < COVERED * first.interval_s:
        flags.append(f"only {fewest:.1f} readings a step, with gaps: what lies between them is taken from other steps.")
    if aliased:
        flags.append(
            "aliased: the readings sampled the same few places of every step; choose another interval, or use jitter."
        )
    flags += bursts.swing_flags(captures, task.fast) + pace_flags(captures)
    currents = [capture.current_a[np.isfinite(capture.current_a)] for capture in captures]
    coarse = max(coarser_stretch(current, used, sheet) for current in currents)
    if coarse:
        flags.append(
            f"{coarse} readings in a row are rounded as on another range of the {name}: "
            f"it left its range of {used.amperes:g} A."
        )
    flags += dict.fromkeys(note for capture in captures for note in capture.notes)
    if len(windows) < FEWEST_WINDOWS and not task.rules:
        flags.append(f"only {len(windows)} windows: fewer than {FEWEST_WINDOWS} do not cover their median with 95 %.")
    lost = [window.lost for window in windows]
    if None in lost:
        flags.append(f"the {name} cannot tell whether readings were lost.")
    elif any(lost):
        most = max(one or 0 for one in lost)
        flags.append(f"up to {most} readings of a window are missing; {SHARED}")
    if sheet.timestamps == "host":
        flags.append("the readings are dated by the host's clock.")
    drifts = [abs(w.idle_after / w.idle_before - 1) for w in windows if w.idle_before > 0]
    if any(drift > IDLE_DRIFT for drift in drifts):
        flags.append(f"idle power drifts by {max(drifts):.0%} over a window: the board was not at rest.")
    if sheet.unverified:
        flags.append(f"of the {name}'s data sheet is unverified: {', '.join(sheet.unverified)}.")
    return flags
