"""The boot ROM of i.MX RT1062 (IMXRT1060RM, System Boot): tables at their addresses, routines executed by the host.

The ROM contains tables and one undefined instruction for each routine, which the chip traps (chip.Imxrt1062). It has no
code of the real ROM. Modelled are the boot from serial NOR flash with its checks, the wait of the serial downloader,
and the FlexSPI NOR routines that a flash algorithm calls; other routines fault. The places of the tables in the ROM are
made up, except for the pointer at 0x0020001C.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.host_routines import HostRoutines
from hil.standins.virtual.chip.imxrt1062.boot_header import (
    CONFIG_SIZE,
    FLASH,
    FLASH_SIZE,
    IVT,
    BootRefused,
    check_boot,
    check_config,
    default_config,
)
from hil.standins.virtual.chip.w25q import BLOCK, PAGE, SECTOR, W25Q

if TYPE_CHECKING:
    from hil.standins.virtual.chip.imxrt1062.chip import Imxrt1062

BASE, ROM_SIZE = 0x00200000, 0x20000
STACK = 0x20208000  # initial stack pointer of the ROM, in OCRAM2
_POINTER, _TREE, _DRIVER, _ENTRIES, WAIT = 0x1C, 0x100, 0x140, 0x200, 0x1F0
SUCCESS, INVALID_ARGUMENT, OUT_OF_RANGE = 0, 4, 3  # status_t


class ImxrtBootRom(HostRoutines):
    """The tables and routines of the boot ROM.

    Args:
        chip: chip with this ROM.
        flash: flash that the routines use.
    """

    def __init__(self, chip: Imxrt1062, flash: W25Q) -> None:
        super().__init__(chip.core)
        self._chip, self._log = chip, chip.log
        self._flash = flash
        self._ready = False  # whether flexspi_nor_init has been called since the last boot
        driver = (
            self._init, self._program, self._erase_all, self._erase, self._read, lambda: self.returns(SUCCESS),
            self._unknown, self._unknown, self._get_config,
        )  # fmt: skip
        self._routines = {BASE + _ENTRIES + 4 * number: routine for number, routine in enumerate((self._boot, *driver))}
        # The version, and the addresses of the routines.
        self._driver = [0x00010000, *(BASE + _ENTRIES + 4 * number | 1 for number in range(1, len(driver) + 1))]

    def image(self) -> bytes:
        """Return the bytes of the ROM: vectors, the tree of its interfaces (fsl_romapi), one UDF for each routine."""
        rom = bytearray(ROM_SIZE)
        struct.pack_into("<2I", rom, 0, STACK, BASE + _ENTRIES | 1)
        struct.pack_into("<2I", rom, 8, BASE + WAIT | 1, BASE + WAIT | 1)
        struct.pack_into("<I", rom, _POINTER, BASE + _TREE)
        struct.pack_into("<5I", rom, _TREE, 0x4B010000, 0, 0, 0, BASE + _DRIVER)
        struct.pack_into(f"<{len(self._driver)}I", rom, _DRIVER, *self._driver)
        self.put_code(rom, BASE, WAIT)
        return bytes(rom)

    def _boot(self) -> None:
        """Boot from the flash, or wait for a download by USB or UART."""
        self._ready = False
        self._flash.leave_continuous()
        self._chip.set_clocks()
        self._chip.open_window()
        try:
            check_config(self._core.peek(FLASH, CONFIG_SIZE))
            stack, address = check_boot(self._core.peek(IVT, 0x100), self._core.peek)
        except BootRefused as why:
            self._log(f"boot ROM: {why}: the chip waits in the serial downloader")
            self._core.set(c.PC, BASE + WAIT | 1)
            return
        self._chip.rtwdog.start_timeout()
        if stack is not None:
            self._core.set(c.SP, stack)
        self._core.set(c.PC, address)

    # flexspi_nor_driver_interface_t

    def _config(self) -> bool:
        """Return whether the arguments are FlexSPI instance 0 and a configuration block that this flash supports."""
        try:
            check_config(self._core.peek(self.argument(1), CONFIG_SIZE))
        except (BootRefused, ModelFault):
            return False
        return self.argument(0) == 0

    def _get_config(self) -> None:
        option = int.from_bytes(self._core.peek(self.argument(2), 4), "little")
        # Quad SPI flash that describes itself (SFDP).
        known = self.argument(0) == 0 and option >> 28 == 0xC and option >> 20 & 0xF == 0
        if known:
            self._core.poke(self.argument(1), default_config())
        self.returns(SUCCESS if known else INVALID_ARGUMENT)

    def _init(self) -> None:
        self._ready = self._config()
        if self._ready:
            self._flash.leave_continuous()
            self._chip.open_window()
        self.returns(SUCCESS if self._ready else INVALID_ARGUMENT)

    def _need_ready(self, name: str) -> None:
        if not self._ready:
            raise ModelFault(f"flexspi_nor_flash_{name} of the boot ROM is called before flexspi_nor_flash_init")

    def _erase(self) -> None:
        self._need_ready("erase")
        start, count = self.argument(2), self.argument(3)
        if start + count > FLASH_SIZE or start % SECTOR or count % SECTOR:
            self.returns(OUT_OF_RANGE)
            return
        self._flash.erase(start, count, BLOCK)
        self.returns(SUCCESS)

    def _erase_all(self) -> None:
        self._need_ready("erase_all")
        self._flash.erase(0, FLASH_SIZE, BLOCK)
        self.returns(SUCCESS)

    def _program(self) -> None:
        self._need_ready("page_program")
        place = self.argument(2)
        if place + PAGE > FLASH_SIZE or place % PAGE:
            self.returns(OUT_OF_RANGE)
            return
        self._flash.program(place, self._core.peek(self.argument(3), PAGE))
        self.returns(SUCCESS)

    def _read(self) -> None:
        self._need_ready("read")
        (count,) = struct.unpack("<I", self._core.peek(self._core.get(c.SP), 4))  # fifth argument, on the stack
        place = self.argument(3)
        if place + count > FLASH_SIZE:
            self.returns(OUT_OF_RANGE)
            return
        self._core.poke(self.argument(2), self._flash.array[place : place + count].tobytes())
        self.returns(SUCCESS)

    def _unknown(self) -> None:
        raise ModelFault("a routine of the boot ROM is called that this model does not have (xfer, update_lut)")
