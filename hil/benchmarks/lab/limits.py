"""What a lab may use up, how far a night used it, and what breaks first when the lab grows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hil.benchmarks.lab.load import connections, trials_by_window
from hil.benchmarks.lab.meter import WINDOW_S
from hil.benchmarks.lab.model import NIGHT_S, Lab
from hil.benchmarks.lab.night import LabNight
from hil.benchmarks.lab.wire import MeasuredWire
from hil.lab.coordinator import CALL_S

SERVER_CONNECTIONS = 97  # PostgreSQL's default of 100, less 3 that are kept for its administrator
SMALLEST, LARGEST = 1 / 16, 16


@dataclass(frozen=True)
class Limit:
    """One thing that there is so much of.

    Attributes:
        used, most: in `unit`; the lab breaks where `used` reaches `most`.
        how: provenance of `used`.
    """

    name: str
    used: float
    most: float
    unit: str
    how: str

    @property
    def share(self) -> float:
        """How much of it is used."""
        return self.used / self.most


def limits(night: LabNight, wire: MeasuredWire, written_per_s: float) -> list[Limit]:
    """Return what a night used.

    Args:
        night: simulated.
        wire: what gRPC costs, measured.
        written_per_s: trials that the database takes a second, measured.
    """
    slowest = max((delay for each in night.meter.delays.values() for delay in each), default=0.0)
    held = max(night.meter.locked.values(), default=0.0) / WINDOW_S
    peak = float(trials_by_window(night).max()) / WINDOW_S
    return [
        Limit("boards: end of the last trial", night.ended, NIGHT_S, "s", "simulated"),
        Limit("coordinator: its lock, busiest 5 min", held, 1.0, "", "simulated"),
        Limit("coordinator: slowest answer", slowest, CALL_S, "s", "simulated"),
        Limit(
            "coordinator: processor, busiest 5 min", coordinator_load(night, wire), 1.0, "core", "measured x simulated"
        ),
        Limit("database: connections at once", connections(night)[0], SERVER_CONNECTIONS, "", "simulated"),
        Limit("database: trials/s, busiest 5 min", peak, written_per_s, "trials/s", "simulated; limit measured"),
    ]


def coordinator_load(night: LabNight, wire: MeasuredWire) -> float:
    """Return the processor time of the coordinator in the busiest window, as a share of one core.

    Its own code is as measured in the night; gRPC is what a real one takes, times calls, messages and new sessions.
    """
    meter = night.meter
    polls = max(1, meter.calls["PollReservation"])
    rpc_s = max(0.0, wire.call_s - meter.processor["PollReservation"] / polls)
    session_s = wire.session_s * night.lab.boards / wire.places  # its lists have all places
    windows = meter.busy.keys() | meter.messages.keys() | meter.opened.keys()
    return max(
        meter.busy[window] + rpc_s * meter.rpcs[window] + wire.message_s * meter.messages[window]
        + session_s * meter.opened[window]
        for window in windows
    ) / WINDOW_S  # fmt: skip


@dataclass(frozen=True)
class Size:
    """A lab of another size, and what its night used."""

    factor: float
    lab: Lab
    limits: list[Limit]

    @property
    def broken(self) -> list[Limit]:
        """What is used up, the worst first."""
        return sorted((each for each in self.limits if each.share >= 1), key=lambda each: -each.share)


def grow(lab: Lab, first: list[Limit], used: Callable[[Lab], list[Limit]]) -> list[Size]:
    """Return labs of growing size, from the largest that holds to the smallest that breaks, in steps of two.

    Args:
        lab: of size 1.
        first: what it used.
        used: simulates a lab, and returns what it used.
    """
    sizes = [Size(1.0, lab, first)]
    while not sizes[-1].broken and sizes[-1].factor < LARGEST:
        factor = 2 * sizes[-1].factor
        sizes.append(Size(factor, lab.times(factor), used(lab.times(factor))))
    while sizes[0].broken and sizes[0].factor > SMALLEST:
        factor = sizes[0].factor / 2
        sizes.insert(0, Size(factor, lab.times(factor), used(lab.times(factor))))
    return sizes
