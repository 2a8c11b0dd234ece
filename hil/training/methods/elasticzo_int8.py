"""ElasticZO-INT8: zeroth order for the first tensors, back-propagation for the last, in `bfp8` (docs/arithmetic.md).

It also trains any other format of chains (docs/new-method.md).
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from hil.errors import RigError
from hil.training.graph.chain import chain
from hil.training.graph.formats import CHAINS, Format, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import ChainNode
from hil.training.graph.plan import Plan
from hil.training.methods import elasticzo_memory
from hil.training.methods.elasticzo_settings import BY_NUMBER, VARIANTS, ElasticZoSettings
from hil.training.methods.figures import Bookings, LeastCycles, MethodFigures, least_forward, least_moves
from hil.training.methods.method import Method
from hil.training.methods.plan import MethodPlan
from hil.training.methods.request import MethodRequest


class ElasticZoRequest(MethodRequest):
    """The request of ElasticZO in any format: a plus pass and a minus pass."""

    def passes(self) -> int:
        """Plus and minus; one where nothing is perturbed."""
        return 2 if self.plan.settings.partition else 1

    def first_wrong(self, tensors: Sequence[int], losses_agree: bool) -> int:
        """Of back-propagated tensors the deepest goes wrong first, of perturbed ones the first."""
        of_layer = len(self.plan.tensors) // len(self.plan.network.own)
        first_bp = of_layer * self.plan.settings.partition
        perturbed, by_bp = ([index for index in tensors if (index < first_bp) is zo] for zo in (True, False))
        return by_bp[-1] if by_bp and (losses_agree or not perturbed) else perturbed[0]


@dataclass(frozen=True)
class ElasticZo(Method, ABC):
    """ElasticZO in any format; its networks lie in RAM, where every tensor is trained in place."""

    variants: ClassVar[Mapping[str, Any]] = {variant: {} for variant in VARIANTS}
    default_variant = "cls1"
    numbered_variant = f"{BY_NUMBER}C  zeroth order trains the first C tensors, or layers in float32"
    learning_variants = ("cls1", "full-bp")
    in_flash_too = False

    @property
    def facts(self) -> Mapping[str, Any]:
        """How many tensors, or layers in `float32`, zeroth order trains, and how many back-propagation."""
        by_zo = self.settings.partition
        return {"by_zo": by_zo, "by_bp": len(self.network.own) - by_zo}


@dataclass(frozen=True)
class ElasticZoInt8Plan(MethodPlan):
    """The plan: all weights."""

    chosen = False

    settings: ElasticZoSettings

    @property
    def parts(self) -> tuple[tuple[int, bool], ...]:
        """The weights of every layer that has some."""
        return tuple((index, False) for index in self.network.own)

    def memory(self, slots: int) -> Plan:
        """Return the memory plan of docs/memory.md."""
        return elasticzo_memory.plan(self.network, self.settings, slots)

    def slots(self) -> tuple[str, ...]:
        """Return every layer forward, the loss, every layer backward, and what lies between passes."""
        return (*self.layers, "loss", *(f"{name} backward" for name in reversed(self.layers)), "perturb, update")


class ElasticZoInt8Request(ElasticZoRequest):
    """The request."""

    def streams(self) -> bool:
        """A batch whose samples share their exponents must be there as a whole."""
        return bool(self.plan.settings.scope == "sample")


@dataclass(frozen=True)
class ElasticZoInt8Figures(MethodFigures):
    """The figures."""

    plan: ElasticZoInt8Plan

    def analytic(self) -> dict[str, Any]:
        """Return what ElasticZO's equations give: (13) for C = 0, (14) for C = L, (15) between."""
        plan, partition = self.plan, self.plan.settings.partition
        sizes = [tensor.elements for tensor in plan.tensors]
        return {
            "equation": "(13)" if partition == 0 else "(14)" if partition == len(sizes) else "(15)",
            "bytes": elasticzo_memory.training_bytes(plan.network, partition, plan.settings.batch),
            "macs_forward": plan.network.macs,
            "weights": sum(sizes),
            "weights_by_zo": sum(sizes[:partition]),
        }

    def bookings(self) -> Bookings:
        """Return the counts of docs/performance.md, without the digest: by phase with `total`, and by layer."""
        settings, layers = self.plan.settings, len(self.plan.layers)
        groups = settings.batch if settings.scope == "sample" else 1
        first_bp = self.plan.network.first_bp(settings.partition)
        # one a group and pass; the loss and the zeros of the gradients are booked with the last layer
        forward = [self.request.passes() * groups * (2 if i == layers - 1 else 1) for i in range(layers)]
        backward = [0 if i < first_bp else groups + (i == layers - 1) for i in range(layers)]
        perturb = 2 if settings.partition else 0
        counts = {"perturb": perturb, "forward": sum(forward), "backward": sum(backward), "update": 1}
        return counts | {"total": sum(counts.values())}, (forward, backward)

    def least_cycles(self) -> LeastCycles:
        """Every pass of every layer; zeroth order moves its weights twice a step, and once more to update them."""
        settings, tensors = self.plan.settings, self.plan.tensors
        runs, partition = self.request.passes() * settings.batch, settings.partition
        moved = sum(tensor.elements for tensor in tensors[:partition])
        return LeastCycles.of(
            [least_forward(layer, runs) for layer in self.plan.network.layers],
            perturb=least_moves(moved, 2) if partition else 0,
            backward=int(partition < len(tensors)),
            update=least_moves(moved),
        )

    def step_macs(self) -> int:
        """Forward passes, and twice as much for a backward pass."""
        return self.plan.settings.batch * self.plan.network.macs * (self.request.passes() + 2)

    def integers_only(self) -> bool:
        """Return whether signs come from integers alone (INT8*)."""
        return self.plan.settings.loss == "integer" and self.plan.settings.partition > 0

    def budget_scope(self) -> str:
        """Return the setting `scope`."""
        return self.plan.settings.scope


@dataclass(frozen=True)
class ElasticZoInt8(ElasticZo):
    """The method."""

    name = "elasticzo-int8"
    docs = "docs/arithmetic.md"
    loop = "elasticzo-int8"
    reference = "hil.training.reference.methods.elasticzo_int8:ElasticZoInt8Reference"
    format = Format.BFP8
    kind = ElasticZoSettings
    plan_of = ElasticZoInt8Plan
    request_of = ElasticZoInt8Request
    figures_of = ElasticZoInt8Figures
    smaller = "a smaller batch or a variant that trains less by back-propagation"
    cell: ClassVar[Mapping[str, Any]] = {"steps": 2}

    settings: ElasticZoSettings

    @classmethod
    def on(cls, network: Graph, variant: str, **settings: Any) -> ElasticZoInt8:
        """Return the method in a variant on a network; arguments and errors as of `Method`."""
        chosen = ElasticZoSettings.of_variant(variant, len(network.trained), **settings)
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

    def last_layer(self, samples: int) -> ElasticZoInt8 | None:
        """Return back-propagation of a last layer that is fully connected, as a network of its own."""
        last = self.network.node(-1, ChainNode)
        if last.op is not Op.FULLY_CONNECTED:
            return None
        layer = replace(last, name="fc1", in_shape=(1, 1, last.in_size))
        alone = replace(self.settings, partition=0, batch=samples, scope="sample", loss="float", loss_fraction=0)
        return ElasticZoInt8(chain((layer,), self.network.classes), alone)
