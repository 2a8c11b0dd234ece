"""Latency in a trial: consecutive autonomous steps, whose phases the board's counter measures, checked bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from hil.errors import Blocked, DeviceFault
from hil.link.replies import MOST_LAPS as RUN_STEPS
from hil.link.replies import Stepped
from hil.methods.method import Bookings
from hil.quantity import Provenance
from hil.trial.autonomous import autonomous_run
from hil.trial.latency_figures import Booking, Cost, Figures, figures
from hil.trial.second_sources.checks import RunCycles
from hil.trial.second_sources.cycles import STEP_PHASES as LAP_PHASES
from hil.trial.spec import LatencySteps

if TYPE_CHECKING:  # imported on use, because it takes as long as sending a network to a board
    import pandas as pd

    from hil.trial.lockstep import LockStep

SILENCE = 5.0  # times the expected length of a run, and least seconds, before the agent is asked whether it is alive
COUNTER_WRAP = 2**32  # cycles until a counter wraps
NEAR_WRAP = 0.05  # of a wrap: largest distance of the missing cycles from a whole number of wraps
Layers = dict[str, dict[str, list[int]]]


@dataclass
class Latency:
    """Counted cycles.

    Attributes:
        laps: cycles of every step, by phase; `total` is their sum.
        digests: cycles of the digests at the end of every run, which belong to no step.
        layers: cycles of every step by direction and layer, if requested.
        bookings: counter readings in every step, if the board counted them.
        booking: cost of one counter reading.
        counter: `dwt`, `systick` or `none`, as reported by the agent.
        provenance: `measured` on silicon, else `modelled`.
    """

    booking: Booking
    counter: str
    provenance: Provenance
    laps: dict[str, list[int]] = field(default_factory=lambda: {phase: [] for phase in (*LAP_PHASES, "total")})
    digests: list[int] = field(default_factory=list)
    layers: Layers | None = None
    bookings: list[int] = field(default_factory=list)

    @property
    def steps(self) -> int:
        """Number of counted steps."""
        return len(self.laps["total"])

    def table(self) -> pd.DataFrame:
        """Return one row per step, in raw cycles: the phases, total, and columns `forward.conv1`, ... by layer."""
        import pandas as pd

        layers = {
            f"{direction}.{name}": cycles
            for direction, of_layers in (self.layers or {}).items()
            for name, cycles in of_layers.items()
        }
        return pd.DataFrame(self.laps | layers)


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
    latency = Latency(Booking.of(trial.checks.bookings(outcome.profile)), trial.device.identity.counter, word)
    if wanted.layers:
        names = prepared.method.layers
        latency.layers = {direction: {name: [] for name in names} for direction in ("forward", "backward")}
    left = wanted.steps
    while left > 0 and outcome.difference is None and not outcome.figures.wrong:
        steps = 1 if wanted.layers or prepared.method.bookings() is None else min(left, RUN_STEPS)
        _run(trial, latency, steps)
        left -= steps
        trial.watch.part(wanted.steps - left, wanted.steps)
    outcome.latency = latency


def _run(trial: LockStep, latency: Latency, steps: int) -> None:
    """Train some steps on board and reference, and store the board's counts."""
    timed, silence = trial.checks.timed(), _silence(latency, steps, trial.device.clock_hz)
    reply = autonomous_run(trial, steps, 0, silence, timed)
    if reply is None:
        return
    if latency.provenance is Provenance.MEASURED:
        check_wraps(reply.cycles["total"], trial.device.clock_hz, timed.most_s)
    ran = trial.checks.run(reply, trial.next_step - 1, steps, timed)
    if ran is not None:
        _take(trial, latency, reply, ran)


def _take(trial: LockStep, latency: Latency, reply: Stepped, ran: RunCycles) -> None:
    for lap in ran.laps:
        for phase, cycles in zip((*LAP_PHASES, "total"), (*lap, sum(lap)), strict=True):
            latency.laps[phase].append(cycles)
    latency.digests.append(reply.cycles["digest"])
    if trial.p.method.bookings() is None:
        latency.bookings.append(trial.checks.readings(reply))
    if latency.layers is not None:
        if ran.profile is None:
            raise DeviceFault(
                "the firmware does not know the request 'profile', which latency by layer needs: add it, "
                "or do not request layers."
            )
        for of_layers, counted in zip(latency.layers.values(), ran.profile, strict=True):
            for of_layer, found in zip(of_layers.values(), counted, strict=True):
                of_layer.append(found)


def _silence(latency: Latency, steps: int, clock_hz: int) -> float:
    """Return how long the line must stay silent: a byte from the host would interrupt the step that is measured."""
    longest = max(latency.laps["total"], default=0)
    return SILENCE + SILENCE * steps * longest / clock_hz


def check_wraps(cycles: int, clock_hz: int, wall_s: float) -> None:
    """Compare the board's count with the host's clock: a lost wrap is seconds, the link's delay milliseconds.

    Raises:
        Blocked: whole wraps of the counter are missing. Other differences are a wrong count (second_sources/clock.py).
    """
    missing = wall_s * clock_hz - cycles
    wraps = round(missing / COUNTER_WRAP)
    if wraps > 0 and abs(missing - wraps * COUNTER_WRAP) < NEAR_WRAP * COUNTER_WRAP:
        raise Blocked(
            "latency",
            f"the board counted {cycles:,} cycles in {wall_s:.1f} s at {clock_hz / 1e6:.0f} MHz: a layer takes longer "
            "than the counter's 2^32 cycles, or this computer slept; choose a smaller batch, or run again.",
        )


def total_figures(latency: Latency, bookings: Bookings | None) -> Figures:
    """Return the figures of whole steps; `bookings`: counter readings of the method, None if the board counted them."""
    booking = latency.booking
    cost = Cost.counted(latency.bookings, booking) if bookings is None else Cost.of(bookings[0]["total"], booking)
    return figures(latency.laps["total"], cost)


def latency_json(latency: Latency, bookings: Bookings | None, clock_hz: int) -> dict[str, Any]:
    """Return the entry `latency` of a trial's record, without budget and judgement.

    `bookings`: counter readings of the method; None if the board counted them.
    """
    booking = latency.booking
    phases = {
        phase: asdict(figures(latency.laps[phase], _cost(latency, bookings and bookings[0][phase])))
        for phase in LAP_PHASES
    }
    phases["total"] = asdict(total_figures(latency, bookings))
    phases["digest"] = asdict(figures(latency.digests, Cost.of(1, booking)))
    return {
        "steps": latency.steps,
        "run_steps": 1 if latency.layers or bookings is None else min(latency.steps, RUN_STEPS),
        "counter": latency.counter,
        "clock_hz": clock_hz,
        "provenance": latency.provenance.value,
        "booking": vars(booking),
        "phases": phases,
        "layers": _layers_json(latency, bookings and bookings[1]),
    }


def _cost(latency: Latency, bookings: int | None) -> Cost:
    return Cost.among(latency.bookings, latency.booking) if bookings is None else Cost.of(bookings, latency.booking)


def _layers_json(latency: Latency, bookings: tuple[list[int], list[int]] | None) -> dict[str, Any] | None:
    if latency.layers is None:
        return None
    counts: Sequence[Sequence[int | None]] = bookings or [
        [None] * len(of_layers) for of_layers in latency.layers.values()
    ]
    return {
        direction: {
            name: asdict(figures(cycles, _cost(latency, count)))
            for (name, cycles), count in zip(of_layers.items(), of_direction, strict=True)
        }
        for (direction, of_layers), of_direction in zip(latency.layers.items(), counts, strict=True)
    }
