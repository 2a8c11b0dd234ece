"""ElasticZO-INT8: zeroth order for the first tensors, back-propagation for the last, in `bfp8` (docs/arithmetic.md).

It also trains any other format of chains (docs/new-method.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from hil.errors import RigError
from hil.training.graph.chain import chain
from hil.training.graph.file import places_in_file
from hil.training.graph.graph import CHAINS, Format, Graph, Op
from hil.training.graph.node import ChainNode
from hil.training.graph.plan import Plan
from hil.training.methods import elasticzo_memory
from hil.training.methods.elasticzo_settings import VARIANTS, Settings
from hil.training.methods.least_cycles import LeastCycles, least_forward, least_moves
from hil.training.methods.method import Bookings, Method


@dataclass(frozen=True)
class ElasticZoInt8(Method):
    """The method; its networks lie in RAM, where every tensor is trained in place."""

    name = "elasticzo-int8"
    docs = "docs/arithmetic.md"
    loop = "elasticzo-int8"
    reference = "hil.training.reference.methods.elasticzo_int8:ElasticZoInt8"
    format = Format.BFP8
    kind = Settings
    variants: ClassVar[Mapping[str, Any]] = {variant: {} for variant in VARIANTS}
    default_variant = "cls1"
    learning_variants = ("cls1", "full-bp")
    chosen = False
    in_flash_too = False
    smaller = "a smaller batch or a variant that trains less by back-propagation"
    cell: ClassVar[Mapping[str, Any]] = {"steps": 2}

    settings: Settings

    @classmethod
    def on(cls, network: Graph, variant: str, **settings: Any) -> ElasticZoInt8:
        """Return the method in a variant on a network; arguments and errors as of `Method`."""
        chosen = Settings.of_variant(variant, len(network.trained), **settings)
        values = network.format_of(0)
        if chosen.loss == "integer" and CHAINS[values].values.itemsize > 1:
            name = values.name.lower()
            raise RigError(
                f"setting loss is integer, which is a loss of logits in int8, and not in {name}: leave it at float."
            )
        return cls(network, chosen)

    @classmethod
    def trains(cls, formats: Sequence[Format]) -> bool:
        """Return whether networks of the formats are chains."""
        return all(format in CHAINS for format in formats)

    @property
    def arrays(self) -> tuple[tuple[str, np.ndarray], ...]:
        """Name and first values of every tensor."""
        return tuple((self.network.layers[index].name, own.weights) for index, own in self.network.own.items())

    def with_arrays(self, arrays: Sequence[np.ndarray]) -> Graph:
        """Return the network with other weights."""
        return self.network.with_weights(arrays)

    def plan(self, slots: int) -> Plan:
        """Return the plan of docs/memory.md."""
        return elasticzo_memory.plan(self.network, self.settings, slots)

    def slots(self) -> tuple[str, ...]:
        """Return every layer forward, the loss, every layer backward, and what lies between passes."""
        return (*self.layers, "loss", *(f"{name} backward" for name in reversed(self.layers)), "perturb, update")

    def places(self, plan: Plan) -> tuple[int, ...]:
        """The file lies at the start of the arena and its weights are used in place."""
        return tuple(weights for weights, _ in places_in_file(self.network).values())

    def passes(self) -> int:
        """Plus and minus; one where nothing is perturbed."""
        return 2 if self.settings.partition else 1

    def streams(self) -> bool:
        """A batch whose samples share their exponents must be there as a whole."""
        return self.settings.scope == "sample"

    def first_wrong(self, tensors: Sequence[int], losses_agree: bool) -> int:
        """Of back-propagated tensors the deepest goes wrong first, of perturbed ones the first."""
        perturbed = [index for index in tensors if index < self.settings.partition]
        by_bp = [index for index in tensors if index >= self.settings.partition]
        return by_bp[-1] if by_bp and (losses_agree or not perturbed) else perturbed[0]

    def analytic(self) -> dict[str, Any]:
        """Return what ElasticZO's equations give: (13) for C = 0, (14) for C = L, (15) between."""
        partition, sizes = self.settings.partition, [tensor.elements for tensor in self.tensors]
        equation = "(13)" if partition == 0 else "(14)" if partition == len(sizes) else "(15)"
        return {
            "equation": equation,
            "bytes": elasticzo_memory.training_bytes(self.network, partition, self.settings.batch),
            "macs_forward": self.network.macs,
            "weights": sum(sizes),
            "weights_by_zo": sum(sizes[:partition]),
        }

    def bookings(self) -> Bookings:
        """Return the counts of docs/performance.md, without the digest: by phase with `total`, and by layer."""
        groups = self.settings.batch if self.settings.scope == "sample" else 1
        layers, first_bp = len(self.layers), self.network.first_bp(self.settings.partition)
        # one a group and pass; the loss and the zeros of the gradients are booked with the last layer
        forward = [self.passes() * groups * (2 if i == layers - 1 else 1) for i in range(layers)]
        backward = [0 if i < first_bp else groups + (i == layers - 1) for i in range(layers)]
        perturb = 2 if self.settings.partition else 0
        counts = {"perturb": perturb, "forward": sum(forward), "backward": sum(backward), "update": 1}
        return counts | {"total": sum(counts.values())}, (forward, backward)

    def least_cycles(self) -> LeastCycles:
        """Every pass of every layer; zeroth order moves its weights twice a step, and once more to update them."""
        runs, partition = self.passes() * self.settings.batch, self.settings.partition
        forward = tuple(least_forward(layer, runs) for layer in self.network.layers)
        moved = sum(tensor.elements for tensor in self.tensors[:partition])
        phases: dict[str, int | None] = {
            "perturb": least_moves(moved, 2) if partition else 0,
            "forward": sum(forward),
            "backward": int(partition < len(self.tensors)),
            "update": least_moves(moved),
        }
        return LeastCycles(forward, phases)

    def last_layer(self, samples: int) -> ElasticZoInt8 | None:
        """Return back-propagation of a last layer that is fully connected, as a network of its own."""
        last = self.network.node(-1, ChainNode)
        if last.op is not Op.FULLY_CONNECTED:
            return None
        layer = replace(last, name="fc1", in_shape=(1, 1, last.in_size))
        changes: dict[str, Any] = {
            "partition": 0,
            "batch": samples,
            "scope": "sample",
            "loss": "float",
            "loss_fraction": 0,
        }
        return ElasticZoInt8(chain((layer,), self.network.classes), replace(self.settings, **changes))

    def integers_only(self) -> bool:
        """Return whether signs come from integers alone (INT8*)."""
        return self.settings.loss == "integer" and self.settings.partition > 0

    def step_macs(self) -> int:
        """Forward passes, and twice as much for a backward pass."""
        return self.settings.batch * self.network.macs * (self.passes() + 2)

    def budget_scope(self) -> str:
        """Return the setting `scope`."""
        return self.settings.scope
