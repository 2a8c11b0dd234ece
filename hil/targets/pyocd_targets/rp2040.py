"""The RP2040 as a pyOCD target: pyOCD's built-in target, which here programs 4 Kbytes a call instead of 256 bytes.

pyOCD's flash algorithm passes the length on to `flash_range_program` of the boot ROM, which programs any multiple of
256 bytes (RP2040 data sheet, section 2.8.3.1.3). Each call costs some fifty transfers over SWD, however long it is.
"""

from __future__ import annotations

from pyocd.core.memory_map import MemoryMap
from pyocd.target.family.target_rp2 import FLASH_ALGO, RP2040Core0

PAGE_SIZE = 0x1000  # a sector
BUFFERS = (0x2000_1400, 0x2000_1400 + PAGE_SIZE)  # above the stack of the algorithm; pyOCD fills one during the other


class RP2040(RP2040Core0):  # type: ignore[misc]
    """Has larger pages of flash."""

    MEMORY_MAP = MemoryMap(
        *(
            region.clone_with_changes(page_size=PAGE_SIZE, algo=FLASH_ALGO | {"page_buffers": list(BUFFERS)})
            if region.is_flash
            else region.clone_with_changes()
            for region in RP2040Core0.MEMORY_MAP
        )
    )


TARGET = RP2040
