"""Pins of RP2040 and RP2350: IO_BANK0 and PADS_BANK0, and the GPIO of SIO.

Sources: RP2040 data sheet, 2.19.6 and 2.3.1; RP2350 data sheet, 9.11 and 3.1. Edges of output pins are reported if SIO
drives them; inputs read what is connected to them, else their pull. Overrides and interrupts of pins (but see
rp2040/io_bank0.py), interpolators, spinlocks and the mailboxes to core 1 are not modelled.
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.registers import Block, Register
from hil.standins.virtual.chip.rp2.apb import OPERATIONS, ApbBlock

PINS = 30  # of both chips in their packages with 56 and 60 pins
FUNC_UART, FUNC_SIO = 2, 5
PAD = "SLEWFAST:0 SCHMITT:1 PDE:2 PUE:3 DRIVE:4-5 IE:6 OD:7"


class IoBank(ApbBlock):
    """Function selection of the pins of a bank.

    Args:
        name, base: name and base address as in the data sheet.
        pins: names of the pins in the order of their registers.
        fields: field lists of STATUS and of CTRL.
        changed: called when a function changes.
    """

    def __init__(
        self, name: str, base: int, pins: tuple[str, ...], fields: tuple[str, str], changed: Callable[[], None]
    ) -> None:
        self.REGISTERS = (*self.REGISTERS, *(
            register
            for i, pin in enumerate(pins)
            for register in (
                Register(f"{pin}_STATUS", 8 * i, fields[0]),
                Register(f"{pin}_CTRL", 8 * i + 4, fields[1], 0x1F),
            )
        ))  # fmt: skip
        super().__init__(name, base)
        self._changed = changed
        self.on_write(*(f"{pin}_CTRL" for pin in pins), then=changed)

    def reset(self) -> None:
        super().reset()
        self._changed()

    def edge(self, pin: int, level: int) -> None:
        """Note an edge of an input pin: nothing in a bank whose interrupts are not modelled."""

    def function(self, pin: int) -> int:
        return self.field(f"GPIO{pin}_CTRL", "FUNCSEL")


class Pads(ApbBlock):
    """Electrical control of the pads of a bank, in the order of their registers after VOLTAGE_SELECT.

    Args:
        name, base: name and base address as in the data sheet.
        pads: their names and reset values.
        fields: field list of a pad's register.
        changed: called when a register changes.
    """

    def __init__(
        self, name: str, base: int, pads: tuple[tuple[str, int], ...], fields: str, changed: Callable[[], None]
    ) -> None:
        self.REGISTERS = (
            Register("VOLTAGE_SELECT", 0, "VOLTAGE_SELECT:0"),
            *(Register(pad, 4 + 4 * i, fields, reset) for i, (pad, reset) in enumerate(pads)),
        )
        super().__init__(name, base)
        self._changed = changed
        self._latched = "ISO" in self._named[pads[0][0]].by_name
        self.on_write(*(pad for pad, _ in pads), then=changed)

    def reset(self) -> None:
        super().reset()
        self._changed()

    def connects(self, pin: int) -> bool:
        """Return whether the pad is connected to the pin's function: not isolated by a latch (RP2350, 9.7)."""
        return not (self._latched and self.field(f"GPIO{pin}", "ISO"))

    def drives(self, pin: int) -> bool:
        """Return whether the pad passes the pin's output on."""
        return self.connects(pin) and not self.field(f"GPIO{pin}", "OD")

    def receives(self, pin: int) -> bool:
        """Return whether the pad passes its input on."""
        return self.connects(pin) and bool(self.field(f"GPIO{pin}", "IE"))


def gpio_registers(step: int) -> tuple[Register, ...]:
    """Return the registers of the pins' output and direction in SIO, which are `step` bytes apart."""
    names = [f"GPIO_{what}{how}" for what in ("OUT", "OE") for how in ("", "_SET", "_CLR", "_XOR")]
    pins = f"PINS:0-{PINS - 1}"
    return tuple(
        Register(name, 0x10 + step * i, pins + ("/w" if name[-3:] in ("SET", "CLR", "XOR") else ""))
        for i, name in enumerate(names)
    )


class SioPins(Block):
    """The pins of the single-cycle IO block of core 0. It has no atomic aliases and no bit in RESETS.

    A subclass has its registers, with those of `gpio_registers` and GPIO_IN.

    Args:
        bank, pads: functions and pads of bank 0.
        on_edge: called with (pin, level) when an output pin changes.
    """

    def __init__(self, bank: IoBank, pads: Pads, on_edge: Callable[[int, int], None]) -> None:
        super().__init__("SIO", 0xD0000000)
        self._bank, self._pads = bank, pads
        self._on_edge = on_edge
        self._driven = 0
        self._outside: dict[int, int] = {}  # levels of pins by what is connected to them
        self.on_write("GPIO_OUT", "GPIO_OE", then=self.drive)
        for register in ("GPIO_OUT", "GPIO_OE"):
            for how, operation in zip(("XOR", "SET", "CLR"), OPERATIONS, strict=True):
                self._writers[f"{register}_{how}"] = lambda _old, _new, bits, name=register, operation=operation: (
                    self._set(name, operation(self.value[name], bits))
                )

    def reset(self) -> None:
        super().reset()
        self.drive()

    def _set(self, register: str, value: int) -> None:
        self.value[register] = value & (1 << PINS) - 1
        self.drive()

    def drive(self) -> None:
        """Report the pins whose level has changed."""
        outputs = self.value["GPIO_OE"]
        driven = self.value["GPIO_OUT"] & outputs
        changed = driven ^ self._driven
        for pin in range(PINS) if changed | self._driven | driven else ():
            connected = self._bank.function(pin) == FUNC_SIO and self._pads.drives(pin)
            level = driven >> pin & 1 if connected else 0
            if level != self._driven >> pin & 1:
                self._driven ^= 1 << pin
                self._on_edge(pin, level)

    def read_gpio_in(self, _value: int) -> int:
        levels = {i: self._pads.field(f"GPIO{i}", "PUE") for i in range(PINS)} | self._outside
        return self._driven | sum(1 << i for i in range(PINS) if levels[i]) & ~self.value["GPIO_OE"]

    def connect(self, pin: int, level: int) -> None:
        """Drive a pin from outside, such as VBUS sense of a Pico."""
        was = self.read_gpio_in(0) >> pin & 1
        self._outside[pin] = level
        if was != level:
            self._bank.edge(pin, level)
