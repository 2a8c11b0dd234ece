"""The supply of a chip's flash: it may fail in the middle of an erase or of programming, which is then left half done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class FlashCut:
    """The supply fails in the middle of the `operation`-th erase or programming at or above an address, counted from 1."""

    address: int
    operation: int
    supply_fails: Callable[[], None]

    def counts(self, address: int) -> bool:
        """Count an operation; return whether it is the one."""
        self.operation -= address >= self.address
        return address >= self.address and self.operation == 0


class FlashPower:
    """What every model of a flash asks before it changes its contents."""

    def __init__(self) -> None:
        self._cut: FlashCut | None = None
        self._dead = False

    def cut_short(self, cut: FlashCut) -> None:
        """Let the supply fail in the middle of an operation."""
        self._cut = cut

    def returns(self) -> None:
        """The chip is reset, and has its supply."""
        self._dead = False

    def lasts_for(self, address: int, size: int) -> int:
        """Return how many bytes of an operation are carried out: all; none where the supply has failed; half of them where it fails in this one.

        What is left of an operation that was cut is not defined on silicon, where bits may also read now so, now otherwise.
        """
        if self._dead:
            return 0
        if self._cut is None or not self._cut.counts(address):
            return size
        self._dead = True
        self._cut.supply_fails()
        self._cut = None
        return size // 2
