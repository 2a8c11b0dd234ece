"""Registers of the RP2040's oscillators (data sheet, 2.16.7 XOSC, 2.17.8 ROSC)."""

from __future__ import annotations

from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.rp2.oscillators import Rosc, Xosc

ROSC_HZ = 6_500_000  # 2.17.1: nominal; silicon differs from chip to chip and with temperature (1.8 to 12 MHz)


class Rp2040Xosc(Xosc):
    """The crystal oscillator."""

    REGISTERS = (
        Register("CTRL", 0x00, "FREQ_RANGE:0-11 ENABLE:12-23"),
        Register("STATUS", 0x04, "FREQ_RANGE:0-1/r ENABLED:12/r BADWRITE:24/c STABLE:31/r"),
        Register("DORMANT", 0x08, "DORMANT:0-31/x", 0x77616B65),
        Register("STARTUP", 0x0C, "DELAY:0-13 X4:20", 0xC4),
        Register("COUNT", 0x1C, "COUNT:0-7/x"),
    )


class Rp2040Rosc(Rosc):
    """The ring oscillator."""

    NOMINAL_HZ = ROSC_HZ
    REGISTERS = (
        Register("CTRL", 0x00, "FREQ_RANGE:0-11 ENABLE:12-23", 0xAA0),
        Register("FREQA", 0x04, "DS0:0-2/x DS1:4-6/x DS2:8-10/x DS3:12-14/x PASSWD:16-31/x"),
        Register("FREQB", 0x08, "DS4:0-2/x DS5:4-6/x DS6:8-10/x DS7:12-14/x PASSWD:16-31/x"),
        Register("DORMANT", 0x0C, "DORMANT:0-31/x", 0x77616B65),
        Register("DIV", 0x10, "DIV:0-11/x", 0xAB0),
        Register("PHASE", 0x14, "SHIFT:0-1/x FLIP:2/x ENABLE:3/x PASSWD:4-11/x", 8),
        Register("STATUS", 0x18, "ENABLED:12/r DIV_RUNNING:16/r BADWRITE:24/c STABLE:31/r"),
        Register("RANDOMBIT", 0x1C, "RANDOMBIT:0/r", 1),
        Register("COUNT", 0x20, "COUNT:0-7/x"),
    )
