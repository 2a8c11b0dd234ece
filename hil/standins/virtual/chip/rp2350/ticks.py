"""TICKS of the RP2350, which divides clk_ref for the timers (data sheet, 8.5), and its two timers (12.8)."""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.rp2.apb import ApbBlock
from hil.standins.virtual.chip.rp2.timer import RpTimer, timer_registers

NAMES = ("PROC0", "PROC1", "TIMER0", "TIMER1", "WATCHDOG", "RISCV")


class Ticks(ApbBlock):
    """The tick generators.

    Args:
        ref_hz: returns clk_ref in Hz.
        changed: called when the frequency of a tick changes.
    """

    REGISTERS = tuple(
        register
        for i, name in enumerate(NAMES)
        for register in (
            Register(f"{name}_CTRL", 0xC * i, "ENABLE:0 RUNNING:1/r"),
            Register(f"{name}_CYCLES", 0xC * i + 4, "CYCLES:0-8"),
            Register(f"{name}_COUNT", 0xC * i + 8, "COUNT:0-8/r"),
        )
    )

    def __init__(self, ref_hz: Callable[[], int], changed: Callable[[], None]) -> None:
        super().__init__("TICKS", 0x40108000)
        self._ref_hz = ref_hz
        for name in NAMES:
            self.on_write(f"{name}_CTRL", f"{name}_CYCLES", then=changed)
            self._readers[f"{name}_CTRL"] = lambda value, name=name: value | bool(self.hz(name)) << 1

    def hz(self, name: str) -> int:
        """Return the frequency of a tick in Hz, or 0 while it is stopped."""
        cycles = self.value[f"{name}_CYCLES"]
        return self._ref_hz() // cycles if cycles and self.value[f"{name}_CTRL"] else 0


class Rp2350Timer(RpTimer):
    """A 64-bit timer, which counts its tick or clk_sys.

    Args:
        number: 0 or 1.
        clock: virtual time.
        tick_hz, sys_hz: return the frequencies of the tick and of clk_sys in Hz.
        drive: called with (alarm, level) when an interrupt line changes.
    """

    REGISTERS = timer_registers(
        0x3C, Register("LOCKED", 0x34, "LOCKED:0"), Register("SOURCE", 0x38, "CLK_SYS:0")
    )  # fmt: skip

    def __init__(
        self, number: int, clock: Clock, tick_hz: Callable[[], int], sys_hz: Callable[[], int],
        drive: Callable[[int, bool], None],
    ) -> None:  # fmt: skip
        self.value = {"SOURCE": 0, "PAUSE": 0}  # until the base class has set all
        super().__init__(
            f"TIMER{number}", 0x400B0000 + 0x8000 * number, clock,
            lambda: sys_hz() if self.value["SOURCE"] else tick_hz(), drive,
        )  # fmt: skip
        self.on_write("SOURCE", then=self.rate_changed)

    def write(self, offset: int, size: int, value: int) -> None:
        self._refuse_locked(offset)
        super().write(offset, size, value)

    def change(self, offset: int, operation: Callable[[int, int], int], bits: int) -> None:
        self._refuse_locked(offset)
        super().change(offset, operation, bits)

    def _refuse_locked(self, offset: int) -> None:
        """Raise ModelFault for a write to what LOCKED keeps until the next reset: time, PAUSE, SOURCE, LOCKED."""
        if self.value["LOCKED"] and offset in (0x00, 0x04, 0x2C, 0x30, 0x34, 0x38):
            raise ModelFault(f"{self.name} is written at offset 0x{offset:X} while LOCKED is set", self.base + offset)
