"""Which code a core has executed. `count` says how the block hook keeps it."""

from __future__ import annotations

import numpy as np

from hil.images.executed import Executed
from hil.standins.virtual.chip.count import MARGIN
from hil.standins.virtual.chip.memories import PhysicalMemory


class CoveredCode:
    """The arrays in which the block hook keeps what the core has executed.

    Args:
        regions: memories that may hold code, in the order of the block hook's regions.

    Attributes:
        first: index in the arrays of the first halfword of each region.
        reached: uint16[halfwords of all regions].
        followed: uint8[MARGIN + halfwords of all regions + MARGIN, 2], by the index after the last halfword of a block.
    """

    def __init__(self, regions: list[PhysicalMemory]) -> None:
        self._bases = np.array([memory.base for memory in regions], np.int64)
        sizes = [memory.size // 2 for memory in regions]
        self.first = [sum(sizes[:number]) for number in range(len(sizes))]
        self.reached = np.zeros(sum(sizes), np.uint16)
        self.followed = np.zeros((sum(sizes) + 2 * MARGIN, 2), np.uint8)

    def clear(self) -> None:
        """Forget all that was executed. The core must not run."""
        self.reached[:] = 0
        self.followed[:] = 0

    def executed(self) -> Executed:
        """Return what was executed since `clear`."""
        # two bytes at a time, compared first (`flatnonzero` of numbers takes ten times as long): nearly all are 0
        ends = np.flatnonzero(self.followed[MARGIN:].reshape(-1).view(np.uint16) != 0)
        starts = np.flatnonzero(self.reached != 0)
        blocks = np.stack((self._addresses(starts), 2 * self.reached[starts].astype(np.uint32)), axis=1)
        last_halfwords = self._addresses(ends - 1)  # the index after a block may be the first of another region
        order, by_address = np.argsort(last_halfwords), np.argsort(blocks[:, 0])
        return Executed(blocks[by_address], last_halfwords[order] + np.uint32(2), self.followed[MARGIN:][ends[order]])

    def _addresses(self, entries: np.ndarray) -> np.ndarray:
        """Return the addresses of halfwords, uint32, by their indexes in the arrays."""
        first = np.array(self.first, np.int64)
        region = np.searchsorted(first, entries, side="right") - 1
        return (self._bases[region] + 2 * (entries - first[region])).astype(np.uint32)
