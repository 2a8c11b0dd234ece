"""The windows of an energy measurement: taken until there are enough, each checked bit for bit at its end."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hil.errors import Blocked
from hil.link.replies import Stepped
from hil.measure.capture import Capture
from hil.measure.conditions import Conditions
from hil.measure.data_sheet import DataSheet
from hil.measure.energy import MLPERF_TINY, EnergyResult, Task, energy_of_windows
from hil.measure.mlperf_tiny import SHORTEST_S, WINDOWS
from hil.measure.more import plan_more, reached
from hil.measure.phases import Counted
from hil.measure.provenance import word_of
from hil.measure.ranges import first_range, next_range, range_with_headroom
from hil.measure.swings import Fast, fast_of
from hil.measure.synchronise import HOST, SERIAL
from hil.measure.window import edges_of
from hil.meters.edges import with_both_edges
from hil.meters.meter import Meter, Pulsed, Setting, Spoiled, Told
from hil.quantity import Provenance
from hil.threads import ThreadPool
from hil.trial.autonomous import same_after_run
from hil.trial.confirm.clock import BOARD_CLOCK
from hil.trial.confirm.lengths import Lengths
from hil.trial.energy_phases import SMEARED, counted_of, phases_json
from hil.trial.spec import EnergyWindows

if TYPE_CHECKING:
    from hil.trial.lockstep import LockStep

MOST_SPOILED = 6  # windows thrown away in one measurement, those that find the range among them
MOST_ROUNDS = 4  # of more or longer windows for an uncertainty
MOST_STEPS, MOST_IDLE_MS = 0xFFFF, 0xFFFF  # docs/link.md, `run`
READINGS = 10_000  # of a window at most: more tell nothing new of its energy, and make a trace that no page shows
WARM_UP_READINGS = 20_000  # of the window that looks for bursts: it is shorter than the others rather than slower; a 34465A keeps 50,000, its sleeps among them
FEWEST_READINGS = 20  # of a window
IDLE_READINGS = 40  # of each sleep; a meter takes the nearest interval that it can do, which may be two and a half times as long
IDLE_SHARE = 0.25  # of a window, of each sleep where idle is subtracted: else longer windows would scatter by their idle power as much as short ones
MLPERF_SPARE = 1.02  # the board's clock may be fast
READ_DEADLINE_S = 20.0
SLOWEST = 30.0  # times the expected length of a window: so much slower may a stand-in be than its board
SILENCE = 5.0  # times the expected length of a window, before the agent is asked whether it still lives
ASSUMED = (
    "the board behind this meter is a stand-in: its currents are assumed (idle of the RP2040: FQT paper, table II), "
    "the energy says nothing about silicon."
)


class Windows:
    """Takes windows until there are enough.

    Attributes:
        captures: the good ones.
        counted: what the board counted in each of them.
        laps_s: time of each step of the last window, by the board's clock.
    """

    def __init__(self, trial: LockStep, meter: Meter, wanted: EnergyWindows, conditions: Conditions) -> None:
        self._trial, self._meter, self._wanted, self._conditions = trial, meter, wanted, conditions
        self._steps, self._step_s = max(wanted.steps, 1), _step_s(trial)
        self._used, self._pace_s = first_range(meter.sheet), 1 / meter.sheet.fastest_hz
        self._spoiled, self._readings = 0, READINGS
        self._fast: Fast | None = None
        self._lengths = Lengths(trial.outcome.figures, trial.outcome.clock_hz or 0)
        self.captures: list[Capture] = []
        self.counted: list[Counted | None] = []
        self.laps_s: tuple[float, ...] = ()

    def warm_up(self) -> None:
        """Run one window that does not count, on the largest range and at the meter's fastest rate: it shows the largest current and how it swings."""
        wanted, self._pace_s, self._readings = self._steps, _fastest_s(self._meter.sheet), WARM_UP_READINGS
        self._steps = min(wanted, max(1, int(WARM_UP_READINGS * self._pace_s / self._step_s)))
        self._configure()
        if isinstance(self._meter, Pulsed) and self._meter.falling_only:
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
        """Take windows until there are enough; None when board and reference differed."""
        count = WINDOWS if self._wanted.rules else self._wanted.windows
        result = self._take(count)
        asked = self._wanted.uncertainty
        for _ in range(MOST_ROUNDS if asked is not None else 0):
            if result is None or reached(result, asked or 0.0):
                break
            plan = plan_more(result, asked or 0.0)
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
                result.flags.append(f"an uncertainty of {asked:.2%} was asked for, and {got:.2%} was reached: see the budget for what is left.")
        return result

    def _take(self, count: int) -> EnergyResult | None:
        while len(self.captures) < count:
            found = self._good_window()
            if found is None:
                return None
            self.captures.append(found[0])
            self.counted.append(found[1])
        last = self.counted[-1]
        self.laps_s = tuple(sum(lap.values()) for lap in last.laps) if last is not None else ()
        return self._evaluate()

    def _evaluate(self) -> EnergyResult:
        trial, meter, first = self._trial, self._meter, self.captures[0]
        word = word_of(trial.outcome.reality, meter.identity)
        about: dict[str, Any] = {
            "name": meter.sheet.name, "identity": meter.identity, "range": self._used.amperes, "aperture_s": first.aperture_s,
            "interval_s": first.interval_s, "data_sheet": meter.sheet.key,
        }  # fmt: skip
        task = Task(
            self._steps, self._idle_ms() / 1000, trial.p.board.supply_v, trial.p.settings.batch, len(trial.p.data.train_images),
            self._wanted.rules, self.laps_s, self._conditions, self._fast,
        )  # fmt: skip
        result = energy_of_windows(self.captures, task, meter.sheet, self._used, about, word.value)
        shortest = min(window.duration for window in result.windows)
        if self._wanted.rules == MLPERF_TINY and shortest < SHORTEST_S:
            raise Blocked("energy", f"a window took {shortest:.3f} s, and MLPerf Tiny asks for {SHORTEST_S:g} s: run again.")
        result.assumptions += [] if word is Provenance.MEASURED else [ASSUMED]
        result.phases = phases_json(self.captures, result, self.counted, meter.sheet, self._used)
        result.assumptions += [SMEARED] if result.phases["split"] else []
        return result

    def _good_window(self) -> tuple[Capture, Counted | None] | None:
        """Return the next window that is not spoiled, on the range that holds it, and what the board counted; None when board and reference differed."""
        while True:
            try:
                found = self._one_window()
            except Spoiled as spoiled:
                if self._trial.outcome.difference is not None:
                    return None
                self._after(spoiled)
                continue
            return found if self._trial.outcome.difference is None else None

    def _after(self, spoiled: Spoiled) -> None:
        """Throw a window away: beyond the range all are, for windows on two ranges are not comparable."""
        self._spoiled += 1
        sheet = self._meter.sheet
        if self._lengths.want_another and self._steps < MOST_STEPS:
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
            raise Blocked("energy", f"{self._spoiled} windows were thrown away, the last because {str(spoiled).rstrip('.')}: run again.") from spoiled

    def _start_anew(self) -> None:
        """Windows of another length or on another range are not comparable with those of before."""
        self.captures, self.counted = [], []
        self._configure()

    def _one_window(self) -> tuple[Capture, Counted | None]:
        """Train the steps of one window on board and reference; return what the meter saw and what the board counted.

        The meter is read while the board trains: one that is polled has no other time.
        """
        trial, steps = self._trial, self._steps
        images, labels = trial.next_batch()
        first, trial.next_step = trial.next_step, trial.next_step + steps
        with ThreadPool(max_workers=2) as worker:
            pending = worker.submit(lambda: [trial.reference.step(images, labels) for _ in range(steps)])
            trial.device.samples(images, labels)
            self._meter.arm()
            seen = worker.submit(self._meter.capture, READ_DEADLINE_S + SLOWEST * (self._window_s() + 2 * self._idle_ms() / 1000))
            told = self._meter if isinstance(self._meter, Told) else None
            if told is not None:
                told.mark(True)
            reply = trial.device.run(first, steps, len(images), self._idle_ms(), self._silence())
            if told is not None:
                told.mark(False, *_duration(reply, trial.outcome.clock_hz))
            outcome = pending.result()[-1]
            same_after_run(trial, reply, outcome.digests, steps)
            capture = with_both_edges(seen.result(), self._idle_ms() / 1000)
        if trial.outcome.reality != "hardware" and capture.synchronisation in (SERIAL, HOST):
            raise Blocked("energy", f"the edges of a window were dated by this computer's clock, and a {trial.outcome.reality} board keeps a time of its own.")
        counted = counted_of(trial, reply, steps)
        self._lengths.compare(capture, counted, steps)
        return capture, counted

    def _configure(self) -> None:
        self._meter.configure(Setting(self._trial.p.board.supply_v, self._used.amperes, self._interval_s(), self._idle_ms() / 1000, self._window_s()))

    def _window_s(self) -> float:
        return self._steps * self._step_s

    def _interval_s(self) -> float:
        return max(self._pace_s, self._window_s() / self._readings)

    def _idle_ms(self) -> int:
        share = 0.0 if self._wanted.rules else IDLE_SHARE * self._window_s()
        return min(max(self._wanted.idle_ms, math.ceil(1000 * max(IDLE_READINGS * self._interval_s(), share))), MOST_IDLE_MS)

    def _enough_steps(self) -> int:
        """Return how many steps a window needs: for readings enough, and by the rules."""
        shortest = MLPERF_SPARE * SHORTEST_S if self._wanted.rules else FEWEST_READINGS / self._meter.sheet.fastest_hz
        steps = max(self._steps, math.ceil(shortest / self._step_s))
        if steps > MOST_STEPS:
            raise Blocked("energy", f"{shortest:g} s are {steps:,} steps, and a window has {MOST_STEPS:,} at most: train a larger batch.")
        return steps

    def _silence(self) -> float:
        """Return how long the line must stay silent: the board's own time of a step, by wall clock at least a few seconds."""
        return SILENCE + SILENCE * self._window_s() + 2 * self._idle_ms() / 1000


def _fastest_s(sheet: DataSheet) -> float:
    """Return the shortest interval that a meter can look at the current by, below which its limits of error need not hold.

    One whose readings the host dates does no better than its usual rate.
    """
    return sheet.apertures_s[0] if sheet.apertures_s[0] and sheet.timestamps == "meter" else 1 / sheet.fastest_hz


def _step_s(trial: LockStep) -> float:
    """Return the time of a step by the board's own count, a tenth of a second where it has none."""
    if not trial.outcome.steps or not trial.outcome.clock_hz:
        return 0.1
    return float(np.mean([row.cycles["total"] for row in trial.outcome.steps])) / trial.outcome.clock_hz


def _duration(reply: Stepped, clock_hz: int | None) -> tuple[float, float]:
    """Return how long the steps took by the board's clock, and how wrong that may be, in seconds; infinite where it has no counter."""
    if not clock_hz:
        return math.inf, 0.0
    seconds = (reply.cycles["total"] - reply.cycles["digest"]) / clock_hz
    return seconds, BOARD_CLOCK * seconds
