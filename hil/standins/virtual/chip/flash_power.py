"""Supply of a chip's flash, which may fail during an erase or programming operation and leave it half done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class FlashCut:
    """A supply failure during the `operation`-th erase or programming (from 1) at or above `address`."""

    address: int
    operation: int
    supply_fails: Callable[[], None]

    def counts(self, address: int) -> bool:
        """Count an operation; return whether the supply fails during it."""
        self.operation -= address >= self.address
        return address >= self.address and self.operation == 0


class FlashPower:
    """Tells a flash model how much of an operation is done before the supply fails."""

    def __init__(self) -> None:
        self._cut: FlashCut | None = None
        self._dead = False

    def cut_short(self, cut: FlashCut) -> None:
        """Schedule a supply failure."""
        self._cut = cut

    def returns(self) -> None:
        """The supply is back: the chip is reset."""
        self._dead = False

    def bytes_done(self, address: int, size: int) -> int:
        """Return how many bytes of an operation are done.

        All `size` bytes with supply, none after the supply has failed, half of them if it fails during this operation.
        On silicon the result of an interrupted operation is undefined: a bit may even read differently each time.
        """
        if self._dead:
            return 0
        if self._cut is None or not self._cut.counts(address):
            return size
        self._dead = True
        self._cut.supply_fails()
        self._cut = None
        return size // 2
