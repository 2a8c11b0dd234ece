"""The block hook in plain Python, from the docstring of `count` and the sections of ARM DDI 0403E.e named here.

It shares with the native hook the layout of the state (`Slot`), but neither its table of encodings nor its masks of flags.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hil.standins.virtual.chip.count import MARGIN, Slot

SETS_FAULTMASK, HAS_DOUBLE, MAY_UNMASK, HAS_FP, HAS_SEV, NOT_V6M = 0x0400, 0x0800, 0x1000, 0x2000, 0x4000, 0x8000
STOPPED_BY_LIMIT, STOPPED_BY_REFUSED = 1, 2


def narrow_flags(halfword: int) -> int:
    """Return the flags of an instruction of 16 bits; A5.2.5 has the encodings 1011 xxxx xxxx xxxx."""
    flags = 0
    high, low = halfword >> 8, halfword & 0xFF
    if high == 0xB6 and low >> 5 == 0b011:  # CPS: im at bit 4, A, I and F in bits 2:0
        enables, rest, interrupts, faults = not low & 0x10, low & 0xC, low & 2, low & 1
        if enables and not low & 8:
            flags |= MAY_UNMASK
        if faults and not low & 8:
            flags |= SETS_FAULTMASK
        if rest or not interrupts or faults:  # Armv6-M has CPS with I alone
            flags |= NOT_V6M
    if high == 0xB6 and low >> 5 == 0b010:  # SETEND
        flags |= NOT_V6M
    if high in (0xB1, 0xB3, 0xB9, 0xBB):  # CBZ and CBNZ
        flags |= NOT_V6M
    if high == 0xBA and low >> 6 == 0b10:  # HLT
        flags |= NOT_V6M
    if high == 0xBF and low & 0xF:  # IT: its mask is not 0
        flags |= NOT_V6M
    if halfword == 0xBF40:  # SEV
        flags |= HAS_SEV
    return flags


def wide_flags(first: int, second: int) -> int:
    """Return the flags of an instruction of 32 bits (A5.3.4: MSR, MRS and barriers; A5.3.18: coprocessors)."""
    flags = 0
    if 0xF380 <= first <= 0xF39F and second >> 8 == 0x88:  # MSR
        flags |= MAY_UNMASK
    if 0xF380 <= first <= 0xF39F and second == 0x8813:  # MSR FAULTMASK
        flags |= SETS_FAULTMASK
    if 0xF380 <= first <= 0xF3FF and second & 0xFF in (17, 18, 19):  # BASEPRI, BASEPRI_MAX, FAULTMASK
        flags |= NOT_V6M
    if first >> 10 & 0b111011 == 0b111011 and second >> 8 & 0xF in (10, 11):  # floating point
        flags |= HAS_FP
        if is_double(first, second):
            flags |= HAS_DOUBLE
    return flags


def is_double(first: int, second: int) -> bool:
    """Return whether a floating-point instruction computes in double precision (A7.5, tables A7-17 and A7-18)."""
    if first >> 8 & 0xF != 0b1110 or second & 0x10:
        return False  # a load, a store, or a move to or from core registers
    if second >> 8 & 1:  # sz
        return True
    single_to_double = first >> 4 & 0b1011 == 0b1011 and first & 0xF == 0b0111 and second >> 6 & 0b11 == 0b11
    return first >> 12 == 0xE and first >> 7 & 1 == 1 and single_to_double


def scan(code: Sequence[int]) -> int:
    """Return the number of instructions in halfwords, combined with their flags."""
    halfwords = iter(code)
    count = flags = 0
    for first in halfwords:
        count += 1
        flags |= wide_flags(first, next(halfwords, 0)) if first >= 0xE800 else narrow_flags(first)  # A5.1
    return count | flags


@dataclass
class Caches:
    """What COUNTS, SIZES, REACHED and FOLLOWED point to; `followed` begins at the address `followed_at`."""

    counts: list[int]
    sizes: list[int]
    reached: list[int]
    followed: list[int]
    followed_at: int


def block_hook(state: list[int], memories: dict[int, Sequence[int]], caches: Caches, address: int, size: int) -> bool:
    """Change `state` and `caches` as the hook does and return whether it stops Unicorn.

    Args:
        state: the int64 state.
        memories: halfwords by the address of their bytes, as in the slots of the regions.
        caches: cached counts and sizes.
        address: address of the block.
        size: its size in bytes.
    """
    jumped = address != state[Slot.BLOCK] + state[Slot.BLOCK_SIZE]
    caches.followed[state[Slot.AFTER_LAST] + jumped - caches.followed_at] = 1
    masked = state[Slot.FLAGS] & state[Slot.WATCH]
    if state[Slot.COUNT] >= state[Slot.LIMIT] or masked:
        state[Slot.STOPPED] = STOPPED_BY_LIMIT
        return True
    entry, key = _look_up(state, memories, caches, address, size // 2)
    if entry & state[Slot.REFUSED]:
        state[Slot.STOPPED] = STOPPED_BY_REFUSED
        return True
    if entry & HAS_SEV:
        state[Slot.EVENT] = 1
    count = entry % 0x400
    state[Slot.BLOCK], state[Slot.BLOCK_SIZE], state[Slot.BLOCK_COUNT] = address, size, count
    state[Slot.AFTER_LAST] = state[Slot.FOLLOWED] + 2 * (0 if key is None else MARGIN + key) + size // 2 * 2
    state[Slot.FLAGS] = entry
    state[Slot.COUNT] += count
    return False


def _look_up(
    state: list[int], memories: dict[int, Sequence[int]], caches: Caches, address: int, length: int
) -> tuple[int, int | None]:
    """Return count and flags of a block, and its index; 0 and None if no region contains it."""
    for number in range(state[Slot.REGIONS]):
        slot = Slot.REGIONS + 1 + 4 * number
        base, end, place, offset = state[slot : slot + 4]
        if base <= address < end:
            break
    else:
        return 0, None
    at = (address - base) // 2
    code = memories[place][at : at + length]
    if offset < 0:
        key = -1 - offset + at
        _reach(state, caches, key, length)
        return scan(code), key
    key = offset + at
    if caches.counts[key] == 0 or caches.sizes[key] != length:
        caches.counts[key], caches.sizes[key] = scan(code), length
        state[Slot.FIRST_CACHED] = min(state[Slot.FIRST_CACHED], key)
        state[Slot.END_CACHED] = max(state[Slot.END_CACHED], key + 1)
        _reach(state, caches, key, length)
    return caches.counts[key], key


def _reach(state: list[int], caches: Caches, key: int, length: int) -> None:
    """Keep that a block was reached, and what to restore if it is not executed."""
    if caches.reached[key] < length:
        state[Slot.NEW_ENTRY], state[Slot.NEW_AT] = key, state[Slot.COUNT]
        state[Slot.NEW_BEFORE], caches.reached[key] = caches.reached[key], length
