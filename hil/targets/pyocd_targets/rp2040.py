"""The RP2040 as a pyOCD target: pyOCD's built-in target, which here programs 4 Kbytes a call instead of 256 bytes."""

from __future__ import annotations

from pyocd.core.memory_map import MemoryMap
from pyocd.target.family.target_rp2 import RP2040Core0

from hil.targets.rp2_flash import by_sectors


class RP2040(RP2040Core0):  # type: ignore[misc]
    """Has larger pages of flash."""

    MEMORY_MAP = MemoryMap(
        *(by_sectors(region) if region.is_flash else region.clone_with_changes() for region in RP2040Core0.MEMORY_MAP)
    )


TARGET = RP2040
