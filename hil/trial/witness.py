"""The second witness: the digests of the trained tensors, taken from memory that the probe reads, so that the agent does not testify alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import xxhash

from hil.boards import Image
from hil.targets.probe import Probe


@dataclass
class Witness:
    """Reads the trained tensors where the arena holds them: (offset, bytes) of each."""

    probe: Probe
    image: Image
    places: tuple[tuple[int, int], ...]
    steps: list[int] = field(default_factory=list)
    agreed: int = 0

    def digests(self) -> tuple[int, ...]:
        """Return XXH32 of every trained tensor, from the board's memory."""
        arena = self.image.symbols["__arena_start"]
        return tuple(xxhash.xxh32_intdigest(self.probe.read(arena + offset, size)) for offset, size in self.places)

    def check(self, step: int, reference: tuple[int, ...]) -> list[int]:
        """Compare memory with the reference's digests after a step; return the tensors that differ."""
        seen = self.digests()
        self.steps.append(step)
        wrong = [index for index, (ours, theirs) in enumerate(zip(seen, reference, strict=True)) if ours != theirs]
        self.agreed += not wrong
        return wrong
