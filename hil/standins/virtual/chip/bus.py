"""Address decoder for peripherals, used by the core and by the debugger."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from hil.standins.virtual.chip.fault import ModelFault

LINE = 4  # blocks begin and end on multiples of 16 bytes


class Target(Protocol):
    """A block of registers at a range of addresses."""

    name: str
    base: int

    def read(self, offset: int, size: int) -> int: ...

    def write(self, offset: int, size: int, value: int) -> None: ...


class Bus:
    """Address decoder for peripheral registers.

    Attributes:
        debugger: whether the present access comes from the debugger, not from the core.
    """

    def __init__(self) -> None:
        self.debugger = False
        self._lines: dict[int, Target] = {}
        self._areas: list[tuple[Target, int]] = []
        self._before_write: Callable[[], None] = lambda: None
        self._after_write: Callable[[], None] = lambda: None

    def attach(self, block: Target, size: int, offset: int = 0) -> None:
        """Map `block` to [base + offset, base + offset + size); it gets offsets from its base.

        Raises:
            ValueError: another block is mapped there.
        """
        start = block.base + offset
        for line in range(start >> LINE, start + size >> LINE):
            if line in self._lines:
                raise ValueError(f"{block.name} overlaps {self._lines[line].name} at 0x{line << LINE:08X}")
            self._lines[line] = block

    def attach_area(self, target: Target, size: int) -> None:
        """Map `target` to [base, base + size) where no block is attached: for a range too large for its lines."""
        self._areas.append((target, size))

    def _find(self, address: int, access: str) -> Target:
        found = self._lines.get(address >> LINE)
        if found is not None:
            return found
        for target, size in self._areas:
            if 0 <= address - target.base < size:
                return target
        raise ModelFault(f"{access} of 0x{address:08X}: the model has no peripheral there", address, access)

    def on_write(self, before: Callable[[], None], after: Callable[[], None]) -> None:
        """Call `before` and `after` every write of the core or the debugger."""
        self._before_write, self._after_write = before, after

    def read(self, address: int, size: int) -> int:
        """Read a peripheral; raise ModelFault if there is none at the address."""
        block = self._find(address, "read")
        return block.read(address - block.base, size)

    def write(self, address: int, size: int, value: int) -> None:
        """Write a peripheral; raise ModelFault if there is none at the address."""
        block = self._find(address, "write")
        self._before_write()
        block.write(address - block.base, size, value)
        self._after_write()
