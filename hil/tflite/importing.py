"""A model as a network: operators become layers, or are folded into them (docs/tflite.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from hil.errors import RigError
from hil.graph.factors import add_factors, mean_factor, nearest
from hil.graph.file import MOST_CLASSES, MOST_LAYERS, NetworkFileError, decode, encode
from hil.graph.graph import POOLS, WEIGHTED, Graph, Node, Op, Shape, named
from hil.tflite.blocks import by_map, by_share
from hil.tflite.model import ABSENT, Model, Operator, Tensor
from hil.tflite.options import ACTIVATIONS
from hil.tflite.runtimes import DEFAULT, rounding_of
from hil.tflite.tables import FUNCTIONS, requantizing, table_of
from hil.tflite.values import Value, grid_of, image_of, numbers_of
from hil.tflite.weights import Source, constants_of, layer_weights
from hil.tflite.windows import window_of

CURE = "convert the model again"
SHAPES = ("SHAPE", "STRIDED_SLICE", "PACK")  # how converters compute the target of a RESHAPE
ENDS = ("SOFTMAX", "DEQUANTIZE")


@dataclass(frozen=True, eq=False)
class Imported:
    """A network made from a model.

    Attributes:
        graph: the network.
        sources: by index of each layer with weights, where they come from.
        tensors: by index of each layer, the tensor of the model that has its output.
        operators: by index of each layer, the operator that it was.
        notes: what is not as the model says, in sentences.
    """

    graph: Graph
    sources: Mapping[int, Source]
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
    return _Walk(model, name, runtime).network(block_map)


@dataclass
class _Walk:
    """The operators in their order; `values` has what each tensor is by now."""

    model: Model
    name: str
    runtime: str
    values: dict[int, Value] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    tensors: list[int] = field(default_factory=list)
    operators: list[str] = field(default_factory=list)
    sources: dict[int, Source] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    in_shape: Shape | None = None

    def network(self, block_map: str) -> Imported:
        """Return the network."""
        self._begin()
        for operator in self.model.operators:
            if operator.name in SHAPES and all(self.model.tensors[index].type == "INT32" for index in operator.outputs):
                continue  # the shape of what a RESHAPE gives is in the model
            kind = KINDS.get(operator.name)
            if kind is None:
                raise RigError(f"{operator} is no operator that can be run: leave it out of the model, or replace it.")
            if len(operator.outputs) != 1 or not operator.inputs:
                raise RigError(f"{operator} has {len(operator.outputs)} outputs, not 1: {CURE}.")
            kind(self, operator)
        return self._end(block_map)

    def _begin(self) -> None:
        for what, found in (("inputs", self.model.inputs), ("outputs", self.model.outputs)):
            if len(found) != 1 or found[0] == ABSENT:
                raise RigError(f"{self.name} has {len(found)} {what}, not 1: give a model with one of each.")
        tensor = self.model.tensors[self.model.inputs[0]]
        shape = image_of(tensor, "the input")
        if tensor.type == "INT8":
            self.values[tensor.index] = Value(0, shape, *grid_of(tensor, "the input"))

    def _end(self, block_map: str) -> Imported:
        value = self.values.get(self.model.outputs[0])
        if value is None or not self.nodes or value.number != len(self.nodes):
            raise RigError(f"{self.name} does not give what its last layer makes: give a model with one output, at its end.")
        self._close()
        nodes = [replace(node, name=name) for node, name in zip(self.nodes, named([n.op for n in self.nodes]), strict=True)]
        last = nodes[-1]
        if last.op is not Op.FULLY_CONNECTED or not 2 <= last.out_shape[2] <= MOST_CLASSES:
            raise RigError(
                f"{self.name} ends with {self.operators[-1]} and {prod(last.out_shape):,} outputs: training needs "
                f"FULLY_CONNECTED with 2 to {MOST_CLASSES:,} of them, and at most a SOFTMAX behind it."
            )
        if len(nodes) > MOST_LAYERS:
            raise RigError(f"{self.name} has {len(nodes)} layers, more than the {MOST_LAYERS} of a network file.")
        nodes = by_map(nodes, block_map) if block_map else by_share(nodes)
        first = next(value for value in self.values.values() if value.number == 0)
        shape = self.in_shape or first.shape
        nodes = [replace(node, in_shape=shape) if 0 in node.reads else node for node in nodes]
        graph = Graph(self.name, tuple(nodes), shape, last.out_shape[2], first.scale, first.zero)
        try:
            decode(encode(graph), self.name)
        except NetworkFileError as error:
            at = self.operators[error.layer] if error.layer < len(nodes) else "the input"
            raise RigError(f"{self.name}, {at}, cannot be run by any board: {error}") from error
        return Imported(graph, self.sources, tuple(self.tensors), tuple(self.operators), tuple(self.notes))

    def _close(self) -> None:
        """Make a convolution of one position at the end the fully connected layer that it is."""
        last = self.nodes[-1]
        if last.op in (Op.CONV2D, Op.POINTWISE) and last.own is not None and last.kernel == last.in_shape[:2]:
            if last.out_shape[:2] == (1, 1) and last.pad == (0, 0):
                own = replace(last.own, weights=last.own.weights.reshape(last.out_shape[2], -1))
                self.nodes[-1] = replace(
                    last, op=Op.FULLY_CONNECTED, own=own, kernel=(0, 0), stride=(0, 0), pad=(0, 0)
                )

    # what operators read and make

    def read(self, operator: Operator, place: int = 0, padded: bool = False) -> Value:
        """Return a value that an operator reads; only some may read one with zeros around it."""
        index = operator.inputs[place] if place < len(operator.inputs) else ABSENT
        if index == ABSENT:
            raise RigError(f"{operator} has no input {place}: {CURE}.")
        value = self.values.get(index)
        if value is None:
            tensor = self.model.tensors[index]
            grid_of(tensor, operator)
            raise RigError(f"{operator} reads the constant or unknown tensor {index}: replace the operator.")
        if value.ended:
            raise RigError(f"{operator} reads what comes behind the logits: only the last operator may be a SOFTMAX.")
        if any(value.pad) and not padded:
            raise RigError(f"{operator} reads the output of a PAD: only convolutions may.")
        return value

    def image(self, operator: Operator, value: Value) -> Value:
        """Return a value that is read as an image; the network's input takes the shape in which it is read first."""
        if value.number == 0 and self.in_shape is None:
            self.in_shape = value.shape
        made = self.in_shape if value.number == 0 else self.nodes[value.number - 1].out_shape
        if made != value.shape:
            raise RigError(
                f"{operator} reads {'x'.join(map(str, made or ()))} as {'x'.join(map(str, value.shape))}, which no layer "
                "does: leave the RESHAPE before it out."
            )
        return value

    def out(self, operator: Operator) -> Tensor:
        """Return the tensor that an operator makes."""
        return self.model.tensors[operator.outputs[0]]

    def fold(self, operator: Operator, value: Value) -> None:
        """Make the output of an operator a value that is there already."""
        self.values[operator.outputs[0]] = value

    def add(self, operator: Operator, node: Node) -> None:
        """Append a layer, whose output is that of an operator."""
        self.nodes.append(replace(node, rounding=rounding_of(self.runtime, operator.name)))
        self.tensors.append(operator.outputs[0])
        self.operators.append(str(operator))
        self.fold(operator, Value(len(self.nodes), node.out_shape, node.scale, node.zero))

    def made(self, operator: Operator, op: Op, values: tuple[Value, ...], shape: Shape) -> Node:
        """Return a layer with scale, zero point and limits of an operator's output."""
        scale, zero = grid_of(self.out(operator), operator)
        low, high = limits(operator, scale, zero)
        reads = tuple(value.number for value in values)
        return Node(
            "", op, reads, values[0].shape, shape, act_min=low, act_max=high, scale=scale, zero=zero
        )


