"""The plan of the methods that train graphs (docs/memory.md): what is trained, and what lives when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

from hil.training.formats.tflite8 import gradient_sums, input_error, work
from hil.training.graph.file import file_size
from hil.training.graph.graph import Graph, value_sizes
from hil.training.graph.plan import ArenaBuffer, ArenaLayout, Plan, Span, Start, up
from hil.training.methods.backward_pass import BackwardPass
from hil.training.methods.graph_settings import GraphSettings
from hil.training.methods.liveness import Liveness, RunPart
from hil.training.methods.plan import MethodPlan

CHAIN = 3  # layers of the longest chain
DECIDE_LIFETIMES = ("train", "blocks", "train_bias", "perturb", "wise", "fused")  # settings
Passing = Iterator[tuple[str, int, Span | None]]  # name, bytes and lifetime; None: it is not needed


@dataclass(frozen=True)
class GraphPlan(MethodPlan):
    """The plan of layers that settings choose; `coordinate_wise`: one coordinate is raised at a time."""

    coordinate_wise: ClassVar[bool] = False

    settings: GraphSettings

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

    @property
    def parts(self) -> tuple[tuple[int, bool], ...]:
        """Of each trained layer its weights, then its biases, as far as they are trained."""
        kinds = [False] * self.settings.trains_weights + [True] * self.settings.train_bias
        return tuple((index, is_bias) for index in self.trained for is_bias in kinds)

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

    def memory(self, slots: int) -> Plan:
        """Return the memory plan of docs/memory.md.

        Raises:
            RigError: back-propagation through a pool that errors cannot be handed through.
        """
        return _memory(self, slots)

    def slots(self) -> tuple[str, ...]:
        """Return every layer, the loss, and the gradient of the queries."""
        return (*self.layers, "loss", "gradient, update")


@lru_cache(maxsize=16)  # the forms that are tried for one trial: a form is the same for every board
def _memory(plan: GraphPlan, slots: int) -> Plan:
    """Place the buffers of a training step on a board that holds `slots` samples at a time, 1..batch."""
    settings, liveness = plan.settings, plan.liveness
    consumed = bool(settings.consumed and slots == 1 and liveness.consumes)
    of_lifetimes = {name: getattr(settings, name) for name in DECIDE_LIFETIMES}
    layout = _layout(type(plan), plan.network, GraphSettings.of_loop(settings.method, **of_lifetimes), consumed)
    return Plan.of(_standing(plan, slots, consumed), liveness.end, layout)


@lru_cache(maxsize=32)  # shared by both places of the file, all boards, and variants that differ in other settings
def _layout(kind: type[GraphPlan], graph: Graph, settings: GraphSettings, consumed: bool) -> ArenaLayout:
    plan = kind(graph, settings)
    return ArenaLayout(_start(plan, part, consumed) for part in plan.liveness.starts)


def _start(plan: GraphPlan, part: RunPart, consumed: bool) -> Start:
    """Return what a start needs; the input is kept where the memory of a sample is used again."""
    liveness, sizes = plan.liveness, value_sizes(plan.network)
    kept = (value for value in range(not consumed, part.first + 1) if liveness.keeps(part, value))
    return Start(
        part.first,
        tuple(ArenaBuffer.of(f"value[{value}]", sizes[value], liveness.kept(part, value)) for value in kept),
        tuple(ArenaBuffer.of(name, size, span) for name, size, span in _passing(plan, part, sizes) if span is not None),
        part.prefix,
    )


def _standing(plan: GraphPlan, slots: int, consumed: bool) -> Iterator[tuple[str, int]]:
    """Yield name and size of what lives through all of training."""
    layers, settings = plan.network.layers, plan.settings
    if not plan.in_flash:
        yield "file", file_size(plan.network)
    for index in plan.trained if plan.in_flash else ():
        if settings.trains_weights:
            yield f"theta[{index}]", up(layers[index].weight_count, 4) + 4 * layers[index].channels
        if settings.train_bias:
            yield f"beta[{index}]", 4 * layers[index].channels
    yield "labels", 2 * slots
    if plan.kept_queries:
        yield "queries", 8 * (CHAIN if settings.fused else 1) * plan.kept_queries
    if not consumed:
        yield "samples", slots * value_sizes(plan.network)[0]
    yield from plan.gradient_buffers()


def _passing(plan: GraphPlan, part: RunPart, sizes: list[int]) -> Passing:
    """Yield what lives while layers run, in the order of the table."""
    liveness = plan.liveness
    for value in range(part.first + 1, part.end + 1):
        yield f"value[{value}]", sizes[value], liveness.value(part, value)
    yield from _works(plan.network, liveness, part)
    yield from _gradients(plan, part)
    if liveness.backward is not None:
        yield from _errors(plan.network, liveness.backward, sizes)


def _works(graph: Graph, liveness: Liveness, part: RunPart) -> Passing:
    for index in range(part.first, part.end):
        layer = graph.layers[index]
        if layer.own is not None:
            second = index in liveness.joined and index - 1 not in liveness.joined
            third = second and index + 1 in liveness.joined
            yield f"work[{index}]", work(layer, second, third), liveness.runs(part, index)


def _gradients(plan: GraphPlan, part: RunPart) -> Passing:
    layers, settings, liveness = plan.network.layers, plan.settings, plan.liveness
    by_nodes = [index for index in plan.trained if index in plan.by_nodes]
    for index in by_nodes:
        yield f"node[{index}]", layers[index].out_size, liveness.to_gradient(part, index)
    for index in by_nodes if liveness.backward is None else plan.trained:
        yield f"sums[{index}]", gradient_sums(layers[index], settings.trains_weights), liveness.gradient(part, index)
    for index in plan.trained if plan.coordinate_wise else ():
        yield f"coordinates[{index}]", 4 * settings.coordinates(layers[index]), liveness.to_gradient(part, index)


def _errors(graph: Graph, backward: BackwardPass, sizes: list[int]) -> Passing:
    for value in range(1, backward.n + 1):
        yield f"error[{value}]", sizes[value], backward.error(value)
    for index, layer in enumerate(graph.layers):
        inputs = sizes[layer.reads[0]]
        yield f"back[{index}]", inputs if layer.own is None else input_error(layer, inputs), backward.back(index)
