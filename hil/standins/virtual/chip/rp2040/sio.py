"""SIO of the RP2040: pins and divider (data sheet, 2.3.1), and its banks of pins and pads (2.19.6)."""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.registers import WORD, Register
from hil.standins.virtual.chip.rp2.pins import PINS, IoBank, Pads, SioPins, gpio_registers

STATUS = (
    "OUTFROMPERI:8/r OUTTOPAD:9/r OEFROMPERI:12/r OETOPAD:13/r INFROMPAD:17/r INTOPERI:19/r IRQFROMPAD:24/r "
    "IRQTOPROC:26/r"
)
CTRL = "FUNCSEL:0-4 OUTOVER:8-9/x OEOVER:12-13/x INOVER:16-17/x IRQOVER:28-29/x"
BANK0_PADS = (*((f"GPIO{i}", 0x56) for i in range(PINS)), ("SWCLK", 0xDA), ("SWD", 0x5A))
QSPI_PINS = tuple(f"GPIO{i}" for i in range(6))
QSPI_PADS = (("SCLK", 0x56), ("SD0", 0x52), ("SD1", 0x52), ("SD2", 0x52), ("SD3", 0x52), ("SS", 0x5A))


class Sio(SioPins):
    """The single-cycle IO block of core 0."""

    REGISTERS = (
        Register("CPUID", 0x00, "CPUID:0-31/r"),
        Register("GPIO_IN", 0x04, "PINS:0-29/r"), Register("GPIO_HI_IN", 0x08, "PINS:0-5/r", 0x3E),
        *gpio_registers(4),
        Register("FIFO_ST", 0x50, "VLD:0/r RDY:1/r WOF:2/c ROE:3/c", 2),
        Register("FIFO_WR", 0x54, "FIFO:0-31/x"),
        Register("DIV_UDIVIDEND", 0x60, "DIVIDEND:0-31"), Register("DIV_UDIVISOR", 0x64, "DIVISOR:0-31"),
        Register("DIV_SDIVIDEND", 0x68, "DIVIDEND:0-31"), Register("DIV_SDIVISOR", 0x6C, "DIVISOR:0-31"),
        Register("DIV_QUOTIENT", 0x70, "QUOTIENT:0-31"), Register("DIV_REMAINDER", 0x74, "REMAINDER:0-31"),
        Register("DIV_CSR", 0x78, "READY:0/r DIRTY:1/r", 1),
    )  # fmt: skip

    def __init__(self, bank: IoBank, pads: Pads, on_edge: Callable[[int, int], None]) -> None:
        super().__init__(bank, pads, on_edge)
        for register in ("DIV_UDIVIDEND", "DIV_UDIVISOR", "DIV_SDIVIDEND", "DIV_SDIVISOR"):
            self._writers[register] = lambda _old, new, _acting, name=register: self._divide(name, new)

    def _divide(self, register: str, value: int) -> None:
        """Divide at once; silicon takes eight cycles (2.3.1.5).

        The signed and unsigned operands are the same registers.
        """
        signed = register.startswith("DIV_S")
        place = register[-8:].lstrip("US")
        for kind in "US":
            self.value[f"DIV_{kind}{'DIVIDEND' if 'DIVIDEND' in place else 'DIVISOR'}"] = value
        dividend, divisor = self.value["DIV_UDIVIDEND"], self.value["DIV_UDIVISOR"]
        if signed:
            dividend, divisor = (v - (v >> 31 << 32) for v in (dividend, divisor))
        if divisor == 0:  # 2.3.1.5: the remainder is the dividend, the quotient all ones (or 1 for a negative dividend)
            quotient, remainder = (1 if dividend < 0 else -1), dividend
        else:
            quotient = abs(dividend) // abs(divisor) * (1 if (dividend < 0) == (divisor < 0) else -1)
            remainder = dividend - quotient * divisor
        self.value["DIV_QUOTIENT"], self.value["DIV_REMAINDER"] = quotient & WORD, remainder & WORD
        self.value["DIV_CSR"] = 0b11

    def read_div_quotient(self, value: int) -> int:
        self.value["DIV_CSR"] = 0b01
        return value
