"""Windows of an energy measurement: measured until there are enough, each checked bit for bit at its end."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hil.energy import MLPERF_TINY
from hil.energy.bursts import Fast, fast_of
from hil.energy.capture import Capture, WindowRequest
from hil.energy.conditions import Conditions
from hil.energy.current_ranges import first_range, next_range, range_with_headroom
from hil.energy.data_sheet import DataSheet
from hil.energy.edge_search import HOST
from hil.energy.integration import integral
from hil.energy.mlperf_tiny import SHORTEST_S, WINDOWS
from hil.energy.phase_energy import Counted
from hil.energy.provenance import provenance_of
from hil.energy.step_energy import EnergyResult, MeasuredTask, energy_of_windows
from hil.energy.window import edges_of
from hil.energy.window_planning import plan_windows, reached
from hil.errors import Blocked
from hil.link.failures import Refused
from hil.link.replies import Stepped
from hil.meters.awaited import Awaited
from hil.meters.meter import HostMarked, InvalidWindow, Meter, Setting
from hil.meters.window_edges import with_both_edges
from hil.quantity import Provenance
from hil.steady_clock import SteadyClock
from hil.threads import ThreadPool
from hil.training.trial.board_step import same_after_run
from hil.training.trial.energy_phases import SMEARED, counted_of, phases_json
from hil.training.trial.second_sources.counter import BOARD_CLOCK
from hil.training.trial.second_sources.window_lengths import Lengths
from hil.training.trial.spec import EnergyWindows
from hil.training.trial.step_failure import explained, trained

if TYPE_CHECKING:
    from hil.training.trial.lockstep import LockStep

LOG = logging.getLogger(__name__)
MOST_SPOILED = 6  # discarded windows in one measurement, including those that find the range
MOST_ROUNDS = 4  # rounds of more or longer windows for a requested uncertainty
MOST_STEPS, MOST_IDLE_MS = 0xFFFF, 0xFFFF  # docs/link.md, `run`
READINGS = 10_000  # most readings in a window: more do not improve its energy, and no page shows them
# Most readings in the window that looks for bursts. It is shorter than the others, not slower. A 34465A keeps 50,000,
# including those of the sleeps.
WARM_UP_READINGS = 20_000
FEWEST_READINGS = 20  # least readings in a window
# of each sleep; a meter takes the nearest interval that it can do, which may be two and a half times as long
IDLE_READINGS = 40
# Length of each sleep as a share of the window, if idle energy is subtracted. Otherwise longer windows would scatter by
# their idle power as much as short ones.
IDLE_SHARE = 0.25
MLPERF_SPARE = 1.02  # the board's clock may be fast
READ_DEADLINE_S = 20.0
SLOWEST = 30.0  # times the expected length of a window: limit for a stand-in that is slower than its board
SILENCE = 5.0  # times the expected length of a window, before the agent is asked whether it is alive
ASSUMED = (
    "the board behind this meter is a stand-in: its currents are assumed (idle of the RP2040: FQT paper, table II), "
    "the energy says nothing about silicon."
)


class Windows:
    """Measures windows until there are enough.

    Attributes:
        captures, counted: the good windows, and the board's counts for each.
        laps_s: time of each step of the last window, by the board's clock.
    """

    def __init__(self, trial: LockStep, meter: Meter, wanted: EnergyWindows, conditions: Conditions) -> None:
        self._trial, self._meter, self._wanted, self._conditions = trial, meter, wanted, conditions
        self._steps, self._step_s = max(wanted.steps, 1), _step_s(trial)
        self._used, self._pace_s = first_range(meter.sheet), 1 / meter.sheet.fastest_hz
        self._spoiled, self._readings = 0, READINGS
        self._fast: Fast | None = None
        self._lengths = Lengths(trial.outcome.figures, trial.outcome.clock_hz)
        self.captures: list[Capture] = []
        self.counted: list[Counted | None] = []
        self.laps_s: tuple[float, ...] = ()

    def warm_up(self) -> None:
        """Run one window that does not count, on the largest range and at the meter's fastest rate.

        It shows the largest current and its swing.
        """
        wanted, self._pace_s, self._readings = self._steps, _fastest_s(self._meter.sheet), WARM_UP_READINGS
        self._steps = min(wanted, max(1, int(WARM_UP_READINGS * self._pace_s / self._step_s)))
        self._configure()
        if self._meter.falling_only:
            self._trial.device.mark_by_pulses()
        found = self._good_window()
        if found is None:
            return
        capture, _ = found
        up, down = edges_of(capture)
        self._step_s = (down.t_s - up.t_s) / self._steps
        self._fast = fast_of(capture)
        self._used = range_with_headroom(self._meter.sheet, self._fast.peak_a)
        self._pace_s, self._readings, self._steps = 1 / self._meter.sheet.fastest_hz, READINGS, wanted
        self._steps = self._enough_steps()
        self._configure()

    def measure(self) -> EnergyResult | None:
        """Measure windows until there are enough; return None if board and reference differed."""
        count = WINDOWS if self._wanted.rules else self._wanted.windows
        result = self._take(count)
        asked = self._wanted.uncertainty
        for _ in range(MOST_ROUNDS if asked is not None else 0):
            if result is None or reached(result, asked or 0.0):
                break
            plan = plan_windows(result, asked or 0.0)
            if plan is None:
                break
            if plan.steps != self._steps:
                self._steps = min(plan.steps, MOST_STEPS)
                self._start_anew()
            result = self._take(plan.windows)
        if result is not None and asked is not None:
            got = result.expanded / abs(result.per_step)
            result.asked = {"relative": asked, "got": got, "reached": got <= asked}
            if got > asked:
                result.flags.append(
                    f"an uncertainty of {asked:.2%} was asked for, and {got:.2%} was reached: "
                    "see the budget for what is left."
                )
        return result

    def _take(self, count: int) -> EnergyResult | None:
        while len(self.captures) < count:
            found = self._good_window()
            if found is None:
                return None
            up, down = edges_of(found[0])
            if self._wanted.rules == MLPERF_TINY and down.t_s - up.t_s < SHORTEST_S:
                self._lengthen(down.t_s - up.t_s)
                continue
            self.captures.append(found[0])
            joules = integral(found[0], found[0].power_w, up.t_s, down.t_s)
            self._trial.watch.power(joules / (down.t_s - up.t_s))
            self.counted.append(found[1])
        last = self.counted[-1]
        self.laps_s = tuple(sum(lap.values()) for lap in last.laps) if last is not None else ()
        return self._evaluate()

    def _lengthen(self, window_s: float) -> None:
        """Discard all windows for longer ones: a step takes less time as training goes on and leaves fewer errors."""
        self._spoiled += 1
        if self._spoiled > MOST_SPOILED:
            raise Blocked(
                "energy", f"a window took {window_s:.3f} s, and MLPerf Tiny requires {SHORTEST_S:g} s: run again."
            )
        self._step_s = window_s / self._steps
        self._steps = self._enough_steps()
        self._start_anew()

    def _evaluate(self) -> EnergyResult:
        trial, meter, first = self._trial, self._meter, self.captures[0]
        word = provenance_of(trial.outcome.reality, meter.identity)
        about: dict[str, Any] = {
            "name": meter.sheet.name, "identity": meter.identity, "range": self._used.amperes,
            "aperture_s": first.aperture_s,
            "interval_s": first.interval_s, "data_sheet": meter.sheet.key,
        }  # fmt: skip
        task = MeasuredTask(
            self._steps, self._idle_ms() / 1000, trial.p.board.supply_v, trial.p.settings.batch,
            len(trial.p.data.train_images),
            self._wanted.rules, self.laps_s, self._conditions, self._fast,
        )  # fmt: skip
        result = energy_of_windows(self.captures, task, meter.sheet, self._used, about, word.value)
        result.assumptions += [] if word is Provenance.MEASURED else [ASSUMED]
        result.phases = phases_json(self.captures, result, self.counted, meter.sheet, self._used)
        result.assumptions += [SMEARED] if result.phases["split"] else []
        return result

    def _good_window(self) -> tuple[Capture, Counted | None] | None:
        """Return the next good window and the board's counts; None if board and reference differed."""
        while True:
            try:
                found = self._one_window()
            except InvalidWindow as spoiled:
                if self._trial.outcome.difference is not None:
                    return None
                self._after(spoiled)
                continue
            return found if self._trial.outcome.difference is None else None

    def _after(self, spoiled: InvalidWindow) -> None:
        """Discard a spoiled window; beyond the range discard all, because windows on two ranges are not comparable."""
        self._spoiled += 1
        LOG.info("window discarded: %s", spoiled)
        sheet = self._meter.sheet
        if self._lengths.another_length_needed and self._steps < MOST_STEPS:
            self._steps = min(2 * self._steps, MOST_STEPS)
            self._start_anew()
        if spoiled.beyond_range:
            larger = next_range(sheet, self._used.amperes)
            if larger is None:
                reason = str(spoiled).rstrip(".")
                largest = f"{self._used.amperes:g} A is the largest range of the {sheet.name}"
                raise Blocked("meter", f"{reason}; {largest}: use another meter or supply.") from spoiled
            self._used = larger
            self._start_anew()
        if self._spoiled > MOST_SPOILED:
            self._lengths.judge()
            raise Blocked(
                "energy",
                f"{self._spoiled} windows were discarded, the last because {str(spoiled).rstrip('.')}: run again.",
            ) from spoiled

    def _start_anew(self) -> None:
        """Discard all windows, because those of another length or range are not comparable."""
        self.captures, self.counted = [], []
        self._configure()

    def _one_window(self) -> tuple[Capture, Counted | None]:
        """Train the steps of one window on board and reference; return the meter's capture and the board's counts.

        The meter is read while the board trains, because a polled meter cannot be read later.
        """
        trial, steps = self._trial, self._steps
        batch = trial.next_batch()
        images, labels, _ = batch
        first, trial.next_step = trial.next_step, trial.next_step + steps
        with ThreadPool(max_workers=1) as worker:
            pending = worker.submit(lambda: [trial.reference.step(images, labels) for _ in range(steps)])
            trial.device.fill(batch)
            self._meter.arm()
            deadline_s = READ_DEADLINE_S + SLOWEST * (self._window_s() + 2 * self._idle_ms() / 1000)
            seen = Awaited(lambda: self._meter.capture(deadline_s), self._meter.sheet.name, deadline_s, LOG.warning)
            marked = self._meter if isinstance(self._meter, HostMarked) else None
            if marked is not None:
                marked.mark(True)
            clock, idle_s = SteadyClock.set(), self._idle_ms() / 1000
            LOG.info("window of %d steps asked for, with %g s of sleep before and after", steps, idle_s)
            try:
                # the line stays silent for a multiple of the window, and a few seconds
                silence_s = SILENCE + SILENCE * self._window_s() + 2 * idle_s
                reply = trial.device.run(first, steps, len(images), self._idle_ms(), silence_s)
            except Refused as refusal:
                raise explained(refusal, pending, first, trial.p.method.plan.layers) from refusal
            if marked is not None:
                marked.mark(False, *_duration(trial, reply))
            asked_s, answered_s = clock.unix_s, clock.now().timestamp()
            request = WindowRequest(asked_s, answered_s, time.localtime(asked_s).tm_gmtoff, idle_s)
            LOG.info("window answered")
            outcome = trained(pending)[-1]
            same_after_run(trial, reply, outcome.digests, steps)
            # The reply says that the steps are over: only the sleep and the transfer are left.
            capture = replace(
                with_both_edges(seen.result(idle_s, READ_DEADLINE_S + SLOWEST * idle_s + self._window_s()), idle_s),
                request=request,
            )
        if trial.outcome.reality != "hardware" and capture.synchronisation == HOST:
            raise Blocked(
                "energy",
                f"the edges of a window were dated by this computer's clock, but a {trial.outcome.reality} board "
                "has its own time.",
            )
        counted = counted_of(trial, reply, steps)
        self._lengths.compare(capture, counted, steps)
        return capture, counted

    def _configure(self) -> None:
        supply_v, idle_s = self._trial.p.board.supply_v, self._idle_ms() / 1000
        self._meter.configure(Setting(supply_v, self._used.amperes, self._interval_s(), idle_s, self._window_s()))

    def _window_s(self) -> float:
        return self._steps * self._step_s

    def _interval_s(self) -> float:
        return max(self._pace_s, self._window_s() / self._readings)

    def _idle_ms(self) -> int:
        share = 0.0 if self._wanted.rules else IDLE_SHARE * self._window_s()
        return min(
            max(self._wanted.idle_ms, math.ceil(1000 * max(IDLE_READINGS * self._interval_s(), share))), MOST_IDLE_MS
        )

    def _enough_steps(self) -> int:
        """Return the number of steps that a window needs for enough readings and by the rules."""
        shortest = MLPERF_SPARE * SHORTEST_S if self._wanted.rules else FEWEST_READINGS / self._meter.sheet.fastest_hz
        steps = max(self._steps, math.ceil(shortest / self._step_s))
        if steps > MOST_STEPS:
            raise Blocked(
                "energy",
                f"{shortest:g} s are {steps:,} steps, and a window has at most {MOST_STEPS:,}: train a larger batch.",
            )
        return steps


def _fastest_s(sheet: DataSheet) -> float:
    """Return the shortest interval at which a meter can read the current, even outside its error limits.

    A meter whose readings the host dates has no shorter interval than usual.
    """
    return sheet.apertures_s[0] if sheet.apertures_s[0] and sheet.timestamps == "meter" else 1 / sheet.fastest_hz


def _step_s(trial: LockStep) -> float:
    """Return the time of a step by the board's counter; 0.1 s if it has none."""
    if not trial.outcome.steps or not trial.checks.counts:
        return 0.1
    return float(np.mean([row.cycles["total"] for row in trial.outcome.steps])) / trial.outcome.clock_hz


def _duration(trial: LockStep, reply: Stepped) -> tuple[float, float]:
    """Return the duration of the steps by the board's clock and its error limit, in s; infinite without a counter."""
    if not trial.checks.counts:
        return math.inf, 0.0
    seconds = (reply.cycles["total"] - reply.cycles["digest"]) / trial.outcome.clock_hz
    return seconds, BOARD_CLOCK * seconds
