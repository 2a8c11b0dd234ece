"""Latency in a trial: consecutive autonomous steps, whose phases the board's counter measures, checked bit for bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil.errors import Blocked, DeviceFault
from hil.link.replies import MOST_LAPS as RUN_STEPS
from hil.link.replies import Stepped
from hil.quantity import Provenance
from hil.training.trial.board_step import autonomous_run
from hil.training.trial.latency_counts import CountedLatency
from hil.training.trial.latency_figures import BookingCost
from hil.training.trial.second_sources.checks import RunCycles
from hil.training.trial.second_sources.cycles import STEP_PHASES as LAP_PHASES
from hil.training.trial.spec import LatencySteps

if TYPE_CHECKING:
    from hil.training.trial.lockstep import LockStep

SILENCE = 5.0  # times the expected length of a run, and least seconds, before the agent is asked whether it is alive
COUNTER_WRAP = 2**32  # cycles until a counter wraps
NEAR_WRAP = 0.05  # of a wrap: largest distance of the missing cycles from a whole number of wraps


def measure_latency(trial: LockStep, wanted: LatencySteps) -> None:
    """Train `wanted.steps` steps in runs with a silent line, and store their cycles in the outcome.

    Raises:
        Blocked: the batch is larger than the board's slots, or the counter wrapped unnoticed.
    """
    outcome, prepared = trial.outcome, trial.p
    if prepared.slots < prepared.settings.batch:
        raise Blocked(
            "latency", "a streamed batch cannot be trained while the line is silent: choose one that the board holds."
        )
    word = Provenance.MEASURED if outcome.reality == "hardware" else Provenance.MODELLED
    latency = CountedLatency(
        BookingCost.of(trial.checks.bookings(outcome.profile)), trial.device.identity.counter, word
    )
    if wanted.layers:
        names = prepared.method.plan.layers
        latency.layers = {direction: {name: [] for name in names} for direction in ("forward", "backward")}
    left = wanted.steps
    while left > 0 and outcome.difference is None and not outcome.figures.wrong:
        steps = 1 if wanted.layers or prepared.method.figures.bookings() is None else min(left, RUN_STEPS)
        _run(trial, latency, steps)
        left -= steps
        trial.watch.part(wanted.steps - left, wanted.steps)
    outcome.latency = latency


def _run(trial: LockStep, latency: CountedLatency, steps: int) -> None:
    """Train some steps on board and reference, and store the board's counts."""
    timed, longest = trial.checks.timed(), max(latency.laps["total"], default=0)
    # a byte from the host would interrupt the steps that are measured
    silence_s = SILENCE + SILENCE * steps * longest / trial.device.clock_hz
    reply = autonomous_run(trial, steps, 0, silence_s, timed)
    if reply is None:
        return
    if latency.provenance is Provenance.MEASURED:
        check_wraps(reply.cycles["total"], trial.device.clock_hz, timed.most_s)
    ran = trial.checks.run(reply, trial.next_step - 1, steps, timed)
    if ran is not None:
        _take(trial, latency, reply, ran)


def _take(trial: LockStep, latency: CountedLatency, reply: Stepped, ran: RunCycles) -> None:
    for lap in ran.laps:
        for phase, cycles in zip((*LAP_PHASES, "total"), (*lap, sum(lap)), strict=True):
            latency.laps[phase].append(cycles)
    latency.digests.append(reply.cycles["digest"])
    if trial.p.method.figures.bookings() is None:
        latency.bookings.append(trial.checks.readings(reply, trial.next_step - 1, trial.reference.last_work()))
    if latency.layers is not None:
        if ran.profile is None:
            raise DeviceFault(
                "the firmware does not know the request 'profile', which latency by layer needs: add it, "
                "or do not request layers."
            )
        for of_layers, counted in zip(latency.layers.values(), ran.profile, strict=True):
            for of_layer, found in zip(of_layers.values(), counted, strict=True):
                of_layer.append(found)


def check_wraps(cycles: int, clock_hz: int, wall_s: float) -> None:
    """Compare the board's count with the host's clock: a lost wrap is seconds, the link's delay milliseconds.

    Raises:
        Blocked: whole wraps of the counter are missing. Other differences are a wrong count (`counter.HostClock`).
    """
    missing = wall_s * clock_hz - cycles
    wraps = round(missing / COUNTER_WRAP)
    if wraps > 0 and abs(missing - wraps * COUNTER_WRAP) < NEAR_WRAP * COUNTER_WRAP:
        raise Blocked(
            "latency",
            f"the board counted {cycles:,} cycles in {wall_s:.1f} s at {clock_hz / 1e6:.0f} MHz: a layer takes longer "
            "than the counter's 2^32 cycles, or this computer slept; choose a smaller batch, or run again.",
        )
