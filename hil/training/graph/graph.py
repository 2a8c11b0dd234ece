"""A network as a graph of nodes, whatever the format of its numbers (docs/network.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property, partial
from math import prod

import numpy as np

from hil.training.graph.chain_formats import CHAIN_FORMATS, ChainFormat

Shape = tuple[int, int, int]  # height, width, channels


class Op(IntEnum):
    """The operation of a node, numbered as in the network file."""

    CONV2D = 1
    FULLY_CONNECTED = 2
    RELU = 3
    MAX_POOL = 4
    DEPTHWISE = 5
    POINTWISE = 6
    AVERAGE_POOL = 7
    ADD = 8
    CAST = 9
    HARD_SWISH = 10
    MULTIPLY = 11
    TABLE = 12
    MEAN = 13


class Format(IntEnum):
    """How values and weights are stored and rounded, numbered as in the network file."""

    TFLITE8 = 1
    BFP8 = 2
    FLOAT32 = 3
    W16A8 = 4
    AFFINE8 = 5

    @classmethod
    def _missing_(cls, value: object) -> Format | None:
        """Return the format of a plugin, whose networks are chains, by its number."""
        from hil.training.graph.format_plugins import of_number

        found = of_number(value)
        if found is None:
            return None
        name, number, chain = found
        format = int.__new__(cls, number)
        format._name_, format._value_ = name.upper(), number
        cls._value2member_map_[number] = format  # as `enum.Flag` keeps its composite members
        _add_chain(format, chain)
        return format


POOLS = (Op.MAX_POOL, Op.AVERAGE_POOL)
WEIGHTED = (Op.CONV2D, Op.FULLY_CONNECTED, Op.DEPTHWISE, Op.POINTWISE)
WINDOWED = (Op.CONV2D, Op.DEPTHWISE, Op.POINTWISE, *POOLS)
PAIRED = (Op.ADD, Op.MULTIPLY)  # they read two values
GATED = (*WEIGHTED, Op.ADD, Op.MEAN)  # errors pass them where the output lies between its limits
SPREADING = (*POOLS, Op.MEAN)  # errors go back to positions of the input as they are
CHAINS: dict[Format, ChainFormat] = {Format[name.upper()]: chain for name, chain in CHAIN_FORMATS.items()}
"""The formats whose networks are chains."""
WEIGHTS: dict[Format, np.dtype] = {
    Format.TFLITE8: np.dtype(np.int8),
    Format.FLOAT32: np.dtype("<f4"),
    Format.W16A8: np.dtype("<i2"),
    Format.AFFINE8: np.dtype(np.int8),
    **{format: chain.weights for format, chain in CHAINS.items()},
}
"""The types of weights in a network file."""
_COMMON = tuple(op for op in Op if op < Op.CAST and op is not Op.RELU)
OPS: dict[Format, tuple[Op, ...]] = {
    **dict.fromkeys(WEIGHTS, _COMMON),
    Format.TFLITE8: (*_COMMON, Op.TABLE, Op.MEAN),
    Format.FLOAT32: (*_COMMON, Op.CAST, Op.HARD_SWISH, Op.MULTIPLY),
    Format.AFFINE8: (*_COMMON, Op.HARD_SWISH, Op.MULTIPLY),
    **{format: tuple(Op[name.upper()] for name in chain.operations) for format, chain in CHAINS.items()},
}
"""The operations that a format has; a chain has those of chains.toml."""
ROUNDINGS: dict[Format, dict[str, int]] = {
    **{format: {"": 0} for format in Format},
    Format.TFLITE8: {"double": 0, "single": 1},
    Format.W16A8: {"single": 1},
    Format.AFFINE8: {"nearest": 0, "floor": 1},
}
"""The roundings of a format, numbered as in the network file; the first is that of a node which says none."""


def _add_chain(format: Format, chain: ChainFormat) -> None:
    """Enter a format of a plugin into the tables."""
    CHAINS[format], WEIGHTS[format], ROUNDINGS[format] = chain, chain.weights, {"": 0}
    OPS[format] = tuple(Op[name.upper()] for name in chain.operations)


def is_format(number: int) -> bool:
    """Return whether a format has this number."""
    try:
        Format(number)
    except ValueError:
        return False
    return True


LARGEST_FLOAT = 2.0**40  # magnitude of a value and of an error in `float32`, and of a limit in `affine8`

KIND = {
    Op.CONV2D: "conv",
    Op.FULLY_CONNECTED: "fc",
    Op.RELU: "relu",
    Op.MAX_POOL: "pool",
    Op.DEPTHWISE: "dw",
    Op.POINTWISE: "pw",
    Op.AVERAGE_POOL: "mean",
    Op.ADD: "add",
    Op.CAST: "cast",
    Op.HARD_SWISH: "hswish",
    Op.MULTIPLY: "mul",
    Op.TABLE: "table",
    Op.MEAN: "gap",
}


def named(ops: Sequence[Op]) -> list[str]:
    """Return the names of nodes in order, numbered by kind: conv1, dw1, pw1, add1, ..."""
    seen: dict[Op, int] = {}
    names = []
    for op in ops:
        seen[op] = seen.get(op, 0) + 1
        names.append(f"{KIND[op]}{seen[op]}")
    return names


@dataclass(frozen=True, eq=False)
class Parameters:
    """Weights and what goes with them: arrays by output channel in `tflite8`, an exponent in a format of chains.

    In `w16a8` a layer has one multiplier, shift and scale, in `affine8` one scale: their arrays have one element.

    Attributes:
        weights: of the type in `WEIGHTS`: [out, kh, kw, in] (conv2d, pointwise), [kh, kw, c] (depthwise) or [out, in]
            (fully_connected).
        bias: int32 [out], scale `s_x * s_w`; real numbers, float32, in `float32` and `affine8`.
        multiplier: int32 [out], 2^30..2^31 - 1.
        shift: int8 [out], -31..30.
        scale: float32 [out], s_w; `affine8`: float32 [1].
        zero: z_w, -128..127 (`affine8`).
        exponent: of the weights (`bfp8`).
        largest: w_max, the largest magnitude of a weight: 32767 or 127 (`w16a8`).
    """

    weights: np.ndarray
    bias: np.ndarray = field(default_factory=partial(np.zeros, 0, np.int32))
    multiplier: np.ndarray = field(default_factory=partial(np.zeros, 0, np.int32))
    shift: np.ndarray = field(default_factory=partial(np.zeros, 0, np.int8))
    scale: np.ndarray = field(default_factory=partial(np.zeros, 0, np.float32))
    exponent: int = 0
    largest: int = 127
    zero: int = 0


@dataclass(frozen=True)
class AddFactors:
    """Multipliers and shifts of an add: of both inputs and the output (docs/arithmetic-zeroth-order.md, section 1)."""

    multipliers: tuple[int, int, int]
    shifts: tuple[int, int, int]


@dataclass(frozen=True)
class MeanFactor:
    """Multiplier, 2^29..2^31 - 1, and shift, -31..30, of a mean (docs/arithmetic-tflite.md, section 4)."""

    multiplier: int
    shift: int


@dataclass(frozen=True, eq=False)
class Node:
    """One layer; `reads` are the values it takes: one, or the two of an add or a multiply.

    Attributes:
        name: `conv1`, `dw1`, `pw1`, `fc1`, `relu1`, `pool1`, `mean1`, `add1`, `cast1`, `hswish1`, `mul1`, `table1`,
            `gap1`, ... by kind.
        op: the operation.
        reads: 0 is the network's input, v the output of node v - 1.
        in_shape, out_shape: height, width, channels.
        kernel, stride: of the windows, down and across; (0, 0) where there are none.
        pad: positions above and left of the image that windows cover; (0, 0) where there are none.
        block: of sparse training, 1..4; 0 without weights.
        act_min, act_max: limits of the output: whole numbers; in `float32` and `affine8` binary32 numbers.
        scale, zero: of the output (`tflite8`, `w16a8`; `affine8`: by `affine8.with_scales`); a binary32 number.
        own: weights and what goes with them; None where there are none.
        factors: of an add or a mean, else None.
        format: of the output and of the weights.
        rounding: `double` or `single` (`tflite8`), `single` (`w16a8`), `nearest` or `floor` (`affine8`), else "".
        table: outputs for the inputs -128..127, int8 [256], of a table; else None.
        low, high: what -128 and 127 of the output stand for, binary32 numbers (`affine8` but pools; else 0.0).
    """

    name: str
    op: Op
    reads: tuple[int, ...]
    in_shape: Shape
    out_shape: Shape
    kernel: tuple[int, int] = (0, 0)
    stride: tuple[int, int] = (0, 0)
    pad: tuple[int, int] = (0, 0)
    block: int = 0
    act_min: float = -128
    act_max: float = 127
    scale: float = 1.0
    zero: int = 0
    own: Parameters | None = None
    factors: AddFactors | MeanFactor | None = None
    format: Format = Format.TFLITE8
    low: float = 0.0
    high: float = 0.0
    rounding: str = ""
    table: np.ndarray | None = None

    def __post_init__(self) -> None:
        """Give a node that says no rounding the first of its format."""
        if not self.rounding:
            object.__setattr__(self, "rounding", next(iter(ROUNDINGS[self.format])))

    @property
    def in_size(self) -> int:
        """Elements of the (first) input."""
        return prod(self.in_shape)

    @property
    def out_size(self) -> int:
        """Elements of the output."""
        return prod(self.out_shape)

    @property
    def weights(self) -> np.ndarray | None:
        """The weights, None where there are none."""
        return None if self.own is None else self.own.weights

    @property
    def weight_exp(self) -> int:
        """The exponent of the weights (`bfp8`)."""
        return 0 if self.own is None else self.own.exponent

    @property
    def weight_count(self) -> int:
        """How many weights it has."""
        return 0 if self.own is None else int(self.own.weights.size)

    @property
    def channels(self) -> int:
        """Output channels of a node with weights, else 0."""
        return 0 if self.own is None else self.out_shape[2]

    @property
    def taps(self) -> int:
        """Products behind one output."""
        return self.weight_count // self.channels if self.channels else 0

    @property
    def macs(self) -> int:
        """Multiply-accumulates of a forward pass, padded taps counted."""
        return self.taps * self.out_size


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes in the order in which they run.

    Attributes:
        name: of the network.
        layers: 1..64 nodes; the last is fully_connected and gives the logits.
        in_shape: of the network's input.
        classes: 2..1024.
        scale, zero: of the input; the scale is a binary32 number (`bfp8`: 2 to the power of its exponent).
    """

    name: str
    layers: tuple[Node, ...]
    in_shape: Shape
    classes: int
    scale: float = float(np.float32(1 / 255))
    zero: int = -128

    @property
    def affine_rounding(self) -> str:
        """The rounding that all nodes in `affine8` have; `nearest` where there is none."""
        roundings = (layer.rounding for layer in self.layers if layer.format is Format.AFFINE8)
        return next(roundings, "nearest")

    @property
    def formats(self) -> tuple[Format, ...]:
        """The formats of the nodes, each once, in the order of the first node of each."""
        return tuple(dict.fromkeys(layer.format for layer in self.layers))

    def format_of(self, value: int) -> Format:
        """Return the format of a value; the input has that of the first node."""
        return self.layers[max(value - 1, 0)].format

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one forward pass."""
        return sum(layer.macs for layer in self.layers)

    @property
    def input_exp(self) -> int:
        """The exponent of the input (`bfp8`)."""
        return math.frexp(self.scale)[1] - 1

    @property
    def trained(self) -> tuple[Node, ...]:
        """The nodes with weights, input to output."""
        return tuple(layer for layer in self.layers if layer.own is not None)

    def first_bp(self, partition: int) -> int:
        """Return the first node that back-propagation trains after `partition` tensors; for none, the node count."""
        with_weights = [index for index, layer in enumerate(self.layers) if layer.own is not None]
        return with_weights[partition] if partition < len(with_weights) else len(self.layers)

    def scale_of(self, value: int) -> float:
        """Return the scale of a value."""
        return self.scale if value == 0 else self.layers[value - 1].scale

    def zero_of(self, value: int) -> int:
        """Return the zero point of a value."""
        return self.zero if value == 0 else self.layers[value - 1].zero

    def last_use(self, value: int) -> int:
        """Return the last node that reads a value; the number of nodes for the logits."""
        return self._last_readers.get(value, len(self.layers))

    @cached_property
    def _last_readers(self) -> dict[int, int]:
        return {value: index for index, layer in enumerate(self.layers) for value in layer.reads}

    def with_weights(self, weights: Sequence[np.ndarray]) -> Graph:
        """Return the same graph with other weights, one array for each node that has weights."""
        given = iter(weights)
        own = {
            index: (np.asarray(next(given), weight_type(layer.format)).reshape(layer.own.weights.shape), layer.own.bias)
            for index, layer in enumerate(self.layers)
            if layer.own is not None
        }
        return self.with_parameters(own)

    def with_parameters(self, own: Mapping[int, tuple[np.ndarray, np.ndarray]]) -> Graph:
        """Return the same graph with other weights and biases, in their types and shapes, by index of the node."""
        layers = list(self.layers)
        for index, (weights, bias) in own.items():
            old = layers[index].own
            assert old is not None
            layers[index] = replace(layers[index], own=replace(old, weights=weights, bias=bias))
        return replace(self, layers=tuple(layers))


def rounding_word(format: int, number: int) -> str:
    """Return the word for a number that a format has in `ROUNDINGS`."""
    return next(word for word, its in ROUNDINGS[Format(format)].items() if its == number)


def weight_type(format: int) -> np.dtype:
    """Return the type of the weights of a format in a network file."""
    return WEIGHTS[Format(format)]
