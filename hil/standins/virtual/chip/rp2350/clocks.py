"""Clock generators of the RP2350 (data sheet, 8.1.7)."""

from __future__ import annotations

from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.rp2.clocks import RpClocks, clock_registers

_GPOUT = "AUXSRC:5-8/x KILL:10/x ENABLE:11/x DC50:12/x PHASE:16-17/x NUDGE:20/x ENABLED:28/r"
_OTHER = "AUXSRC:5-7 KILL:10 ENABLE:11 PHASE:16-17 NUDGE:20 ENABLED:28/r"
_FRACTION = "FRAC:0-15 INT:16-31"
_ALL, _REST = "BITS:0-31", "BITS:0-30"
_STOPPABLE = ("CLK_PERI", "CLK_HSTX", "CLK_USB", "CLK_ADC")
_ENABLE = 1 << 11


def _slice(name: str, at: int, control: str, divider: str) -> tuple[Register, ...]:
    return clock_registers(name, at, control, divider, 1 << 16)


class Rp2350Clocks(RpClocks):
    """The clock generators."""

    LIMIT_HZ = 150_000_000  # 14.9, at the core voltage after power-on
    REFERENCES = ("rosc", "pll_usb", "xosc", "lposc")
    REGISTERS = (
        *_slice("CLK_GPOUT0", 0x00, _GPOUT, _FRACTION), *_slice("CLK_GPOUT1", 0x0C, _GPOUT, _FRACTION),
        *_slice("CLK_GPOUT2", 0x18, _GPOUT, _FRACTION), *_slice("CLK_GPOUT3", 0x24, _GPOUT, _FRACTION),
        *_slice("CLK_REF", 0x30, "SRC:0-1 AUXSRC:5-6", "INT:16-23"),
        Register("CLK_SYS_CTRL", 0x3C, "SRC:0 AUXSRC:5-7", 0x41), Register("CLK_SYS_DIV", 0x40, _FRACTION, 1 << 16),
        Register("CLK_SYS_SELECTED", 0x44, "SELECTED:0-31/r", 1),
        *_slice("CLK_PERI", 0x48, "AUXSRC:5-7 KILL:10/x ENABLE:11 ENABLED:28/r", "INT:16-17"),
        *_slice("CLK_HSTX", 0x54, _OTHER, "INT:16-17"), *_slice("CLK_USB", 0x60, _OTHER, "INT:16-19"),
        *_slice("CLK_ADC", 0x6C, _OTHER, "INT:16-19"),
        *(Register(f"DFTCLK_{name}_CTRL", 0x78 + 4 * i, "SRC:0-1/x")
          for i, name in enumerate(("XOSC", "ROSC", "LPOSC"))),
        Register("CLK_SYS_RESUS_CTRL", 0x84, "TIMEOUT:0-7 ENABLE:8 FRCE:12/x CLEAR:16", 0xFF),
        Register("CLK_SYS_RESUS_STATUS", 0x88, "RESUSSED:0/r"),
        Register("FC0_REF_KHZ", 0x8C, "KHZ:0-19"), Register("FC0_MIN_KHZ", 0x90, "KHZ:0-24"),
        Register("FC0_MAX_KHZ", 0x94, "KHZ:0-24", 0x1FFFFFF), Register("FC0_DELAY", 0x98, "DELAY:0-2", 1),
        Register("FC0_INTERVAL", 0x9C, "INTERVAL:0-3", 8), Register("FC0_SRC", 0xA0, "SRC:0-7/x"),
        Register("FC0_STATUS", 0xA4, "FLAGS:0-31/r"), Register("FC0_RESULT", 0xA8, "FRAC:0-4/r KHZ:5-29/r"),
        Register("WAKE_EN0", 0xAC, _ALL, 0xFFFFFFFF), Register("WAKE_EN1", 0xB0, _REST, 0x7FFFFFFF),
        Register("SLEEP_EN0", 0xB4, _ALL, 0xFFFFFFFF), Register("SLEEP_EN1", 0xB8, _REST, 0x7FFFFFFF),
        Register("ENABLED0", 0xBC, "BITS:0-31/r"), Register("ENABLED1", 0xC0, "BITS:0-30/r"),
        Register("INTR", 0xC4, "CLK_SYS_RESUS:0/r"), Register("INTE", 0xC8, "CLK_SYS_RESUS:0/x"),
        Register("INTF", 0xCC, "CLK_SYS_RESUS:0/x"), Register("INTS", 0xD0, "CLK_SYS_RESUS:0/r"),
    )  # fmt: skip

    def divided(self, name: str, hz: int) -> int:
        divider = self.value[f"{name}_DIV"]
        whole = divider >> 16 or (self.mask(f"{name}_DIV", "INT") >> 16) + 1
        return (hz << 16) // (whole << 16 | divider & 0xFFFF)

    def peri_hz(self) -> int:
        return self.divided("CLK_PERI", super().peri_hz())

    def read(self, offset: int, size: int) -> int:
        value = super().read(offset, size)
        register = self._at.get(offset)
        if register is not None and register.name[:-5] in _STOPPABLE and value & _ENABLE:
            return value | 1 << 28  # ENABLED
        return value
