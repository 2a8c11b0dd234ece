"""PJRC's loader chip (MKL02) on the board, as a program and a host see it.

It is a debugger on the SWD wires. It enables halting debug, waits for the core to halt at a BKPT, and then offers its
boot loader HalfKay on USB: the program's own USB device is gone until HalfKay has started a program. After a debug
probe has accessed the core, the loader chip does nothing.

Sources: PJRC on the Teensy 4 (any number in the BKPT works; 251 is the one to use: forum, thread 74242) and on the
Teensy 3 (it sets C_DEBUGEN: thread 26358). That it also sets C_DEBUGEN on a Teensy 4 is an inference: without it a BKPT
does not halt (ARM DDI 0403E.e, C1.5). Reports of HalfKay: PJRC's teensy_loader_cli. Which part of the flash the first
report erases is `unverified`: here what a Teensy 4.0 has for programs, as TyTools knows it (class_teensy.c).
"""

from __future__ import annotations

from collections.abc import Callable

from hil.errors import RigError
from hil.standins.virtual.chip.debug import C_DEBUGEN, DebugControl
from hil.standins.virtual.chip.imxrt1062.boot_header import FLASH_SIZE
from hil.standins.virtual.chip.w25q import BLOCK, W25Q

HEADER, DATA = 64, 1024  # bytes of a report: its address, and what is written there
REPORT = HEADER + DATA
START = 0xFFFFFF
PROGRAMS = 0x1F0000  # bytes of the flash


class LoaderChip:
    """The loader chip on the SWD wires.

    Args:
        debug: halting debug of the core; it is enabled here.
        flash: flash that HalfKay programs.
        restart: resets the chip.
        log: receives one line when the board enters and leaves its boot loader.

    Attributes:
        waits: whether the board waits in HalfKay. The core stays halted.
    """

    def __init__(
        self, debug: DebugControl, flash: W25Q, restart: Callable[[], None], log: Callable[[str], None]
    ) -> None:
        self._debug, self._flash, self._restart, self._log = debug, flash, restart, log
        self.waits = self._erased = False
        debug.value["DHCSR"] |= C_DEBUGEN

    def see(self, instruction: bytes) -> None:
        """Handle a halt of the core at a BKPT."""
        if not self._debug.taken:
            self.waits, self._erased = True, False
            self._log(
                f"loader chip: the program has started the boot loader (BKPT #{instruction[0]}): "
                "the board waits in HalfKay"
            )

    def leave(self) -> None:
        """The chip was reset."""
        self.waits = False

    def report(self, data: bytes) -> None:
        """Take a report of HalfKay: the first one erases, each one programs a block, and the last one starts.

        Raises:
            RigError: the board does not wait in HalfKay, or the report is none.
        """
        if not self.waits:
            raise RigError("the board does not wait in HalfKay")
        address = int.from_bytes(data[:3], "little")
        if len(data) != REPORT or (address != START and (address % DATA or address + DATA > FLASH_SIZE)):
            raise RigError(f"a report of {len(data)} bytes for address 0x{address:06X} is none of HalfKay")
        if address == START:
            self._log("loader chip: HalfKay starts the program")
            self._restart()
            return
        if not self._erased:
            self._flash.erase(0, PROGRAMS, BLOCK)
            self._erased = True
        self._flash.program(address, data[HEADER:])
