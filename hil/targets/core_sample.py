"""State of a processor core, sampled through a probe."""

from __future__ import annotations

from dataclasses import dataclass

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
    """

    registers: tuple[int, ...]
    exception: int
    asleep: bool
    lockup: bool
    stack: bytes

    @property
    def pc(self) -> int:
        """Address of the next instruction."""
        return self.registers[15]

    def word(self, address: int) -> int | None:
        """Return a word of the stack, None if it was not read."""
        at = address - self.registers[13]
        return int.from_bytes(self.stack[at : at + 4], "little") if 0 <= at <= len(self.stack) - 4 else None