def limits(operator: Operator, scale: float, zero: int, activation: str = "") -> tuple[int, int]:
    """Return act_min and act_max of a fused activation, as TFLite makes them in binary32.

    Raises:
        RigError: an activation that is none of ReLU's.
    """
    number = int(operator.options.get("FusedActivationFunction", 0))
    activation = activation or (ACTIVATIONS[number] if 0 <= number < len(ACTIVATIONS) else str(number))

    def at(real: float) -> int:
        return zero + nearest(float(np.float32(real) / np.float32(scale)))

    bounds = {"NONE": (-128, 127), "RELU": (zero, 127), "RELU6": (zero, at(6)), "RELU_N1_TO_1": (at(-1), at(1))}
    if activation not in bounds:
        raise RigError(f"{operator} has the activation {activation}: use ReLU or ReLU6.")
    low, high = bounds[activation]
    return max(-128, low), min(127, high)


def _convolution(walk: _Walk, operator: Operator) -> None:
    value = walk.image(operator, walk.read(operator, padded=True))
    constants = constants_of(walk.model, operator, axis=0)
    if constants.weights.ndim != 4 or constants.weights.shape[3] != value.shape[2]:
        raise RigError(
            f"{operator} has weights of {list(constants.weights.shape)} for {value.shape[2]} channels: groups cannot be "
            "run, use a convolution over all channels, or a depthwise one."
        )
    _weighted(walk, operator, value, constants, Op.CONV2D, (constants.weights.shape[1], constants.weights.shape[2]))


