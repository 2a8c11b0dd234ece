"""Digests of the trained tensors, computed from memory that the probe reads: a check independent of the agent."""

from __future__ import annotations

from dataclasses import dataclass, field

import xxhash

from hil.dut import CoreProbe
from hil.images import Image
from hil.training.trial.difference import differing_tensors


@dataclass
class ProbeCheck:
    """Reads the trained tensors from the arena.

    Attributes:
        places: (offset in the arena, bytes) of each tensor.
        steps: checked steps.
        agreed: number of checked steps that agreed.
    """

    probe: CoreProbe
    image: Image
    places: tuple[tuple[int, int], ...]
    steps: list[int] = field(default_factory=list)
    agreed: int = 0

    def digests(self) -> tuple[int, ...]:
        """Return XXH32 of every trained tensor, from the board's memory."""
        arena = self.image.symbols["__arena_start"]
        return tuple(xxhash.xxh32_intdigest(self.probe.read(arena + offset, size)) for offset, size in self.places)

    def check(self, step: int, reference: tuple[int, ...]) -> list[int]:
        """Compare memory with the reference's digests after a step; return the indices of the tensors that differ."""
        seen = self.digests()
        self.steps.append(step)
        wrong = differing_tensors(seen, reference)
        self.agreed += not wrong
        return wrong
