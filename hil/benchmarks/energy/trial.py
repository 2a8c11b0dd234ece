"""Run one trial from a virtual instrument to the uncertainty budget, and compare the result with the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hil.benchmarks.energy.random_case import RandomCase
from hil.benchmarks.energy.simulated_board import SharedTrace
from hil.benchmarks.energy.virtual_meters import Parts, metered
from hil.energy.capture import Capture
from hil.energy.conditions import Conditions
from hil.energy.data_sheet import DataSheet
from hil.energy.step_energy import EnergyResult, MeasuredTask, energy_of_windows
from hil.errors import Blocked
from hil.meters.meter import Host, HostMarked, InvalidWindow, Meter, Setting
from hil.meters.window_edges import with_both_edges
from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.truth import VirtualTime

DRAWS = 20_000  # of the Monte Carlo interval, whose ends then scatter by half a per cent of its width
MOST_SPOILED = 20
DEADLINE_S = 3600.0  # of virtual time
# Polls in a window: few of an instrument that dates the edges itself, more if the host must find the edges.
POLLS = {"meter": 8, "host": 150}
ANSWER_S = 0.002  # from the end of the sleep to the board's reply


@dataclass(frozen=True)
class Judged:
    """The result of one trial."""

    in_mc: bool  # the Monte Carlo interval contains the true value
    in_gum: bool  # the GUM interval contains the true value
    width_ratio: float  # width of the GUM interval over that of the Monte Carlo interval
    error: float  # absolute relative error
    aliased: bool  # it was flagged as aliased
    spoiled: int = 0  # number of windows that were discarded and repeated


def run(sheet: DataSheet, case: RandomCase, rng: np.random.Generator, **driver: Any) -> Judged:
    """Measure a case and compare the result with the true energy; `driver`: more arguments of the driver.

    Raises:
        Blocked: the windows could not be measured.
    """
    return judge(*measure(sheet, case, rng, **driver), case.load.net(case.burden_ohm))


def judge(result: EnergyResult, spoiled: int, true: float) -> Judged:
    """Compare a result with the true energy of a step in joules; `spoiled` windows were repeated."""
    low, high = result.limits
    error, expanded = abs(result.per_step - true), result.expanded
    ratio = 2 * expanded / (high - low)
    return Judged(low <= true <= high, error <= expanded, ratio, error / true, result.aliased, spoiled)


def measure(sheet: DataSheet, case: RandomCase, rng: np.random.Generator, **driver: Any) -> tuple[EnergyResult, int]:
    """Measure the windows of a case with a virtual instrument; `driver`: more arguments of the driver.

    Returns:
        The result, and the number of windows that were spoiled and repeated.

    Raises:
        Blocked: a window was spoiled MOST_SPOILED times, or the meter failed.
    """
    time = VirtualTime()
    stage = SharedTrace(time, case.load)
    host = _Host(sheet, case, time)
    parts = Parts(stage, case.errors, rng, time, case.lost_share)
    with metered(sheet.key, parts, host.clock, **driver) as meter:
        window_s = case.steps * case.load.step_s
        meter.configure(Setting(case.load.volt, case.used.amperes, case.interval_s, case.idle_s, window_s))
        taken = [_window(meter, host, stage, case, rng) for _ in range(case.windows)]
    captures, spoiled = [capture for capture, _ in taken], sum(again for _, again in taken)
    task = MeasuredTask(case.steps, case.idle_s, case.load.volt, conditions=Conditions(supply_error=0.0))
    return energy_of_windows(captures, task, sheet, case.used, {}, "modelled", DRAWS), spoiled


class _Host:
    """The host during a window: it waits, and marks request and reply for a meter without a marker input.

    It polls as rarely as the windows allow, because each poll costs wall time.
    """

    def __init__(self, sheet: DataSheet, case: RandomCase, time: VirtualTime) -> None:
        self._time = time
        window_s = case.steps * case.load.step_s + 2 * case.idle_s
        self._least = window_s / POLLS[sheet.timestamps] if sheet.marker != "none" else 0.0
        self._unmarked: HostMarked | None = None  # a meter without a marker input that waits for the board's reply
        self._answered_ps = 0

    @property
    def clock(self) -> Host:
        """Clock and sleep for the driver."""
        return Host(self._now, self._sleep)

    def _now(self) -> float:
        self._mark_answer()
        return self._time.seconds()

    def _sleep(self, seconds: float) -> None:
        self._time.sleep(max(seconds, self._least))
        self._mark_answer()

    def _mark_answer(self) -> None:
        meter = self._unmarked
        if meter is not None and self._time.ps >= self._answered_ps:
            self._unmarked = None
            meter.mark(False)

    def ask(self, meter: Meter, answered_ps: int) -> None:
        """Ask the board to train; it answers at a later time."""
        self._unmarked, self._answered_ps = meter if isinstance(meter, HostMarked) else None, answered_ps
        if self._unmarked is not None:
            self._unmarked.mark(True)


def _window(
    meter: Meter, host: _Host, stage: SharedTrace, case: RandomCase, rng: np.random.Generator
) -> tuple[Capture, int]:
    """Measure one window, and repeat it if it is spoiled; return it and the number of repetitions.

    Raises:
        Blocked: it was spoiled MOST_SPOILED times.
    """
    reason = ""
    for again in range(MOST_SPOILED):
        meter.arm()
        begin_ps = stage.time.ps + round((case.idle_s + float(rng.uniform(0, 2)) * case.interval_s) * PS_PER_S)
        end_ps = stage.window(begin_ps, case.steps, 1 + case.load.spread * float(rng.standard_normal()))
        host.ask(meter, end_ps + round((case.idle_s + ANSWER_S) * PS_PER_S))
        try:
            return with_both_edges(meter.capture(DEADLINE_S), case.idle_s), again
        except InvalidWindow as spoiled:
            reason = str(spoiled).rstrip(".")
    raise Blocked("energy", f"a window was discarded {MOST_SPOILED} times, the last because {reason}.")
