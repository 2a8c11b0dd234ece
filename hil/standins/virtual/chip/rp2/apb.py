"""Peripherals on the APB of RP2040 and RP2350: each register has three more addresses for atomic changes of bits.

Source: RP2040 data sheet, 2.1.2 "Atomic register access"; RP2350 data sheet, 2.1.3. The bus repeats a write narrower
than a word over the whole word (2.1.4; 2.1.5). That is never intended, and therefore a fault here.
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.registers import WORD, Block

ALIAS = 0x1000
OPERATIONS: tuple[Callable[[int, int], int], ...] = (
    lambda old, bits: old ^ bits,
    lambda old, bits: old | bits,
    lambda old, bits: old & ~bits,
)


class ApbBlock(Block):
    """A block of registers on the APB; reads may have any size, writes only the size of a word."""

    SIZES: tuple[int, ...] = (1, 2, 4)

    def write(self, offset: int, size: int, value: int) -> None:
        if size != 4:
            register = self._register(offset, size, "write")
            raise self._fault(register, "write", f"{size} bytes wide, which the bus repeats over the word; write one")
        super().write(offset, size, value)

    def change(self, offset: int, operation: Callable[[int, int], int], bits: int) -> None:
        """Change bits of a register atomically; write-only and write-1-to-clear fields get the value of `bits`."""
        register = self._register(offset, 4, "write")
        written = register.acting | register.clearing
        old = self.value[register.name] & (register.stored | register.absent) | register.reset & register.reserved
        combined = register.stored | register.absent | register.reserved
        super().write(offset, 4, (operation(old, bits & combined) & combined | bits & written) & WORD)


class Alias:
    """One of the three atomic views of a block.

    Args:
        block: block with the registers.
        number: number of the view: 1 XOR, 2 set, 3 clear.
    """

    def __init__(self, block: ApbBlock, number: int) -> None:
        self.name = block.name
        self.base = block.base + number * ALIAS
        self._block = block
        self._operation = OPERATIONS[number - 1]

    def read(self, offset: int, size: int) -> int:
        return self._block.read(offset, size)

    def write(self, offset: int, size: int, value: int) -> None:
        if size != 4:
            self._block.write(offset, size, value)
        self._block.change(offset, self._operation, value)
