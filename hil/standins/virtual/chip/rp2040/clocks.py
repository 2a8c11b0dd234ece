"""CLOCKS of the RP2040: the reference, system and peripheral clocks (data sheet, 2.15).

The glitchless multiplexers of clk_ref and clk_sys switch at once. Faults are: a source that does not run, which would
stop the chip; a change of an auxiliary source in use; and a clock above the chip's limit.
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.rp2040.apb import ApbBlock

# Data sheet, 2.15.1 and 5.2.3 (first edition; later ones allow 200 MHz at a higher voltage).
LIMIT_HZ = 133_000_000
_GPOUT = "AUXSRC:5-8/x KILL:10/x ENABLE:11/x DC50:12/x PHASE:16-17/x NUDGE:20/x"
_OTHER = "AUXSRC:5-7 KILL:10 ENABLE:11 PHASE:16-17 NUDGE:20"
_ALL = "BITS:0-31"
_AUXILIARY = ("pll_sys", "pll_usb", "rosc", "xosc")


def _slice(name: str, at: int, control: str, divider: str) -> tuple[Register, ...]:
    return (Register(f"{name}_CTRL", at, control), Register(f"{name}_DIV", at + 4, divider, 0x100),
            Register(f"{name}_SELECTED", at + 8, "SELECTED:0-31/r", 1))  # fmt: skip


class Clocks(ApbBlock):
    """The clock generators.

    Args:
        clock: virtual time; its frequency is set to clk_sys.
        sources: returns the present frequency in Hz of `rosc`, `xosc`, `pll_sys` or `pll_usb`, 0 if it does not run.
        changed: called after every change of a clock.
    """

    REGISTERS = (
        *_slice("CLK_GPOUT0", 0x00, _GPOUT, "FRAC:0-7 INT:8-31"),
        *_slice("CLK_GPOUT1", 0x0C, _GPOUT, "FRAC:0-7 INT:8-31"),
        *_slice("CLK_GPOUT2", 0x18, _GPOUT, "FRAC:0-7 INT:8-31"),
        *_slice("CLK_GPOUT3", 0x24, _GPOUT, "FRAC:0-7 INT:8-31"),
        *_slice("CLK_REF", 0x30, "SRC:0-1 AUXSRC:5-6", "INT:8-9"),
        *_slice("CLK_SYS", 0x3C, "SRC:0 AUXSRC:5-7", "FRAC:0-7 INT:8-31"),
        Register("CLK_PERI_CTRL", 0x48, "AUXSRC:5-7 KILL:10/x ENABLE:11"),
        Register("CLK_PERI_SELECTED", 0x50, "SELECTED:0-31/r", 1),
        *_slice("CLK_USB", 0x54, _OTHER, "INT:8-9"),
        *_slice("CLK_ADC", 0x60, _OTHER, "INT:8-9"),
        *_slice("CLK_RTC", 0x6C, _OTHER, "FRAC:0-7 INT:8-31"),
        Register("CLK_SYS_RESUS_CTRL", 0x78, "TIMEOUT:0-7 ENABLE:8 FRCE:12/x CLEAR:16", 0xFF),
        Register("CLK_SYS_RESUS_STATUS", 0x7C, "RESUSSED:0/r"),
        Register("FC0_REF_KHZ", 0x80, "KHZ:0-19"), Register("FC0_MIN_KHZ", 0x84, "KHZ:0-24"),
        Register("FC0_MAX_KHZ", 0x88, "KHZ:0-24", 0x1FFFFFF), Register("FC0_DELAY", 0x8C, "DELAY:0-2", 1),
        Register("FC0_INTERVAL", 0x90, "INTERVAL:0-3", 8), Register("FC0_SRC", 0x94, "SRC:0-7/x"),
        Register("FC0_STATUS", 0x98, "FLAGS:0-31/r"), Register("FC0_RESULT", 0x9C, "KHZ:0-29/r"),
        Register("WAKE_EN0", 0xA0, _ALL, 0xFFFFFFFF), Register("WAKE_EN1", 0xA4, "BITS:0-14", 0x7FFF),
        Register("SLEEP_EN0", 0xA8, _ALL, 0xFFFFFFFF), Register("SLEEP_EN1", 0xAC, "BITS:0-14", 0x7FFF),
        Register("ENABLED0", 0xB0, "BITS:0-31/r"), Register("ENABLED1", 0xB4, "BITS:0-14/r"),
    )  # fmt: skip

    def __init__(self, clock: Clock, sources: Callable[[str], int], changed: Callable[[], None]) -> None:
        super().__init__("CLOCKS", 0x40008000)
        self._clock = clock
        self._source = sources
        self._changed = changed
        self.on_write("CLK_REF_CTRL", "CLK_REF_DIV", "CLK_SYS_DIV", then=self.settle)

    # frequencies in Hz

    def ref_hz(self) -> int:
        source = {0: "rosc", 1: "pll_usb", 2: "xosc"}.get(self.field("CLK_REF_CTRL", "SRC"), "")
        return self._source(source) // (self.field("CLK_REF_DIV", "INT") or 4) if source else 0

    def sys_hz(self) -> int:
        if not self.field("CLK_SYS_CTRL", "SRC"):
            hz = self.ref_hz()
        else:
            hz = self._auxiliary(self.field("CLK_SYS_CTRL", "AUXSRC"))
        divider = self.value["CLK_SYS_DIV"]
        return hz * 256 // (divider if divider >> 8 else divider | 1 << 24)

    def peri_hz(self) -> int:
        """Return clk_peri in Hz, or 0 while it is off."""
        if not self.field("CLK_PERI_CTRL", "ENABLE"):
            return 0
        select = self.field("CLK_PERI_CTRL", "AUXSRC")
        return self.sys_hz() if select == 0 else self._auxiliary(select - 1)

    def _auxiliary(self, select: int) -> int:
        return self._source(_AUXILIARY[select]) if select < len(_AUXILIARY) else 0

    def uses(self, source: str) -> bool:
        """Return whether clk_ref, clk_sys or a running clk_peri comes from a source."""
        reference = {"rosc": 0, "pll_usb": 1, "xosc": 2}.get(source) == self.field("CLK_REF_CTRL", "SRC")
        systems, peripherals = dict(enumerate(_AUXILIARY)), dict(enumerate(_AUXILIARY, 1))  # by the value of AUXSRC
        system = self.field("CLK_SYS_CTRL", "SRC") and systems.get(self.field("CLK_SYS_CTRL", "AUXSRC")) == source
        select = self.field("CLK_PERI_CTRL", "AUXSRC")
        peripheral = self.field("CLK_PERI_CTRL", "ENABLE") and peripherals.get(select) == source
        return bool(reference or system or peripheral)

    def settle(self) -> None:
        """Apply a change of a source or a setting; raise ModelFault if the chip would stop or a clock is too fast."""
        system = self.sys_hz()
        for name, hz in (("CLK_REF", self.ref_hz()), ("CLK_SYS", system)):
            if not hz:
                control = self.value[f"{name}_CTRL"]
                raise ModelFault(f"{name.lower()} is switched to a source that does not run ({name}_CTRL {control:#x})")
        if system > LIMIT_HZ or self.peri_hz() > LIMIT_HZ:
            raise ModelFault(f"clk_sys at {system} Hz, clk_peri at {self.peri_hz()} Hz: the chip allows {LIMIT_HZ} Hz")
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

    def read_clk_ref_selected(self, _value: int) -> int:
        return 1 << self.field("CLK_REF_CTRL", "SRC")

    def read_clk_sys_selected(self, _value: int) -> int:
        return 1 << self.field("CLK_SYS_CTRL", "SRC")

    def read_enabled0(self, _value: int) -> int:
        return self.value["WAKE_EN0"]

    def read_enabled1(self, _value: int) -> int:
        return self.value["WAKE_EN1"]