def _depthwise(walk: _Walk, operator: Operator) -> None:
    value = walk.image(operator, walk.read(operator, padded=True))
    constants = constants_of(walk.model, operator, axis=3)
    shape = constants.weights.shape
    channels = value.shape[2]
    if shape[0] != 1 or shape[3] not in (channels, channels * operator.options["DepthMultiplier"]):
        raise RigError(f"{operator} has weights of {list(shape)} for {channels} channels: {CURE}.")
    if shape[3] != channels and channels != 1:
        raise RigError(
            f"{operator} makes {shape[3] // channels} channels of each of {channels}: use a depth multiplier of 1."
        )
    op = Op.DEPTHWISE if shape[3] == channels else Op.CONV2D
    _weighted(walk, operator, value, constants, op, (shape[1], shape[2]))


def _weighted(walk, operator, value, constants, op, kernel) -> None:  # type: ignore[no-untyped-def]
    out = image_of(walk.out(operator), operator)
    window = window_of(operator, value, kernel, out)
    if out[2] != len(constants.bias):
        raise RigError(f"{operator} has {out[2]} channels and weights for {len(constants.bias)}: {CURE}.")
    is_first = operator.name == "DEPTHWISE_CONV_2D" and op is Op.CONV2D
    if op is Op.CONV2D and window.is_point:
        op = Op.POINTWISE
    node = walk.made(operator, op, (value,), (*window.out, out[2]))
    _with_weights(walk, operator, constants, is_first, value, replace(
        node, kernel=window.kernel, stride=window.stride, pad=window.pad
    ))


def _fully_connected(walk: _Walk, operator: Operator) -> None:
    value = walk.read(operator)
    constants = constants_of(walk.model, operator, axis=0)
    out = walk.out(operator)
    channels, size = len(constants.bias), prod(value.shape)
    if operator.options["WeightsFormat"] or constants.weights.ndim != 2 or constants.weights.shape[1] != size:
        raise RigError(
            f"{operator} has weights of {list(constants.weights.shape)} for {size:,} values: it must read a whole sample, "
            "so put a FLATTEN before it, or use a convolution of 1 x 1."
        )
    if prod(out.shape) != channels:
        raise RigError(f"{operator} makes {list(out.shape)}, not {channels} values: {CURE}.")
    made = value.shape if value.number == 0 else walk.nodes[value.number - 1].out_shape
    node = walk.made(operator, Op.FULLY_CONNECTED, (replace(value, shape=made),), (1, 1, channels))
    _with_weights(walk, operator, constants, False, value, node)


