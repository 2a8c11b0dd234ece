"""Bus masters of i.MX RT1062 other than the core: the eDMA and the USB controller access memory past the data cache."""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.core import ArmCore
from hil.standins.virtual.chip.fault import ModelFault


class BusMaster:
    """A master of the system bus.

    Args:
        core: has the memories and the data cache.
        name: for messages, as "the eDMA".
        tcm_stopped: returns whether the TCMs are out of reach, because the core sleeps.
    """

    def __init__(self, core: ArmCore, name: str, tcm_stopped: Callable[[], bool]) -> None:
        self._core, self._name, self._tcm_stopped = core, name, tcm_stopped

    def _reachable(self, address: int, size: int) -> None:
        place = self._core.find(address, size)
        if place is None or self._core.closed_reason(address + size - 1) is not None:
            raise ModelFault(f"{self._name} accesses 0x{address:08X}, where the chip has no memory", address, "access")
        if place[0].name in ("itcm", "dtcm") and self._tcm_stopped():
            raise ModelFault(
                f"{self._name} accesses 0x{address:08X} while the core sleeps; set IOMUXC_GPR1.CM7_FORCE_HCLK_EN",
                address,
                "access",
            )

    def dma_read(self, address: int, size: int) -> bytes:
        """Read memory; raise ModelFault where there is none."""
        self._reachable(address, size)
        return self._core.load_main(address, size, self._name)

    def dma_write(self, address: int, data: bytes) -> None:
        """Write memory; raise ModelFault where there is none that can be written."""
        self._reachable(address, len(data))
        place = self._core.find(address, len(data))
        if place is None or not place[0].writable:
            raise ModelFault(f"{self._name} writes 0x{address:08X}, which cannot be written", address, "write")
        self._core.store_main(address, data, self._name)
