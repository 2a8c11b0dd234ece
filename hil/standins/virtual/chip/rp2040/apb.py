"""Peripherals on the RP2040's APB: each has its registers four times, three of them for atomic changes of bits
(RP2040 data sheet, 2.1.2 "Atomic register access").

A write narrower than a word is repeated over the word there (2.1.4), which nobody wants: it is a fault here.
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
    """A block of registers on the APB; reads of any size, writes of words."""

    SIZES: tuple[int, ...] = (1, 2, 4)

    def write(self, offset: int, size: int, value: int) -> None:
        register = self._register(offset, size, "write")
        if size != 4:
            raise self._fault(
                register, "write", f"{size} bytes wide, which the bus repeats over the word; write a word"
            )
        super().write(offset, size, value)

    def change(self, offset: int, operation: Callable[[int, int], int], bits: int) -> None:
        """Change bits of a register at once; bits that act or clear by writing 1 see the ones of `bits`."""
        register = self._register(offset, 4, "write")
        told = register.acting | register.clearing
        old = self.value[register.name] & (register.stored | register.absent) | register.reset & register.reserved
        untold = register.stored | register.absent | register.reserved
        super().write(offset, 4, (operation(old, bits & untold) & untold | bits & told) & WORD)


class Alias:
    """One of the three atomic views of a block.

    Args:
        block: whose registers they are.
        number: 1 XOR, 2 set, 3 clear.
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
