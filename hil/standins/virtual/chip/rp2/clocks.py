"""CLOCKS of RP2040 and RP2350: the reference, system, peripheral and USB clocks (data sheets, 2.15 and 8.1).

The glitchless multiplexers of clk_ref and clk_sys switch at once. Faults are: a source that does not run, which would
stop the chip; a change of an auxiliary source in use; and a clock above the chip's limit.
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.rp2.apb import ApbBlock

_AUXILIARY = ("pll_sys", "pll_usb", "rosc", "xosc")
# By CLK_USB_CTRL.AUXSRC (RP2040: 2.15.7; RP2350: pico-sdk, clocks.h).
_USB_SOURCES = ("pll_usb", "pll_sys", "rosc", "xosc")


def clock_registers(name: str, at: int, control: str, divider: str, one: int) -> tuple[Register, ...]:
    """Return the registers of a clock generator; `one` is the divider that divides by 1."""
    return (Register(f"{name}_CTRL", at, control), Register(f"{name}_DIV", at + 4, divider, one),
            Register(f"{name}_SELECTED", at + 8, "SELECTED:0-31/r", 1))  # fmt: skip


class RpClocks(ApbBlock):
    """The clock generators; a chip's subclass has the registers, the sources of clk_ref and the limit.

    Args:
        base: base address.
        clock: virtual time; its frequency is set to clk_sys.
        sources: returns the present frequency in Hz of `rosc`, `xosc`, `pll_sys` or `pll_usb`, 0 if it does not run.
        changed: called after every change of a clock.
    """

    LIMIT_HZ = 0
    REFERENCES: tuple[str, ...] = ()  # sources of clk_ref by CLK_REF_CTRL.SRC

    def __init__(self, base: int, clock: Clock, sources: Callable[[str], int], changed: Callable[[], None]) -> None:
        super().__init__("CLOCKS", base)
        self._clock = clock
        self._source = sources
        self._changed = changed
        self.on_write("CLK_REF_CTRL", "CLK_REF_DIV", "CLK_SYS_DIV", "CLK_USB_DIV", then=self.settle)

    # frequencies in Hz

    def ref_hz(self) -> int:
        select = self.field("CLK_REF_CTRL", "SRC")
        hz = self._source(self.REFERENCES[select]) if select < len(self.REFERENCES) else 0
        return self.divided("CLK_REF", hz)

    def sys_hz(self) -> int:
        if not self.field("CLK_SYS_CTRL", "SRC"):
            hz = self.ref_hz()
        else:
            hz = self._auxiliary(self.field("CLK_SYS_CTRL", "AUXSRC"))
        return self.divided("CLK_SYS", hz)

    def divided(self, name: str, hz: int) -> int:
        """Return a frequency divided by a generator's divider; INT = 0 is a chip's highest value plus 1."""
        raise NotImplementedError

    def peri_hz(self) -> int:
        """Return clk_peri in Hz, or 0 while it is off."""
        if not self.field("CLK_PERI_CTRL", "ENABLE"):
            return 0
        select = self.field("CLK_PERI_CTRL", "AUXSRC")
        return self.sys_hz() if select == 0 else self._auxiliary(select - 1)

    def usb_hz(self) -> int:
        """Return clk_usb in Hz, or 0 while it is off."""
        if not self.field("CLK_USB_CTRL", "ENABLE"):
            return 0
        select = self.field("CLK_USB_CTRL", "AUXSRC")
        hz = self._source(_USB_SOURCES[select]) if select < len(_USB_SOURCES) else 0
        return self.divided("CLK_USB", hz)

    def _auxiliary(self, select: int) -> int:
        return self._source(_AUXILIARY[select]) if select < len(_AUXILIARY) else 0

    def uses(self, source: str) -> bool:
        """Return whether clk_ref, clk_sys, or a running clk_peri or clk_usb comes from a source."""
        reference = (
            self.REFERENCES.index(source) == self.field("CLK_REF_CTRL", "SRC") if source in self.REFERENCES else 0
        )
        systems, peripherals = dict(enumerate(_AUXILIARY)), dict(enumerate(_AUXILIARY, 1))  # by the value of AUXSRC
        system = self.field("CLK_SYS_CTRL", "SRC") and systems.get(self.field("CLK_SYS_CTRL", "AUXSRC")) == source
        select = self.field("CLK_PERI_CTRL", "AUXSRC")
        peripheral = self.field("CLK_PERI_CTRL", "ENABLE") and peripherals.get(select) == source
        select = self.field("CLK_USB_CTRL", "AUXSRC")
        usb = self.field("CLK_USB_CTRL", "ENABLE") and dict(enumerate(_USB_SOURCES)).get(select) == source
        return bool(reference or system or peripheral or usb)

    def settle(self) -> None:
        """Apply a change of a source or a setting; raise ModelFault if the chip would stop or a clock is too fast."""
        system, limit = self.sys_hz(), self.LIMIT_HZ
        for name, hz in (("CLK_REF", self.ref_hz()), ("CLK_SYS", system)):
            if not hz:
                control = self.value[f"{name}_CTRL"]
                raise ModelFault(f"{name.lower()} is switched to a source that does not run ({name}_CTRL {control:#x})")
        if system > limit or self.peri_hz() > limit:
            raise ModelFault(f"clk_sys at {system} Hz, clk_peri at {self.peri_hz()} Hz: the chip allows {limit} Hz")
        if system != self._clock.hz:
            self._clock.set_frequency(system)
        self._changed()

    # registers

    def reset(self) -> None:
        super().reset()
        self._clock.set_frequency(self.sys_hz())

    def _apply(self, name: str, new: int) -> None:
        self.value[name] = new
        self.settle()

    def write_clk_sys_ctrl(self, old: int, new: int, _acting: int) -> None:
        if old & new & 1 and (old ^ new) & 0xE0:
            raise ModelFault(
                "CLK_SYS_CTRL.AUXSRC changes while clk_sys uses it, and glitches; set SRC to clk_ref first"
            )
        self._apply("CLK_SYS_CTRL", new)

    def write_clk_peri_ctrl(self, old: int, new: int, _acting: int) -> None:
        if old & new & 1 << 11 and (old ^ new) & 0xE0:
            raise ModelFault("CLK_PERI_CTRL.AUXSRC changes while the clock is on, and glitches; clear ENABLE first")
        self._apply("CLK_PERI_CTRL", new)

    def write_clk_usb_ctrl(self, old: int, new: int, _acting: int) -> None:
        if old & new & 1 << 11 and (old ^ new) & 0xE0:
            raise ModelFault("CLK_USB_CTRL.AUXSRC changes while the clock is on, and glitches; clear ENABLE first")
        self._apply("CLK_USB_CTRL", new)

    def read_clk_ref_selected(self, _value: int) -> int:
        return 1 << self.field("CLK_REF_CTRL", "SRC")

    def read_clk_sys_selected(self, _value: int) -> int:
        return 1 << self.field("CLK_SYS_CTRL", "SRC")

    def read_enabled0(self, _value: int) -> int:
        return self.value["WAKE_EN0"]

    def read_enabled1(self, _value: int) -> int:
        return self.value["WAKE_EN1"]
