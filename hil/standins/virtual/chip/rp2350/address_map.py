"""Address map of the RP2350 (data sheet, 2.2): memories, and ranges of peripherals."""

from __future__ import annotations

from hil.standins.virtual.chip.memories import PhysicalMemory
from hil.standins.virtual.chip.rp2350 import bootram

ROM_SIZE, MAINTENANCE_SIZE = 0x8000, 0x04000000
FLASH_SIZE, SRAM_SIZE = 0x400000, 520 * 1024
# Windows of the flash: cached, uncached, and uncached without address translation (4.4, 12.14.4).
XIP_WINDOWS = {"xip": 0x10000000, "xip_nocache": 0x14000000, "xip_notranslate": 0x1C000000}
MEMORIES = (
    PhysicalMemory("rom", 0x00000000, ROM_SIZE, writable=False),
    *(
        PhysicalMemory(name, base, FLASH_SIZE, writable=False, alias="" if name == "xip" else "xip")
        for name, base in XIP_WINDOWS.items()
    ),
    PhysicalMemory("sram", 0x20000000, SRAM_SIZE),  # striped banks 0 to 7, and banks 8 and 9 at 0x20080000
    PhysicalMemory("bootram", bootram.BASE, bootram.SIZE),
)
PERIPHERALS = (
    (0x40000000, bootram.BASE - 0x40000000), (bootram.BASE + bootram.SIZE, 0x20000 - bootram.SIZE),
    (0x40100000, 0x68000), (0x50000000, 0x4000), (0x18000000, MAINTENANCE_SIZE), (0xD0000000, 0x1000),
    (0xE0000000, 0x00100000),
)  # fmt: skip
