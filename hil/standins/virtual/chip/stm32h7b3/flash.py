"""Embedded flash of STM32H7A3/7B3: two banks of 1 MB in sectors of 8 KB, programmed in flash words of 16 bytes.

Source: RM0455, FLASH: program and erase operations, error correction code, FLASH registers. Programming only clears
bits. A word that is programmed without being erased has the AND of old and new data, and a wrong ECC; so has one during
which the supply failed. DBECCERR is set when it is read, and the read is a bus fault. These are faults of the model: a
store to flash without PG, which silicon ignores with PGSERR, and a wrong key, which causes a bus error on silicon.

Durations are modelled, of the order of those in the data sheet. The first status read during an operation returns busy;
virtual time then advances to the end of the operation. If the supply fails during an operation, it is left half done.
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.core import ArmCore
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.flash_cells import FlashCells
from hil.standins.virtual.chip.flash_power import FlashPower
from hil.standins.virtual.chip.registers import Block, Register

BASE, BANK_SIZE, SECTOR_SIZE, WORD_SIZE = 0x08000000, 0x100000, 0x2000, 16
ERASED = b"\xff" * WORD_SIZE
KEYS = (0x45670123, 0xCDEF89AB)
WORD_PS, SECTOR_PS, BANK_PS = 140_000_000, 2_200_000_000, 10_000_000_000
LOCK, PG, SER, BER, FW, START = 1, 2, 4, 8, 16, 32
BSY, WBNE, QW, EOP = 1, 2, 4, 1 << 16
WRPERR, PGSERR, STRBERR, INCERR, DBECCERR = 1 << 17, 1 << 18, 1 << 19, 1 << 21, 1 << 26
# RM0455, FLASH: recommended wait states and programming delay. By voltage scale: highest Hz for each number of wait
# states, and the programming delay for the same number.
WAIT_STATES = {
    0: (42e6, 84e6, 126e6, 168e6, 210e6, 252e6, 280e6),
    1: (38e6, 76e6, 114e6, 152e6, 190e6, 225e6),
    2: (34e6, 68e6, 102e6, 136e6, 160e6),
    3: (22e6, 44e6, 66e6, 88e6),
}
PROGRAM_DELAY = (0, 0, 1, 1, 2, 2, 3)

_CR = (
    "LOCK:0 PG:1 SER:2 BER:3 FW:4 START:5 SSN:6-12 CRC_EN:15/x EOPIE:16/x WRPERRIE:17/x PGSERRIE:18/x STRBERRIE:19/x "
    "INCERRIE:21/x RDPERRIE:23/x RDSERRIE:24/x SNECCERRIE:25/x DBECCERRIE:26/x CRCENDIE:27/x CRCRDERRIE:28/x"
)
_SR = (
    "BSY:0/r WBNE:1/r QW:2/r CRC_BUSY:3/r EOP:16/r WRPERR:17/r PGSERR:18/r STRBERR:19/r INCERR:21/r RDPERR:23/r "
    "RDSERR:24/r SNECCERR:25/r DBECCERR:26/r CRCEND:27/r CRCRDERR:28/r"
)
# CLR_OPERR is not in RM0455, but pyOCD's flash algorithm for this family writes it, and silicon accepts that.
_CCR = (
    "CLR_EOP:16/w CLR_WRPERR:17/w CLR_PGSERR:18/w CLR_STRBERR:19/w CLR_INCERR:21/w CLR_OPERR:22/w CLR_RDPERR:23/w "
    "CLR_RDSERR:24/w CLR_SNECCERR:25/w CLR_DBECCERR:26/w CLR_CRCEND:27/w CLR_CRCRDERR:28/w"
)
_OPTIONS = (
    "OPT_BUSY:0/r BOR_LEV:2-3/{0} IWDG_SW:4/{0} NRST_STOP:6/{0} NRST_STDY:7/{0} RDP:8-15/{0} VDDMMC_HSLV:16/{0} "
    "IWDG_FZ_STOP:17/{0} IWDG_FZ_SDBY:18/{0} ST_RAM_SIZE:19-20/{0} SECURITY:21/{0} VDDIO_HSLV:29/{0} "
    "OPTCHANGEERR:30/r SWAP_BANK_OPT:31/{0}"
)
_FACTORY_OPTIONS = 0x0016AAD0


def _bank(bank: int) -> tuple[Register, ...]:
    at = 0x100 * (bank - 1)
    return (
        Register(f"KEYR{bank}", at + 0x04, "KEYR:0-31/w"),
        Register(f"CR{bank}", at + 0x0C, _CR, LOCK),
        Register(f"SR{bank}", at + 0x10, _SR),
        Register(f"CCR{bank}", at + 0x14, _CCR),
    )


class Stm32H7b3Flash(Block):
    """The flash controller.

    Args:
        clock: virtual time.
        core: core whose memory `flash` is the array.
        power, cells: supply and cells of the flash.
        log: receives one line about each mistake that silicon ignores silently.
    """

    REGISTERS = (
        Register("ACR", 0x00, "LATENCY:0-3 WRHIGHFREQ:4-5", 0x13),
        Register("OPTKEYR", 0x08, "OPTKEYR:0-31/x"),
        Register("OPTCR", 0x18, "OPTLOCK:0 OPTSTART:1/x MER:4/x PG_OTP:5/x OPTCHANGEERRIE:30/x SWAP_BANK:31/r", 1),
        Register("OPTSR_CUR", 0x1C, _OPTIONS.format("r"), _FACTORY_OPTIONS),
        Register("OPTSR_PRG", 0x20, _OPTIONS.format("x"), _FACTORY_OPTIONS),
        *_bank(1),
        *_bank(2),
    )  # fmt: skip

    def __init__(
        self, clock: Clock, core: ArmCore, power: FlashPower, cells: FlashCells, log: Callable[[str], None]
    ) -> None:
        super().__init__("FLASH", 0x52002000)
        self._clock = clock
        self._core = core
        self._log = log
        self.array = core.bytes["flash"]
        self._bytes = self.array.data  # of single flash words, which numpy would take longer for
        self.timing_changed: Callable[[], None] = lambda: None
        self.bus_fault: Callable[[int, str], None] = lambda address, why: None
        self._power, self._cells = power, cells
        for bank in (1, 2):
            self._readers[f"SR{bank}"] = lambda value, bank=bank: self._status(bank, value)
            self._writers[f"CR{bank}"] = lambda old, new, _acting, bank=bank: self._control(bank, old, new)
            self._writers[f"KEYR{bank}"] = lambda _old, _new, key, bank=bank: self._key(bank, key)
            self._writers[f"CCR{bank}"] = lambda _old, _new, flags, bank=bank: self._clear(bank, flags)
        self.on_write("ACR", then=lambda: self.timing_changed())
        self._forget()

    def _forget(self) -> None:
        self._keys = {1: 0, 2: 0}
        self._busy_until = {1: 0, 2: 0}
        self._word: int | None = None  # offset of the flash word in the write buffer
        self._before = self._seen = b""  # what flash and core have there before the stores
        self._data = bytearray(WORD_SIZE)
        self._filled = 0
        self._guarded = False

    def reset(self) -> None:
        self.settle()
        if self._guarded:
            self._core.guard_writes("flash", None)
        super().reset()
        self._forget()
        self._watch_wrong_ecc()

    def timing_is_enough(self, hz: int, scale: int) -> bool:
        """Return whether wait states and programming delay are enough for an AXI clock of `hz` at a voltage scale."""
        latency = self.field("ACR", "LATENCY")
        limits = WAIT_STATES[scale]
        if hz > limits[min(latency, len(limits) - 1)]:
            return False
        needed = next(i for i, limit in enumerate(limits) if hz <= limit)
        return self.field("ACR", "WRHIGHFREQ") >= PROGRAM_DELAY[needed]

    # unlocking and control

    def _key(self, bank: int, key: int) -> None:
        if not self.field(f"CR{bank}", "LOCK") or key != KEYS[self._keys[bank]]:
            raise ModelFault(f"FLASH_KEYR{bank} is written with 0x{key:08X} out of sequence: it stays locked")
        self._keys[bank] += 1
        if self._keys[bank] == len(KEYS):
            self._keys[bank] = 0
            self.value[f"CR{bank}"] &= ~LOCK

    def _control(self, bank: int, old: int, new: int) -> None:
        if old & LOCK:
            if (old ^ new) & ~LOCK:
                self._log(f"FLASH_CR{bank} is written while locked: ignored")
            return
        self.settle()
        self.value[f"CR{bank}"] = new & ~(FW | START)
        if new & FW and self._word is not None and self._bank_of(self._word) == bank:
            for place in range(WORD_SIZE):
                if not self._filled >> place & 1:
                    self._data[place] = 0xFF
            self._program(self._word)
        if new & START:
            self._erase(bank, new)
        if not new & PG and self._word is not None and self._bank_of(self._word) == bank:
            self._drop_buffer(self._word)
        programming = bool((self.value["CR1"] | self.value["CR2"]) & PG)
        if programming != self._guarded:
            self._guarded = programming
            self._core.guard_writes("flash", self._store if programming else None)

    def _erase(self, bank: int, control: int) -> None:
        first = (bank - 1) * BANK_SIZE
        if control & BER:
            size, duration = BANK_SIZE, BANK_PS
        elif control & SER:
            first += (control >> 6 & 0x7F) * SECTOR_SIZE
            size, duration = SECTOR_SIZE, SECTOR_PS
        else:
            self._raise(bank, PGSERR)
            return
        done = self._power.bytes_done(BASE + first, size)
        erased = self._cells.erased(first, done, SECTOR_SIZE)
        self._core.store_main(BASE + first, erased, "the flash controller")
        kept = {word for word in self._cells.wrong_ecc if not first <= word < first + done}
        self._set_wrong_ecc(kept | {first + done} if 0 < done < size else kept)
        self._core.code_changed()
        self._finish(bank, duration)

    # programming

    def _bank_of(self, offset: int) -> int:
        return 1 + offset // BANK_SIZE

    def _store(self, address: int, size: int, value: int) -> None:
        """Put a store of the core into the write buffer.

        Unicorn writes the stored value to the array; `settle` corrects that.
        """
        self.settle()
        offset = address - BASE
        bank = self._bank_of(offset)
        if not self.value[f"CR{bank}"] & PG:
            raise ModelFault(f"write of 0x{address:08X} while FLASH_CR{bank}.PG is not set", address, "write")
        word = offset & ~(WORD_SIZE - 1)
        if self._word is None:
            self._word = word
            self._seen = bytes(self._bytes[word : word + WORD_SIZE])
            self._before = self._core.load_main(BASE + word, WORD_SIZE, "the flash controller")
            self._filled = 0
        elif self._word != word:
            self._drop_buffer(self._word)
            self._raise(bank, INCERR)
            raise ModelFault(f"write of 0x{address:08X} while another flash word is incomplete", address, "write")
        place = offset - word
        lanes = (1 << size) - 1 << place
        if self._filled & lanes:
            self._raise(bank, STRBERR)
        self._data[place : place + size] = value.to_bytes(size, "little")
        self._filled |= lanes

    def settle(self) -> None:
        """Program the flash word if the last store has completed it."""
        if self._word is not None and self._filled == (1 << WORD_SIZE) - 1:
            self._program(self._word)

    def _program(self, word: int) -> None:
        bank = self._bank_of(word)
        if self._before != ERASED:
            self._log(f"the flash word at 0x{BASE + word:08X} is programmed without being erased: its ECC is wrong")
        both = int.from_bytes(self._before, "little") & int.from_bytes(self._data, "little")
        done = self._power.bytes_done(BASE + word, WORD_SIZE)
        if done and (done < WORD_SIZE or self._before != ERASED):
            self._set_wrong_ecc(self._cells.wrong_ecc | {word})
        new = both.to_bytes(WORD_SIZE, "little")[:done] + self._before[done:]
        self._core.store_main(BASE + word, new, "the flash controller")
        self._word = None
        self._core.code_changed()
        self._finish(bank, WORD_PS)

    def _set_wrong_ecc(self, words: set[int]) -> None:
        if words != self._cells.wrong_ecc:
            self._cells.wrong_ecc = words
            self._watch_wrong_ecc()

    def _watch_wrong_ecc(self) -> None:
        words = [BASE + word for word in self._cells.wrong_ecc]
        self._core.watch_loads(words, WORD_SIZE, self._read_wrong_ecc)

    def _read_wrong_ecc(self, address: int) -> None:
        self._raise(self._bank_of(address - BASE), DBECCERR)
        self.bus_fault(
            address,
            f"read of 0x{address:08X}: the ECC of this flash word is wrong: it was programmed twice, or the supply "
            "failed meanwhile; erase its sector (RM0455, FLASH, error correction code)",
        )

    def _drop_buffer(self, word: int) -> None:
        self._bytes[word : word + WORD_SIZE] = self._seen
        self._word = None

    # status

    def _finish(self, bank: int, duration: int) -> None:
        self._busy_until[bank] = max(self._clock.now, self._busy_until[bank]) + duration
        self._raise(bank, EOP)

    def _raise(self, bank: int, flags: int) -> None:
        self.value[f"SR{bank}"] |= flags

    def _clear(self, bank: int, flags: int) -> None:
        self.value[f"SR{bank}"] &= ~flags

    def _status(self, bank: int, value: int) -> int:
        self.settle()
        value = self.value[f"SR{bank}"]
        if self._word is not None and self._bank_of(self._word) == bank:
            value |= WBNE
        if self._clock.now < self._busy_until[bank]:
            self._clock.wait_until(self._busy_until[bank])
            return value & ~EOP | BSY | QW
        return value
