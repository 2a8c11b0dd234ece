"""The nRF52840 as a pyOCD target: pyOCD's built-in target, which here also reports a locked debug port.

By default pyOCD unlocks such a chip by erasing all of it. With `auto_unlock` off it fails later, because it finds no
core.
"""

from __future__ import annotations

from pyocd.target.builtin.target_nRF52840_xxAA import NRF52840 as BUILT_IN

from hil.errors import Blocked


class NRF52840(BUILT_IN):  # type: ignore[misc]
    """Refuses a chip whose access port protection is on."""

    def check_flash_security(self) -> None:
        """Refuse a locked chip. pyOCD calls this before it discovers cores. Raises Blocked if the chip is locked."""
        if self.is_locked() and not self.session.options.get("auto_unlock"):
            raise Blocked(
                "probe",
                "the debug port of the nRF52840 is locked (APPROTECT): if its contents may be lost, erase and "
                "unlock it with `nrfjprog --recover` or `pyocd erase --mass --target nrf52840`, and run again.",
            )
        super().check_flash_security()


TARGET = NRF52840
