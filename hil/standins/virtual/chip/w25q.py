"""Flash of the Pico, a W25Q16JV of 2 MB, and of the Pico 2, a W25Q32RV of 4 MB, both in sectors of 4 KB.

Source: Winbond's data sheets, from memory: `unverified`.

Programming only clears bits: bytes that are not erased get the AND of old and new data, as on silicon. Durations are
the typical ones. If the supply fails during a call of the boot ROM, the operation is left half done.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.flash_cells import FlashCells
from hil.standins.virtual.chip.flash_power import FlashPower

SECTOR, BLOCK, PAGE = 0x1000, 0x10000, 0x100
ENDURANCE = 100_000  # features: erase cycles of a sector
READ_HZ, FAST_HZ = 50_000_000, 133_000_000  # SCK for command 03h, and for all others
MANUFACTURER, SERIES = 0xEF, 0x40
UNIQUE_ID = bytes.fromhex("E6614103E7452A2F")  # another one in each chip; read after four bytes that say nothing
PAGE_PS, SECTOR_PS, BLOCK_PS, STATUS_PS = 400_000_000, 45_000_000_000, 150_000_000_000, 10_000_000_000
BUSY, WEL = 1, 2
QE = 2  # in status register 2; set at the factory in versions whose name ends in Q, such as that of the Pico


class W25Q:
    """A serial NOR flash of the series W25Q.

    Args:
        clock: virtual time.
        array: contents, uint8[size in bytes]; the size is a power of 2.
        base: address of the contents for the core.
        power, cells: supply and cells of the flash.
        changed: called after the contents have changed.

    Attributes:
        continuous: continuous read mode, in which an address comes without a command (EBh with mode bits 5:4 = 10b).
    """

    def __init__(
        self, clock: Clock, array: np.ndarray, base: int, power: FlashPower, cells: FlashCells,
        changed: Callable[[], None],
    ) -> None:  # fmt: skip
        self._clock = clock
        self.array = array
        self._base, self._power, self._cells = base, power, cells
        self._changed = changed
        self.continuous = False
        self._status = [0, QE]
        self._busy_until = 0
        self._bytes: list[int] = []
        self._answers: dict[int, Callable[[int], int]] = {
            0x05: lambda _: self._status[0] | (BUSY if self._clock.now < self._busy_until else 0),
            0x35: lambda _: self._status[1],
            0x15: lambda _: 0,
            0x9F: lambda i: (MANUFACTURER, SERIES, array.size.bit_length() - 1)[(i - 1) % 3],
            0x4B: lambda i: UNIQUE_ID[(i - 5) % 8] if i > 4 else 0xFF,
            0xAB: lambda _: array.size.bit_length() - 2,
        }
        self._silent = (0x01, 0x31, 0x06, 0x50, 0x04, 0x66, 0x99, 0xFF)

    @property
    def quad_enabled(self) -> bool:
        """Whether QE is set, so that the flash answers commands on four lines."""
        return bool(self._status[1] & QE)

    # serial commands

    def exchange(self, byte: int, until: int) -> int:
        """Exchange a byte; return the received one. `until` is the virtual time of its end."""
        if self.continuous:
            raise ModelFault("the flash is in continuous read mode: it interprets the command as an address")
        self._bytes.append(byte)
        command, place = self._bytes[0], len(self._bytes) - 1
        if command not in self._answers and command not in self._silent:
            raise ModelFault(f"command 0x{command:02X} is sent to the flash, which this model does not know")
        if place == 0:
            if until < self._busy_until and command != 0x05:
                raise ModelFault(f"command 0x{command:02X} is sent to the flash while it is busy; poll status 1 (05h)")
            return 0xFF
        return self._answers[command](place) if command in self._answers else 0xFF

    def deselect(self) -> None:
        """Execute the command that was sent: chip select rises."""
        sent, self._bytes = self._bytes, []
        if not sent:
            return
        if sent[0] in (0x06, 0x50):
            self._status[0] |= WEL
        elif sent[0] == 0x04:
            self._status[0] &= ~WEL
        elif sent[0] in (0x01, 0x31) and len(sent) > 1:
            self._write_status(sent)

    def _write_status(self, sent: list[int]) -> None:
        if not self._status[0] & WEL:
            raise ModelFault("a status register of the flash is written without write enable (06h)")
        if sent[0] == 0x31:
            self._status[1] = sent[1]
        else:
            self._status = [sent[1] & ~3, sent[2] if len(sent) > 2 else self._status[1]]
        self._status[0] &= ~WEL
        self._busy_until = self._clock.now + STATUS_PS

    def read_many(self, command: int | None, mode: int) -> None:
        """Start a dual or quad read with its command (None in continuous read mode) and mode bits."""
        if command is None and not self.continuous:
            raise ModelFault("an address without a command is sent to the flash, which is not in continuous read mode")
        if command is not None and self.continuous:
            raise ModelFault("the flash is in continuous read mode: it interprets the command as an address")
        if command not in (None, 0xEB):
            raise ModelFault(f"command 0x{command:02X} is sent on several lines, which this model does not know")
        if not self.quad_enabled:
            raise ModelFault("a quad read is sent to the flash while its QE bit is 0; set it in status register 2")
        self.continuous = mode & 0x30 == 0x20

    def leave_continuous(self) -> None:
        """The exit sequence of the boot ROM's flash_exit_xip."""
        self.continuous = False
        self._bytes = []

    # operations of the boot ROM's routines

    def erase(self, offset: int, count: int, block: int) -> None:
        """Erase sectors, with block erases of `block` bytes if they fit; raise ModelFault if not whole sectors."""
        if offset % SECTOR or count % SECTOR or offset + count > self.array.size:
            raise ModelFault(
                f"flash_range_erase of {count} bytes at 0x{offset:X}: not whole sectors of {SECTOR} bytes of the flash"
            )
        done = self._power.bytes_done(self._base + offset, count)
        erased = self._cells.erased(offset, done, SECTOR, ENDURANCE)
        self.array[offset : offset + done] = np.frombuffer(bytearray(erased), np.uint8)
        end, spent = offset + count, 0
        while offset < end:
            whole = block and offset % block == 0 and offset + block <= end
            spent += BLOCK_PS if whole else SECTOR_PS
            offset += block if whole else SECTOR
        self._finish(spent)

    def program(self, offset: int, data: bytes) -> None:
        """Program whole pages; raise ModelFault unless they are whole pages of the chip."""
        if offset % PAGE or len(data) % PAGE or offset + len(data) > self.array.size:
            raise ModelFault(
                f"flash_range_program of {len(data)} bytes at 0x{offset:X}: "
                f"not whole pages of {PAGE} bytes of the flash"
            )
        done = self._power.bytes_done(self._base + offset, len(data))
        self.array[offset : offset + done] &= np.frombuffer(data[:done], np.uint8)
        self._finish(len(data) // PAGE * PAGE_PS)

    def _finish(self, spent: int) -> None:
        self._clock.wait_until(self._clock.now + spent)
        self._changed()
