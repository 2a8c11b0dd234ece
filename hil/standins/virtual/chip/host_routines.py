"""Boot ROMs whose routines the host executes: each is one undefined instruction, which the chip traps."""

from __future__ import annotations

import struct
from collections.abc import Callable

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.core import ArmCore

UDF = 0xDE00
_WAIT_LOOP = 0xBF30, 0xE7FD  # wfi; b back to it


class HostRoutines:
    """Base of the boot ROMs. A subclass fills `_routines`, the routines by their address.

    Args:
        core: core that calls them.
    """

    def __init__(self, core: ArmCore) -> None:
        self._core = core
        self._routines: dict[int, Callable[[], None]] = {}

    def call(self, address: int) -> bool:
        """Run the routine at an address; return False if there is none."""
        routine = self._routines.get(address)
        if routine is None:
            return False
        routine()
        return True

    def argument(self, number: int) -> int:
        """Return an argument that the caller has passed in a register."""
        return self._core.get(c.R[number])

    def returns(self, value: int | None = None) -> None:
        """Return to the caller, with a value in R0 or without one."""
        if value is not None:
            self._core.set(c.R[0], value)
        self._core.set(c.PC, self._core.get(c.LR))

    def put_code(self, rom: bytearray, base: int, wait: int) -> None:
        """Write the instructions of all routines, and at the offset `wait` a loop that sleeps, into a ROM at `base`."""
        struct.pack_into("<2H", rom, wait, *_WAIT_LOOP)
        for place in self._routines:
            struct.pack_into("<H", rom, place - base, UDF)
