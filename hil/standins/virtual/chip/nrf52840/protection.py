"""Access port protection and CTRL-AP, the only port that it leaves open (Product Specification, debug and trace).

Up to build code E only UICR.APPROTECT decides: 0xFF leaves the port open. From build code F on, two locks must be open:
the hardware's by 0x5A in UICR.APPROTECT, and the software's by 0x5A in APPROTECT.DISABLE. Power-on, pin reset and
watchdog close both again; a soft reset does not. ERASEALL of the CTRL-AP opens the port until then. Which resets close
it is from memory: `unverified`.
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
        uicr: UICR with APPROTECT.
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
        """Read UICR, as the hardware does at power-on and pin reset."""
        self._erased = False
        self._hardware_open = self._uicr.protection == (HW_DISABLED if self._hardened else ERASED)
        self._software_open = not self._hardened

    def disable(self, value: int) -> None:
        """Handle a write of software to APPROTECT.DISABLE."""
        if self._hardened:
            self._software_open = value == SW_DISABLE

    def all_erased(self) -> None:
        """Open the port after ERASEALL of the CTRL-AP."""
        self._erased = True


class CtrlAp:
    """The control access port.

    Args:
        protection: state for APPROTECTSTATUS.
        erase_all: erases flash and UICR.
        hold_reset: called with the state of RESET: True while it is asserted.
        log: receives one line about each ERASEALL.
    """

    def __init__(
        self, protection: Protection, erase_all: Callable[[], None], hold_reset: Callable[[bool], None],
        log: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._protection = protection
        self._erase_all = erase_all
        self._hold_reset = hold_reset
        self._log = log
        self._reset = 0

    def read(self, register: int) -> int:
        """Return a register: RESET, APPROTECTSTATUS (1: open) or IDR. Others read as zero.

        ERASEALLSTATUS reads as zero, which is ready.
        """
        return {0x00: self._reset, 0x0C: int(not self._protection.locked), 0xFC: IDR}.get(register, 0)

    def write(self, register: int, value: int) -> None:
        if register == 0x00:
            self._reset = value & 1
            self._hold_reset(bool(self._reset))
        elif register == 0x04 and value & 1:
            self._log("the debugger erases flash and UICR through the CTRL-AP")
            self._erase_all()
            self._protection.all_erased()
