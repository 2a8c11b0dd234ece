"""The STM32H7B3 as a pyOCD target: pyOCD's built-in STM32H7B0 with this chip's flash map.

Source of the map: RM0455, section 4.3.4 (2 banks of 1 Mbyte, 128 sectors of 8 Kbytes each). The flash algorithm is
pyOCD's own. Its access to DBGMCU is not: see `CONTROL`.
"""

from __future__ import annotations

from pyocd.core.memory_map import FlashRegion, MemoryMap
from pyocd.coresight.minimal_mem_ap import MinimalMemAP
from pyocd.target.builtin.target_STM32H7B0xx import FLASH_ALGO, STM32H7B0xx

from hil.targets.session_delegate import halted_at_reset
from hil.targets.stm32_sleep import SLEEP_STOP_STANDBY, DebugInSleep

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


class STM32H7B3xx(DebugInSleep, STM32H7B0xx):  # type: ignore[misc]
    """Two banks of 1 Mbyte instead of the H7B0's flash, and DBGMCU_CR where access port 0 has it."""

    CONTROL = 0x5C00_1004  # pyOCD's 0xE00E1004 is that of access port 2 (pyOCD, target_STM32H743xx; OpenOCD)

    MEMORY_MAP = MemoryMap(
        _bank("bank_1", 0x0800_0000, True),
        _bank("bank_2", 0x0810_0000, False),
        *[region.clone_with_changes() for region in STM32H7B0xx.MEMORY_MAP if not region.is_flash],
    )

    def safe_reset_and_halt(self) -> None:
        """Halt the core at its first instruction, by a reset that is asserted now, and set DBG_SLEEP.

        pyOCD writes DBGMCU_CR during the reset. That needs the bus to it, which a reset holds too: OpenOCD's
        stm32h7x.cfg says that the AXI bus is not available then. So it is written after the reset, as pyOCD's target
        of the STM32H743 does.
        """
        halted_at_reset(self.dp)
        port = MinimalMemAP(self.dp)
        port.init()
        port.write32(self.CONTROL, SLEEP_STOP_STANDBY)


TARGET = STM32H7B3xx
