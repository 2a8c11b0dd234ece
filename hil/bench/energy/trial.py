"""One trial of the benchmark by the whole path: a virtual instrument behind a socket, PyVISA, the driver, windows, the budget; then the truth."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hil.bench.energy.case import Case
from hil.bench.energy.scene import Stage
from hil.measure.capture import Capture
from hil.measure.data_sheet import DataSheet
from hil.measure.energy import EnergyResult, Task, energy_of_windows
from hil.meters.meter import Host, Meter, Setting, Spoiled
from hil.meters.open import open_meter
from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.server import MeterServer
from hil.standins.virtual.meter.truth import VirtualTime
from hil.standins.virtual.meter.twins import find_twin

DRAWS = 20_000  # of the Monte Carlo interval: its ends then scatter by half a per cent of its width
MOST_SPOILED = 20
DEADLINE_S = 3600.0  # of virtual time
ASKED = 8  # times a window


@dataclass(frozen=True)
class Judged:
    """What one trial gave: whether either interval holds the truth, the ratio of their widths, the relative error, what was flagged."""

    in_mc: bool
    in_gum: bool
    width_ratio: float
    error: float
    aliased: bool


def run(sheet: DataSheet, case: Case, rng: np.random.Generator) -> Judged:
    """Measure a case, and compare with what is true.

    Raises:
        Blocked: the meter did not give the windows.
    """
    return judge(measure(sheet, case, rng), case.load.net(case.burden_ohm))


def judge(result: EnergyResult, true: float) -> Judged:
    """Compare a result with the true energy of a step in joules."""
    low, high = result.limits
    off = abs(result.per_step - true)
    return Judged(low <= true <= high, off <= result.expanded, 2 * result.expanded / (high - low), off / true, result.aliased)


def measure(sheet: DataSheet, case: Case, rng: np.random.Generator) -> EnergyResult:
    """Measure the windows of a case on the virtual twin of a meter."""
    time = VirtualTime()
    stage = Stage(time, case.load)
    with _metered(sheet, case, stage, time, rng) as meter:
        window_s = case.steps * case.load.step_s
        meter.configure(Setting(case.load.volt, case.used.amperes, case.interval_s, case.idle_s, window_s))
        captures = [_window(meter, stage, case, rng) for _ in range(case.windows)]
    task = Task(case.steps, case.idle_s, case.load.volt)
    return energy_of_windows(captures, task, sheet, case.used, {}, "modelled", DRAWS)


@contextlib.contextmanager
def _metered(sheet: DataSheet, case: Case, stage: Stage, time: VirtualTime, rng: np.random.Generator) -> Iterator[Meter]:
    twin = find_twin(sheet.key).make(stage, case.errors, rng, time)
    if case.lost_share:
        twin.lost_share = case.lost_share
    server = MeterServer(twin)
    server.start()
    try:
        with open_meter(server.resource, case.load.volt, sheet.key, _host(sheet, case, time)) as meter:
            yield meter
    finally:
        server.close()


def _host(sheet: DataSheet, case: Case, time: VirtualTime) -> Host:
    """Return the host's clock; it asks an instrument that finds the edges by itself a few times a window only, for in virtual time nobody waits."""
    if sheet.marker == "none":
        return Host(time.seconds, time.sleep)
    least = (case.steps * case.load.step_s + 2 * case.idle_s) / ASKED
    return Host(time.seconds, lambda seconds: time.sleep(max(seconds, least)))


def _window(meter: Meter, stage: Stage, case: Case, rng: np.random.Generator) -> Capture:
    """Let the board live through one window while the meter reads; once more where the driver throws it away."""
    for attempt in range(MOST_SPOILED):
        meter.arm()
        begin_s = case.idle_s + float(rng.uniform(0, 2)) * case.interval_s
        stage.window(stage.time.ps + round(begin_s * PS_PER_S), case.steps, 1 + case.load.spread * float(rng.standard_normal()))
        try:
            return meter.capture(DEADLINE_S)
        except Spoiled:
            if attempt == MOST_SPOILED - 1:
                raise
    raise AssertionError("unreachable")
