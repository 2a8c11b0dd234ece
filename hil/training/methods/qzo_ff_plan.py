"""The plan of QZO-FF: the last layers, and their memory (docs/memory.md, section w16a8, QZO-FF)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from hil.training.graph.plan import up
from hil.training.methods.forward_plan import ForwardPlan
from hil.training.methods.qzo_ff_selection import moments_bytes, selected, selection_bytes
from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.methods.qzo_ff_tensors import QzoFfTensor, trained_tensors

DIRECTION_BYTES = 8  # a state and a sign


@dataclass(frozen=True)
class QzoFfPlan(ForwardPlan):
    """The plan: weights and, if they are trained, biases of the last layers."""

    NOISE_BYTES = 4096  # the pool, or the pool as moves of the weights of one tensor

    settings: QzoFfSettings

    @cached_property
    def trained_tensors(self) -> tuple[QzoFfTensor, ...]:
        """The trained tensors with the value of their steps."""
        return trained_tensors(self.network, self.settings)

    @property
    def parts(self) -> tuple[tuple[int, bool], ...]:
        """Of each trained layer its weights, then its biases if they are trained."""
        return tuple((tensor.layer, tensor.is_bias) for tensor in self.trained_tensors)

    def trained_bytes(self) -> Iterator[tuple[str, int]]:
        """Yield name and bytes of each trained tensor as it lies in RAM if the network file is in flash."""
        graph = self.network
        for index in self.settings.trained(graph):
            yield f"theta[{index}]", up(graph.own[index].weights.nbytes, 4)
            if self.settings.train_bias:
                yield f"beta[{index}]", 4 * graph.layers[index].channels

    @property
    def direction_bytes(self) -> int:
        """States and signs, that of the sharpness-aware perturbation too."""
        return DIRECTION_BYTES * self.settings.draws

    @property
    def passes(self) -> int:
        """Two for each direction, that of the sharpness-aware perturbation too."""
        return 2 * self.settings.draws

    def kept_bytes(self) -> Iterator[tuple[str, int]]:
        """Yield name and bytes of masks, and of momenta and moments of what is selected."""
        settings, counts = self.settings, self.selected
        layers = {index: self.network.layers[index] for index in counts}
        elements = {index: counts[index] + layer.channels * settings.train_bias for index, layer in layers.items()}
        if settings.sparse != "off":
            for index, layer in layers.items():
                yield f"mask[{index}]", selection_bytes(settings, counts[index], layer.weight_count)
        if settings.guide:
            yield from ((f"guide[{index}]", 2 * count) for index, count in elements.items() if count)
        if settings.optimizer == "adamw":
            yield from ((f"moments[{index}]", moments_bytes(count)) for index, count in elements.items() if count)

    @cached_property
    def selected(self) -> dict[int, int]:
        """For how many weights of each trained layer there is room, by index."""
        graph, settings = self.network, self.settings
        return {
            index: selected(settings, place * (1 + settings.train_bias), graph.layers[index].weight_count)
            for place, index in enumerate(settings.trained(graph))
        }
