"""All checks of reported figures during a trial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from hil.dut import CoreProbe
from hil.link.replies import CountedWork, Stepped
from hil.training.methods.figures import StepWork
from hil.training.trial.second_sources.counter import (
    BESIDE,
    BESIDE_SHARE,
    BOARD_CLOCK,
    ROUND,
    HostClock,
    ProbeCounter,
    check_bookings,
    check_cost,
    check_costs,
    check_counted,
)
from hil.training.trial.second_sources.cycles import CycleCheck
from hil.training.trial.second_sources.figures import HOST, HOST_CLOCK, NONE, PROBE, Figures
from hil.training.trial.second_sources.memory import MemoryCheck

if TYPE_CHECKING:
    from hil.training.trial.device import Device
    from hil.training.trial.prepare import Prepared

T = TypeVar("T")
# most counter readings for each layer run and each trained number: 1 or 2 in a run, 1 or 2 for a part of a gradient
# or a coordinate
MOST_READINGS = 4
Profile = tuple[tuple[int, ...], tuple[int, ...]]  # cycles by layer, forward and backward


@dataclass(frozen=True)
class RunCycles:
    """Cycles of a run: of its first steps by phase, and of its layers (None if the firmware does not count these)."""

    laps: list[tuple[int, ...]]
    profile: Profile | None


class Timed:
    """Measures requests by the host's clock and, with a probe, by two readings of the board's counter.

    Attributes:
        gone_on: cycles by the probe.
        frames: upper limit of the frames that the agent handled, including repeated ones; 0 without the probe.
        least_s, most_s: bounds of the agent's working time in seconds, by the host's clock.
    """

    def __init__(self, device: Device, counter: ProbeCounter | None) -> None:
        self._device, self._counter = device, counter
        self.gone_on = self.frames = 0
        self.least_s = self.most_s = 0.0

    def __call__(self, call: Callable[[], T]) -> T:
        """Return the result of a call that makes one request."""
        if self._counter is None:
            result = call()
        else:
            self._device.settle()  # else a late copy of an earlier frame would be handled between the two readings
            result, gone_on = self._counter.around(call)
            self.gone_on += gone_on
            self.frames += 1 + self._device.took.again
        self.least_s += self._device.took.least_s
        self.most_s += self._device.took.most_s
        return result


class Checks:
    """The checks of one trial; on silicon, the board runs in real time, so that the host's clock can be compared."""

    def __init__(
        self, prepared: Prepared, device: Device, probe: CoreProbe | None, figures: Figures, silicon: bool
    ) -> None:
        method, self._device, self.figures = prepared.method, device, figures
        self._plan, self._expected, self._batch = method.plan, method.figures, prepared.settings.batch
        self.counts = device.identity.counter != NONE
        self.cycles = CycleCheck(
            figures, self._expected.least_cycles(), self._plan.layers, device.clock_hz, self.counts
        )
        self.memory = MemoryCheck(figures, prepared.image, prepared.plan, probe)
        found = ProbeCounter(probe, prepared.board, prepared.image) if probe is not None and self.counts else None
        self.counter = found if found is not None and found.stands_still else None
        self.host_clock = HostClock(figures, device.clock_hz, device.networked) if silicon and self.counts else None
        self._least_booking: int | None = None
        # passes and counter readings of the first step, if the number of passes is not random
        self._first: tuple[StepWork, int] | None = None

    def without_probe(self) -> None:
        """Read nothing through the probe any more."""
        self.counter = self.memory.probe = None

    def timed(self, wanted: bool = True) -> Timed:
        """Return a timer for requests; it reads the counter through the probe if `wanted` and possible."""
        return Timed(self._device, self.counter if wanted else None)

    def step(self, reply: Stepped, step: int, timed: Timed) -> None:
        """Check the reply to a compared step."""
        self.cycles.steps(reply, step)
        self._counted(reply, timed, f"cycles in step {step}")

    def _counted(self, reply: Stepped, timed: Timed, of: str) -> None:
        if timed.frames:
            check_counted(self.figures, reply.cycles["total"], timed.gone_on, of, timed.frames)

    def first_step(
        self, reply: Stepped, profile: Profile | None, work: CountedWork | None, by_data: StepWork | None
    ) -> Profile | None:
        """Check profile, stretches and work of the first step; return the profile if it is usable.

        `by_data` is the work that the reference found, where the data decide it.
        """
        usable = profile is not None and self.cycles.profile(profile, reply)
        if profile is not None and self.counts:
            self.figures.reported("layer_cycles", *(("layer_cycles_backward",) if any(profile[1]) else ()))
        self.stretches(*self._device.stretches(), reply.cycles)
        if work is not None:
            self._work(work, reply, by_data or self._expected.work())
        return profile if usable else None

    def _work(self, work: CountedWork, reply: Stepped, wanted: StepWork | None) -> None:
        """Compare with the host's count, unless the number of passes is random."""
        if wanted is None:
            self.figures.reported("macs", "layer_runs")
        else:
            self._first = wanted, work.bookings
            self.work(work, wanted)
        self._readings(work, reply)

    def work(self, work: CountedWork, wanted: StepWork, where: str = "") -> None:
        """Compare the passes of a step with the host's count."""
        self.figures.equal("macs", work.macs, wanted.macs, HOST, where=where)
        self.figures.equal("layer_runs", work.layer_runs, wanted.layer_runs, HOST, where=where)

    def _readings(self, work: CountedWork, reply: Stepped) -> None:
        """Check the number of readings: every layer run ends with one, and all fit in the cycles of the step."""
        if not self.counts:
            return
        self.figures.reported("bookings")
        readings, runs, least = work.bookings, work.layer_runs, self._least_booking or 1
        sentence = f"the agent reports {readings:,} readings of its counter"
        if readings < runs:
            self.figures.refuse("bookings", f"{sentence}, and {runs:,} layers ended with one.")
        numbers = self._batch * sum(tensor.elements for tensor in self._plan.tensors)
        most = MOST_READINGS * (runs + numbers)
        if readings > most:
            self.figures.refuse(
                "bookings",
                f"{sentence}, and {runs:,} layer runs and {numbers:,} trained numbers have at most {most:,}.",
            )
        if readings * least > reply.cycles["total"]:
            self.figures.refuse(
                "bookings", f"{sentence} of at least {least:,} cycles, in {reply.cycles['total']:,} cycles."
            )

    def bookings(self, profile: Profile | None) -> tuple[int, ...]:
        """Request the costs of a reading, and check them against the layers and the counter.

        Raises:
            DeviceFault: they are wrong, so latency cannot be computed.
        """
        timed = self.timed()
        costs = timed(self._device.bookings)
        if self.counts and check_bookings(self.figures, costs):
            self._least_booking = min(costs)
            if timed.frames:
                check_costs(self.figures, costs, timed.gone_on)
            self._shortest_layers(profile)
        self.figures.raise_if_wrong()
        return costs

    def _shortest_layers(self, profile: Profile | None) -> None:
        bookings = self._expected.bookings()
        if profile is None or bookings is None or self._least_booking is None:
            return
        for direction, cycles, readings in zip(("forward", "backward"), profile, bookings[1], strict=True):
            for name, taken, count in zip(self._plan.layers, cycles, readings, strict=True):
                check_cost(self.figures, self._least_booking, count, taken, f"layer {name} {direction}")

    def run(self, reply: Stepped, last: int, steps: int, timed: Timed) -> RunCycles | None:
        """Check a run of autonomous steps up to index `last`; return its laps and layers, or None if not usable."""
        self.cycles.steps(reply, last, steps)
        self._counted(reply, timed, f"cycles in {steps:,} steps up to {last}")
        if self.host_clock is not None and timed.most_s:
            self.host_clock.run(reply.cycles["total"], timed.least_s, timed.most_s)
        profile = self._device.profile(len(self._plan.layers))
        if profile is not None and not self.cycles.profile(profile, reply, steps):
            profile = None
        laps = self._device.laps(steps)
        return RunCycles(laps, profile) if self.cycles.laps(laps, reply, steps) else None

    def stretches(self, made: int, stretches: list[tuple[str, int]], cycles: dict[str, int]) -> None:
        """Check the stretches of the first step, or of the last one of a run, against its cycles by phase."""
        total_is_right = PROBE in self.figures.sources.get("cycles", ()) and "cycles_total" not in self.figures.wrong
        self.cycles.stretches(made, stretches, cycles, total_is_right)

    def sleep(self, reply: Stepped, timed: Timed, asked_ms: int) -> None:
        """Check a run with `asked_ms` of sleep in all: the counter stops in a sleep, and no sleep ends too soon."""
        self.figures.reported("sleep")
        if self.host_clock is not None:
            self.figures.confirmed("sleep", HOST_CLOCK)
            if timed.most_s < (1 - BOARD_CLOCK) * asked_ms / 1000:
                self.figures.refuse(
                    "sleep",
                    f"the agent was asked to sleep for {asked_ms} ms, and replied after {1000 * timed.most_s:.3g} ms.",
                )
        if self.counter is None or not timed.frames:
            return
        tick, millisecond = self.counter.cycles_a_tick(), self._device.clock_hz // 1000
        if tick not in (None, millisecond):
            sentence = (
                f"SysTick ends a millisecond of the agent's sleep after {tick:,} cycles, by its reload value, "
                f"and not after {millisecond:,}."
            )
            self.figures.refuse("sleep", sentence)
        self.figures.confirmed("sleep", PROBE)
        asked = asked_ms * self._device.clock_hz // 1000
        beside = (timed.gone_on - reply.cycles["total"]) % ROUND
        if beside > BESIDE + BESIDE_SHARE * reply.cycles["total"] + asked / 2:
            self.figures.refuse(
                "sleep",
                f"the agent was asked to sleep for {asked:,} cycles, and its counter, read through the probe, "
                f"advanced by {beside:,} outside the steps.",
            )

    def readings(self, reply: Stepped, step: int, by_data: StepWork | None) -> int:
        """Return the number of counter readings in the last run of one step, without that of the digests.

        `by_data` is as for `first_step`. Passes other than those of the first step may have more readings.
        """
        work = self._device.work()
        if by_data is not None:
            self.work(work, by_data, f" in step {step}")
        self._readings(work, reply)
        passes = by_data or self._expected.work()
        if self.counts and self._first is not None and self._first[0] == passes and work.bookings > self._first[1]:
            sentence = f"the agent reports {work.bookings:,} readings of its counter in a run of one step"
            self.figures.refuse(
                "bookings",
                f"{sentence}, and {self._first[1]:,} in the first step, which had the same passes, in parts.",
            )
        return work.bookings - 1
