"""Breakpoint comparators of cores before Cortex-M7, which match one or both halfwords of a word."""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.registers import Block

# The two highest bits of a comparator (REPLACE, BP_MATCH): break at the lower halfword, the upper one, or both.
_LOWER, _UPPER = 1, 2


class WordBreakpoints(Block):
    """Breakpoints in the code region below 0x20000000.

    A subclass defines `PREFIX`, and `REGISTERS` with `{PREFIX}_CTRL` and comparators from `{PREFIX}_COMP0` on.

    Args:
        name: name of the unit.
        comparators: number of comparators that match instructions.
        changed: called with all breakpoint addresses after a change.
    """

    PREFIX = ""

    def __init__(self, name: str, comparators: int, changed: Callable[[set[int]], None]) -> None:
        super().__init__(name, 0xE0002000)
        self._changed = changed
        self._control = f"{self.PREFIX}_CTRL"
        self._comparators = [f"{self.PREFIX}_COMP{i}" for i in range(comparators)]
        self._writers[self._control] = self._write_control
        for register in self._comparators:
            self._writers[register] = lambda _old, new, _acting, register=register: self._set(register, new)

    def _write_control(self, _old: int, new: int, acting: int) -> None:
        if acting:  # KEY: without it a write has no effect
            self._set(self._control, new)

    def _set(self, register: str, value: int) -> None:
        self.value[register] = value
        addresses = set()
        for comparator in (self.value[name] for name in self._comparators):
            if comparator & 1 and self.value[self._control] & 1:
                word = comparator & 0x1FFFFFFC
                addresses |= {word} if comparator >> 30 & _LOWER else set()
                addresses |= {word + 2} if comparator >> 30 & _UPPER else set()
        self._changed(addresses)
