"""The plan of QZO-FF: the last layers, and their memory (docs/memory.md, section w16a8, QZO-FF)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from hil.training.formats import kernels_of
from hil.training.graph.file import file_size
from hil.training.graph.plan import ArenaBuffer, ArenaLayout, Plan, Start, up
from hil.training.methods.plan import MethodPlan
from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.methods.qzo_ff_tensors import QzoFfTensor, trained_tensors

NOISE_BYTES = 4096  # the pool, or the pool as moves of the weights of one tensor
DIRECTION_BYTES = 8  # a state and a sign


@dataclass(frozen=True)
class QzoFfPlan(MethodPlan):
    """The plan: weights and, if they are trained, biases of the last layers."""

    settings: QzoFfSettings

    @cached_property
    def trained_tensors(self) -> tuple[QzoFfTensor, ...]:
        """The trained tensors with the value of their steps."""
        return trained_tensors(self.network, self.settings)

    @property
    def parts(self) -> tuple[tuple[int, bool], ...]:
        """Of each trained layer its weights, then its biases if they are trained."""
        return tuple((tensor.layer, tensor.is_bias) for tensor in self.trained_tensors)

    def memory(self, slots: int) -> Plan:
        """Return the memory plan of docs/memory.md."""
        between = len(self.layers) + 1  # the slot between two passes, and of the end of the step
        start = Start(0, (), tuple(self._passing(between)))
        return Plan.of(self._standing(slots), between, ArenaLayout([start]))

    def slots(self) -> tuple[str, ...]:
        """Return every layer, the loss, and what is between passes."""
        return (*self.layers, "loss", "perturb, update")

    def trained_bytes(self) -> Iterator[tuple[str, int]]:
        """Yield name and bytes of each trained tensor as it lies in RAM if the network file is in flash."""
        graph = self.network
        for index in self.settings.trained(graph):
            yield f"theta[{index}]", up(graph.own[index].weights.nbytes, 4)
            if self.settings.train_bias:
                yield f"beta[{index}]", 4 * graph.layers[index].channels

    def _standing(self, slots: int) -> Iterator[tuple[str, int]]:
        """Yield name and size of what lives through all of training."""
        graph, settings = self.network, self.settings
        if self.in_flash:
            yield from self.trained_bytes()
        else:
            yield "file", file_size(graph)
        height, width, channels = graph.in_shape
        yield "labels", 2 * slots
        yield "samples", slots * height * width * channels
        yield "directions", DIRECTION_BYTES * settings.draws
        layers = {index: graph.layers[index] for index in settings.trained(graph)}
        elements = {index: layer.weight_count + layer.channels * settings.train_bias for index, layer in layers.items()}
        if settings.sparse != "off":
            yield from ((f"mask[{index}]", (layer.weight_count + 7) // 8) for index, layer in layers.items())
        if settings.guide:
            yield from ((f"guide[{index}]", 2 * count) for index, count in elements.items())
        if settings.optimizer == "adamw":
            yield from ((f"moments[{index}]", 8 * count) for index, count in elements.items())

    def _passing(self, between: int) -> Iterator[ArenaBuffer]:
        """Yield what lives while layers run, or between passes, in the order of the table."""
        for index, layer in enumerate(self.network.layers):
            yield ArenaBuffer.of(f"value[{index + 1}]", layer.out_size, (index, self.network.last_use(index + 1)))
        for index, layer in enumerate(self.network.layers):
            yield ArenaBuffer.of(f"work[{index}]", kernels_of(layer.format).work(layer), (index, index))
        yield ArenaBuffer.of("noise", NOISE_BYTES, (between, between))
