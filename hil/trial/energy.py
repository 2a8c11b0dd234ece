"""Energy windows in a trial: autonomous steps between two edges of the marker, each window checked bit for bit at its end."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from hil.errors import Blocked
from hil.measure.capture import Capture
from hil.measure.energy import MLPERF_TINY, EnergyResult, Task, energy_of_windows
from hil.measure.more import plan_more, reached
from hil.measure.window import edges_of, table
from hil.meters.edges import with_both_edges
from hil.meters.meter import Meter, Setting, Spoiled, Told
from hil.quantity import Provenance
from hil.trial.difference import Difference, differing_tensors
from hil.trial.outcome import PHASES
from hil.trial.spec import EnergyWindows

if TYPE_CHECKING:
    from hil.trial.lockstep import LockStep

MOST_SPOILED = 6  # windows thrown away in one measurement, those that find the range among them
MOST_ROUNDS = 4  # of more or longer windows for an uncertainty
MOST_STEPS, MOST_IDLE_MS = 0xFFFF, 0xFFFF  # docs/link.md, `run`
READINGS = 10_000  # of a window at most: more tell nothing new of its energy, and make a trace that no page shows
FEWEST_READINGS = 20  # of a window
IDLE_READINGS = 40  # of each sleep; a meter takes the nearest interval that it can do, which may be two and a half times as long
MLPERF_WINDOWS, MLPERF_S = 5, 10.0
MLPERF_SPARE = 1.02  # the board's clock may be fast
READ_DEADLINE_S = 20.0
SLOWEST = 30.0  # times the expected length of a window: so much slower may a stand-in be than its board
SILENCE = 5.0  # times the expected length of a window, before the agent is asked whether it still lives
PHASE_READINGS = 10
ASSUMED = (
    "the board behind this meter is a stand-in: its currents are assumed (idle of the RP2040: FQT paper, table II), "
    "the energy says nothing about silicon."
)


def measure_windows(trial: LockStep, meter: Meter, wanted: EnergyWindows, point: str | None = None) -> None:
    """Run the windows and leave result, power trace and step times in the outcome.

    Args:
        trial: after its compared steps.
        meter: wired to the board.
        wanted: how many windows, how long, by which rules.
        point: where the meter is in the board's supply.

    Raises:
        Blocked: the meter failed, too many windows were spoiled, or the batch is larger than the board's slots.
    """
    if trial.p.slots < trial.p.settings.batch:
        raise Blocked("energy", "a batch that streams cannot be trained without talking: choose one that the board holds.")
    with _probe_away(trial) as detached:
        windows = _Windows(trial, meter, wanted)
        windows.warm_up()
        result = windows.measure() if trial.outcome.difference is None else None
        if result is None:
            return
    about = {"supply_v": trial.p.board.supply_v, "measuring_point": point or _usual_point(meter), "probe_detached": detached}
    result.meter |= about
    trial.outcome.energy = result
    trial.outcome.power = [table(capture, number) for number, capture in enumerate(windows.captures)]
    trial.outcome.laps_s = list(windows.laps_s)


@contextlib.contextmanager
def _probe_away(trial: LockStep) -> Iterator[bool | None]:
    """Let go of the chip's debug port, whose clocks take power; yield whether a probe was let go of, None where there is none."""
    probe = trial.witness.probe if trial.witness is not None else None
    if probe is None:
        yield None
        return
    probe.detach()
    try:
        yield True
    finally:
        probe.attach()


def _usual_point(meter: Meter) -> str:
    return "the board's supply, which the meter feeds" if meter.sheet.feeds else "not told: write measuring_point into rig.toml"


