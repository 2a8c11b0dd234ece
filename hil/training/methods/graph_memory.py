"""The memory of the methods that train graphs (docs/memory.md): what lives when, for the planner."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from hil.training.formats.tflite8 import gradient_sums, input_error, work
from hil.training.graph.file import file_size
from hil.training.graph.graph import Graph
from hil.training.graph.plan import Buffer, Layout, Plan, Span, Start, up
from hil.training.graph.values import value_sizes
from hil.training.methods.backward_pass import BackwardPass
from hil.training.methods.graph_settings import GraphSettings
from hil.training.methods.liveness import Liveness, Part

if TYPE_CHECKING:
    from hil.training.methods.graph_method import GraphMethod

CHAIN = 3  # layers of the longest chain
DECIDE_LIFETIMES = ("train", "blocks", "train_bias", "perturb", "wise", "fused")  # settings
Passing = Iterator[tuple[str, int, Span | None]]  # name, bytes and lifetime; None: it is not needed


@lru_cache(maxsize=16)  # the forms that are tried for one trial: a form is the same for every board
def plan_graph(method: GraphMethod, slots: int) -> Plan:
    """Place the buffers of a training step on a board that holds `slots` samples at a time, 1..batch.

    Raises:
        RigError: back-propagation through a pool that errors cannot be handed through.
    """
    settings, liveness = method.settings, method.liveness
    consumed = bool(settings.consumed and slots == 1 and liveness.consumes)
    of_lifetimes = {name: getattr(settings, name) for name in DECIDE_LIFETIMES}
    layout = _layout(type(method), method.network, GraphSettings.of_loop(settings.method, **of_lifetimes), consumed)
    return Plan.of(_standing(method, slots, consumed), liveness.end, layout)


@lru_cache(maxsize=32)  # shared by both places of the file, all boards, and variants that differ in other settings
def _layout(kind: type[GraphMethod], graph: Graph, settings: GraphSettings, consumed: bool) -> Layout:
    method = kind(graph, settings)
    return Layout(_start(method, part, consumed) for part in method.liveness.starts)


def _start(method: GraphMethod, part: Part, consumed: bool) -> Start:
    """Return what a start needs; the input is kept where the memory of a sample is used again."""
    liveness, sizes = method.liveness, value_sizes(method.network)
    kept = (value for value in range(not consumed, part.first + 1) if liveness.keeps(part, value))
    return Start(
        part.first,
        tuple(Buffer.of(f"value[{value}]", sizes[value], liveness.kept(part, value)) for value in kept),
        tuple(Buffer.of(name, size, span) for name, size, span in _passing(method, part, sizes) if span is not None),
        part.prefix,
    )


def _standing(method: GraphMethod, slots: int, consumed: bool) -> Iterator[tuple[str, int]]:
    """Yield name and size of what lives through all of training."""
    layers, settings = method.network.layers, method.settings
    if not method.in_flash:
        yield "file", file_size(method.network)
    for index in method.trained if method.in_flash else ():
        if settings.trains_weights:
            yield f"theta[{index}]", up(layers[index].weight_count, 4) + 4 * layers[index].channels
        if settings.train_bias:
            yield f"beta[{index}]", 4 * layers[index].channels
    yield "labels", 2 * slots
    if method.kept_queries:
        yield "queries", 8 * (CHAIN if settings.fused else 1) * method.kept_queries
    if not consumed:
        yield "samples", slots * value_sizes(method.network)[0]
    yield from method.gradient_buffers()


def _passing(method: GraphMethod, part: Part, sizes: list[int]) -> Passing:
    """Yield what lives while layers run, in the order of the table."""
    liveness = method.liveness
    for value in range(part.first + 1, part.end + 1):
        yield f"value[{value}]", sizes[value], liveness.value(part, value)
    yield from _works(method.network, liveness, part)
    yield from _gradients(method, part)
    if liveness.backward is not None:
        yield from _errors(method.network, liveness.backward, sizes)


def _works(graph: Graph, liveness: Liveness, part: Part) -> Passing:
    for index in range(part.first, part.end):
        layer = graph.layers[index]
        if layer.own is not None:
            second = index in liveness.joined and index - 1 not in liveness.joined
            third = second and index + 1 in liveness.joined
            yield f"work[{index}]", work(layer, second, third), liveness.runs(part, index)


def _gradients(method: GraphMethod, part: Part) -> Passing:
    layers, settings, liveness = method.network.layers, method.settings, method.liveness
    by_nodes = [index for index in method.trained if index in method.by_nodes]
    for index in by_nodes:
        yield f"node[{index}]", layers[index].out_size, liveness.to_gradient(part, index)
    for index in by_nodes if liveness.backward is None else method.trained:
        yield f"sums[{index}]", gradient_sums(layers[index], settings.trains_weights), liveness.gradient(part, index)
    for index in method.trained if method.coordinate_wise else ():
        yield f"coordinates[{index}]", 4 * settings.coordinates(layers[index]), liveness.to_gradient(part, index)


def _errors(graph: Graph, backward: BackwardPass, sizes: list[int]) -> Passing:
    for value in range(1, backward.n + 1):
        yield f"error[{value}]", sizes[value], backward.error(value)
    for index, layer in enumerate(graph.layers):
        inputs = sizes[layer.reads[0]]
        yield f"back[{index}]", inputs if layer.own is None else input_error(layer, inputs), backward.back(index)
