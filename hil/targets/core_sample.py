"""State of a processor core, sampled through a probe, and a call that it made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

REGISTERS = (*(f"r{number}" for number in range(13)), "sp", "lr", "pc")  # in order of their numbers


@dataclass(frozen=True)
class Sample:
    """One sample of a core, halted for a moment to take it.

    Attributes:
        registers: r0 to r12, sp, lr and pc.
        exception: number of the active exception, 0 for none (IPSR).
        asleep: whether the core waited for an interrupt.
        lockup: whether the core was in lockup (a fault during fault handling).
        stack: memory starting at sp; empty if it was not read.
        xpsr: the program status registers.
        psp: stack pointer of the threads of an operating system.
    """

    registers: tuple[int, ...]
    exception: int
    asleep: bool
    lockup: bool
    stack: bytes
    xpsr: int = 0
    psp: int = 0

    @property
    def pc(self) -> int:
        """Address of the next instruction."""
        return self.registers[15]

    def word(self, address: int) -> int | None:
        """Return a word of the stack, None if it was not read."""
        at = address - self.registers[13]
        return int.from_bytes(self.stack[at : at + 4], "little") if 0 <= at <= len(self.stack) - 4 else None


class CallFrame(NamedTuple):
    """One call of a function.

    Attributes:
        arguments: r0 to r3 at its start.
        result: r0 at its end; None of an interrupt handler, whose return restores the r0 of what it interrupted.
        before: the counter at its start; None if there is none, or it was off.
        after: the counter at its end, as `before`.
        seconds: of this computer's clock, from start to end.
    """

    arguments: tuple[int, ...]
    result: int | None
    before: int | None
    after: int | None
    seconds: float
