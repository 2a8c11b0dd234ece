"""The plan of QuZO: the last layers, and their memory (docs/arithmetic-quzo.md, section 6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from hil.training.graph.formats import Format
from hil.training.graph.plan import up
from hil.training.methods.forward_plan import ForwardPlan
from hil.training.methods.quzo_settings import QuzoSettings
from hil.training.methods.quzo_tensors import QuzoTensor, trained_tensors


@dataclass(frozen=True)
class QuzoPlan(ForwardPlan):
    """The plan: weights of the last layers."""

    NOISE_BYTES = 1024  # the pool

    settings: QuzoSettings

    @cached_property
    def trained_tensors(self) -> tuple[QuzoTensor, ...]:
        """The trained tensors with the values of their steps."""
        return trained_tensors(self.network, self.settings)

    @property
    def parts(self) -> tuple[tuple[int, bool], ...]:
        """The weights of each trained layer."""
        return tuple((index, False) for index in self.settings.trained(self.network))

    @property
    def direction_bytes(self) -> int:
        """A factor of the update for each direction, or the loss of its first pass."""
        return 4 * self.settings.directions

    @property
    def passes(self) -> int:
        """Two for each direction."""
        return 2 * self.settings.directions

    def trained_bytes(self) -> Iterator[tuple[str, int]]:
        """Yield name and bytes of each trained tensor as it lies in RAM if the network file is in flash."""
        for index in self.settings.trained(self.network):
            layer = self.network.layers[index]
            sums = 4 * layer.channels if layer.format is Format.TFLITE8 else 0  # of the weights
            yield f"theta[{index}]", up(self.network.own[index].weights.nbytes, 4) + sums