def _with_weights(walk, operator, constants, is_first, value, node) -> None:  # type: ignore[no-untyped-def]
    at_once = operator.name == "FULLY_CONNECTED"
    own, source = layer_weights(constants, node.op, is_first, (value.scale, node.scale), at_once, operator)
    for channels, what in (
        (source.dead, "dead: their factor is below 2^-32, and their output is the zero point in the runtime, too"),
        (source.halved, "with a bias beyond 2^30: they have twice the scale here, which rounds their weights"),
    ):
        if channels:
            walk.notes.append(f"{operator}: {len(channels)} of {node.out_shape[2]} channels are {what}.")
    walk.sources[len(walk.nodes)] = source
    walk.add(operator, replace(node, own=own))


def _pool(walk: _Walk, operator: Operator) -> None:
    value = walk.image(operator, walk.read(operator))
    kernel = int(operator.options["FilterHeight"]), int(operator.options["FilterWidth"])
    out = image_of(walk.out(operator), operator)
    window = window_of(operator, value, kernel, out)
    op = Op.MAX_POOL if operator.name == "MAX_POOL_2D" else Op.AVERAGE_POOL
    node = walk.made(operator, op, (value,), (*window.out, value.shape[2]))
    if (node.scale, node.zero) != (value.scale, value.zero) or out[2] != value.shape[2]:
        raise RigError(f"{operator} gives another scale, zero point or number of channels than it reads: {CURE}.")
    walk.add(operator, replace(node, kernel=window.kernel, stride=window.stride, pad=window.pad))


def _mean(walk: _Walk, operator: Operator) -> None:
    value = walk.image(operator, walk.read(operator))
    given = walk.model.tensors[operator.inputs[0]]
    rank = len(given.shape)
    axes = {axis % rank for axis in numbers_of(walk.model.tensors[operator.inputs[1]], 8, operator)}
    if axes != set(range(1, rank - 1)):
        raise RigError(f"{operator} is over the axes {sorted(axes)}: only a mean over the whole image can be run.")
    node = walk.made(operator, Op.MEAN, (value,), (1, 1, value.shape[2]))
    factors = mean_factor(value.scale, node.scale, value.shape[0] * value.shape[1], f"{CURE}, at {operator}")
    walk.add(operator, replace(node, factors=factors))


def _add(walk: _Walk, operator: Operator) -> None:
    first, second = (walk.image(operator, walk.read(operator, place)) for place in (0, 1))
    if first.shape != second.shape:
        raise RigError(f"{operator} adds {first.shape} and {second.shape}: give both the same shape.")
    node = walk.made(operator, Op.ADD, (first, second), first.shape)
    factors = add_factors(first.scale, second.scale, node.scale, f"{CURE}, at {operator}")
    walk.add(operator, replace(node, factors=factors))


def _by_element(walk: _Walk, operator: Operator) -> None:
    value = walk.image(operator, walk.read(operator))
    scale, zero = grid_of(walk.out(operator), operator)
    is_limit = operator.name.startswith("RELU") and (scale, zero) == (value.scale, value.zero)
    if is_limit and _may_be_limited(walk, value):
        low, high = limits(operator, scale, zero, operator.name)
        last = walk.nodes[-1]
        walk.nodes[-1] = replace(last, act_min=max(low, int(last.act_min)), act_max=min(high, int(last.act_max)))
        walk.tensors[-1] = operator.outputs[0]
        walk.fold(operator, value)
        return
    table = table_of(operator.name, (value.scale, value.zero), (scale, zero))
    walk.add(operator, replace(walk.made(operator, Op.TABLE, (value,), value.shape), table=table))


