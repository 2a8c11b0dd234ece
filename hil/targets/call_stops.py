"""Stops of the core at the calls of a function and at their returns, with the cycle counter at both.

The counter stands still while the core is halted, so a stop adds only the refill of the pipeline (ARM DDI 0403E.e,
C1.8.1 for CYCCNT and B3.3.1 for SysTick). A call has returned when the core is at its return address with the stack
pointer of the call (AAPCS32, 6.2.1.1): a call within it, by itself or by another task, may return to that address too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from hil.errors import Blocked
from hil.steady_clock import steady_s
from hil.targets.core_sample import CallFrame
from hil.targets.cycle_counter import DWT_CYCCNT, counts
from hil.targets.exception_frame import WayBack, is_exception_return, way_back

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

    def step(self) -> None:
        """Let the halted core run one instruction."""
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
            if call.before is not None and call.after is not None:
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
        *arguments, sp, lr = self._core.registers(("r0", "r1", "r2", "r3", "sp", "lr"))
        of_handler = is_exception_return(lr)
        back = self._handlers_way_back(lr, sp) if of_handler else WayBack(lr & ~1, (sp,))
        before, began = self._count(), steady_s()
        self._go(back.address)
        while self._core.halted_within(lost_s - (steady_s() - began)):
            result, at = self._core.registers(("r0", "sp"))
            if at in back.pointers:
                seconds = steady_s() - began
                return CallFrame(tuple(arguments), None if of_handler else result, before, self._count(), seconds)
            self._pass(back.address)
        return None

    def _handlers_way_back(self, lr: int, sp: int) -> WayBack:
        back = way_back(lr, sp, lambda: self._core.registers(("psp",))[0], self._core.word)
        if back is None:
            raise Blocked(
                "probe",
                f"this interrupt handler has interrupted the other security state (EXC_RETURN 0x{lr:08X}), so its "
                "frame cannot be read: stop at a function that the handler calls.",
            )
        return back

    def _pass(self, address: int) -> None:
        """Let the core run on from a breakpoint that stays set."""
        self._core.remove_breakpoint(address)
        self._core.step()
        self._core.set_breakpoint(address)
        self._core.resume()

    def _count(self) -> int | None:
        if self._counter is None or (self._counter == DWT_CYCCNT and not counts(self._core.word)):
            return None
        return self._core.word(self._counter)

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
