"""ElasticZO on `float32`: zeroth order for the first layers, back-propagation for the last ones.

See docs/arithmetic-float32.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from hil.training.graph.float32_contents import beyond_file
from hil.training.graph.formats import Format
from hil.training.graph.graph import Graph
from hil.training.graph.plan import Plan
from hil.training.methods import elasticzo_fp32_memory as memory
from hil.training.methods.backward_pass import BackwardPass, check_passable
from hil.training.methods.elasticzo_int8 import ElasticZo, ElasticZoRequest
from hil.training.methods.elasticzo_settings import Fp32Settings
from hil.training.methods.figures import CountedFigures, LeastCycles, StepWork, least_forward
from hil.training.methods.plan import MethodPlan
from hil.training.methods.request import fault_of_step


@dataclass(frozen=True)
class ElasticZoFp32Plan(MethodPlan):
    """The plan: all weights and biases."""

    chosen = False

    settings: Fp32Settings

    @cached_property
    def backward(self) -> BackwardPass | None:
        """Which layers errors reach, and when; None where nothing is back-propagated.

        Raises:
            RigError: a pool that errors cannot be handed through.
        """
        return memory.backward_of(self.network, self.settings.partition)

    @cached_property
    def first_bp(self) -> int:
        """The first layer that back-propagation trains; the number of layers where there is none."""
        return self.network.first_bp(self.settings.partition)

    @property
    def parts(self) -> tuple[tuple[int, bool], ...]:
        """The weights and the biases of every layer that has them."""
        return tuple((index, is_bias) for index in self.network.own for is_bias in (False, True))

    def memory(self, slots: int) -> Plan:
        """Return the memory plan of docs/memory.md."""
        return memory.plan(self.network, self.backward, slots)

    def slots(self) -> tuple[str, ...]:
        """Return every layer, the loss, and the layers backward."""
        return (*self.layers, "loss", *(f"{name} backward" for name in reversed(self.layers[self.first_bp :])))


@dataclass(frozen=True)
class ElasticZoFp32Request(ElasticZoRequest):
    """The request."""

    plan: ElasticZoFp32Plan

    def fault_of_weights(self, settings: Fp32Settings) -> str:
        """Name weights that no file may hold, or a step that rounds to nothing on most weights of a tensor.

        See docs/arithmetic-float32.md, section 10.
        """
        arrays = self.plan.arrays
        for name, array in arrays:
            wrong = beyond_file(array)
            if wrong.size:
                return f"tensor {name} holds {wrong[0]}: give weights and biases within 2^20."
        by_zo = fault_of_step("epsilon", settings.epsilon, arrays[: 2 * settings.partition])
        return by_zo or fault_of_step("eta", settings.eta, arrays)


@dataclass(frozen=True)
class ElasticZoFp32Figures(CountedFigures):
    """The figures."""

    plan: ElasticZoFp32Plan

    def _sizes(self) -> list[int]:
        return [layer.weight_count + layer.channels for layer in self.plan.network.trained]

    def formula(self) -> dict[str, Any]:
        """Return what ElasticZO's equations give: (2) for C = 0, (3) for C = L, (4) between."""
        network, partition = self.plan.network, self.plan.settings.partition
        return {
            "equation": "(2)" if partition == 0 else "(3)" if partition == len(network.own) else "(4)",
            "bytes": memory.training_bytes(network, partition, self.plan.settings.batch),
        }

    def weights(self) -> int:
        """Return all weights and biases."""
        return sum(self._sizes())

    def weights_by_zo(self) -> int:
        """Return the weights and biases of the first layers."""
        return sum(self._sizes()[: self.plan.settings.partition])

    def step_work(self) -> StepWork:
        """Count the passes of a step (docs/arithmetic-float32.md, section 12)."""
        network, backward, passes = self.plan.network, self.plan.backward, self.request.passes()
        runs, macs = [passes] * len(network.layers), passes * network.macs
        for index in backward.reached if backward is not None else ():
            layer = network.layers[index]
            runs[index] += 1
            macs += layer.macs * (1 + any(value > self.plan.first_bp for value in layer.reads))
        batch = self.plan.settings.batch
        return StepWork(tuple(batch * each for each in runs), batch * macs)

    def least_cycles(self) -> LeastCycles:
        """Every pass of every layer, and every weight is loaded and stored each time that it is moved."""
        settings, elements = self.plan.settings, [tensor.elements for tensor in self.plan.tensors]
        runs = self.request.passes() * settings.batch
        return LeastCycles.of(
            [least_forward(layer, runs) for layer in self.plan.network.layers],
            perturb=2 * sum(elements[: 2 * settings.partition]),
            backward=int(self.plan.backward is not None),
            update=sum(elements),
        )


@dataclass(frozen=True)
class ElasticZoFp32(ElasticZo):
    """The method."""

    name = "elasticzo-fp32"
    docs = "docs/arithmetic-float32.md"
    loop = "elasticzo-fp32"
    reference = "hil.training.reference.methods.elasticzo_fp32:ElasticZoFp32Reference"
    format = Format.FLOAT32
    kind = Fp32Settings
    plan_of = ElasticZoFp32Plan
    request_of = ElasticZoFp32Request
    figures_of = ElasticZoFp32Figures
    smaller = "a variant that trains less by back-propagation, or a smaller network"
    cell: ClassVar[Mapping[str, Any]] = {"batch": 2, "steps": 2}

    settings: Fp32Settings

    @classmethod
    def on(cls, network: Graph, variant: str, **settings: Any) -> ElasticZoFp32:
        """Return the method in a variant on a network; arguments and errors as of `Method`."""
        chosen = Fp32Settings.of_variant(variant, len(network.trained), **settings)
        check_passable(network.layers[network.first_bp(chosen.partition) :])
        return cls(network, chosen)

    def last_layer(self, samples: int) -> ElasticZoFp32:
        """Return back-propagation of the last layer, which is fully connected, as a network of its own."""
        last = self.network.layers[-1]
        layer = replace(last, name="fc1", reads=(0,), in_shape=(1, 1, last.in_size))
        alone = Graph("last layer", (layer,), layer.in_shape, self.network.classes)
        return ElasticZoFp32(alone, replace(self.settings, partition=0, batch=samples))
