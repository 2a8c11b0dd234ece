"""Flash of the RP2040 and the RP2350 for pyOCD: 4 Kbytes a call of the flash algorithm instead of 256 bytes.

pyOCD's flash algorithm passes the length on to `flash_range_program` of the boot ROM, which programs any multiple of
256 bytes (RP2040 data sheet, section 2.8.3.1.3; RP2350 data sheet, bootrom APIs). Each call costs some fifty transfers
over SWD, however long it is.
"""

from __future__ import annotations

from pyocd.core.memory_map import FlashRegion
from pyocd.target.family.target_rp2 import FLASH_ALGO

PAGE_SIZE = 0x1000  # a sector
BUFFERS = (0x2000_1400, 0x2000_1400 + PAGE_SIZE)  # above the stack of the algorithm; pyOCD fills one during the other


def by_sectors(flash: FlashRegion) -> FlashRegion:
    """Return pyOCD's region of the flash with pages of a sector."""
    return flash.clone_with_changes(page_size=PAGE_SIZE, algo=FLASH_ALGO | {"page_buffers": list(BUFFERS)})
