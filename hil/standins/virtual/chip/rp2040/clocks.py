"""Clock generators of the RP2040 (data sheet, 2.15.7)."""

from __future__ import annotations

from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.rp2.clocks import RpClocks, clock_registers

_GPOUT = "AUXSRC:5-8/x KILL:10/x ENABLE:11/x DC50:12/x PHASE:16-17/x NUDGE:20/x"
_OTHER = "AUXSRC:5-7 KILL:10 ENABLE:11 PHASE:16-17 NUDGE:20"
_ALL = "BITS:0-31"


def _slice(name: str, at: int, control: str, divider: str) -> tuple[Register, ...]:
    return clock_registers(name, at, control, divider, 0x100)


class Rp2040Clocks(RpClocks):
    """The clock generators."""

    LIMIT_HZ = 133_000_000  # 2.15.1 and 5.2.3 (first edition; later ones allow 200 MHz at a higher voltage)
    REFERENCES = ("rosc", "pll_usb", "xosc")
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

    def divided(self, name: str, hz: int) -> int:
        if name != "CLK_SYS":
            return hz // (self.field(f"{name}_DIV", "INT") or 4)
        divider = self.value["CLK_SYS_DIV"]
        return hz * 256 // (divider if divider >> 8 else divider | 1 << 24)
