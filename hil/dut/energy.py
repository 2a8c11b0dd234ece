"""Energy of what a device does in a `with` block, between two edges of its marker pin, with uncertainty."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hil.boards import Board
from hil.endpoints import Endpoints
from hil.energy.conditions import Conditions
from hil.energy.current_ranges import first_range
from hil.energy.interval_figures import evaluate
from hil.energy.marker_interval import MarkerInterval
from hil.errors import Blocked, RigError
from hil.meters.awaited import Awaited
from hil.meters.measured_window import FEWEST, IDLE_READINGS, IDLE_S
from hil.meters.meter import HostMarked, InvalidWindow, Meter, Setting, refuse_two_times
from hil.meters.window_edges import pieces
from hil.quantity import Quantity
from hil.targets.boot_loader import Tell

KEPT_POWER = (
    "the chip's debug port kept its power when the probe was disconnected, and may have drawn current: power-cycle the "
    "board, and measure again without `probe` in rig.toml."
)
INTERVAL_S, WINDOW_S = 0.001, 10.0
DEADLINE_S = 30.0  # for the edges, plus twice the window


@dataclass
class Energy:
    """The energy of one window; its figures are there after the `with` block.

    Attributes:
        steps: how many steps the window has.
        trace: file with the readings.
        figures: as `hil measure --json` gives them (docs/measure.md); empty within the block.
    """

    steps: int
    trace: Path
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def energy(self) -> Quantity:
        """Energy of the window in joules."""
        return self._quantity("energy")

    @property
    def per_step(self) -> Quantity:
        """Energy of one step in joules."""
        return self._quantity("energy_per_step")

    @property
    def duration(self) -> Quantity:
        """Time between the edges in seconds."""
        return self._quantity("duration")

    def _quantity(self, name: str) -> Quantity:
        if not self.figures:
            raise RigError("the energy is known after the `with` block: use it there.")
        return Quantity(**self.figures[name])


@contextlib.contextmanager
def window(
    board: Board, ends: Endpoints, meter: Meter, folder: Path, steps: int, window_s: float, interval_s: float,
    idle_s: float | None, range_a: float | None, tell: Tell,
) -> Iterator[Energy]:  # fmt: skip
    """Measure one window with an open meter while the block runs; arguments and errors as `Dut.energy`.

    `tell` is called with a sentence if the readings are long in coming.
    """
    if not 1 <= steps < math.inf:
        raise RigError(f"{steps} steps have no energy: give how many the window has, at least 1.")
    for name, seconds in {"window_s": window_s, "interval_s": interval_s, "idle_s": idle_s}.items():
        if seconds is not None and not 0 < seconds < math.inf:
            raise RigError(f"{name} is {seconds}: give a time in seconds, above 0.")
    from hil.record.interval_trace import record_interval  # pyarrow, which a test without energy need not load

    one = Energy(steps, folder / "trace.parquet")
    used = meter.sheet.range_for(range_a) if range_a is not None else first_range(meter.sheet)
    shortest_s = max(interval_s, 1 / meter.sheet.fastest_hz)
    idle_s = idle_s if idle_s is not None else max(IDLE_S, IDLE_READINGS * shortest_s)
    refuse_two_times(meter, ends.reality, "meter")
    meter.configure(Setting(board.supply_v, used.amperes, interval_s, idle_s, window_s))
    meter.arm()
    deadline_s = 2 * (window_s + idle_s) + DEADLINE_S
    about = {"name": meter.sheet.name, "identity": meter.identity, "data_sheet": meter.sheet.key}

    def read() -> MarkerInterval:
        return record_interval(folder, pieces(meter, deadline_s, idle_s), about, FEWEST)

    reader = Awaited(read, meter.sheet.name, deadline_s, tell)
    if isinstance(meter, HostMarked):
        meter.mark(True)
    yield one  # after an error in the block the meter is closed, which ends the reader
    if isinstance(meter, HostMarked):
        meter.mark(False)
    try:
        found = reader.result(idle_s)
    except InvalidWindow as spoiled:
        cure = "give a larger range_a" if spoiled.beyond_range else "measure again"
        raise Blocked("meter", f"{str(spoiled).rstrip('.')}: {cure}.") from spoiled
    conditions = Conditions(ends.supply_error, ends.ambient_c)
    one.figures = evaluate(found, meter.sheet, meter.identity, steps, conditions)


def no_meter(board: Board, reality: str) -> Blocked:
    """Return the error of a board without a meter; `reality` is what it is here, of which only some can have one."""
    if reality == "hardware":
        cure = "name one in its table of rig.toml (`meter`)"
    else:
        cure = f"{reality} has none; measure on an attached board, or on one with a virtual board (`hil boards`)"
    return Blocked("meter", f"{board.name} has no power meter here: {cure}.")
