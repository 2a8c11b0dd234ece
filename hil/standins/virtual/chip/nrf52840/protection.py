"""Access port protection, and the CTRL-AP that a debugger has left where it is on (Product Specification, debug and trace).

Up to build code E UICR.APPROTECT alone decides: 0xFF leaves the port open. From F on two locks must be open: the hardware's, by 0x5A in
UICR.APPROTECT, and the software's, by 0x5A in APPROTECT.DISABLE. Both are closed again by power-on, pin reset and watchdog, not by a
soft reset; erasing all through the CTRL-AP opens the port until then (which resets close it: from memory, `unverified`).
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.nrf52840.power import SW_DISABLE
from hil.standins.virtual.chip.nrf52840.uicr import Uicr

HARDENED_FROM = "F"
HW_DISABLED, ERASED = 0x5A, 0xFF
IDR = 0x12880000  # with the version from memory, `unverified`; pyOCD compares the rest


class Protection:
    """The state of access port protection.

    Args:
        uicr: where the user's choice is kept.
        build: build code of the chip, such as F0.
    """

    def __init__(self, uicr: Uicr, build: str) -> None:
        self._uicr = uicr
        self._hardened = build >= HARDENED_FROM
        self._erased = self._hardware_open = self._software_open = False

    @property
    def locked(self) -> bool:
        """Whether the memory access port is closed."""
        return not self._erased and not (self._hardware_open and self._software_open)

    def power_on(self) -> None:
        """Power-on or pin reset: the hardware reads UICR."""
        self._erased = False
        self._hardware_open = self._uicr.protection == (HW_DISABLED if self._hardened else ERASED)
        self._software_open = not self._hardened

    def disable(self, value: int) -> None:
        """Software has written APPROTECT.DISABLE."""
        if self._hardened:
            self._software_open = value == SW_DISABLE

    def all_erased(self) -> None:
        """Everything was erased through the CTRL-AP: there is nothing left to protect."""
        self._erased = True


class CtrlAp:
    """The control access port.

    Args:
        protection: what APPROTECTSTATUS tells.
        erase_all: erases flash and UICR.
        hold_reset: called with whether RESET is asserted.
        log: receives one line about an erase.
    """

    def __init__(
        self,
        protection: Protection,
        erase_all: Callable[[], None],
        hold_reset: Callable[[bool], None],
        log: Callable[[str], None],
    ) -> None:
        self._protection = protection
        self._erase_all = erase_all
        self._hold_reset = hold_reset
        self._log = log
        self._reset = 0

    def read(self, register: int) -> int:
        """Return a register: RESET, ERASEALL, ERASEALLSTATUS (always ready), APPROTECTSTATUS (1: open), IDR; others read as zero."""
        return {0x00: self._reset, 0x0C: int(not self._protection.locked), 0xFC: IDR}.get(register, 0)

    def write(self, register: int, value: int) -> None:
        if register == 0x00:
            self._reset = value & 1
            self._hold_reset(bool(self._reset))
        elif register == 0x04 and value & 1:
            self._log("the debugger erases flash and UICR through the CTRL-AP")
            self._erase_all()
            self._protection.all_erased()