def _may_be_limited(walk: _Walk, value: Value) -> bool:
    """Return whether a ReLU may become a limit of the layer before it: nothing else reads what that gives."""
    if not walk.nodes or value.number != len(walk.nodes) or walk.nodes[-1].op is Op.TABLE:
        return False
    same = [index for index, other in walk.values.items() if other.number == value.number]
    readers = [one for one in walk.model.operators if not set(same).isdisjoint(one.inputs)]
    return len(readers) == 1 and set(same).isdisjoint(walk.model.outputs)


def _quantize(walk: _Walk, operator: Operator) -> None:
    given, out = walk.model.tensors[operator.inputs[0]], walk.out(operator)
    if given.index == walk.model.inputs[0] and given.type in ("FLOAT32", "UINT8"):
        scale, zero = grid_of(out, operator)
        same = given.type == "FLOAT32" or [(float(s), int(z) - 128) for s, z in zip(given.scale, given.zero, strict=True)] == [
            (scale, zero)
        ]
        if not same:
            raise RigError(f"{operator} gives the input another scale: {CURE}, with an int8 or a float input.")
        walk.fold(operator, Value(0, image_of(out, operator), scale, zero))
        return
    if out.type != "INT8":
        _close(walk, operator)
        return
    value = walk.read(operator)
    scale, zero = grid_of(out, operator)
    if (scale, zero) == (value.scale, value.zero):
        walk.fold(operator, value)
        return
    value = walk.image(operator, value)
    table = requantizing((value.scale, value.zero), (scale, zero), rounding_of(walk.runtime, operator.name))
    walk.add(operator, replace(walk.made(operator, Op.TABLE, (value,), value.shape), table=table))


def _reshape(walk: _Walk, operator: Operator) -> None:
    given = walk.values.get(operator.inputs[0])
    if given is not None and given.ended:
        walk.fold(operator, given)
        return
    value = walk.read(operator)
    out = walk.out(operator)
    if prod(out.shape) != prod(value.shape):
        raise RigError(f"{operator} makes {list(out.shape)} of {value.shape}: {CURE}.")
    if out.shape[:1] != (1,) or len(out.shape) > 4:
        raise RigError(f"{operator} makes {list(out.shape)}, which is no image of one sample: {CURE}.")
    walk.fold(operator, replace(value, shape=image_of(out, operator)))


def _pad(walk: _Walk, operator: Operator) -> None:
    value = walk.image(operator, walk.read(operator))
    sizes = numbers_of(walk.model.tensors[operator.inputs[1]], 8, operator)
    if len(sizes) != 8 or any(sizes[:2] + sizes[6:]) or min(sizes) < 0:
        raise RigError(f"{operator} pads by {sizes}: only height and width of an image can be padded.")
    above, below, left, right = sizes[2:6]
    walk.fold(operator, replace(value, pad=(above, below, left, right)))


def _close(walk: _Walk, operator: Operator) -> None:
    """Leave out an operator behind the logits that keeps the order of the classes."""
    given = walk.values.get(operator.inputs[0])
    value = given if given is not None and given.ended else walk.read(operator)
    walk.fold(operator, replace(value, ended=True))


KINDS: dict[str, Callable[[_Walk, Operator], None]] = {
    "CONV_2D": _convolution,
    "DEPTHWISE_CONV_2D": _depthwise,
    "FULLY_CONNECTED": _fully_connected,
    "AVERAGE_POOL_2D": _pool,
    "MAX_POOL_2D": _pool,
    "MEAN": _mean,
    "ADD": _add,
    "QUANTIZE": _quantize,
    "PAD": _pad,
    **dict.fromkeys(FUNCTIONS, _by_element),
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), _reshape),
    **dict.fromkeys(ENDS, _close),
}
"""What becomes of each operator."""
assert set(POOLS) and set(WEIGHTED)