class _Windows:
    """Takes windows until there are enough.

    Attributes:
        captures: the good ones.
        laps_s: time of each step of the last window, by the board's clock.
    """

    def __init__(self, trial: LockStep, meter: Meter, wanted: EnergyWindows) -> None:
        self._trial, self._meter, self._wanted = trial, meter, wanted
        self._steps, self._step_s = max(wanted.steps, 1), _step_s(trial)
        self._used = meter.sheet.ranges[-1]
        self._spoiled = 0
        self.captures: list[Capture] = []
        self.laps_s: tuple[float, ...] = ()

    def warm_up(self) -> None:
        """Run one window that does not count, on the largest range: it tells the largest current and how long a step takes."""
        self._configure()
        capture = self._good_window()
        if capture is None:
            return
        up, down = edges_of(capture)
        self._step_s = (down.t_s - up.t_s) / self._steps
        current = np.where(np.isnan(capture.current_a), capture.power_w / self._trial.p.board.supply_v, capture.current_a)
        self._used = self._meter.sheet.range_for(min(float(np.max(current)), self._used.amperes))
        self._steps = self._enough_steps()
        self._configure()

    def measure(self) -> EnergyResult | None:
        """Take windows until there are enough; None when board and reference differed."""
        count = MLPERF_WINDOWS if self._wanted.rules else self._wanted.windows
        result = self._take(count)
        asked = self._wanted.uncertainty
        for _ in range(MOST_ROUNDS if asked is not None else 0):
            if result is None or reached(result, asked or 0.0):
                break
            plan = plan_more(result, asked or 0.0)
            if plan is None:
                break
            if plan.steps != self._steps:
                self._steps, self.captures = min(plan.steps, MOST_STEPS), []
                self._configure()
            result = self._take(plan.windows)
        if result is not None and asked is not None:
            got = result.expanded / abs(result.per_step)
            result.asked = {"relative": asked, "got": got, "reached": got <= asked}
            if got > asked:
                result.flags.append(f"an uncertainty of {asked:.2%} was asked for, and {got:.2%} was reached: see the budget for what is left.")
        return result

    def _take(self, count: int) -> EnergyResult | None:
        while len(self.captures) < count:
            capture = self._good_window()
            if capture is None:
                return None
            self.captures.append(capture)
        clock_hz = self._trial.outcome.clock_hz
        self.laps_s = tuple(sum(lap) / clock_hz for lap in self._trial.device.laps()) if clock_hz else ()
        return self._evaluate()

    def _evaluate(self) -> EnergyResult:
        trial, meter, first = self._trial, self._meter, self.captures[0]
        hardware = trial.outcome.reality == "hardware"
        word = Provenance.MEASURED if hardware else Provenance.MODELLED
        about: dict[str, Any] = {
            "name": meter.sheet.name, "identity": meter.identity, "range": self._used.amperes, "aperture_s": first.aperture_s,
            "interval_s": first.interval_s, "data_sheet": meter.sheet.key,
        }  # fmt: skip
        task = Task(
            self._steps, self._idle_ms() / 1000, trial.p.board.supply_v, trial.p.settings.batch, len(trial.p.data.train_images),
            self._wanted.rules, self.laps_s,
        )  # fmt: skip
        result = energy_of_windows(self.captures, task, meter.sheet, self._used, about, word.value)
        shortest = min(window.duration for window in result.windows)
        if self._wanted.rules == MLPERF_TINY and shortest < MLPERF_S:
            raise Blocked("energy", f"a window took {shortest:.3f} s, and MLPerf Tiny asks for {MLPERF_S:g} s: run again.")
        result.assumptions += [] if hardware else [ASSUMED]
        result.phases = _phases_refused(trial, first)
        return result

    def _good_window(self) -> Capture | None:
        """Return the next window that is not spoiled, on the range that holds it; None when board and reference differed."""
        while True:
            try:
                capture = self._one_window()
            except Spoiled as spoiled:
                if self._trial.outcome.difference is not None:
                    return None
                self._after(spoiled)
                continue
            return capture if self._trial.outcome.difference is None else None

    def _after(self, spoiled: Spoiled) -> None:
        """Throw a window away: beyond the range all are, for windows on two ranges are not comparable."""
        self._spoiled += 1
        sheet = self._meter.sheet
        if spoiled.beyond_range:
            larger = [one for one in sheet.ranges if one.amperes > self._used.amperes]
            if not larger:
                raise Blocked(
                    "meter", f"the board draws more than {self._used.amperes:g} A, the largest range of the {sheet.name}: measure with another instrument."
                ) from spoiled
            self._used, self.captures = larger[0], []
            self._configure()
        if self._spoiled > MOST_SPOILED:
            raise Blocked("energy", f"{self._spoiled} windows were thrown away, the last because {str(spoiled).rstrip('.')}: run again.") from spoiled

    def _one_window(self) -> Capture:
        """Train the steps of one window on board and reference; return what the meter saw.

        The meter is read while the board trains: one that is polled has no other time.
        """
        trial, steps = self._trial, self._steps
        images, labels = trial.next_batch()
        first, trial.next_step = trial.next_step, trial.next_step + steps
        with ThreadPoolExecutor(max_workers=2) as worker:
            pending = worker.submit(lambda: [trial.reference.step(images, labels) for _ in range(steps)])
            trial.device.samples(images, labels)
            self._meter.arm()
            seen = worker.submit(self._meter.capture, READ_DEADLINE_S + SLOWEST * (self._window_s() + 2 * self._idle_ms() / 1000))
            told = self._meter if isinstance(self._meter, Told) else None
            if told is not None:
                told.mark(True)
            reply = trial.device.run(first, steps, len(images), self._idle_ms(), self._silence())
            if told is not None:
                told.mark(False)
            outcome = pending.result()[-1]
            _compare(trial, reply, outcome.digests, steps)
            return with_both_edges(seen.result(), self._idle_ms() / 1000)

    def _configure(self) -> None:
        self._meter.configure(Setting(self._trial.p.board.supply_v, self._used.amperes, self._interval_s(), self._idle_ms() / 1000, self._window_s()))

    def _window_s(self) -> float:
        return self._steps * self._step_s

    def _interval_s(self) -> float:
        return max(1 / self._meter.sheet.fastest_hz, self._window_s() / READINGS)

    def _idle_ms(self) -> int:
        wanted = max(self._wanted.idle_ms, math.ceil(1000 * IDLE_READINGS * self._interval_s()))
        return min(wanted, MOST_IDLE_MS)

    def _enough_steps(self) -> int:
        """Return how many steps a window needs: for readings enough, and by the rules."""
        shortest = MLPERF_SPARE * MLPERF_S if self._wanted.rules else FEWEST_READINGS / self._meter.sheet.fastest_hz
        steps = max(self._steps, math.ceil(shortest / self._step_s))
        if steps > MOST_STEPS:
            raise Blocked("energy", f"{shortest:g} s are {steps:,} steps, and a window has {MOST_STEPS:,} at most: train a larger batch.")
        return steps

    def _silence(self) -> float:
        """Return how long the line must stay silent: the board's own time of a step, by wall clock at least a few seconds."""
        return SILENCE + SILENCE * self._window_s() + 2 * self._idle_ms() / 1000


