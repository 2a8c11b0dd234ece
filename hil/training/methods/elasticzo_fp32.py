"""ElasticZO on `float32`: zeroth order for the first layers, back-propagation for the last ones.

See docs/arithmetic-float32.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hil.training.graph.file import places_in_file
from hil.training.graph.float32_contents import beyond_file
from hil.training.graph.graph import Format, Graph, Op
from hil.training.graph.node import Float32Parameters
from hil.training.graph.plan import Plan
from hil.training.methods import elasticzo_fp32_memory as memory
from hil.training.methods.backward_pass import BackwardPass
from hil.training.methods.elasticzo_fp32_settings import Fp32Settings
from hil.training.methods.elasticzo_settings import VARIANTS
from hil.training.methods.float32_steps import fault_of_step
from hil.training.methods.least_cycles import LeastCycles
from hil.training.methods.method import Method
from hil.training.methods.step_work import Work

WORDS_A_CYCLE = 2  # that a core loads or stores at most


@dataclass(frozen=True)
class ElasticZoFp32(Method):
    """The method; its networks lie in RAM, where every tensor is trained in place."""

    name = "elasticzo-fp32"
    docs = "docs/arithmetic-float32.md"
    loop = "elasticzo-fp32"
    reference = "hil.training.reference.methods.elasticzo_fp32:ElasticZoFp32"
    format = Format.FLOAT32
    kind = Fp32Settings
    variants: ClassVar[Mapping[str, Any]] = {variant: {} for variant in VARIANTS}
    default_variant = "cls1"
    learning_variants = ("cls1", "full-bp")
    chosen = False
    in_flash_too = False
    smaller = "a variant that trains less by back-propagation, or a smaller network"
    cell: ClassVar[Mapping[str, Any]] = {"batch": 2, "steps": 2}

    settings: Fp32Settings

    @classmethod
    def on(cls, network: Graph, variant: str, **settings: Any) -> ElasticZoFp32:
        """Return the method in a variant on a network; arguments and errors as of `Method`."""
        found = cls(network, Fp32Settings.of_variant(variant, len(network.trained), **settings))
        assert found.backward is None or found.backward.reached  # its pools are checked
        return found

    @cached_property
    def backward(self) -> BackwardPass | None:
        """Which layers errors reach, and when; None where nothing is back-propagated.

        Raises:
            RigError: a pool that errors cannot be handed through.
        """
        return memory.backward_of(self.network, self.settings.partition)

    @cached_property
    def arrays(self) -> tuple[tuple[str, np.ndarray], ...]:
        """Name and first values of the weights and the biases of every layer that has them."""
        named = ((self.network.layers[at].name, own) for at, own in self.network.own_of(Float32Parameters).items())
        return tuple(pair for name, own in named for pair in ((name, own.weights), (f"{name}.bias", own.bias)))

    def with_arrays(self, arrays: Sequence[np.ndarray]) -> Graph:
        """Return the network with other weights and biases."""
        pairs = zip(arrays[::2], arrays[1::2], strict=True)
        return self.network.with_parameters(dict(zip(self.network.own, pairs, strict=True)))

    def fault_of_weights(self, settings: Fp32Settings) -> str:
        """Name weights that no file may hold, or a step that rounds to nothing on most weights of a tensor.

        See docs/arithmetic-float32.md, section 10.
        """
        for name, array in self.arrays:
            wrong = beyond_file(array)
            if wrong.size:
                return f"tensor {name} holds {wrong[0]}: give weights and biases within 2^20."
        by_zo = self.arrays[: 2 * settings.partition]
        faults = (
            fault_of_step("epsilon", settings.epsilon, by_zo),
            fault_of_step("eta", settings.eta, self.arrays),
        )
        return next(filter(None, faults), "")

    def plan(self, slots: int) -> Plan:
        """Return the plan of docs/memory.md."""
        return memory.plan(self.network, self.backward, slots)

    def slots(self) -> tuple[str, ...]:
        """Return every layer, the loss, and the layers backward."""
        reached = self.layers[self._first_bp :]
        return (*self.layers, "loss", *(f"{name} backward" for name in reversed(reached)))

    @property
    def _first_bp(self) -> int:
        return self.network.first_bp(self.settings.partition)

    def places(self, plan: Plan) -> tuple[int, ...]:
        """The file lies at the start of the arena and its weights are used in place."""
        return tuple(place for places in places_in_file(self.network).values() for place in places)

    def passes(self) -> int:
        """Plus and minus; one where nothing is perturbed."""
        return 2 if self.settings.partition else 1

    def streams(self) -> bool:
        """Samples are independent of each other."""
        return True

    def first_wrong(self, tensors: Sequence[int], losses_agree: bool) -> int:
        """Of back-propagated tensors the deepest goes wrong first, of perturbed ones the first."""
        first_bp = 2 * self.settings.partition
        perturbed, by_bp = ([index for index in tensors if (index < first_bp) is zo] for zo in (True, False))
        return by_bp[-1] if by_bp and (losses_agree or not perturbed) else perturbed[0]

    def analytic(self) -> dict[str, Any]:
        """Return what ElasticZO's equations give: (2) for C = 0, (3) for C = L, (4) between."""
        partition, layers = self.settings.partition, self.network.trained
        sizes, work = [layer.weight_count + layer.channels for layer in layers], self.work()
        return {
            "equation": "(2)" if partition == 0 else "(3)" if partition == len(sizes) else "(4)",
            "bytes": memory.training_bytes(self.network, partition, self.settings.batch),
            "macs_forward": self.network.macs,
            "macs_step": work.macs,
            "layer_runs": work.layer_runs,
            "weights": sum(sizes),
            "weights_by_zo": sum(sizes[:partition]),
        }

    def work(self) -> Work:
        """Count the passes of a step (docs/arithmetic-float32.md, section 12)."""
        runs, macs = [self.passes()] * len(self.layers), self.passes() * self.network.macs
        for index in self.backward.reached if self.backward is not None else ():
            layer = self.network.layers[index]
            runs[index] += 1
            macs += layer.macs * (1 + any(value > self._first_bp for value in layer.reads))
        return Work(tuple(self.settings.batch * each for each in runs), self.settings.batch * macs)

    def step_macs(self) -> int:
        """Return the multiply-accumulates of all passes of a step."""
        return self.work().macs

    def least_cycles(self) -> LeastCycles:
        """Every pass reads and writes its values, and every weight is loaded and stored each time that it is moved.

        Products are no lower bound: those with a factor 0 may be left out.
        """
        runs, partition = self.passes() * self.settings.batch, self.settings.partition
        forward = tuple(
            max(1, runs * (layer.in_size + layer.out_size) // WORDS_A_CYCLE) for layer in self.network.layers
        )
        elements = [tensor.elements for tensor in self.tensors]
        phases: dict[str, int | None] = {
            "perturb": 2 * sum(elements[: 2 * partition]),
            "forward": sum(forward),
            "backward": int(self.backward is not None),
            "update": sum(elements),
        }
        return LeastCycles(forward, phases)

    def last_layer(self, samples: int) -> ElasticZoFp32:
        """Return back-propagation of the last layer as a network of its own."""
        last = self.network.layers[-1]
        assert last.op is Op.FULLY_CONNECTED  # check 8 of a network file
        layer = replace(last, name="fc1", reads=(0,), in_shape=(1, 1, last.in_size))
        alone = Graph("last layer", (layer,), layer.in_shape, self.network.classes)
        return ElasticZoFp32(alone, replace(self.settings, partition=0, batch=samples))
