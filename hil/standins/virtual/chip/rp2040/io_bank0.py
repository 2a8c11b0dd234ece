"""IO_BANK0 of the RP2040, with the interrupts of its pins for core 0 (data sheet, 2.19.3 and 2.19.6.1).

Interrupts by edges are modelled, not those by levels.
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.rp2.pins import PINS, IoBank
from hil.standins.virtual.chip.rp2040.sio import CTRL, STATUS


def _of_8_pins(first: int, level: str, edge: str) -> str:
    """Return the fields of one of the registers of interrupts, with the access of levels and of edges."""
    return " ".join(
        f"GPIO{pin}_LEVEL_LOW:{4 * i}{level} GPIO{pin}_LEVEL_HIGH:{4 * i + 1}{level} "
        f"GPIO{pin}_EDGE_LOW:{4 * i + 2}{edge} GPIO{pin}_EDGE_HIGH:{4 * i + 3}{edge}"
        for i, pin in enumerate(range(first, min(first + 8, PINS)))
    )


class IoBank0(IoBank):
    """Bank 0.

    Args:
        changed: called when a function changes.
        interrupt: called with the level of the interrupt line.
    """

    REGISTERS = tuple(
        register
        for i in range(4)
        for register in (
            Register(f"INTR{i}", 0xF0 + 4 * i, _of_8_pins(8 * i, "/r", "/c")),
            Register(f"PROC0_INTE{i}", 0x100 + 4 * i, _of_8_pins(8 * i, "/x", "")),
            Register(f"PROC0_INTS{i}", 0x120 + 4 * i, _of_8_pins(8 * i, "/r", "/r")),
        )
    )

    def __init__(self, changed: Callable[[], None], interrupt: Callable[[bool], None]) -> None:
        self._interrupt = interrupt
        super().__init__("IO_BANK0", 0x40014000, tuple(f"GPIO{i}" for i in range(PINS)), (STATUS, CTRL), changed)
        self.on_write(*(f"{name}{i}" for name in ("INTR", "PROC0_INTE") for i in range(4)), then=self._settle)

    def reset(self) -> None:
        super().reset()
        self._settle()

    def edge(self, pin: int, level: int) -> None:
        """Note an edge of an input pin."""
        self.value[f"INTR{pin // 8}"] |= (8 if level else 4) << 4 * (pin % 8)
        self._settle()

    def _settle(self) -> None:
        for i in range(4):
            self.value[f"PROC0_INTS{i}"] = self.value[f"INTR{i}"] & self.value[f"PROC0_INTE{i}"]
        self._interrupt(any(self.value[f"PROC0_INTS{i}"] for i in range(4)))
