"""Registers of the RP2350's boot RAM: words that can be written once, and locks (data sheet, 4.3)."""

from __future__ import annotations

from hil.standins.virtual.chip.registers import Block, Register

BASE, SIZE = 0x400E0000, 0x400
_LOCKS = 8


class BootRam(Block):
    """The registers behind the 1 KB of memory."""

    REGISTERS = (
        Register("WRITE_ONCE0", 0x800, "BITS:0-31"), Register("WRITE_ONCE1", 0x804, "BITS:0-31"),
        Register("BOOTLOCK_STAT", 0x808, "LOCKS:0-7", 0xFF),
        *(Register(f"BOOTLOCK{i}", 0x80C + 4 * i, "LOCK:0-31/w") for i in range(_LOCKS)),
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__("BOOTRAM", BASE)
        for i in range(_LOCKS):
            self._readers[f"BOOTLOCK{i}"] = lambda _value, i=i: self._claim(i)
            self._writers[f"BOOTLOCK{i}"] = lambda _old, _new, _acting, i=i: self._release(i)

    def write_write_once0(self, old: int, new: int, _acting: int) -> None:
        self.value["WRITE_ONCE0"] = old | new

    def write_write_once1(self, old: int, new: int, _acting: int) -> None:
        self.value["WRITE_ONCE1"] = old | new

    def _claim(self, lock: int) -> int:
        """Return 1 if the lock was free (its bit in STAT is 1), and take it; else 0."""
        free = self.value["BOOTLOCK_STAT"] >> lock & 1
        self.value["BOOTLOCK_STAT"] &= ~(1 << lock)
        return free

    def _release(self, lock: int) -> None:
        self.value["BOOTLOCK_STAT"] |= 1 << lock
