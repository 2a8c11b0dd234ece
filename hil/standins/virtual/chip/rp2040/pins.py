"""Pins of the RP2040: IO_BANK0 (data sheet, 2.19.6.1), PADS_BANK0 (2.19.6.3), the GPIO of SIO and its divider (2.3.1).

Edges of output pins are reported if SIO drives them; inputs read their pull. Overrides, interrupts of pins,
interpolators, spinlocks and the mailboxes to core 1 are not modelled.
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.registers import WORD, Block, Register
from hil.standins.virtual.chip.rp2040.apb import OPERATIONS, ApbBlock

PINS = 30
ALL = (1 << PINS) - 1
FUNC_UART, FUNC_SIO = 2, 5
_CTRL = "FUNCSEL:0-4 OUTOVER:8-9/x OEOVER:12-13/x INOVER:16-17/x IRQOVER:28-29/x"
_STATUS = (
    "OUTFROMPERI:8/r OUTTOPAD:9/r OEFROMPERI:12/r OETOPAD:13/r INFROMPAD:17/r INTOPERI:19/r IRQFROMPAD:24/r "
    "IRQTOPROC:26/r"
)
_PAD = "SLEWFAST:0 SCHMITT:1 PDE:2 PUE:3 DRIVE:4-5 IE:6 OD:7"
_PAD_RESET = 0x56


class IoBank(ApbBlock):
    """Function selection of the pins of a bank.

    Args:
        name, base, pins: name, base address and number of pins as in the data sheet.
        changed: called when a function changes.
    """

    def __init__(self, name: str, base: int, pins: int, changed: Callable[[], None]) -> None:
        self.REGISTERS = tuple(
            register
            for i in range(pins)
            for register in (
                Register(f"GPIO{i}_STATUS", 8 * i, _STATUS),
                Register(f"GPIO{i}_CTRL", 8 * i + 4, _CTRL, 0x1F),
            )
        )
        super().__init__(name, base)
        self._changed = changed
        self.on_write(*(f"GPIO{i}_CTRL" for i in range(pins)), then=changed)

    def reset(self) -> None:
        super().reset()
        self._changed()

    def function(self, pin: int) -> int:
        return self.field(f"GPIO{pin}_CTRL", "FUNCSEL")


class Pads(ApbBlock):
    """Electrical control of the pads of a bank, in the order of their registers after VOLTAGE_SELECT."""

    def __init__(self, name: str, base: int, pads: tuple[tuple[str, int], ...], changed: Callable[[], None]) -> None:
        self.REGISTERS = (
            Register("VOLTAGE_SELECT", 0, "VOLTAGE_SELECT:0"),
            *(Register(pad, 4 + 4 * i, _PAD, reset) for i, (pad, reset) in enumerate(pads)),
        )
        super().__init__(name, base)
        self.on_write(*(pad for pad, _ in pads), then=changed)


BANK0_PADS = (*((f"GPIO{i}", _PAD_RESET) for i in range(PINS)), ("SWCLK", 0xDA), ("SWD", 0x5A))
QSPI_PADS = (("SCLK", 0x56), ("SD0", 0x52), ("SD1", 0x52), ("SD2", 0x52), ("SD3", 0x52), ("SS", 0x5A))


class Sio(Block):
    """The single-cycle IO block of core 0. It has no atomic aliases and no bit in RESETS.

    Args:
        bank, pads: functions and pads of bank 0.
        on_edge: called with (pin, level) when an output pin changes.
    """

    REGISTERS = (
        Register("CPUID", 0x00, "CPUID:0-31/r"),
        Register("GPIO_IN", 0x04, "PINS:0-29/r"), Register("GPIO_HI_IN", 0x08, "PINS:0-5/r", 0x3E),
        Register("GPIO_OUT", 0x10, "PINS:0-29"),
        *(Register(f"GPIO_OUT_{how}", 0x14 + 4 * i, "PINS:0-29/w") for i, how in enumerate(("SET", "CLR", "XOR"))),
        Register("GPIO_OE", 0x20, "PINS:0-29"),
        *(Register(f"GPIO_OE_{how}", 0x24 + 4 * i, "PINS:0-29/w") for i, how in enumerate(("SET", "CLR", "XOR"))),
        Register("FIFO_ST", 0x50, "VLD:0/r RDY:1/r WOF:2/c ROE:3/c", 2),
        Register("FIFO_WR", 0x54, "FIFO:0-31/x"),
        Register("DIV_UDIVIDEND", 0x60, "DIVIDEND:0-31"), Register("DIV_UDIVISOR", 0x64, "DIVISOR:0-31"),
        Register("DIV_SDIVIDEND", 0x68, "DIVIDEND:0-31"), Register("DIV_SDIVISOR", 0x6C, "DIVISOR:0-31"),
        Register("DIV_QUOTIENT", 0x70, "QUOTIENT:0-31"), Register("DIV_REMAINDER", 0x74, "REMAINDER:0-31"),
        Register("DIV_CSR", 0x78, "READY:0/r DIRTY:1/r", 1),
    )  # fmt: skip

    def __init__(self, bank: IoBank, pads: Pads, on_edge: Callable[[int, int], None]) -> None:
        super().__init__("SIO", 0xD0000000)
        self._bank, self._pads = bank, pads
        self._on_edge = on_edge
        self._driven = 0
        self.on_write("GPIO_OUT", "GPIO_OE", then=self.drive)
        for register in ("GPIO_OUT", "GPIO_OE"):
            for how, operation in zip(("XOR", "SET", "CLR"), OPERATIONS, strict=True):
                self._writers[f"{register}_{how}"] = lambda _old, _new, bits, name=register, operation=operation: (
                    self._set(name, operation(self.value[name], bits))
                )
        for register in ("DIV_UDIVIDEND", "DIV_UDIVISOR", "DIV_SDIVIDEND", "DIV_SDIVISOR"):
            self._writers[register] = lambda _old, new, _acting, name=register: self._divide(name, new)

    def reset(self) -> None:
        super().reset()
        self.drive()

    def _set(self, register: str, value: int) -> None:
        self.value[register] = value & ALL
        self.drive()

    def drive(self) -> None:
        """Report the pins whose level has changed."""
        outputs = self.value["GPIO_OE"]
        driven = self.value["GPIO_OUT"] & outputs
        changed = driven ^ self._driven
        for pin in range(PINS) if changed | self._driven | driven else ():
            connected = self._bank.function(pin) == FUNC_SIO and not self._pads.field(f"GPIO{pin}", "OD")
            level = driven >> pin & 1 if connected else 0
            if level != self._driven >> pin & 1:
                self._driven ^= 1 << pin
                self._on_edge(pin, level)

    def read_gpio_in(self, _value: int) -> int:
        pulled = sum(1 << i for i in range(PINS) if self._pads.field(f"GPIO{i}", "PUE"))
        return self._driven | pulled & ~self.value["GPIO_OE"]

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
