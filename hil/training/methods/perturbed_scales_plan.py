"""The plan of perturbed scales: gains of the last layers, and their memory (docs/arithmetic-quzo.md, section 10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hil.training.graph.file import encode, file_size
from hil.training.graph.graph import Graph
from hil.training.graph.plan import Plan, up
from hil.training.methods.forward_plan import ForwardPlan
from hil.training.methods.perturbed_scales_settings import PerturbedScalesSettings
from hil.training.methods.perturbed_scales_tensors import (
    GainedParameters,
    GainTensor,
    first_gains,
    folded,
    trained_tensors,
    with_gains,
)


@dataclass(frozen=True)
class PerturbedScalesPlan(ForwardPlan):
    """The plan: a gain for each channel of the last layers; the network file is only read."""

    NOISE_BYTES = 1024  # the pool

    settings: PerturbedScalesSettings

    @cached_property
    def trained_tensors(self) -> tuple[GainTensor, ...]:
        """The trained tensors, input to output."""
        return trained_tensors(self.network, self.settings.trained(self.network))

    @property
    def parts(self) -> tuple[tuple[int, bool], ...]:
        """The layer of each trained tensor; none has biases."""
        return tuple((tensor.layer, False) for tensor in self.trained_tensors)

    @cached_property
    def arrays(self) -> tuple[tuple[str, np.ndarray], ...]:
        """Name and first gains, int32 [out], of every trained layer."""
        return tuple((tensor.name, first_gains(self.network, tensor.layer)) for tensor in self.trained_tensors)

    def with_arrays(self, arrays: Sequence[np.ndarray]) -> Graph:
        """Return the network with other first gains, which no network file has."""
        return with_gains(self.network, self._by_layer(arrays))

    def beside_file(self) -> tuple[np.ndarray, ...]:
        """Return the first gains, unless all are those that `configure` sets."""
        given = any(isinstance(self.network.own[tensor.layer], GainedParameters) for tensor in self.trained_tensors)
        return tuple(array for _, array in self.arrays) if given else ()

    def file(self, arrays: Sequence[np.ndarray] | None = None) -> bytes:
        """Return the network file; of gains, one that computes the same without them."""
        return encode(self.network if arrays is None else folded(self.network, self._by_layer(arrays)))

    def places(self, plan: Plan) -> tuple[int, ...]:
        """Return where the gains of each layer lie; they are at the start of a buffer of their own."""
        return tuple(plan.offset(f"gain[{tensor.layer}]") for tensor in self.trained_tensors)

    @property
    def passes(self) -> int:
        """One on either side of the gains at rest."""
        return 2

    def trained_bytes(self) -> Iterator[tuple[str, int]]:
        """Yield name and bytes of the gains of each trained layer, with the multipliers and shifts made from them."""
        for tensor in self.trained_tensors:
            channels = self.network.layers[tensor.layer].channels
            yield f"gain[{tensor.layer}]", 8 * channels + up(channels, 4)

    def network_bytes(self) -> Iterator[tuple[str, int]]:
        """Yield name and bytes of the file, unless it is in flash, and of the gains, which are never in it."""
        if not self.in_flash:
            yield "file", file_size(self.network)
        yield from self.trained_bytes()

    def _by_layer(self, arrays: Sequence[np.ndarray]) -> list[tuple[int, np.ndarray]]:
        return [(tensor.layer, array) for tensor, array in zip(self.trained_tensors, arrays, strict=True)]
