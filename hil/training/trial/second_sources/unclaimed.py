"""RAM that nothing in the image claims: its content before the program, and after the steps (docs/memory.md)."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

import numpy as np

from hil.boards import Board
from hil.images import Image
from hil.images.ram_map import UNCLAIMED, Claim, ram_map
from hil.targets.probe import Probe, RamFill
from hil.training.trial.second_sources.figures import PROBE, Figures

FIGURE = "unclaimed_ram"
WORD = 4  # bytes; what the probe compares


@dataclass
class UnclaimedRam:
    """The unclaimed RAM of a board in one trial.

    Random words are written into it before the program's first instruction. So every later write shows, except for
    those of the same word: one in 2^32. RAM that the program divides (FlexRAM) gets its content by that: it is read
    after the greeting, and compared from then on.

    Attributes:
        claims: owners of all RAM.
        before: content of the unclaimed areas by their address, as far as it is known.
    """

    image: Image
    board: Board
    seed: int
    claims: tuple[Claim, ...] = field(init=False)
    before: dict[int, bytes] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.claims = ram_map(self.image, self.board)

    @property
    def areas(self) -> list[Claim]:
        """Unclaimed areas, as the probe compares them: whole words."""
        found = []
        for claim in self.claims:
            start, end = -(-claim.start // WORD) * WORD, claim.end // WORD * WORD
            if claim.owner == UNCLAIMED and end > start:
                found.append(Claim(claim.memory, UNCLAIMED, start, end - start))
        return found

    def fill(self) -> RamFill | None:
        """Return what to write before the program begins; None if the program divides the RAM itself."""
        if self.board.ram_divided_by == "program":
            return None
        return RamFill(self.image.entry, tuple(self._random().items()))

    def _random(self) -> dict[int, bytes]:
        generator = np.random.default_rng(self.seed)
        return {area.start: generator.bytes(area.size) for area in self.areas}

    def begin(self, probe: Probe, filled: bool) -> bool:
        """Note the content before the steps: the words that were `filled` in, or else what the probe reads now.

        A supply that failed until the greeting took with it what was filled in.

        Returns:
            Whether RAM is compared from the start of the program on.
        """
        if filled and not probe.has_lost_power():
            self.before = self._random()
            return True
        for area in self.areas:
            data = probe.read_ram(area.start, area.size)
            if data is not None:
                self.before[area.start] = data
        return False

    def compare(self, probe: Probe | None, figures: Figures) -> dict[int, int]:
        """Compare with the content before; name the first area that was written.

        Returns:
            Bytes that were written by the address of each area, without areas that could not be compared.
        """
        figures.reported(FIGURE)
        written: dict[int, int] = {}
        for area in self.areas if probe is not None else ():
            before = self.before.get(area.start)
            after = probe.read_ram(area.start, area.size) if before is not None and probe is not None else None
            if before is None or after is None:
                continue
            figures.confirmed(FIGURE, PROBE)
            other = np.flatnonzero(np.not_equal(np.frombuffer(before, np.uint32), np.frombuffer(after, np.uint32)))
            written[area.start] = WORD * len(other)
            if len(other):
                first, last = area.start + WORD * int(other[0]), area.start + WORD * int(other[-1]) + WORD - 1
                figures.refuse(
                    FIGURE,
                    f"the firmware wrote {WORD * len(other):,} bytes at 0x{first:08X} to 0x{last:08X} of {area.memory} "
                    f"({self._place(first)}), and nothing in the image claims them: place them in a section, so that "
                    "they are counted (docs/memory.md).",
                )
        return written

    def _place(self, address: int) -> str:
        """Return the nearest symbol at or before an address in the same memory, or that there is none.

        Names of source files are symbols of the value 0, and those with `$` are the linker's marks.
        """
        memory = next(region for region in self.board.memory if address in region)
        symbols = sorted(
            (symbol.address, symbol.name)
            for symbol in self.image.table
            if symbol.address and symbol.address in memory and not symbol.is_function and symbol.name[0] != "$"
        )
        index = bisect_right(symbols, (address, "\uffff")) - 1
        if index < 0:
            return "no symbol before it"
        place, name = symbols[index]
        return f"{name}+0x{address - place:X}"
