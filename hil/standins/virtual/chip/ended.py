"""Why a run of the core ends."""

from __future__ import annotations

import enum


class RunEnd(enum.Enum):
    """Why a run ended."""

    LIMIT = enum.auto()  # the count has reached the limit, or a pending exception may now be taken
    SLEEP = enum.auto()  # WFI
    EVENT_SLEEP = enum.auto()  # WFE
    SVC = enum.auto()
    BKPT = enum.auto()  # pc is at the BKPT
    BREAKPOINT = enum.auto()  # pc is at an address in `breakpoints`
    UNDEFINED = enum.auto()  # pc is at the instruction
    UNALIGNED = enum.auto()  # pc is at the load or store, on a core without unaligned access
    REFUSED = enum.auto()  # the next block has an instruction with a flag in `Slot.REFUSED`
    COPROCESSOR = enum.auto()  # pc is at an instruction of a coprocessor
    STACK_LIMIT = enum.auto()  # the instruction at pc moves the stack pointer below its limit (Armv8-M)
    INVALID_STATE = enum.auto()  # a branch cleared the Thumb bit
    EXCEPTION_RETURN = enum.auto()  # pc holds EXC_RETURN
    FAULT = enum.auto()  # `fault` has the reason


NOT_EXECUTED = (RunEnd.BKPT, RunEnd.BREAKPOINT, RunEnd.UNDEFINED, RunEnd.UNALIGNED, RunEnd.REFUSED, RunEnd.FAULT,
                RunEnd.COPROCESSOR, RunEnd.STACK_LIMIT)  # fmt: skip

# Exception numbers from QEMU's target/arm/cpu.h, because Unicorn is based on QEMU. 4 is a data abort: only unaligned
# accesses cause it, because the memory map catches all other causes (core.ArmCore).
BY_EXCEPTION = {
    1: RunEnd.UNDEFINED, 2: RunEnd.SVC, 4: RunEnd.UNALIGNED, 7: RunEnd.BKPT, 8: RunEnd.EXCEPTION_RETURN,
    17: RunEnd.COPROCESSOR, 18: RunEnd.INVALID_STATE, 19: RunEnd.STACK_LIMIT,
}  # fmt: skip
