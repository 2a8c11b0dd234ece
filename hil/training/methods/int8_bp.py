"""Back-propagation of 8-bit errors through a graph in `tflite8` (docs/arithmetic-tflite.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hil.training.graph.graph import inference_peak, value_sizes
from hil.training.methods.backward_pass import BackwardPass, check_passable
from hil.training.methods.figures import StepWork
from hil.training.methods.graph_figures import GraphFigures
from hil.training.methods.graph_method import GraphMethod, GraphRequest
from hil.training.methods.graph_plan import GraphPlan
from hil.training.methods.liveness import Liveness


class BpPlan(GraphPlan):
    """The plan, with errors and velocities."""

    @cached_property
    def backward(self) -> BackwardPass:
        """Which layers errors reach, and when.

        Raises:
            RigError: a pool that errors cannot be handed through.
        """
        return BackwardPass(self.network, self.trained, self.settings.trains_weights)

    @cached_property
    def liveness(self) -> Liveness:
        """When the buffers of a step live."""
        return Liveness(self.network, self.settings, self.backward)

    @property
    def has_velocity(self) -> bool:
        """Whether there is momentum."""
        return bool(np.float32(self.settings.momentum) > 0)

    def slots(self) -> tuple[str, ...]:
        """Return every layer, the loss, and the layers backward."""
        return (*self.layers, "loss", *(f"{name} backward" for name in reversed(self.layers[self.trained[0] :])))


class BpRequest(GraphRequest):
    """The request: a sample goes forward and backward before the next."""

    def first_wrong(self, tensors: Sequence[int], losses_agree: bool) -> int:
        """Layers are updated from output to input."""
        return tensors[-1]


@dataclass(frozen=True)
class BpFigures(GraphFigures):
    """The figures of a clean pass and a backward pass for each sample."""

    plan: BpPlan

    def step_work(self) -> StepWork:
        """Count the clean passes, and the errors and gradients backward (docs/arithmetic-tflite.md, section 7.5)."""
        plan, backward, batch, macs = self.plan, self.plan.backward, self.plan.settings.batch, 0
        for index, layer in enumerate(plan.network.layers):
            reached = index in backward.reached
            errors = reached and backward.has_error(layer.reads[0])
            gradients = reached and index in plan.trained and plan.settings.trains_weights
            macs += batch * layer.macs * (1 + errors + gradients)
        return StepWork(tuple(batch * (1 + (index in backward.reached)) for index in range(len(plan.layers))), macs)

    def training_bytes(self) -> int:
        """Return the bytes of parameters, the peak of inference, saved values and the largest gradient in 8 bits."""
        network, sizes = self.plan.network, value_sizes(self.plan.network)
        saved = sum(size for value, size in enumerate(sizes) if self.plan.backward.last_read(value) is not None)
        weights = (network.layers[index].weight_count for index in self.plan.trained)
        largest = max(weights) if self.plan.settings.trains_weights else 0
        return self.parameter_bytes() + inference_peak(network) + saved + largest

    def weights_by_zo(self) -> int:
        """Return 0: zeroth order trains nothing."""
        return 0

    def least_perturb(self) -> int | None:
        """Return None: nothing is perturbed, but the weights are brought within their limits once."""
        return None


@dataclass(frozen=True)
class Int8Bp(GraphMethod):
    """The method."""

    name = "int8-bp"
    docs = "docs/arithmetic-tflite.md"
    loop = "bp"
    reference = "hil.training.reference.methods.back_propagation:BackPropagation"
    plan_of = BpPlan
    request_of = BpRequest
    figures_of: ClassVar[type[GraphFigures]] = BpFigures
    default_variant = "plain"
    variants: ClassVar[Mapping[str, Any]] = {"plain": {"qas": 0}, "qas": {}}

    def check(self, variant: str) -> None:
        """Raise RigError for a pool that errors cannot be handed through."""
        check_passable(self.network.layers[self.plan.trained[0] :])


@dataclass(frozen=True)
class Mcutrain(Int8Bp):
    """MCUTrain: back-propagation with momentum in a few layers.

    MCUTrain finds the layers that it trains beforehand, by search; here they are the pointwise layers of block 3, which
    Poor Man's Training trains of MCUNet when it is compared with it (its table 11: the same trainable parameters).
    """

    name = "mcutrain"
    default_variant = "block3"
    variants: ClassVar[Mapping[str, Any]] = {"block3": {"train": "pointwise", "blocks": 4, "momentum": 0.9}}
