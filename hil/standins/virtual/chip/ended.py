"""Why a run of the core ends."""

from __future__ import annotations

import enum


class Ended(enum.Enum):
    """Why a run ended."""

    LIMIT = enum.auto()  # the count has reached the limit, or a waiting exception may now be taken
    SLEEP = enum.auto()  # WFI
    EVENT_SLEEP = enum.auto()  # WFE
    SVC = enum.auto()
    BKPT = enum.auto()  # pc is at the BKPT
    BREAKPOINT = enum.auto()  # pc is at an address in `breakpoints`
    UNDEFINED = enum.auto()  # pc is at the instruction
    UNALIGNED = enum.auto()  # pc is at the load or store, on a core that has no unaligned access
    REFUSED = enum.auto()  # the next block holds an instruction that `Slot.REFUSED` names
    INVALID_STATE = enum.auto()  # a branch cleared the Thumb bit
    EXCEPTION_RETURN = enum.auto()  # pc holds EXC_RETURN
    FAULT = enum.auto()  # `fault` says what


NOT_EXECUTED = (Ended.BKPT, Ended.BREAKPOINT, Ended.UNDEFINED, Ended.UNALIGNED, Ended.REFUSED, Ended.FAULT)

# Numbers of QEMU's target/arm/cpu.h, whose core Unicorn is. 4 is a data abort: of all its causes only alignment gets here,
# as the model's memory is checked by its map (core.Core).
PREFETCH_ABORT = 3
BY_EXCEPTION = {
    1: Ended.UNDEFINED, 2: Ended.SVC, 4: Ended.UNALIGNED, 7: Ended.BKPT, 8: Ended.EXCEPTION_RETURN, 17: Ended.REFUSED,
    18: Ended.INVALID_STATE,
}  # fmt: skip
