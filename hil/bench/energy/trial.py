"""One trial of the benchmark by the whole path: a virtual instrument behind a socket, PyVISA, the driver, windows, the budget; then the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hil.bench.energy.case import Case
from hil.bench.energy.scene import Stage
from hil.bench.energy.served import metered
from hil.errors import Blocked
from hil.measure.capture import Capture
from hil.measure.conditions import Conditions
from hil.measure.data_sheet import DataSheet
from hil.measure.energy import EnergyResult, Task, energy_of_windows
from hil.meters.edges import with_both_edges
from hil.meters.meter import Host, Meter, Setting, Spoiled, Told
from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.truth import VirtualTime

DRAWS = 20_000  # of the Monte Carlo interval: its ends then scatter by half a per cent of its width
MOST_SPOILED = 20
DEADLINE_S = 3600.0  # of virtual time
ASKED = 8  # times a window, an instrument that dates the edges by itself: in virtual time nobody waits for it
LOOKS = 150  # at the marker in a window, where the host looks itself: it then knows the edges as well as readings usually do
ANSWER_S = 0.002  # from the end of the sleep to the board's answer


@dataclass(frozen=True)
class Judged:
    """What one trial gave.

    Attributes:
        in_mc, in_gum: whether either interval holds the truth.
        width_ratio: of the two, GUM over Monte Carlo.
        error: relative, as a size.
        aliased: whether it was flagged so.
        spoiled: windows that were thrown away and taken again.
    """

    in_mc: bool
    in_gum: bool
    width_ratio: float
    error: float
    aliased: bool
    spoiled: int = 0


def run(sheet: DataSheet, case: Case, rng: np.random.Generator, **driver: Any) -> Judged:
    """Measure a case, and compare with what is true; `driver` are more arguments of its driver.

    Raises:
        Blocked: the meter did not give the windows.
    """
    return judge(*measure(sheet, case, rng, **driver), case.load.net(case.burden_ohm))


def judge(result: EnergyResult, spoiled: int, true: float) -> Judged:
    """Compare a result, for which some windows were taken again, with the true energy of a step in joules."""
    low, high = result.limits
    off, expanded = abs(result.per_step - true), result.expanded
    return Judged(
        low <= true <= high, off <= expanded, 2 * expanded / (high - low), off / true, result.aliased, spoiled
    )


def measure(sheet: DataSheet, case: Case, rng: np.random.Generator, **driver: Any) -> tuple[EnergyResult, int]:
    """Measure the windows of a case on the virtual twin of a meter; `driver` are more arguments of its driver.

    Returns:
        The result, and how many windows were spoiled and taken again.

    Raises:
        Blocked: a window was spoiled MOST_SPOILED times, or the meter failed.
    """
    time = VirtualTime()
    stage = Stage(time, case.load)
    host = _Host(sheet, case, time)
    with metered(sheet.key, stage, case.errors, rng, time, host.clock, case.lost_share, **driver) as meter:
        window_s = case.steps * case.load.step_s
        meter.configure(Setting(case.load.volt, case.used.amperes, case.interval_s, case.idle_s, window_s))
        taken = [_window(meter, host, stage, case, rng) for _ in range(case.windows)]
    captures, spoiled = [capture for capture, _ in taken], sum(again for _, again in taken)
    task = Task(case.steps, case.idle_s, case.load.volt, conditions=Conditions(supply_error=0.0))
    return energy_of_windows(captures, task, sheet, case.used, {}, "modelled", DRAWS), spoiled


class _Host:
    """The host's side of a window: how it waits, and its word to a meter without a marker input when it asks and is answered.

    It is as slow as the windows allow, for each question to an instrument costs time of the wall clock.
    """

    def __init__(self, sheet: DataSheet, case: Case, time: VirtualTime) -> None:
        self._time = time
        window_s = case.steps * case.load.step_s + 2 * case.idle_s
        times = {"meter": ASKED, "host": LOOKS}[sheet.timestamps]
        self._least = window_s / times if sheet.marker != "none" else 0.0
        self._told: Told | None = None
        self._answered_ps = 0

    @property
    def clock(self) -> Host:
        """What the driver has of it."""
        return Host(self._now, self._sleep)

    def _now(self) -> float:
        self._tell()
        return self._time.seconds()

    def _sleep(self, seconds: float) -> None:
        self._time.sleep(max(seconds, self._least))
        self._tell()

    def _tell(self) -> None:
        told = self._told
        if told is not None and self._time.ps >= self._answered_ps:
            self._told = None
            told.mark(False)

    def ask(self, meter: Meter, answered_ps: int) -> None:
        """Ask the board to train, and be answered later."""
        self._told, self._answered_ps = meter if isinstance(meter, Told) else None, answered_ps
        if self._told is not None:
            self._told.mark(True)


def _window(meter: Meter, host: _Host, stage: Stage, case: Case, rng: np.random.Generator) -> tuple[Capture, int]:
    """Let the board live through one window while the meter reads, and again where it is thrown away; return it, and how often it was.

    Raises:
        Blocked: it was too often.
    """
    reason = ""
    for again in range(MOST_SPOILED):
        meter.arm()
        begin_s = case.idle_s + float(rng.uniform(0, 2)) * case.interval_s
        end_ps = stage.window(
            stage.time.ps + round(begin_s * PS_PER_S), case.steps, 1 + case.load.spread * float(rng.standard_normal())
        )
        host.ask(meter, end_ps + round((case.idle_s + ANSWER_S) * PS_PER_S))
        try:
            return with_both_edges(meter.capture(DEADLINE_S), case.idle_s), again
        except Spoiled as spoiled:
            reason = str(spoiled).rstrip(".")
    raise Blocked("energy", f"a window was thrown away {MOST_SPOILED} times, the last because {reason}.")
