"""Oscillators and PLLs of the RP2350 (data sheet, 8.2 XOSC, 8.3 ROSC, 8.4 LPOSC, 8.6 PLL)."""

from __future__ import annotations

from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.rp2.oscillators import Pll, Rosc, Xosc

# Nominal: the boot ROM counts with 13 MHz, and with 23 MHz at most (src/main/native/bootrom.h, ROSC_MHZ_TYP).
ROSC_HZ = 13_000_000
LPOSC_HZ = 32_768


class Rp2350Xosc(Xosc):
    """The crystal oscillator."""

    REGISTERS = (
        Register("CTRL", 0x00, "FREQ_RANGE:0-11 ENABLE:12-23"),
        Register("STATUS", 0x04, "FREQ_RANGE:0-1/r ENABLED:12/r BADWRITE:24/c STABLE:31/r"),
        Register("DORMANT", 0x08, "DORMANT:0-31/x", 0x77616B65),
        Register("STARTUP", 0x0C, "DELAY:0-13 X4:20"),
        Register("COUNT", 0x10, "COUNT:0-15/x"),
    )


class Rp2350Rosc(Rosc):
    """The ring oscillator."""

    NOMINAL_HZ = ROSC_HZ
    REGISTERS = (
        Register("CTRL", 0x00, "FREQ_RANGE:0-11 ENABLE:12-23", 0xAA0),
        Register("FREQA", 0x04, "DS0:0-2/x DS0_RANDOM:3/x DS1:4-6/x DS1_RANDOM:7/x DS2:8-10/x DS3:12-14/x "
                 "PASSWD:16-31/x", 0x88),
        Register("FREQB", 0x08, "DS4:0-2/x DS5:4-6/x DS6:8-10/x DS7:12-14/x PASSWD:16-31/x"),
        Register("RANDOM", 0x0C, "SEED:0-31/x", 0x3F04B16D),
        Register("DORMANT", 0x10, "DORMANT:0-31/x", 0x77616B65),
        Register("DIV", 0x14, "DIV:0-15/x", 0xAA08),
        Register("PHASE", 0x18, "SHIFT:0-1/x FLIP:2/x ENABLE:3/x PASSWD:4-11/x", 8),
        Register("STATUS", 0x1C, "ENABLED:12/r DIV_RUNNING:16/r BADWRITE:24/c STABLE:31/r"),
        Register("RANDOMBIT", 0x20, "RANDOMBIT:0/r", 1),
        Register("COUNT", 0x24, "COUNT:0-15/x"),
    )  # fmt: skip


class Rp2350Pll(Pll):
    """A PLL; its interrupt when the lock is lost is not modelled."""

    REGISTERS = (
        Register("CS", 0x0, "REFDIV:0-5 BYPASS:8/x LOCK_N:30/c LOCK:31/r", 1),
        *Pll.REGISTERS[1:],
        Register("INTR", 0x10, "LOCK_N_STICKY:0/c"), Register("INTE", 0x14, "LOCK_N_STICKY:0/x"),
        Register("INTF", 0x18, "LOCK_N_STICKY:0/x"), Register("INTS", 0x1C, "LOCK_N_STICKY:0/r"),
    )  # fmt: skip
