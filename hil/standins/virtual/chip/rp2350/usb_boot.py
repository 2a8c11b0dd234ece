"""Clocks of the RP2350's USB boot (pico-bootrom-rp2350, varm_nsboot.c, s_varm_nsboot_clock_setup).

clk_sys is PLL_USB at 48 MHz, clk_ref half of it. A debugger's reset of the core keeps them, and the divider of clk_ref.
"""

from __future__ import annotations

from collections.abc import Callable

_CLK_REF, _CLK_SYS, _CLK_PERI, _XOSC, _PLL_USB, _TICKS = (
    0x40010030, 0x4001003C, 0x40010048, 0x40048000, 0x40058000, 0x40108000,
)  # fmt: skip
_RESETS_SET, _RESETS_CLEAR, _PLL_USB_BIT = 0x40022000, 0x40023000, 1 << 15
_START_PS, _LOCK_PS = 10**10, 10**9  # in which the crystal and the PLL come up


def set_usb_boot_clocks(write: Callable[[int, int], None], wait: Callable[[int], None]) -> None:
    """Set the clocks up from their state after a reset of the whole chip.

    Args:
        write: called with address and word.
        wait: called with a time in picoseconds.
    """
    write(_CLK_REF + 4, 2 << 16)
    write(_XOSC, 0xFAB000)
    wait(_START_PS)
    write(_RESETS_SET, _PLL_USB_BIT)
    write(_RESETS_CLEAR, _PLL_USB_BIT)
    write(_PLL_USB + 8, 100)
    write(_PLL_USB + 0xC, 5 << 16 | 5 << 12)
    write(_PLL_USB + 4, 0)
    wait(_LOCK_PS)
    write(_CLK_REF, 0)
    write(_CLK_SYS, 1 << 5)
    write(_CLK_REF, 1)
    write(_CLK_SYS, 1 << 5 | 1)
    write(_CLK_PERI, 1 << 11)
    for tick in ("TIMER0", "WATCHDOG"):
        place = _TICKS + {"TIMER0": 0x18, "WATCHDOG": 0x30}[tick]
        write(place + 4, 24)
        write(place, 1)
