"""A model as a network: operators become layers, or are folded into them (docs/tflite.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from hil.errors import RigError
from hil.training.graph.file import NetworkFileError, decode, encode
from hil.training.graph.file_checks import LEAST_CLASSES, MOST_CLASSES, MOST_LAYERS
from hil.training.graph.formats import Op, named
from hil.training.graph.graph import Graph
from hil.training.graph.node import Tflite8Node
from hil.training.tflite.blocks import by_map, by_share
from hil.training.tflite.model import Model
from hil.training.tflite.operators import KINDS
from hil.training.tflite.runtimes import DEFAULT
from hil.training.tflite.values import CURE, Value, grid_of, image_of
from hil.training.tflite.walk import Walk
from hil.training.tflite.weights import WeightSource

DEAD = "dead channels, whose factor is below 2^-32, so that their output is the zero point in the runtime, too"
HALVED = "channels with a bias beyond 2^30, which have twice the scale here, so that their weights are rounded"
SHAPES = ("SHAPE", "STRIDED_SLICE", "PACK")  # how converters compute the target of a RESHAPE


@dataclass(frozen=True, eq=False)
class Imported:
    """A network made from a model.

    Attributes:
        graph: the network.
        sources: by index of each layer with weights, where they come from.
        tensors: by layer, the tensor of the model that has its output.
        operators: by layer, the operator that it was.
        notes: what is not as the model says, in sentences.
    """

    graph: Graph
    sources: Mapping[int, WeightSource]
    tensors: tuple[int, ...]
    operators: tuple[str, ...]
    notes: tuple[str, ...]


def network_of(model: Model, name: str, runtime: str = DEFAULT, block_map: str = "") -> Imported:
    """Return the network of a model.

    Args:
        model: what was read.
        name: of the network.
        runtime: whose rounding the layers have, one of `RUNTIMES`.
        block_map: blocks of the layers with weights (`blocks.by_map`); empty: by equal shares of the work.

    Raises:
        RigError: an operator that cannot be run, with its node and what to do.
    """
    walk = Walk(model, runtime)
    _begin(walk, name)
    for operator in model.operators:
        if operator.name in SHAPES and all(model.tensors[index].type == "INT32" for index in operator.outputs):
            continue  # the shape that a RESHAPE gives is in the model
        if operator.name not in KINDS:
            raise RigError(f"{operator} cannot be run: leave it out of the model, or replace it (docs/tflite.md).")
        if len(operator.outputs) != 1 or not operator.inputs:
            raise RigError(f"{operator} has {len(operator.outputs)} outputs, not 1: {CURE}.")
        KINDS[operator.name](walk, operator)
    nodes = _ended(walk, name)
    nodes = by_map(nodes, block_map) if block_map else by_share(nodes)
    graph = _graph(walk, name, nodes)
    return Imported(graph, walk.sources, tuple(walk.tensors), tuple(walk.operators), _notes(walk))


def _begin(walk: Walk, name: str) -> None:
    """Make the model's input the network's, if it is int8; else the QUANTIZE behind it does."""
    for what, found in (("inputs", walk.model.inputs), ("outputs", walk.model.outputs)):
        if len(found) != 1 or found[0] < 0:
            raise RigError(f"{name} has {len(found)} {what}, not 1: give a model with one input and one output.")
    tensor = walk.model.tensors[walk.model.inputs[0]]
    shape = image_of(tensor, "the input")
    if tensor.type == "INT8":
        walk.values[tensor.index] = Value(0, shape, *grid_of(tensor, "the input"))


def _ended(walk: Walk, name: str) -> list[Tflite8Node]:
    """Return the layers with their names, the last one fully connected.

    Raises:
        RigError: the model does not end with a layer that gives the logits.
    """
    value = walk.values.get(walk.model.outputs[0])
    if value is None or not value.number or value.number != len(walk.nodes):
        raise RigError(f"{name} does not give what its last layer makes: give a model whose output is at its end.")
    last = walk.nodes[-1] = _without_window(walk.nodes[-1])
    if last.op is not Op.FULLY_CONNECTED or not LEAST_CLASSES <= last.out_shape[2] <= MOST_CLASSES:
        raise RigError(
            f"{name} ends with {walk.operators[-1]} and {prod(last.out_shape):,} outputs: training needs a "
            f"FULLY_CONNECTED with {LEAST_CLASSES} to {MOST_CLASSES:,} of them, and at most a SOFTMAX behind it."
        )
    if len(walk.nodes) > MOST_LAYERS:
        raise RigError(f"{name} has {len(walk.nodes)} layers, and a network file at most {MOST_LAYERS}: use fewer.")
    names = named([node.op for node in walk.nodes])
    return [replace(node, name=title) for node, title in zip(walk.nodes, names, strict=True)]


def _without_window(node: Tflite8Node) -> Tflite8Node:
    """Return a convolution with one window, which is the whole image, as the fully connected layer that it is."""
    whole = node.op in (Op.CONV2D, Op.POINTWISE) and node.kernel == node.in_shape[:2] and node.pad == (0, 0)
    if not whole or node.out_shape[:2] != (1, 1) or node.own is None:
        return node
    own = replace(node.own, weights=node.own.weights.reshape(node.out_shape[2], -1))
    return replace(node, op=Op.FULLY_CONNECTED, own=own, kernel=(0, 0), stride=(0, 0))


def _graph(walk: Walk, name: str, nodes: list[Tflite8Node]) -> Graph:
    """Return the network.

    Raises:
        RigError: a reader of its file would refuse it.
    """
    given = next(value for value in walk.values.values() if value.number == 0)
    shape = walk.shape_of(given)
    layers = tuple(replace(node, in_shape=shape) if node.reads[0] == 0 else node for node in nodes)
    graph = Graph(name, layers, shape, nodes[-1].out_shape[2], given.scale, given.zero)
    try:
        decode(encode(graph), name)
    except NetworkFileError as error:
        at = walk.operators[error.layer] if error.layer < len(nodes) else "its input"
        raise RigError(f"{name} cannot be a network, because of {at}: {error}") from error
    return graph


def _notes(walk: Walk) -> tuple[str, ...]:
    """Return sentences about channels that are not as the model says."""
    found = []
    for what, kind in ((DEAD, "dead"), (HALVED, "halved")):
        counts = [
            f"{len(channels)} of {walk.nodes[index].out_shape[2]} in {walk.operators[index]}"
            for index, source in walk.sources.items()
            if (channels := getattr(source, kind))
        ]
        if counts:
            found.append(f"{what}: {', '.join(counts)}.")
    return tuple(found)
