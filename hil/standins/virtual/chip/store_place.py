"""Which instruction of a block is the store that a peripheral sees: the emulator keeps no pc inside a block.

Registers are up to date at a store, so a store of the block to another address is told apart. Instructions of Armv6-M
(ARM DDI 0419, A5.2.4 to A5.2.6, and STM, A6.7.58).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

_FIRST_WIDE = 0xE800
_STACK = 13
_BY_REGISTER = {0: 4, 1: 2, 2: 1}  # bytes by bits 9 to 11 of a store with a register as offset
_IMMEDIATE = {0b01100: 4, 0b01110: 1, 0b10000: 2}  # scale of the offset by bits 11 to 15


def stores_to(address: int, code: bytes, register: Callable[[int], int]) -> list[int]:
    """Return the numbers of a block's instructions that store to an address with the present registers.

    Args:
        address: of the byte, halfword or word.
        code: the block.
        register: returns the present value of r0 to r13.
    """
    return [number for number, first in enumerate(_instructions(code)) if _stores(first, address, register)]


def _instructions(code: bytes) -> Iterator[int]:
    """Yield the first halfword of every instruction."""
    at = 0
    while at < len(code):
        first = int.from_bytes(code[at : at + 2], "little")
        yield first
        at += 4 if first >= _FIRST_WIDE else 2


def _stores(first: int, address: int, register: Callable[[int], int]) -> bool:
    low, base = first >> 8 & 7, first >> 3 & 7
    if first >> 12 == 0b0101 and first >> 9 & 7 in _BY_REGISTER:
        return register(base) + register(first >> 6 & 7) & 0xFFFFFFFF == address
    if first >> 11 in _IMMEDIATE:
        return register(base) + (first >> 6 & 31) * _IMMEDIATE[first >> 11] == address
    if first >> 11 == 0b10010:
        return register(_STACK) + (first & 0xFF) * 4 == address
    if first >> 11 == 0b11000:
        return 0 <= address - register(low) < 4 * (first & 0xFF).bit_count()
    return False
