"""WATCHDOG of the RP2040: tick for timer and SysTick, scratch registers, forced reset (data sheet, 4.8).

The watchdog's own countdown is not modelled.
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.rp2.apb import ApbBlock


class Rp2040Watchdog(ApbBlock):
    """The watchdog block.

    Args:
        ref_hz: returns clk_ref in Hz.
        tick_changed: called when the tick's frequency changes.
        trigger: called when software forces a reset.
    """

    REGISTERS = (
        Register(
            "CTRL", 0x00, "TIME:0-23/r PAUSE_JTAG:24 PAUSE_DBG0:25 PAUSE_DBG1:26 ENABLE:30/x TRIGGER:31/w", 0x07000000
        ),
        Register("LOAD", 0x04, "LOAD:0-23/w"),
        Register("REASON", 0x08, "TIMER:0/r FORCE:1/r"),
        *(Register(f"SCRATCH{i}", 0x0C + 4 * i, "SCRATCH:0-31") for i in range(8)),
        Register("TICK", 0x2C, "CYCLES:0-8 ENABLE:9 RUNNING:10/r COUNT:11-19/r", 0x200),
    )

    def __init__(
        self, ref_hz: Callable[[], int], tick_changed: Callable[[], None], trigger: Callable[[], None]
    ) -> None:
        super().__init__("WATCHDOG", 0x40058000)
        self._ref_hz = ref_hz
        self._trigger = trigger
        self.on_write("TICK", then=tick_changed)

    def tick_hz(self) -> int:
        """Return the frequency of the tick in Hz, or 0 while it is stopped."""
        cycles = self.field("TICK", "CYCLES")
        return self._ref_hz() // cycles if cycles and self.field("TICK", "ENABLE") else 0

    def read_tick(self, value: int) -> int:
        return value | bool(self.tick_hz()) << 10

    def write_ctrl(self, _old: int, new: int, acting: int) -> None:
        self.value["CTRL"] = new
        if acting >> 31:
            self._trigger()
