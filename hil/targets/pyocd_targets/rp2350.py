"""The RP2350 as a pyOCD target: pyOCD's built-in target, with this chip's memories and larger pages of flash.

pyOCD's own has the memory map of an RP2040. Source of this one: RP2350 data sheet, address map (32 Kbytes of boot ROM,
520 Kbytes of SRAM without a gap).
"""

from __future__ import annotations

from pyocd.core.memory_map import MemoryMap, RamRegion, RomRegion
from pyocd.target.family.target_rp2 import RP2350 as BUILT_IN

from hil.targets.rp2_flash import by_sectors


class RP2350(BUILT_IN):  # type: ignore[misc]
    """Has all of the RAM, and larger pages of flash."""

    MEMORY_MAP = MemoryMap(
        RomRegion(start=0x0000_0000, length=0x8000, name="bootrom"),
        *(by_sectors(region) for region in BUILT_IN.MEMORY_MAP if region.is_flash),
        RamRegion(start=0x2000_0000, length=0x8_2000, name="sram"),
    )


TARGET = RP2350
