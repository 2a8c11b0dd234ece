"""What silicon punishes without a fault, such as wrong bytes or a handler that runs twice: reported in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.count import Slot
from hil.standins.virtual.chip.write_buffer import store_is_pending

if TYPE_CHECKING:
    from collections.abc import Callable

    from hil.standins.virtual.chip.machine import Machine

_NO_DIGITS = str.maketrans("", "", "0123456789ABCDEFx")


class Hazards:
    """Hazards of a machine.

    Args:
        machine: the machine.

    Attributes:
        place: names a code address in the log.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._reported: set[tuple[int, str]] = set()
        self._cleared_at = -1  # instruction count at which the active handler lowered its own interrupt line
        self.place: Callable[[int], str] = "0x{:08X}".format

    def report(self, what: str) -> None:
        """Log a hazard, once for each place."""
        pc = self._machine.core.get(c.PC) & ~1
        kind = what.translate(_NO_DIGITS)
        if (pc, kind) not in self._reported:
            self._reported.add((pc, kind))
            self._machine.log(f"hazard at {self.place(pc)}: {what}")

    def before_write(self) -> None:
        """Note which interrupt line falls by the register write that follows."""
        self._machine.nvic.fell = 0

    def after_write(self) -> None:
        """Note whether the active handler has lowered its own interrupt line."""
        machine = self._machine
        if machine.nvic.fell and machine.nvic.fell == machine.active_exception() and not machine.bus.debugger:
            self._cleared_at = machine.core.count

    def before_return(self) -> None:
        """Pend an exception again if the store that lowered its line may not have arrived at the return (ARM AN321)."""
        machine = self._machine
        if self._cleared_at != machine.core.count or not machine.spec.buffers_writes:
            return
        block, size = machine.core.state[Slot.BLOCK], machine.core.state[Slot.BLOCK_SIZE]
        if store_is_pending(machine.core.peek(block, size)):
            number = machine.active_exception()
            machine.nvic.pend(number)
            self.report(
                f"the handler of exception {number} clears its interrupt by its last store, and returns without DSB: "
                "it runs twice (ARM AN321, memory barriers; ARM DDI 0403E.e, A3.7)"
            )
