"""NVMC: flash of 1 MB in pages of 4 KB, and UICR (Product Specification, NVMC).

Programming only clears bits: a word that is not erased gets the AND of old and new data. A store to flash without
CONFIG.WEN, or of less than a word, is a hard fault on silicon and a fault of the model here. Durations are the typical
ones. The first status read during an operation returns busy; virtual time then advances to the end of the operation. If
the supply fails during an operation, it is left half done.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.core import ArmCore
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.flash_cells import FlashCells
from hil.standins.virtual.chip.flash_power import FlashPower
from hil.standins.virtual.chip.nrf52840.uicr import Uicr
from hil.standins.virtual.chip.registers import WORD, Block, Register

FLASH_SIZE, PAGE = 0x100000, 0x1000
# NVMC, electrical specification: tWRITE, tERASEPAGE; tERASEALL from that of the nRF5340, whose chapter is the same.
WRITE_PS, PAGE_PS, ALL_PS = 41_000_000, 85_000_000_000, 173_000_000_000
READ_ONLY, WRITE, ERASE = 0, 1, 2
_ERASED = b"\xff" * 4


class Nvmc(Block):
    """The non-volatile memory controller.

    Args:
        clock: virtual time.
        core: core whose memory `flash` is the array.
        uicr: UICR.
        power, cells: supply of flash and UICR, and cells of the flash.
        log: receives one line about each mistake that silicon ignores silently.
    """

    REGISTERS = (
        Register("READY", 0x400, "READY:0/r", 1), Register("READYNEXT", 0x408, "READYNEXT:0/r"),
        Register("CONFIG", 0x504, "WEN:0-1"),
        Register("ERASEPAGE", 0x508, "ERASEPAGE:0-31"), Register("ERASEALL", 0x50C, "ERASEALL:0"),
        Register("ERASEPCR0", 0x510, "ERASEPCR0:0-31/x"), Register("ERASEUICR", 0x514, "ERASEUICR:0"),
        Register("ERASEPAGEPARTIAL", 0x518, "ERASEPAGEPARTIAL:0-31/x"),
        Register("ERASEPAGEPARTIALCFG", 0x51C, "DURATION:0-6", 0xA),
        Register("ICACHECNF", 0x540, "CACHEEN:0 CACHEPROFEN:8/x"), Register("IHIT", 0x548, "HITS:0-31"),
        Register("IMISS", 0x54C, "MISSES:0-31"),
    )  # fmt: skip

    def __init__(
        self, clock: Clock, core: ArmCore, uicr: Uicr, power: FlashPower, cells: FlashCells,
        log: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._clock = clock
        self._core = core
        self._uicr = uicr
        self._power, self._cells = power, cells
        self._log = log
        self.array = core.bytes["flash"]
        self._busy_until = 0
        self._pending: tuple[int, bytes] | None = None  # offset and bytes that replace those of the last store
        self._mode = READ_ONLY
        super().__init__("NVMC", 0x4001E000)

    def reset(self) -> None:
        super().reset()
        self._set_mode(READ_ONLY)
        self._busy_until = 0

    # writing

    def write_config(self, _old: int, new: int, _acting: int) -> None:
        if new == WRITE | ERASE:
            raise ModelFault("NVMC_CONFIG.WEN is written with 3, which is neither read only, write nor erase")
        self.value["CONFIG"] = new
        self._set_mode(new)

    def _set_mode(self, mode: int) -> None:
        self._settle()
        if mode != self._mode:
            if WRITE in (mode, self._mode):
                self._core.guard_writes("flash", self._store if mode == WRITE else None)
                self._core.code_changed()
            self._mode = mode

    def _store(self, address: int, size: int, value: int) -> None:
        """Handle a store of the core. Unicorn writes the stored value to the array; `_settle` corrects that."""
        self._settle()
        if size != 4 or address % 4:
            raise ModelFault(f"write of {size} bytes at 0x{address:08X}: flash takes whole words", address, "write")
        before = self.array[address : address + 4].tobytes()
        after = self._program(address, before, value)
        done = self._power.bytes_done(address, 4)
        self._pending = address, after[:done] + before[done:]

    def write_word(self, address: int, value: int) -> None:
        """Program a word of UICR, which is not written by a store to memory."""
        if self._mode != WRITE:
            raise ModelFault(f"write of 0x{address:08X} while NVMC_CONFIG.WEN is not set", address, "write")
        before = self._uicr.words[address - self._uicr.base >> 2].to_bytes(4, "little")
        self._uicr.words[address - self._uicr.base >> 2] = int.from_bytes(
            self._program(address, before, value), "little"
        )

    def _program(self, address: int, before: bytes, value: int) -> bytes:
        """Return the contents of a word after programming, and start the busy time."""
        if before != _ERASED:
            self._log(f"the flash word at 0x{address:08X} is programmed without being erased")
        self._busy(WRITE_PS)
        return (int.from_bytes(before, "little") & value).to_bytes(4, "little")

    def _settle(self) -> None:
        if self._pending is not None:
            (address, data), self._pending = self._pending, None
            for i, byte in enumerate(data):
                self.array[address + i] = byte

    def settle(self) -> None:
        """Complete the last store: the array then has the programmed contents."""
        self._settle()

    # erasing

    def _erase(self, register: str) -> None:
        if self._mode != ERASE:
            raise ModelFault(f"NVMC_{register} is written while NVMC_CONFIG.WEN is not Een")

    def write_erasepage(self, _old: int, new: int, _acting: int) -> None:
        self._erase("ERASEPAGE")
        if new % PAGE or new >= FLASH_SIZE:
            raise ModelFault(f"NVMC_ERASEPAGE is written with 0x{new:08X}, which is no page of the flash")
        self._fill(new, self._power.bytes_done(new, PAGE))
        self._core.code_changed()
        self._busy(PAGE_PS)

    def write_eraseall(self, _old: int, new: int, _acting: int) -> None:
        self._erase("ERASEALL")
        if new:
            self.erase_all()

    def write_eraseuicr(self, _old: int, new: int, _acting: int) -> None:
        self._erase("ERASEUICR")
        if new:
            self._uicr.erase()
            self._busy(PAGE_PS)

    def _fill(self, first: int, size: int) -> None:
        """Let erased bytes be there."""
        self.array[first : first + size] = np.frombuffer(bytearray(self._cells.erased(first, size, PAGE)), np.uint8)

    def erase_all(self) -> None:
        """Erase flash and UICR, for ERASEALL of the NVMC and of the CTRL-AP."""
        self._fill(0, FLASH_SIZE)
        self._uicr.erase()
        self._core.code_changed()
        self._busy(ALL_PS)

    # status

    def _busy(self, duration: int) -> None:
        self._busy_until = max(self._clock.now, self._busy_until) + duration

    def read_ready(self, _value: int) -> int:
        self._settle()
        if self._clock.now < self._busy_until:
            self._clock.wait_until(self._busy_until)
            return 0
        return 1

    def read_readynext(self, _value: int) -> int:
        return int(self._clock.now >= self._busy_until)

    def write_ihit(self, _old: int, new: int, _acting: int) -> None:
        if new & WORD:
            raise ModelFault("NVMC_IHIT is written with another value than 0, which resets it")

    write_imiss = write_ihit
