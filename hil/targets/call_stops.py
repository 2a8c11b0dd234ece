"""Stops of the core at the calls of a function and at their returns, with the cycle counter at both.

The counter stands still while the core is halted, so a stop adds only the refill of the pipeline (ARM DDI 0403E.e,
C1.8.1 for CYCCNT and B3.3.1 for SysTick).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from hil.targets.core_sample import CallFrame

LOST_S = 60.0  # longest time of a call


class StoppableCore(Protocol):
    """A core that stops at breakpoints, through any probe."""

    def halt(self) -> None:
        """Halt the core; nothing if it is halted."""
        ...

    def resume(self) -> None:
        """Let the halted core run."""
        ...

    def halted_within(self, seconds: float) -> bool:
        """Wait until the core is halted, and return whether it is."""
        ...

    def registers(self, names: Sequence[str]) -> list[int]:
        """Return registers of the halted core by their names."""
        ...

    def word(self, address: int) -> int:
        """Return 32 bits of memory."""
        ...

    def set_breakpoint(self, address: int) -> None:
        """Set a hardware breakpoint."""
        ...

    def remove_breakpoint(self, address: int) -> None:
        """Remove a breakpoint."""
        ...


class CallStops:
    """Measures calls by two breakpoints in turn: at the functions, and at the return address of the present call.

    The breakpoint at which the core stands is always removed before it goes on, because it would stop there again.

    Args:
        core: it may run or sleep.
        functions: addresses of the functions.
        counter: address of the counter's register; None if there is none.
    """

    def __init__(self, core: StoppableCore, functions: Iterable[int], counter: int | None) -> None:
        self._core, self._functions, self._counter = core, tuple(functions), counter
        self._set: set[int] = set()
        core.halt()
        self._go(*self._functions)

    def collect(self, most: int, wait_s: float) -> list[tuple[int, int, int]]:
        """Return (third argument, counter at the call, counter at its return) of at most `most` calls.

        It ends earlier if no function is called for `wait_s` seconds.
        """
        found: list[tuple[int, int, int]] = []
        while len(found) < most and (call := self._call(wait_s, LOST_S)) is not None:
            found.append((call.arguments[2], call.before, call.after))
            self._go(*self._functions)
        return found

    def stop_at_return(self, wait_s: float) -> CallFrame | None:
        """Let the core run to the next return of a function, and leave it halted there.

        Returns:
            The call, None if no function was called, or did not return, within `wait_s` seconds. The core then runs.
        """
        if self._core.halted_within(0.0):
            self._go(*self._functions)
        return self._call(wait_s, wait_s)

    def _call(self, wait_s: float, lost_s: float) -> CallFrame | None:
        """Return the next call, with the core halted at its return; None if there is none."""
        if not self._core.halted_within(wait_s):
            return None
        *arguments, back = self._core.registers(("r0", "r1", "r2", "r3", "lr"))
        before = self._count()
        self._go(back & ~1)
        if not self._core.halted_within(lost_s):
            return None
        result = self._core.registers(("r0",))[0]
        return CallFrame(tuple(arguments), result, before, self._count())

    def _count(self) -> int:
        return self._core.word(self._counter) if self._counter is not None else 0

    def end(self) -> None:
        """Remove the breakpoints and let the core run."""
        self._core.halt()
        self._go()

    def _go(self, *breakpoints: int) -> None:
        """Let the halted core run with these breakpoints and no others of this class."""
        for address in self._set - set(breakpoints):
            self._core.remove_breakpoint(address)
        for address in set(breakpoints) - self._set:
            self._core.set_breakpoint(address)
        self._set = set(breakpoints)
        self._core.resume()