def _step_s(trial: LockStep) -> float:
    """Return the time of a step by the board's own count, a tenth of a second where it has none."""
    if not trial.outcome.steps or not trial.outcome.clock_hz:
        return 0.1
    return float(np.mean([row.cycles["total"] for row in trial.outcome.steps])) / trial.outcome.clock_hz


def _phases_refused(trial: LockStep, capture: Capture) -> dict[str, Any]:
    """Say why the energy of a step is not split into its phases, and how long they are."""
    clock_hz = trial.outcome.clock_hz
    if not clock_hz or not trial.outcome.steps:
        return {"seconds": {}, "refused": "the board has no count of its phases."}
    inside = [phase for phase in PHASES if phase not in ("total", "digest")]  # digests are taken behind the window
    means = {phase: float(np.mean([row.cycles[phase] for row in trial.outcome.steps])) / clock_hz for phase in inside}
    seconds = {phase: mean for phase, mean in means.items() if mean > 0}
    shortest = min(seconds, key=lambda phase: seconds[phase])
    if seconds[shortest] < PHASE_READINGS * capture.interval_s:
        reason = (
            f"the phase {shortest!r} takes {1000 * seconds[shortest]:.3g} ms a step and a reading {1000 * capture.interval_s:.3g} ms: "
            f"{PHASE_READINGS} readings of each phase are needed."
        )
    else:
        reason = "the firmware's marker tells where a window begins and ends, and not where a phase does."
    return {"seconds": seconds, "refused": reason}


def _compare(trial: LockStep, reply: dict[str, Any], reference: tuple[int, ...], steps: int) -> None:
    wrong = differing_tensors(reply["digests"], reference)
    trial.outcome.final_digests = reply["digests"]
    trial.outcome.autonomous += steps
    if wrong:
        ours, theirs = f"digest {reply['digests'][wrong[0]]:08X}", f"digest {reference[wrong[0]]:08X}"
        name = trial.p.subject.tensors[wrong[0]].name
        what = f"after {steps} autonomous steps, weight"
        trial.outcome.difference = Difference(trial.next_step - 1, name, None, ours, theirs, what)
