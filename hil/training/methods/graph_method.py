"""The base of the methods that train graphs (docs/arithmetic-zeroth-order.md, docs/arithmetic-tflite.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hil.errors import Blocked, RigError, close_matches
from hil.training.graph.file import places_in_file
from hil.training.graph.graph import Format, Graph, Op
from hil.training.graph.node import Tflite8Parameters
from hil.training.graph.plan import Plan
from hil.training.graph.values import inference_peak
from hil.training.methods.graph_memory import plan_graph
from hil.training.methods.graph_settings import GraphSettings
from hil.training.methods.least_cycles import LeastCycles, least_forward, least_moves
from hil.training.methods.liveness import Liveness
from hil.training.methods.method import Method
from hil.training.methods.step_work import Work

LARGEST_AT_REST = 126  # magnitude of a trained weight between steps
SAVINGS: tuple[dict[str, Any], ...] = ({}, {"consumed": 1}, {"fused": 1}, {"consumed": 1, "fused": 1})


@dataclass(frozen=True)
class GraphMethod(Method):
    """A method on the layers that its settings choose; `coordinate_wise`: one coordinate is raised at a time."""

    docs = "docs/arithmetic-zeroth-order.md"
    format = Format.TFLITE8
    kind = GraphSettings
    chosen = True
    in_flash_too = True
    smaller = "a variant that trains fewer layers (block1 to block4, last-layer), a batch of 1, or a smaller network"
    cell: ClassVar[Mapping[str, Any]] = {"batch": 1, "steps": 2, "settings": {"queries": 2}}
    coordinate_wise: ClassVar[bool] = False

    settings: GraphSettings

    @classmethod
    def settings_of(cls, variant: str, **others: Any) -> GraphSettings:
        """Return the settings of a variant.

        Raises:
            RigError: an unknown variant or setting, or a value out of range.
        """
        if variant not in cls.variants:
            raise RigError(f"the method {cls.name} has no variant {variant!r}: {close_matches(variant, cls.variants)}")
        GraphSettings.check_names(others)
        return GraphSettings.of_loop(cls.loop, **{**cls.variants[variant], **others})

    @classmethod
    def on(cls, network: Graph, variant: str, **settings: Any) -> GraphMethod:
        """Return the method in a variant on a network; arguments and errors as of `Method`."""
        chosen = cls.settings_of(variant, **settings)
        if chosen.train == "pointwise" and all(layer.op is not Op.POINTWISE for layer in network.layers):
            chosen = replace(chosen, train="all")  # a block of a network without pointwise layers is all of its layers
        found = cls(network, chosen)
        if not found.trained:
            raise Blocked(
                "plan", f"{variant} trains no layer of {network.name}: choose another variant, or another network."
            )
        found.check(variant)
        return found

    def remarks(self) -> tuple[str, ...]:
        """Say how many trained weights the first step clips (docs/arithmetic-zeroth-order.md, section 2)."""
        weights = [self.network.own[index].weights for index in self.trained if self.settings.trains_weights]
        beyond = sum(int((np.abs(one) > LARGEST_AT_REST).sum()) for one in weights)
        if not beyond:
            return ()
        return (
            f"{beyond:,} of {sum(one.size for one in weights):,} trained weights of the file "
            f"are {LARGEST_AT_REST + 1} or -{LARGEST_AT_REST + 1}: the first step clips them to +-{LARGEST_AT_REST}, "
            "where weights rest in training.",
        )

    def check(self, variant: str) -> None:
        """Raise an error if the method cannot train what its settings choose; `variant` is for the message."""

    def kept_state(self, settings: GraphSettings) -> tuple[str, str] | None:
        """Momentum."""
        return ("momentum", "set momentum to 0") if settings.momentum else None

    @cached_property
    def trained(self) -> tuple[int, ...]:
        """Indices of the trained layers, input to output."""
        return self.settings.trained(self.network)

    @cached_property
    def by_nodes(self) -> frozenset[int]:
        """Those of the trained layers whose nodes are perturbed."""
        layers = self.network.layers
        return frozenset(index for index in self.trained if self.settings.by_nodes(layers[index]))

    @cached_property
    def liveness(self) -> Liveness:
        """When the buffers of a step live."""
        return Liveness(self.network, self.settings)

    @cached_property
    def arrays(self) -> tuple[tuple[str, np.ndarray], ...]:
        """Name and first values of the weights and biases that are trained, layer by layer."""
        found: list[tuple[str, np.ndarray]] = []
        known = self.network.own_of(Tflite8Parameters)
        for index in self.trained:
            name, own = self.network.layers[index].name, known[index]
            if self.settings.trains_weights:
                found.append((name, own.weights))
            if self.settings.train_bias:
                found.append((f"{name}.bias", own.bias))
        return tuple(found)

    def with_arrays(self, arrays: Sequence[np.ndarray]) -> Graph:
        """Return the network with other weights and biases where they are trained."""
        return self.settings.with_trained(self.network, arrays)

    def resident(self, arena: int, places: Sequence[bool]) -> GraphMethod:
        """Return the plainest form that fits: the file in RAM if possible, else in flash; then what saves memory.

        Where nothing fits it is the smallest form, for its figures.
        """
        found = replace(self, in_flash=places[0])
        for in_flash in places:
            for saving in SAVINGS if self.settings.batch == 1 else SAVINGS[::2]:
                found = replace(self, settings=replace(self.settings, **saving), in_flash=in_flash)
                if found.plan(1).fits(arena):
                    return found
        return found

    def plan(self, slots: int) -> Plan:
        """Return the plan of docs/memory.md."""
        return plan_graph(self, slots)

    @property
    def kept_queries(self) -> int:
        """Queries of a layer whose seeds and losses are kept."""
        return 0

    @property
    def sums_gradients(self) -> bool:
        """Whether the gradients of a step's samples are summed, so that every trained number has a sum."""
        return bool(self.settings.batch > 1)

    @property
    def has_velocity(self) -> bool:
        """Whether every trained number has a velocity."""
        return False

    def gradient_buffers(self) -> Iterator[tuple[str, int]]:
        """Yield name and bytes of what lives through all of training for the trained numbers: sums and velocities."""
        for name, wanted in (("grad", self.sums_gradients), ("velocity", self.has_velocity)):
            for index in self.trained if wanted else ():
                yield f"{name}[{index}]", 4 * self.settings.coordinates(self.network.layers[index])

    def slots(self) -> tuple[str, ...]:
        """Return every layer, the loss, and the gradient of the queries."""
        return (*self.layers, "loss", "gradient, update")

    def places(self, plan: Plan) -> tuple[int, ...]:
        """Return where each trained tensor lies: in its own buffer where the file is in flash, else in the file."""
        lie = places_in_file(self.network)
        places = []
        for index in self.trained:
            weights, bias = lie[index]
            if self.settings.trains_weights:
                places.append(plan.offset(f"theta[{index}]") if self.in_flash else weights)
            if self.settings.train_bias:
                places.append(plan.offset(f"beta[{index}]") if self.in_flash else bias)
        return tuple(places)

    def passes(self) -> int:
        """Each sample goes through all its queries before the next."""
        return 1

    def streams(self) -> bool:
        """Samples are independent of each other."""
        return True

    def shows(self, stage: int) -> bool:
        """All but those within a chain, which never exist whole."""
        return self.liveness.whole(stage + 1)

    def first_wrong(self, tensors: Sequence[int], losses_agree: bool) -> int:
        """Layers take their turns from input to output."""
        return tensors[0]

    def step_work(self) -> Work:
        """Count the work of a step of `settings.batch` samples (docs/arithmetic-zeroth-order.md, section 7).

        The sparse form of DeepZero draws its coordinates; all of them are counted here.
        """
        runs = [1] * len(self.layers)
        if self.liveness.layerwise:
            starts = sorted({self.liveness.first(index) for index in self.trained})
            for start, following in zip(starts, [*starts[1:], 0], strict=True):
                self._layerwise(start, following, runs)
        else:
            runs = [1 + self.settings.sides * self.settings.queries] * len(runs)
            for index in range(max(self.by_nodes, default=-1) + 1):
                runs[index] += 1
        return Work.of(self.network, [self.settings.batch * each for each in runs])

    def _layerwise(self, start: int, following: int, runs: list[int]) -> None:
        """Add the runs of one start: the queries of its layers, and the way to the following start."""
        behind = start + (start in self.by_nodes)
        if start in self.by_nodes:
            runs[start] += 1
        for index in (index for index in self.trained if self.liveness.first(index) == start):
            passes = self.layer_passes(index)
            for later in range(behind, len(runs)):
                runs[later] += passes
        for later in range(behind, following):
            runs[later] += 1

    def layer_passes(self, index: int) -> int:
        """Return the perturbed passes for a trained layer and sample."""
        return self.settings.sides * self.settings.queries

    def work(self) -> Work | None:
        """Return the passes of a step."""
        return self.step_work()

    def step_macs(self) -> int:
        """Return the multiply-accumulates of all passes of a step."""
        return self.step_work().macs

    def training_bytes(self) -> int:
        """Return PMT's memory (section 4.3).

        It is the trained parameters (weights int8, biases int32), the peak of inference (input and output of a layer
        with what a residual holds), seeds and losses, and the gradient of the largest layer trained by nodes, in 8 bits
        as PMT's in-place swap has it.
        """
        by_nodes = max((self.network.layers[index].weight_count for index in self.by_nodes), default=0)
        return self.parameter_bytes() + inference_peak(self.network) + 8 * self.settings.queries + by_nodes

    def parameter_bytes(self) -> int:
        """Return the bytes of the trained parameters."""
        return sum(tensor.size for tensor in self.tensors)

    def weights_by_zo(self) -> int:
        """Return the weights of the layers that zeroth order trains."""
        return sum(self.network.layers[index].weight_count for index in self.trained)

    def analytic(self) -> dict[str, Any]:
        """Return what PMT counts (section 4.3, memory cost): parameters, the peak of inference, a gradient."""
        work = self.step_work()
        return {
            "equation": "PMT, section 4.3",
            "bytes": self.training_bytes(),
            "macs_forward": self.network.macs,
            "macs_step": work.macs,
            "layer_runs": work.layer_runs,
            "weights": sum(layer.weight_count for layer in self.network.layers),
            "weights_by_zo": self.weights_by_zo(),
        }

    def least_runs(self) -> Sequence[int]:
        """Return how often each layer runs in a step at least: once a sample, in the clean pass."""
        return (self.settings.batch,) * len(self.layers)

    def least_perturb(self) -> int | None:
        """Return the least cycles of the phase perturb."""
        return 1

    def least_update(self) -> int | None:
        """Return the least cycles of the phase update: every trained number is updated."""
        return least_moves(sum(tensor.elements for tensor in self.tensors))

    def least_cycles(self) -> LeastCycles:
        """Every pass of every layer. In a chain that runs row by row the last layer has the cycles of all."""
        fused = self.settings.fused
        pairs = zip(self.network.layers, self.least_runs(), strict=True)
        forward = tuple(1 if fused else least_forward(layer, runs) for layer, runs in pairs)
        phases = {
            "perturb": self.least_perturb(),
            "forward": sum(forward),
            "backward": 1,
            "update": self.least_update(),
        }
        return LeastCycles(forward, phases)
