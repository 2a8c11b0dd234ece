"""Embedded flash of STM32F746: one bank of 8 sectors, programmed in units of the parallelism that PSIZE selects.

Source: RM0385, FLASH: program and erase operations, FLASH registers. Programming only clears bits. These are faults of
the model: a store to flash without PG or of another size than PSIZE, which silicon ignores with an error flag, and a
wrong key, which causes a bus error on silicon. Durations are modelled, from the data sheet. The first status read
during an operation returns busy; virtual time then advances to the end of the operation. If the supply fails during an
operation, it is left half done.
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.core import ArmCore
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.flash_cells import FlashCells
from hil.standins.virtual.chip.flash_power import FlashPower
from hil.standins.virtual.chip.registers import Block, Register

BASE = 0x08000000
ERASED = b"\xff" * 8
KEYS = (0x45670123, 0xCDEF89AB)
SECTORS = (0x8000,) * 4 + (0x20000,) + (0x40000,) * 3
PG, SER, MER, STRT, LOCK, EOPIE = 1, 2, 4, 1 << 16, 1 << 31, 1 << 24
EOP, ERSERR, BSY = 1, 1 << 7, 1 << 16
# DS10916, flash memory programming, x32: one unit, mass erase, and a sector by its size.
UNIT_PS, MASS_PS = 16_000_000, 8_000_000_000_000
SECTOR_PS = {0x8000: 250_000_000_000, 0x20000: 1_000_000_000_000, 0x40000: 2_000_000_000_000}
HZ_PER_WAIT_STATE = 30_000_000  # RM0385, FLASH: number of wait states, 2.7 to 3.6 V


class Stm32F746Flash(Block):
    """The flash controller.

    Args:
        clock: virtual time.
        core: core whose memory `flash` is the array.
        power, cells: supply and cells of the flash.
        log: receives one line about each mistake that silicon ignores silently.
    """

    REGISTERS = (
        Register("ACR", 0x00, "LATENCY:0-3 PRFTEN:8 ARTEN:9 ARTRST:11"),
        Register("KEYR", 0x04, "KEY:0-31/w"),
        Register("OPTKEYR", 0x08, "OPTKEY:0-31/x"),
        Register("SR", 0x0C, "EOP:0/c OPERR:1/c WRPERR:4/c PGAERR:5/c PGPERR:6/c ERSERR:7/c BSY:16/r"),
        Register("CR", 0x10, "PG:0 SER:1 MER:2 SNB:3-6 PSIZE:8-9 STRT:16 EOPIE:24 ERRIE:25/x LOCK:31", LOCK),
        Register("OPTCR", 0x14, "OPTLOCK:0 OPTSTRT:1/x BOR_LEV:2-3/x WWDG_SW:4/x IWDG_SW:5/x NRST_STOP:6/x "
                 "NRST_STDBY:7/x RDP:8-15/x NWRP:16-23/x IWDG_STDBY:30/x IWDG_STOP:31/x", 0xC0FFAAFD),
        Register("OPTCR1", 0x18, "BOOT_ADD0:0-15/x BOOT_ADD1:16-31/x", 0x00400080),
    )  # fmt: skip

    def __init__(
        self, clock: Clock, core: ArmCore, power: FlashPower, cells: FlashCells, log: Callable[[str], None]
    ) -> None:
        super().__init__("FLASH", 0x40023C00)
        self._clock = clock
        self._core = core
        self._power, self._cells = power, cells
        self._log = log
        self.array = core.bytes["flash"]
        self.timing_changed: Callable[[], None] = lambda: None
        self._keys = 0
        self._busy_until = 0
        self._stored: tuple[int, bytes] | None = None  # offset of the last store, and contents after it
        self.on_write("ACR", then=lambda: self.timing_changed())

    def reset(self) -> None:
        self._settle()
        self._set_lock()
        super().reset()
        self._keys = self._busy_until = 0

    def timing_is_enough(self, hz: int) -> bool:
        """Return whether there are enough wait states for an AHB clock of `hz`."""
        return hz <= HZ_PER_WAIT_STATE * (self.field("ACR", "LATENCY") + 1)

    # unlocking and control

    def write_keyr(self, _old: int, _new: int, key: int) -> None:
        if not self.value["CR"] & LOCK or key != KEYS[self._keys]:
            raise ModelFault(f"FLASH_KEYR is written with 0x{key:08X} out of sequence: it stays locked until reset")
        self._keys += 1
        if self._keys == len(KEYS):
            self._keys = 0
            self.value["CR"] &= ~LOCK
            # While it is unlocked, not only while PG is set: after each change of access the emulator translates anew.
            self._core.guard_writes("flash", self._store)

    def _set_lock(self) -> None:
        if not self.value["CR"] & LOCK:
            self._core.guard_writes("flash", None)
            self._core.code_changed()

    def write_cr(self, old: int, new: int, _acting: int) -> None:
        if old & LOCK:
            if old ^ new:
                self._log("FLASH_CR is written while locked: ignored")
            return
        self._settle()
        if new & LOCK:
            self._set_lock()
        self.value["CR"] = new & ~STRT
        if new & STRT:
            self._erase(new)

    def _erase(self, control: int) -> None:
        sector = control >> 3 & 0xF
        if control & PG or not control & (SER | MER) or (control & SER and sector >= len(SECTORS)):
            self.value["SR"] |= ERSERR
            return
        if control & MER:
            sectors, duration = range(len(SECTORS)), MASS_PS
        else:
            sectors, duration = range(sector, sector + 1), SECTOR_PS[SECTORS[sector]]
        first = sum(SECTORS[: sectors.start])
        left = self._power.bytes_done(BASE + first, sum(SECTORS[i] for i in sectors))
        for i in sectors:
            erased = self._cells.erased(first, min(left, SECTORS[i]), SECTORS[i])
            self._core.store_main(BASE + first, erased, "the flash controller")
            first, left = first + SECTORS[i], left - len(erased)
        self._core.code_changed()
        self._take(duration)

    # programming

    def _store(self, address: int, size: int, value: int) -> None:
        """Handle a store of the core. Unicorn writes the stored value to the array; `_settle` corrects that."""
        self._settle()
        control = self.value["CR"]
        if not control & PG:
            raise ModelFault(f"write of 0x{address:08X} while FLASH_CR.PG is not set", address, "write")
        if size != 1 << (control >> 8 & 3) or address % size:
            raise ModelFault(
                f"write of {size} bytes at 0x{address:08X} while FLASH_CR.PSIZE is {control >> 8 & 3}", address, "write"
            )
        if size == 8:
            raise ModelFault("FLASH_CR.PSIZE selects 64 bits, which need an external voltage at VPP", address, "write")
        if self._clock.now < self._busy_until:  # the bus waits (RM0385, FLASH: standard programming)
            self._clock.wait_until(self._busy_until)
        offset = address - BASE
        before = self._core.load_main(address, size, "the flash controller")
        if before != ERASED[:size]:
            self._log(f"the flash at 0x{address:08X} is programmed without being erased")
        done = self._power.bytes_done(address, size)
        after = (int.from_bytes(before, "little") & value).to_bytes(size, "little")
        self._stored = offset, after[:done] + before[done:]
        self._take(UNIT_PS)

    def _settle(self) -> None:
        """Complete the last store: the array then has the programmed contents."""
        if self._stored is not None:
            offset, data = self._stored
            self._core.store_main(BASE + offset, data, "the flash controller")
            self._stored = None

    def _take(self, duration: int) -> None:
        self._busy_until = max(self._clock.now, self._busy_until) + duration
        if self.value["CR"] & EOPIE:  # without it the flag is not set (RM0385, FLASH_SR)
            self.value["SR"] |= EOP

    def read_sr(self, _value: int) -> int:
        self._settle()
        if self._clock.now < self._busy_until:
            self._clock.wait_until(self._busy_until)
            return self.value["SR"] & ~EOP | BSY
        return self.value["SR"]
