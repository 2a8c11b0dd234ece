"""Counted cycles of autonomous steps: a table, the figures of whole steps, and the entry of a record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from hil.link.replies import MOST_LAPS as RUN_STEPS
from hil.quantity import Provenance
from hil.training.methods.figures import Bookings
from hil.training.trial.latency_figures import BookingCost, CycleStatistics, ReadingCost, figures
from hil.training.trial.second_sources.cycles import STEP_PHASES as LAP_PHASES

Layers = dict[str, dict[str, list[int]]]


@dataclass
class CountedLatency:
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

    booking: BookingCost
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

    def table(self) -> dict[str, np.ndarray]:
        """Return one row per step, in raw cycles: the phases, total, and columns `forward.conv1`, ... by layer."""
        layers = {
            f"{direction}.{name}": cycles
            for direction, of_layers in (self.layers or {}).items()
            for name, cycles in of_layers.items()
        }
        return {name: np.array(column, np.int64) for name, column in (self.laps | layers).items()}


def total_figures(latency: CountedLatency, bookings: Bookings | None) -> CycleStatistics:
    """Return the figures of whole steps; `bookings`: counter readings of the method, None if the board counted them."""
    booking = latency.booking
    cost = (
        ReadingCost.counted(latency.bookings, booking)
        if bookings is None
        else ReadingCost.of(bookings[0]["total"], booking)
    )
    return figures(latency.laps["total"], cost)


def latency_json(latency: CountedLatency, bookings: Bookings | None, clock_hz: int) -> dict[str, Any]:
    """Return the entry `latency` of a trial's record, without budget and judgement.

    `bookings`: counter readings of the method; None if the board counted them.
    """
    booking = latency.booking
    phases = {
        phase: asdict(figures(latency.laps[phase], _cost(latency, bookings and bookings[0][phase])))
        for phase in LAP_PHASES
    }
    phases["total"] = asdict(total_figures(latency, bookings))
    phases["digest"] = asdict(figures(latency.digests, ReadingCost.of(1, booking)))
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


def _cost(latency: CountedLatency, bookings: int | None) -> ReadingCost:
    if bookings is None:
        return ReadingCost.among(latency.bookings, latency.booking)
    return ReadingCost.of(bookings, latency.booking)


def _layers_json(latency: CountedLatency, bookings: tuple[list[int], list[int]] | None) -> dict[str, Any] | None:
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
