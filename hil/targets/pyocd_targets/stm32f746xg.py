"""The STM32F746 as a pyOCD target: pyOCD's built-in STM32F767 with this chip's memory map.

Source of the map: RM0385, section 3.3.2 (one bank: 4 sectors of 32 Kbytes, one of 128 Kbytes, 3 of 256 Kbytes), and its
memory map for the RAM. The flash algorithm and the halt under reset are pyOCD's own for STM32F767; the algorithm
programs words and numbers the sectors of a single bank the same way.
"""

from __future__ import annotations

from pyocd.core.memory_map import FlashRegion, MemoryMap, RamRegion
from pyocd.target.builtin.target_STM32F767xx import DBGMCU, FLASH_ALGO, STM32F767xx

from hil.targets.stm32_sleep import DebugInSleep

PAGE_SIZE = 0x4000  # bytes a call: the algorithm counts words, so it can take more than pyOCD's 1 Kbyte
ALGORITHM = FLASH_ALGO | {"page_buffers": [0x2000_1000, 0x2000_1000 + PAGE_SIZE]}  # above its stack, in the DTCM


def _sectors(start: int, number: int, size: int) -> FlashRegion:
    return FlashRegion(
        start=start,
        length=number * size,
        sector_size=size,
        page_size=PAGE_SIZE,
        is_boot_memory=start == 0x0800_0000,
        algo=ALGORITHM,
    )


class STM32F746xG(DebugInSleep, STM32F767xx):  # type: ignore[misc]
    """1 Mbyte of flash and 320 Kbytes of RAM instead of the F767's memories.

    Unlike the F767's hook, that of `DebugInSleep` does not read the number of banks.
    """

    CONTROL = DBGMCU.CR

    MEMORY_MAP = MemoryMap(
        _sectors(0x0800_0000, 4, 0x8000),
        _sectors(0x0802_0000, 1, 0x2_0000),
        _sectors(0x0804_0000, 3, 0x4_0000),
        RamRegion(start=0x2000_0000, length=0x5_0000, name="dtcm_sram1_sram2"),
        RamRegion(start=0x0000_0000, length=0x4000, name="itcm"),
    )


TARGET = STM32F746xG
