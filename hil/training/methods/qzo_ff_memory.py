"""The memory of QZO-FF (docs/memory.md, section w16a8, QZO-FF)."""

from __future__ import annotations

from collections.abc import Iterator

from hil.training.formats import kernels_of
from hil.training.graph.file import file_size
from hil.training.graph.graph import Graph
from hil.training.graph.plan import Buffer, Layout, Plan, Start, up
from hil.training.methods.qzo_ff_settings import Settings

NOISE_BYTES = 4096  # the pool, or the pool as moves of the weights of one tensor
DIRECTION_BYTES = 8  # a state and a sign


def plan(graph: Graph, settings: Settings, in_flash: bool, slots: int) -> Plan:
    """Place the buffers of a training step on a board that holds `slots` samples at a time, 1..batch."""
    between = len(graph.layers) + 1  # the slot between two passes, and of the end of the step
    start = Start(0, (), tuple(_passing(graph, between)))
    return Plan.of(_standing(graph, settings, in_flash, slots), between, Layout([start]))


def trained_bytes(graph: Graph, settings: Settings) -> Iterator[tuple[str, int]]:
    """Yield name and bytes of each trained tensor as it lies in RAM if the network file is in flash."""
    for index in settings.trained(graph):
        yield f"theta[{index}]", up(graph.own[index].weights.nbytes, 4)
        if settings.train_bias:
            yield f"beta[{index}]", 4 * graph.layers[index].channels


def _standing(graph: Graph, settings: Settings, in_flash: bool, slots: int) -> Iterator[tuple[str, int]]:
    """Yield name and size of what lives through all of training."""
    if in_flash:
        yield from trained_bytes(graph, settings)
    else:
        yield "file", file_size(graph)
    height, width, channels = graph.in_shape
    yield "labels", 2 * slots
    yield "samples", slots * height * width * channels
    yield "directions", DIRECTION_BYTES * settings.draws
    layers = {index: graph.layers[index] for index in settings.trained(graph)}
    elements = {index: layer.weight_count + layer.channels * settings.train_bias for index, layer in layers.items()}
    if settings.sparse != "off":
        yield from ((f"mask[{index}]", (layer.weight_count + 7) // 8) for index, layer in layers.items())
    if settings.guide:
        yield from ((f"guide[{index}]", 2 * count) for index, count in elements.items())
    if settings.optimizer == "adamw":
        yield from ((f"moments[{index}]", 8 * count) for index, count in elements.items())


def _passing(graph: Graph, between: int) -> Iterator[Buffer]:
    """Yield what lives while layers run, or between passes, in the order of the table."""
    for index, layer in enumerate(graph.layers):
        yield Buffer.of(f"value[{index + 1}]", layer.out_size, (index, graph.last_use(index + 1)))
    for index, layer in enumerate(graph.layers):
        yield Buffer.of(f"work[{index}]", kernels_of(layer.format).work(layer), (index, index))
    yield Buffer.of("noise", NOISE_BYTES, (between, between))
