"""Registers of i.MX RT1062 with four addresses: for plain access, and to set, clear and toggle bits (IMXRT1060RM)."""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.registers import WORD, Block

OPERATIONS: tuple[Callable[[int, int], int], ...] = (
    lambda _old, bits: bits, lambda old, bits: old | bits, lambda old, bits: old & ~bits, lambda old, bits: old ^ bits,
)  # fmt: skip


class SetClearBlock(Block):
    """A block whose registers have these addresses, but for those named in `ONCE`."""

    ONCE: tuple[str, ...] = ()

    def read(self, offset: int, size: int) -> int:
        return super().read(self._plain(offset), size)

    def write(self, offset: int, size: int, value: int) -> None:
        plain = self._plain(offset)
        if plain != offset:
            register = self._register(plain, size, "write")
            value = OPERATIONS[offset >> 2 & 3](self.value[register.name] & ~register.clearing, value) & WORD
        super().write(plain, size, value)

    def _plain(self, offset: int) -> int:
        register = self._at.get(offset & ~0xF)
        return offset & ~0xC if register is not None and register.name not in self.ONCE else offset
