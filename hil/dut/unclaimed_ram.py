"""RAM that nothing in an image claims: filled before the program begins, and compared with that later."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hil.boards import Board
from hil.dut.caught import Raised, remembered
from hil.errors import RigError
from hil.images import Image
from hil.images.ram_map import UNCLAIMED, Claim, ram_map
from hil.targets.core_probe import CoreProbe

WORD = 4  # bytes; what the probe compares


@dataclass(frozen=True)
class ComparedRam:
    """An unclaimed area of RAM that was compared.

    Attributes:
        memory: name in the catalogue.
        start: address of the area.
        written: bytes of all words that have changed.
        first, last: addresses of the first and the last byte of these; `start` and `start - 1` if there are none.
        near: the nearest symbol before the first one, with the distance to it.
    """

    memory: str
    start: int
    written: int
    first: int
    last: int
    near: str

    def __str__(self) -> str:
        return f"{self.written:,} bytes at 0x{self.first:08X} to 0x{self.last:08X} of {self.memory} ({self.near})"


class UnclaimedRam:
    """The RAM of a board that no section, segment, arena or stack of its image claims (docs/memory.md).

    Random words are written into it before the program's first instruction. So every later write shows, except for
    those of the same word: one in 2^32. RAM that the program divides (FlexRAM) gets its content by that: it can only be
    compared from `begin` on.

    Args:
        board: catalogue entry.
        image: returns the program.
        probe: opens the probe, or says why there is none.
        raised: takes the errors of its methods, which the test may catch.

    Attributes:
        filled: whether the last reset has filled it.
    """

    def __init__(
        self, board: Board, image: Callable[[], Image], probe: Callable[[], CoreProbe], raised: Raised
    ) -> None:  # fmt: skip
        self._board, self._image, self._probe, self.raised = board, image, probe, raised
        self._seed: int | None = None
        self._known: tuple[Image, tuple[Claim, ...]] | None = None
        self._words: dict[int, bytes] = {}
        self._before: dict[int, bytes] | None = None
        self.filled = False

    @property
    @remembered
    def claims(self) -> tuple[Claim, ...]:
        """Owners of all RAM of the board."""
        image = self._image()
        if self._known is None or self._known[0] is not image:
            self._known = image, ram_map(image, self._board)
        return self._known[1]

    @property
    def areas(self) -> list[Claim]:
        """Unclaimed areas, as the probe compares them: whole words."""
        found = []
        for claim in self.claims:
            start, end = -(-claim.start // WORD) * WORD, claim.end // WORD * WORD
            if claim.owner == UNCLAIMED and end > start:
                found.append(Claim(claim.memory, UNCLAIMED, start, end - start))
        return found

    def fill(self, seed: int = 0) -> None:
        """Let every later `flash` and `reset` fill it with random words of a seed, through the probe."""
        self._seed = seed

    def words(self) -> dict[int, bytes]:
        """Return what to write by address before the program begins; empty without `fill`."""
        self._before = None
        if self._seed is None or self._board.ram_divided_by == "program":
            self._words = {}
        else:
            generator = np.random.default_rng(self._seed)
            self._words = {area.start: generator.bytes(area.size) for area in self.areas}
        return self._words

    @remembered
    def begin(self) -> bool:
        """Note the content: the words that it was filled with, or else what the probe reads now.

        A supply that has failed meanwhile took with it what was filled in.

        Returns:
            Whether RAM is compared from the start of the program on.
        """
        if self.filled and not self._probe().has_lost_power():
            self._before = self._words
            return True
        content = ((area.start, self._probe().read_ram(area.start, area.size)) for area in self.areas)
        self._before = {start: data for start, data in content if data is not None}
        return False

    @remembered
    def compared(self) -> list[ComparedRam]:
        """Compare with the content before, and return all areas in which the chip answers.

        Raises RigError if nothing is known of the content before.
        """
        if self._before is None and not (self.filled and self.begin()):
            self._before = None  # what was there when it was asked for is no proof
            raise RigError(
                "nothing is known of what was in unclaimed RAM: call dut.unclaimed_ram.fill() before dut.flash(), or "
                "dut.unclaimed_ram.begin()."
            )
        assert self._before is not None
        found = []
        for area in self.areas:
            before = self._before.get(area.start)
            after = self._probe().read_ram(area.start, area.size) if before is not None else None
            if before is not None and after is not None:
                found.append(self._compared(area, before, after))
        return found

    def written(self) -> list[ComparedRam]:
        """Return the areas that were written. Raises as `compared`."""
        return [area for area in self.compared() if area.written]

    def _compared(self, area: Claim, before: bytes, after: bytes) -> ComparedRam:
        other = np.flatnonzero(np.not_equal(np.frombuffer(before, np.uint32), np.frombuffer(after, np.uint32)))
        if not len(other):
            return ComparedRam(area.memory, area.start, 0, area.start, area.start - 1, "")
        first, last = area.start + WORD * int(other[0]), area.start + WORD * int(other[-1]) + WORD - 1
        return ComparedRam(area.memory, area.start, WORD * len(other), first, last, self._near(first))

    def _near(self, address: int) -> str:
        """Return the nearest symbol at or before an address in the same memory, or that there is none.

        Names of source files are symbols of the value 0, and those with `$` are the linker's marks.
        """
        memory = next(region for region in self._board.memory if address in region)
        symbols = sorted(
            (symbol.address, symbol.name)
            for symbol in self._image().table
            if symbol.address and symbol.address in memory and not symbol.is_function and symbol.name[0] != "$"
        )
        index = bisect_right(symbols, (address, "\uffff")) - 1
        if index < 0:
            return "no symbol before it"
        place, name = symbols[index]
        return f"{name}+0x{address - place:X}"
