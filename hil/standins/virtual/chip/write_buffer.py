"""Whether a store may still be in the core's write buffer at the end of a block (ARM AN321; ARM DDI 0403E.e, A3.7)."""

from __future__ import annotations

import struct

SOON = 4  # instructions after the store, at most: a longer way back lets the store arrive
_FIRST_WIDE = 0xE800
_LOAD, _STORE, _BARRIER, _OTHER = range(4)


def store_is_pending(code: bytes) -> bool:
    """Return whether a block of Thumb instructions ends soon after its last store, without a barrier or a load between.

    A load may be the read-back that waits for the store. The last instruction is the return itself and does not count.
    """
    kinds = _kinds(struct.unpack(f"<{len(code) // 2}H", code))[:-1]
    for after, kind in enumerate(reversed(kinds)):
        if kind != _OTHER:
            return kind == _STORE and after < SOON
    return False


def _kinds(halfwords: tuple[int, ...]) -> list[int]:
    kinds, rest = [], iter(halfwords)
    for first in rest:
        kinds.append(_wide(first, next(rest, 0)) if first >= _FIRST_WIDE else _narrow(first))
    return kinds


def _narrow(code: int) -> int:
    """Return what an instruction of 16 bits does (A5.2.4 to A5.2.6)."""
    group = code >> 12
    if group == 5:  # register offset: 000 to 010 store
        return _STORE if code >> 9 & 7 < 3 else _LOAD
    if group in (6, 7, 8, 9, 12):  # immediate offset, and multiple: bit 11 loads
        return _LOAD if code >> 11 & 1 else _STORE
    if code >> 11 == 0b01001:  # literal
        return _LOAD
    if code >> 9 in (0b1011010, 0b1011110):  # PUSH, POP
        return _LOAD if code >> 11 & 1 else _STORE
    return _OTHER


def _wide(first: int, second: int) -> int:
    """Return what an instruction of 32 bits does (A5.3.4 to A5.3.10)."""
    if first == 0xF3BF and second & 0xFFF0 == 0x8F40:  # DSB; neither DMB nor ISB waits for a store
        return _BARRIER
    if first >> 9 == 0b1110100 or first >> 9 == 0b1111100:  # multiple and double, single: bit 4 loads
        return _LOAD if first >> 4 & 1 else _STORE
    return _OTHER
