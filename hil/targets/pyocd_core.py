"""A core through pyOCD, as `CallStops` uses it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from pyocd.core.target import Target

from hil.steady_clock import steady_s

POLL_S = 0.001  # between two questions whether the core has stopped: each disturbs an emulator


class PyocdCore:
    """A core that stops at breakpoints (`hil.targets.call_stops.StoppableCore`).

    Args:
        target: pyOCD's target.
    """

    def __init__(self, target: Any) -> None:
        self._target = target

    def halt(self) -> None:
        """Halt the core; nothing if it is halted."""
        self._target.halt()

    def resume(self) -> None:
        """Let the halted core run."""
        self._target.resume()

    def step(self) -> None:
        """Let the halted core run one instruction."""
        self._target.step()

    def halted_within(self, seconds: float) -> bool:
        """Wait until the core is halted, and return whether it is."""
        end = steady_s() + seconds
        while self._target.get_state() != Target.State.HALTED:
            if steady_s() > end:
                return False
            time.sleep(POLL_S)
        return True

    def registers(self, names: Sequence[str]) -> list[int]:
        """Return registers of the halted core by their names."""
        return [int(value) for value in self._target.read_core_registers_raw(list(names))]

    def word(self, address: int) -> int:
        """Return 32 bits of memory."""
        return int(self._target.read32(address))

    def set_breakpoint(self, address: int) -> None:
        """Set a hardware breakpoint."""
        self._target.set_breakpoint(address, Target.BreakpointType.HW)

    def remove_breakpoint(self, address: int) -> None:
        """Remove a breakpoint."""
        self._target.remove_breakpoint(address)
