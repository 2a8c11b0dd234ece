"""What the block hook counts, and the state that Python and the hook share.

Unicorn calls the hook, `block_hook`, at the start of every translation block with the block's address and size. The
hook counts the Thumb instructions in these bytes. An instruction has 32 bits if its first halfword is 0xE800 or more,
else 16 (ARM DDI 0403E.e, A5.1). For memories that the core does not change, the hook caches the count by address. If
the count has reached the limit, it asks Unicorn to stop before the block. A block that is not executed is not counted.
An instruction that a condition skips is counted, because it passes the pipeline.

For coverage, the hook also keeps which blocks were executed, and what followed each: the next instruction in memory, or
another one. A block that ends in a conditional branch so shows which outcomes of the branch have occurred. Both are
arrays with a place for every halfword of the code regions; `coverage.Coverage` has them.
"""

from __future__ import annotations

import enum
from typing import NamedTuple


class Slot(enum.IntEnum):
    """Index into the int64 state that Python and the hook share."""

    COUNT = 0  # instructions executed since power-on
    LIMIT = 1  # stop before a block once COUNT >= LIMIT
    STOPPED = 2  # a Stop: why the hook ended the run
    BLOCK = 3  # address of the last block
    BLOCK_SIZE = 4  # its size in bytes
    BLOCK_COUNT = 5  # its number of instructions
    WATCH = 6  # flags: stop after a block that has one of them (MAY_UNMASK while a pending exception is masked)
    FLAGS = 7  # flags of the last block (MAY_UNMASK ...)
    REFUSED = 8  # flags (HAS_FP, HAS_DOUBLE, NOT_V6M): stop before a block that has one of them
    EVENT = 9  # set to 1 by SEV
    STOP_CALL = 10  # address of uc_emu_stop
    COUNTS = 11  # address of uint16[]: count and flags by halfword of cached memories
    SIZES = 12  # address of uint16[]: size in halfwords for which that count holds
    FIRST_CACHED = 13  # lowest index of COUNTS that the hook has written, and the one after the highest
    END_CACHED = 14
    REACHED = 15  # address of uint16[]: halfwords executed from a halfword on as one block, at most; 0: no block began
    FOLLOWED = 16  # address of uint8[MARGIN + halfwords][2]: after a block came 0: the next instruction, 1: another one
    AFTER_LAST = 17  # address of the two bytes in FOLLOWED for the last block; of the first two at the start of a run
    NEW_ENTRY = 18  # index in REACHED that changed last, COUNT before that block, and the value in REACHED before
    NEW_AT = 19
    NEW_BEFORE = 20
    # Number of code regions; then 4 slots each: base, end, address of the bytes, and the index of its first halfword in
    # COUNTS, SIZES and REACHED, or -1 minus this index if the core may change the memory.
    REGIONS = 21


class Stop(enum.IntEnum):
    """Why the hook ended a run."""

    NONE = 0
    LIMIT = 1
    REFUSED = 2


MAX_REGIONS = 12
# FOLLOWED begins with places that mean nothing: for blocks outside the regions, and before the first block of a run. A
# block has at most 512 halfwords, because Unicorn ends it with its page of 1 KB.
MARGIN = 1 << 10
STATE_LENGTH = int(Slot.REGIONS) + 1 + 4 * MAX_REGIONS

# The count and the flags of a block are one uint16.
COUNT_MASK = 0x03FF  # Unicorn's blocks have at most 512 instructions
SETS_FAULTMASK = 0x0400  # an instruction may change FAULTMASK, and so whether the MPU acts (B3.5.4)
HAS_DOUBLE = 0x0800  # an instruction that computes in double precision
MAY_UNMASK = 0x1000  # an instruction may unmask exceptions
HAS_FP = 0x2000
HAS_SEV = 0x4000
NOT_V6M = 0x8000  # an instruction that Armv6-M does not have, but Unicorn's Cortex-M0 executes


class Encoding(NamedTuple):
    """Instructions that set a flag: those whose bits under `mask` are `value`."""

    flag: int
    mask: int
    value: int


# Instructions of 16 bits (A5.2.5)
NARROW = (
    Encoding(MAY_UNMASK, 0xFFF8, 0xB660),  # CPSIE
    Encoding(SETS_FAULTMASK, 0xFFE9, 0xB661),  # CPSIE and CPSID with F
    Encoding(HAS_SEV, 0xFFFF, 0xBF40),
    Encoding(NOT_V6M, 0xF500, 0xB100),  # CBZ, CBNZ
    *(Encoding(NOT_V6M, 0xFF00 | bit, 0xBF00 | bit) for bit in (1, 2, 4, 8)),  # IT: its mask is not 0
    *(Encoding(NOT_V6M, 0xFFE0 | bit, 0xB660 | bit) for bit in (1, 4, 8)),  # CPS with more than I
    Encoding(NOT_V6M, 0xFFE2, 0xB660),  # CPS without I
    Encoding(NOT_V6M, 0xFFE0, 0xB640),  # SETEND
    Encoding(NOT_V6M, 0xFFC0, 0xBA80),  # HLT
)
# Instructions of 32 bits, the first halfword in bits 31:16 (A5.3)
WIDE = (
    Encoding(MAY_UNMASK, 0xFFE0_FF00, 0xF380_8800),  # MSR
    Encoding(SETS_FAULTMASK, 0xFFE0_FFFF, 0xF380_8813),  # MSR FAULTMASK
    Encoding(NOT_V6M, 0xFF80_00FF, 0xF380_0011),  # MSR, MRS with BASEPRI
    Encoding(NOT_V6M, 0xFF80_00FE, 0xF380_0012),  # with BASEPRI_MAX, FAULTMASK
    Encoding(HAS_FP, 0xEC00_0E00, 0xEC00_0A00),  # coprocessors 10 and 11
    # A7.5: data processing with sz = 1, and VCVT from single to double, whose sz is 0. Loads, stores and moves of
    # doublewords are not among them: an FPU for single precision has these (A2.5).
    Encoding(HAS_DOUBLE, 0xEF00_0F10, 0xEE00_0B00),
    Encoding(HAS_DOUBLE, 0xFFBF_0FD0, 0xEEB7_0AC0),
)
