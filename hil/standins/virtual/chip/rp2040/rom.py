"""The RP2040's boot ROM (data sheet, 2.8): documented tables at their addresses, routines executed by the host.

The ROM contains tables and one undefined instruction for each routine, which the chip traps (chip.Rp2040). It has no
code of the real ROM. Modelled are the boot from flash, the wait for USB, the start of USB boot, and the routines that a
flash algorithm calls. Other routines (float, bit counting, copying) have no entry in the table: their look-up returns
0.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.host_routines import HostRoutines
from hil.standins.virtual.chip.rp2.oscillators import ENABLE
from hil.standins.virtual.chip.rp2040.ssi import Ssi
from hil.standins.virtual.chip.w25q import SECTOR, W25Q

if TYPE_CHECKING:
    from hil.standins.virtual.chip.rp2040.chip import Rp2040

SIZE = 0x4000
BOOT2, BOOT2_SIZE = 0x20041F00, 0x100
_ENTRIES, _TABLE, _TEXT = 0x200, 0x7A, 0x300
_VERSION = 1
WAIT = 0x1F0  # address at which a chip without a valid second stage waits
_QSPI = 1 << 6 | 1 << 9  # IO_QSPI, PADS_QSPI in RESETS
_TIMER = 1 << 21
_PLL_SYS = 1 << 12
_XIP = 0x10000000


def crc32(data: bytes) -> int:
    """Return the CRC-32 of a second stage (2.7.2.3.1).

    Polynomial 0x04C11DB7, initial value 0xFFFFFFFF, not reflected, no final XOR.
    """
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte << 24
        for _ in range(8):
            crc = crc << 1 ^ (0x04C11DB7 if crc >> 31 else 0)
            crc &= 0xFFFFFFFF
    return crc


class Rp2040BootRom(HostRoutines):
    """The tables and routines of the boot ROM.

    Args:
        chip: chip with this ROM.
        flash, ssi: flash and SSI that the routines use.

    Attributes:
        waits: whether it waits in USB boot.
    """

    def __init__(self, chip: Rp2040, flash: W25Q, ssi: Ssi) -> None:
        super().__init__(chip.core)
        self._chip = chip
        self._flash = flash
        self._ssi = ssi
        self._serial = False  # whether execute-in-place is left, as erase and program need it
        self._usb_asked = self.waits = False
        self._named: dict[bytes, int] = {}
        for number, (code, routine) in enumerate((
            (b"", self._boot), (b"", self._look_up), (b"IF", self._connect), (b"EX", self._exit_xip),
            (b"RE", self._erase),
            (b"RP", self._program), (b"FC", self.returns), (b"CX", self._enter_xip), (b"UB", self._reset_to_usb_boot),
        )):  # fmt: skip
            self._routines[_ENTRIES + 4 * number] = routine
            if code:
                self._named[code] = _ENTRIES + 4 * number

    def image(self) -> bytes:
        """Return the bytes of the ROM: vectors, the words of 2.8.3, the function table, one UDF for each routine."""
        rom = bytearray(SIZE)
        boot, look_up = _ENTRIES, _ENTRIES + 4
        struct.pack_into("<4I", rom, 0, BOOT2, boot | 1, (WAIT | 1), (WAIT | 1))
        rom[0x10:0x14] = b"Mu" + bytes([1, _VERSION])
        struct.pack_into("<3H", rom, 0x14, _TABLE, _TEXT, look_up | 1)
        table = b"".join(code + struct.pack("<H", place | 1) for code, place in self._named.items())
        rom[_TABLE : _TABLE + len(table)] = table
        self.put_code(rom, 0, WAIT)
        return bytes(rom)

    # boot

    def _boot(self) -> None:
        self._write(0x4000C000 + 0x2000, _QSPI | _TIMER)
        self._write(0x4000C000 + 0x3000, _QSPI | _TIMER)
        self._flash.leave_continuous()
        self._ssi.set_serial()
        self._serial = False
        stage = self._flash.array[:BOOT2_SIZE].tobytes()
        found, stored = crc32(stage[:-4]), int.from_bytes(stage[-4:], "little")
        asked, self._usb_asked = self._usb_asked, False
        self.waits = found != stored or asked
        if not self.waits:
            self._core.poke(BOOT2, stage)
            self._jump(BOOT2, link=0)
            return
        why = f"the second stage in flash has CRC32 0x{found:08X}, its last word is 0x{stored:08X}"
        self._chip.log(
            f"boot ROM: {'the program has started the boot loader' if asked else why}: the chip waits in USB boot"
        )
        self._prepare_usb()
        self._jump(WAIT, link=WAIT)

    def _prepare_usb(self) -> None:
        """Set the clocks of USB boot, clk_sys from PLL_SYS at 48 MHz, which a debugger's reset of the core keeps."""
        write = self._write
        write(0x40060000, ENABLE << 12)
        write(0x40008030 + 0x3000, 3)
        write(0x40008078, 1 << 8 | 0xFF)
        write(0x4000803C + 0x3000, 1)
        write(0x40024000, ENABLE << 12)
        self._pass(5_000_000_000)
        write(0x4000C000 + 0x2000, _PLL_SYS)
        write(0x4000C000 + 0x3000, _PLL_SYS)
        write(0x40028008, 100)
        write(0x4002800C, 5 << 16 | 5 << 12)
        write(0x40028004 + 0x3000, 0x21)
        self._pass(1_000_000_000)
        write(0x40028004 + 0x3000, 0x08)
        write(0x4000803C, 0)
        write(0x4000803C + 0x2000, 1)
        write(0x4005802C, 1 << 9 | 12)
        write(0x14000000, 2)

    def _write(self, address: int, value: int) -> None:
        self._chip.bus.write(address, 4, value)

    def _jump(self, address: int, link: int) -> None:
        self._core.set(c.LR, link)
        self._core.set(c.PC, address | 1)

    def _pass(self, ps: int) -> None:
        self._chip.clock.wait_until(self._chip.clock.now + ps)

    def _reset_to_usb_boot(self) -> None:
        """Reset the chip to USB boot.

        The real ROM resets by the watchdog and stores the request in its scratch registers (2.8.3.1.5, unverified).
        """
        self._usb_asked = True
        self._jump(WAIT, link=WAIT)
        self._chip.restart()

    def take_uf2(self, pages: dict[int, bytes]) -> None:
        """Program the pages of a UF2 file, each sector erased before its first one, and reboot (2.8.4.2)."""
        erased: set[int] = set()
        for address, data in sorted(pages.items()):
            offset = address - _XIP
            if not 0 <= offset < self._flash.array.size:
                continue
            if offset // SECTOR not in erased:
                erased.add(offset // SECTOR)
                self._flash.erase(offset - offset % SECTOR, SECTOR, 0)
            self._flash.program(offset, data)
        self.waits = False
        self._chip.restart()

    # routines (2.8.3.1.3)

    def _look_up(self) -> None:
        code = (self.argument(1) & 0xFFFF).to_bytes(2, "little")
        if self.argument(0) != _TABLE:
            self.returns(0)
            return
        place = self._named.get(code)
        self.returns(0 if place is None else place | 1)

    def _connect(self) -> None:
        self._write(0x4000C000 + 0x2000, _QSPI)
        self._write(0x4000C000 + 0x3000, _QSPI)
        self._ssi.set_serial()
        self.returns()

    def _exit_xip(self) -> None:
        self._flash.leave_continuous()
        self._ssi.set_serial()
        self._serial = True
        self.returns()

    def _need_serial(self, name: str) -> None:
        if not self._serial:
            raise ModelFault(f"{name} of the boot ROM is called before flash_exit_xip")

    def _erase(self) -> None:
        self._need_serial("flash_range_erase")
        self._flash.erase(self.argument(0), self.argument(1), self.argument(2))
        self.returns()

    def _program(self) -> None:
        self._need_serial("flash_range_program")
        data = self._core.peek(self.argument(1), self.argument(2))
        self._flash.program(self.argument(0), data)
        self.returns()

    def _enter_xip(self) -> None:
        self._serial = False
        self._ssi.set_read_command()
        self.returns()
