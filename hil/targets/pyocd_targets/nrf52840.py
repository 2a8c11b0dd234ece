"""The nRF52840 as a pyOCD target: the one that pyOCD has built in, which says so where the debug port is locked.

Left to itself pyOCD unlocks such a chip by erasing all of it, or, forbidden to, fails later for want of a core.
"""

from __future__ import annotations

from pyocd.target.builtin.target_nRF52840_xxAA import NRF52840 as BUILT_IN

from hil.errors import Blocked


class NRF52840(BUILT_IN):  # type: ignore[misc]
    """Refuses a chip whose access port protection is on."""

    def check_flash_security(self) -> None:
        """Called by pyOCD before it looks for cores.

        Raises:
            Blocked: the chip is locked.
        """
        if self.is_locked() and not self.session.options.get("auto_unlock"):
            raise Blocked(
                "probe",
                "the debug port of the nRF52840 is locked (APPROTECT): if nothing in it is worth keeping, erase and unlock it by "
                "`nrfjprog --recover` or `pyocd erase --mass --target nrf52840`, and run again.",
            )
        super().check_flash_security()


TARGET = NRF52840
