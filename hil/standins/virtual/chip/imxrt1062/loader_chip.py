"""PJRC's loader chip (MKL02) on the board, as a program sees it.

It is a debugger on the SWD wires. It enables halting debug, waits for the core to halt at a BKPT, and then offers its
boot loader HalfKay on USB. After a debug probe has accessed the core, the loader chip does nothing.

Sources: PJRC on the Teensy 4 (any number in the BKPT works; 251 is the one to use: forum, thread 74242) and on the
Teensy 3 (it sets C_DEBUGEN: thread 26358). That it also sets C_DEBUGEN on a Teensy 4 is an inference: without it a BKPT
does not halt (ARM DDI 0403E.e, C1.5).
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.debug import C_DEBUGEN, DebugControl


class LoaderChip:
    """The loader chip on the SWD wires.

    Args:
        debug: halting debug of the core; it is enabled here.
        log: receives one line when the board enters its boot loader; the core stays halted.
    """

    def __init__(self, debug: DebugControl, log: Callable[[str], None]) -> None:
        self._debug, self._log = debug, log
        debug.value["DHCSR"] |= C_DEBUGEN

    def see(self, instruction: bytes) -> None:
        """Handle a halt of the core at a BKPT."""
        if not self._debug.taken:
            self._log(
                f"loader chip: the program has started the boot loader (BKPT #{instruction[0]}): "
                "the board waits in HalfKay"
            )
