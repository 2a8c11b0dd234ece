"""PJRC's loader chip (MKL02) beside the processor, as far as a program sees of it.

It is a debugger on the SWD wires: with halting debug switched on it waits for the core to halt at a BKPT, and then offers its boot loader HalfKay on USB.
Said by PJRC of the Teensy 4 (any number in the BKPT does; 251 is the one to use: forum, thread 74242) and of the Teensy 3 (it sets C_DEBUGEN: thread
26358); that it does so on a Teensy 4 is concluded from the first: without C_DEBUGEN a BKPT does not halt (ARM DDI 0403E.e, C1.5). A probe on the wires
is in its place: from then on it does nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.debug import C_DEBUGEN, DebugControl


class LoaderChip:
    """The loader chip on the SWD wires.

    Args:
        debug: the core's halting debug, which it switches on.
        log: receives a line when the board goes to its boot loader; the core stays halted.
    """

    def __init__(self, debug: DebugControl, log: Callable[[str], None]) -> None:
        self._debug, self._log = debug, log
        debug.value["DHCSR"] |= C_DEBUGEN

    def see(self, instruction: bytes) -> None:
        """The core has halted at a BKPT."""
        if not self._debug.taken:
            self._log(
                f"loader chip: the program has left for the boot loader (BKPT #{instruction[0]}): the board waits in HalfKay"
            )
