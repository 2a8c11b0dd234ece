"""The plan of methods of forward passes alone: one start, a pool of noise between passes (docs/memory.md, w16a8)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from hil.training.formats import kernels_of
from hil.training.graph.file import file_size
from hil.training.graph.plan import ArenaBuffer, ArenaLayout, Plan, Start
from hil.training.methods.plan import MethodPlan


@dataclass(frozen=True)
class ForwardPlan(MethodPlan):
    """The plan; `NOISE_BYTES` are those of the buffer between passes."""

    NOISE_BYTES: ClassVar[int]

    @abstractmethod
    def trained_bytes(self) -> Iterator[tuple[str, int]]:
        """Yield name and bytes of each trained tensor as it lies in RAM if the network file is in flash."""

    @property
    def direction_bytes(self) -> int:
        """What a step remembers of its directions; nothing."""
        return 0

    @property
    @abstractmethod
    def passes(self) -> int:
        """The passes of a step."""

    def network_bytes(self) -> Iterator[tuple[str, int]]:
        """Yield name and bytes of the network in RAM: its file, or what is trained of it if the file is in flash."""
        if self.in_flash:
            yield from self.trained_bytes()
        else:
            yield "file", file_size(self.network)

    def kept_bytes(self) -> Iterator[tuple[str, int]]:
        """Yield name and bytes of what else lives through all of training; there is nothing."""
        yield from ()

    def memory(self, slots: int) -> Plan:
        """Return the memory plan of docs/memory.md."""
        between = len(self.layers) + 1  # the slot between two passes, and of the end of the step
        start = Start(0, (), tuple(self._passing(between)))
        return Plan.of(self._standing(slots), between, ArenaLayout([start]))

    def slots(self) -> tuple[str, ...]:
        """Return every layer, the loss, and what is between passes."""
        return (*self.layers, "loss", "perturb, update")

    def _standing(self, slots: int) -> Iterator[tuple[str, int]]:
        """Yield name and size of what lives through all of training."""
        yield from self.network_bytes()
        height, width, channels = self.network.in_shape
        yield "labels", 2 * slots
        yield "samples", slots * height * width * channels
        if self.direction_bytes:
            yield "directions", self.direction_bytes
        yield from self.kept_bytes()

    def _passing(self, between: int) -> Iterator[ArenaBuffer]:
        """Yield what lives while layers run, or between passes, in the order of the table."""
        for index, layer in enumerate(self.network.layers):
            yield ArenaBuffer.of(f"value[{index + 1}]", layer.out_size, (index, self.network.last_use(index + 1)))
        for index, layer in enumerate(self.network.layers):
            if layer.own is not None:
                yield ArenaBuffer.of(f"work[{index}]", kernels_of(layer.format).work(layer), (index, index))
        yield ArenaBuffer.of("noise", self.NOISE_BYTES, (between, between))
