"""The STM32H7B3 as a pyOCD target: pyOCD's built-in STM32H7B0 with this chip's flash map.

Source of the map: RM0455, section 4.3.4 (2 banks of 1 Mbyte, 128 sectors of 8 Kbytes each). The flash algorithm is
pyOCD's own.
"""

from __future__ import annotations

from pyocd.core.memory_map import FlashRegion, MemoryMap
from pyocd.target.builtin.target_STM32H7B0xx import DBGMCU, FLASH_ALGO, STM32H7B0xx

BANK_SIZE = 0x10_0000
SECTOR_SIZE = 0x2000
PAGE_SIZE = 0x8000  # bytes in the buffer of the flash algorithm


def _bank(name: str, start: int, boot: bool) -> FlashRegion:
    return FlashRegion(
        start=start,
        length=BANK_SIZE,
        sector_size=SECTOR_SIZE,
        page_size=PAGE_SIZE,
        is_boot_memory=boot,
        algo=FLASH_ALGO,
        name=name,
    )


class STM32H7B3xx(STM32H7B0xx):  # type: ignore[misc]
    """Two banks of 1 Mbyte instead of the H7B0's flash."""

    MEMORY_MAP = MemoryMap(
        _bank("bank_1", 0x0800_0000, True),
        _bank("bank_2", 0x0810_0000, False),
        *[region.clone_with_changes() for region in STM32H7B0xx.MEMORY_MAP if not region.is_flash],
    )

    def rest_hook(self) -> None:
        """Let the core's clocks stop during sleep, as without a debugger (DBGMCU_CR outlasts the connection)."""
        self.write32(DBGMCU.CR, 0)


TARGET = STM32H7B3xx
