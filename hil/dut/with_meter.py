"""The power meter of a device under test."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hil.dut.caught import Remembered
from hil.dut.energy import INTERVAL_S, KEPT_POWER, WINDOW_S, Energy, no_meter, window
from hil.dut.with_agent import WithAgent
from hil.errors import Blocked, RigError
from hil.targets.boot_loader import Tell

if TYPE_CHECKING:
    from hil.meters.meter import Meter


NOT_BACK = "the probe could not connect to the board again after its energy was measured"


class WithMeter(WithAgent):
    """What a device has whose power is measured."""

    _tell: Tell
    _meter: Meter | None = None
    _windows = 0
    _measures = False  # whether a window is open
    _left_window = False  # whether one was closed from outside, and has no figures

    @property
    def has_meter(self) -> bool:
        """Whether there is a power meter."""
        return self._taken.endpoints.meter is not None

    @property
    def measures(self) -> bool:
        """Whether a window of `energy` is open."""
        return self._measures

    @property
    def left_window(self) -> bool:
        """Whether a window of `energy` was begun and not ended: it is open, or its block or generator was given up."""
        return self._measures or self._left_window

    def _probe_is_back(self) -> None:
        self._probe_is_away = False
        if self._probe is None:
            return
        try:
            self._probe.attach(self._wake if self._agent is not None else None)
        except Blocked as blocked:  # the window is good all the same
            self._close_probe()
            self.record.warn(f"{NOT_BACK}: {blocked.reason}")

    def _wake(self) -> None:
        """Have the agent handle one request."""
        with self._by_rig():
            self.agent.check_line()

    @contextlib.contextmanager
    def open_meter(self) -> Iterator[Meter]:
        """Open the power meter for a `with` block, in which `energy` uses it; without a block, `energy` opens it.

        One that feeds the board does so in the whole block: open it before `flash`.

        Raises:
            RigError: it is open already.
            Blocked: there is no meter, or it does not answer.
        """
        ends = self._taken.endpoints
        with contextlib.ExitStack() as stack:
            stack.enter_context(Remembered(self))
            self._check_in_time()
            if self._meter is not None:
                raise RigError(f"the meter of {self.board.name} is open already: leave out this dut.open_meter().")
            if ends.meter is None:
                raise no_meter(self.board, ends.reality)
            from hil.meters.open import open_meter  # PyVISA and pyarrow, which a test without energy need not load

            meter = stack.enter_context(open_meter(ends.meter, self.board.supply_v, ends.meter_model))
            self._meter = meter
            try:
                yield meter
            finally:
                self._meter = None

    @contextlib.contextmanager
    def energy(
        self, steps: int = 1, window_s: float = WINDOW_S, interval_s: float = INTERVAL_S,
        idle_s: float | None = None, range_a: float | None = None,
    ) -> Iterator[Energy]:  # fmt: skip
        """Measure the energy of what the device does in a `with` block; the figures are there after it.

        The firmware raises the board's marker pin while it works, and sleeps before and after. The probe is detached
        meanwhile. A meter without a marker input finds the work by the begin and end of the block, and by its power.

        Args:
            steps: how many steps the work has.
            window_s: expected time of the work.
            interval_s: between readings; the meter uses the nearest that it has.
            idle_s: sleep before and after the work; default: 0.2, or 40 readings if longer.
            range_a: largest current; default: the meter's largest range.

        Raises:
            RigError: another window of this device is open.
            Blocked: there is no meter, it failed, or it has not seen the work.
        """
        with contextlib.ExitStack() as stack:
            stack.enter_context(Remembered(self))
            if self._measures:
                raise RigError(
                    f"dut.energy is within another dut.energy of {self.board.name}, or in a thread beside it: its "
                    "meter reads one window at a time, measure one after the other."
                )
            self._windows += 1
            self._measures = True
            stack.callback(setattr, self, "_measures", False)
            stack.enter_context(self.explained())  # by a probe that is attached again
            meter = self._meter or stack.enter_context(self.open_meter())
            self._probe_is_away = True
            if self._probe is not None and not self._probe.detach():
                self.record.warn(KEPT_POWER)
            stack.callback(self._probe_is_back)
            folder = self._folder / f"energy-{self._windows}"
            one = stack.enter_context(
                window(
                    self.board,
                    self._taken.endpoints,
                    meter,
                    folder,
                    steps,
                    window_s,
                    interval_s,
                    idle_s,
                    range_a,
                    self._tell,
                )
            )
            try:
                yield one
            except GeneratorExit:  # a `with` block that ends is none
                self._left_window = True
                raise
        for flag in one.figures["flags"]:
            self.record.warn(str(flag))
