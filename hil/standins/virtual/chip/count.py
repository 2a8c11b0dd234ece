"""The block hook: native code inside Unicorn's loop that counts instructions exactly and ends a run at a count.

Unicorn calls the hook at the start of every translation block with the address and size of the block. The hook counts
the Thumb instructions in these bytes. An instruction has 32 bits if its first halfword is 0xE800 or more, else 16 (ARM
DDI 0403E.e, A5.1). For memories that the core does not change, the hook caches the count by address. If the count has
reached the limit, it asks Unicorn to stop before the block. A block that is not executed is not counted. An instruction
that a condition skips is counted, because it passes the pipeline.
"""

from __future__ import annotations

import enum

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils  # noqa: F401  (loads the lowering that the intrinsics below rely on)
from numba.extending import intrinsic


class Slot(enum.IntEnum):
    """Index into the int64 state that Python and the hook share."""

    COUNT = 0  # instructions executed since power-on
    LIMIT = 1  # stop before a block once COUNT >= LIMIT
    STOPPED = 2  # a Stop: why the hook ended the run
    BLOCK = 3  # address of the last block
    BLOCK_SIZE = 4  # its size in bytes
    BLOCK_COUNT = 5  # its number of instructions
    WATCH = 6  # 1: an exception is pending but masked, stop after a block that may unmask it
    FLAGS = 7  # flags of the last block (MAY_UNMASK ...)
    REFUSED = 8  # flags (HAS_FP, NOT_V6M): stop before a block that has one of them
    EVENT = 9  # set to 1 by SEV
    STOP_CALL = 10  # address of uc_emu_stop
    COUNTS = 11  # address of uint16[]: count and flags by halfword of cached memories
    SIZES = 12  # address of uint16[]: size in halfwords for which that count holds
    FIRST_CACHED = 13  # lowest index of COUNTS that the hook has written, and the one after the highest
    END_CACHED = 14
    REGIONS = 15  # number of code regions; then 4 slots each: base, end, address of the bytes, offset in COUNTS or -1


class Stop(enum.IntEnum):
    """Why the hook ended a run."""

    NONE = 0
    LIMIT = 1
    REFUSED = 2


MAX_REGIONS = 12
STATE_LENGTH = int(Slot.REGIONS) + 1 + 4 * MAX_REGIONS
COUNT_MASK = 0x0FFF
MAY_UNMASK = 0x1000
HAS_FP = 0x2000
HAS_SEV = 0x4000
NOT_V6M = 0x8000

_COUNT, _LIMIT, _STOPPED, _BLOCK, _BLOCK_SIZE, _BLOCK_COUNT, _WATCH, _FLAGS, _REFUSED, _EVENT = range(10)
_STOP_CALL, _COUNTS, _SIZES, _FIRST_CACHED, _END_CACHED, _REGIONS = range(10, 16)


@intrinsic
def _halfwords(typingctx, address):
    """Turn an address into a pointer to uint16."""

    def codegen(context, builder, signature, args):
        return builder.inttoptr(args[0], ir.IntType(16).as_pointer())

    return types.CPointer(types.uint16)(types.int64), codegen


@intrinsic
def _call_stop(typingctx, function, engine):
    """Call `int function(void *engine)`."""

    def codegen(context, builder, signature, args):
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.IntType(32), [pointer])
        callee = builder.inttoptr(args[0], kind.as_pointer())
        return builder.call(callee, [builder.bitcast(args[1], pointer)])

    return types.int32(types.int64, types.voidptr), codegen


@numba.njit(cache=True)
def _scan(code, length):
    """Return the number of instructions in `length` halfwords of `code`, combined with their flags."""
    i = 0
    n = 0
    flags = 0
    while i < length:
        first = code[i]
        if first >= 0xE800:
            second = code[i + 1] if i + 1 < length else 0
            if (first & 0xFF80) == 0xF380:  # MSR, MRS, barriers
                if (first & 0xFFE0) == 0xF380 and (second & 0xFF00) == 0x8800:  # MSR
                    flags |= 0x1000
                if 17 <= (second & 0xFF) <= 19:  # BASEPRI, FAULTMASK
                    flags |= 0x8000
            if (first & 0xEC00) == 0xEC00 and (second & 0x0E00) == 0x0A00:  # coprocessors 10 and 11
                flags |= 0x2000
            i += 2
        else:
            if (first & 0xF000) == 0xB000:  # miscellaneous (A5.2.5)
                if (first & 0xFFF8) == 0xB660:  # CPSIE
                    flags |= 0x1000
                if first == 0xBF40:  # SEV
                    flags |= 0x4000
                # CBZ and CBNZ, IT, CPS with F, SETEND, HLT: not in Armv6-M, but Unicorn's Cortex-M0 executes them
                if (
                    (first & 0xF500) == 0xB100
                    or ((first & 0xFF00) == 0xBF00 and (first & 0xF) != 0)
                    or ((first & 0xFFE0) == 0xB660 and (first & 0xF) != 2)
                    or (first & 0xFFE0) == 0xB640
                    or (first & 0xFFC0) == 0xBA80
                ):
                    flags |= 0x8000
            i += 1
        n += 1
    return n | flags


@numba.cfunc(types.void(types.voidptr, types.uint64, types.uint32, types.CPointer(types.int64)), cache=True)
def block_hook(engine, address, size, shared):
    """Unicorn's UC_HOOK_BLOCK callback; `shared` is the int64[STATE_LENGTH] state."""
    state = numba.carray(shared, STATE_LENGTH)
    if state[_COUNT] >= state[_LIMIT] or (state[_WATCH] != 0 and (state[_FLAGS] & 0x1000) != 0):
        state[_STOPPED] = 1
        _call_stop(state[_STOP_CALL], engine)
        return
    where = np.int64(address)
    length = np.int64(size) >> 1
    entry = np.int64(0)
    for r in range(state[_REGIONS]):
        at = _REGIONS + 1 + 4 * r
        base = state[at]
        if where < base or where >= state[at + 1]:
            continue
        offset = (where - base) >> 1
        code = _halfwords(state[at + 2] + 2 * offset)
        if state[at + 3] < 0:
            entry = _scan(code, length)
        else:
            counts = _halfwords(state[_COUNTS])
            sizes = _halfwords(state[_SIZES])
            key = state[at + 3] + offset
            if counts[key] == 0 or sizes[key] != length:
                counts[key] = _scan(code, length)
                sizes[key] = length
                state[_FIRST_CACHED] = min(state[_FIRST_CACHED], key)
                state[_END_CACHED] = max(state[_END_CACHED], key + 1)
            entry = np.int64(counts[key])
        break
    if (entry & state[_REFUSED]) != 0:
        state[_STOPPED] = 2
        _call_stop(state[_STOP_CALL], engine)
        return
    if (entry & 0x4000) != 0:
        state[_EVENT] = 1
    state[_BLOCK] = where
    state[_BLOCK_SIZE] = size
    state[_BLOCK_COUNT] = entry & 0xFFF
    state[_FLAGS] = entry
    state[_COUNT] += entry & 0xFFF


def flags_of(first: int, second: int) -> int:
    """Return the flags of the instruction that begins with halfword `first`; `second` follows it."""
    length = 2 if first >= 0xE800 else 1
    return int(_scan(np.array([first, second], np.uint16), length)) & ~COUNT_MASK


def instructions_in(code: np.ndarray) -> int:
    """Return the number of Thumb instructions in the uint16 array `code`."""
    return int(_scan(code, len(code))) & COUNT_MASK
