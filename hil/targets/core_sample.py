"""Where a core is, as a probe has seen it."""

from __future__ import annotations

from dataclasses import dataclass

REGISTERS = (*(f"r{number}" for number in range(13)), "sp", "lr", "pc")  # by their number


@dataclass(frozen=True)
class Sample:
    """One look at a core that was halted for it.

    Attributes:
        registers: r0 to r12, sp, lr and pc.
        exception: number of the exception that it handles, 0 for none (IPSR).
        asleep: it waited for an interrupt.
        lockup: it was locked up: it has faulted while it handled a fault.
        stack: memory from sp on; empty where it was not read.
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
        """Return a word of the stack, None where it was not read."""
        at = address - self.registers[13]
        return int.from_bytes(self.stack[at : at + 4], "little") if 0 <= at <= len(self.stack) - 4 else None
