"""The layers of a network: a class for each format has the fields of that format and no others (docs/network.md)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Annotated, Any, ClassVar, TypeVar

import numpy as np

from hil.training.graph.formats import ROUNDINGS, Format, Op, Shape
from hil.training.graph.part import I8, I32, NO_BYTES, U8, NoBytes, Part

N = TypeVar("N", bound="Node")
P = TypeVar("P", bound="Parameters")
DEPTHWISE_AXES = 3  # of the weights: height, width, channel


@dataclass(frozen=True, eq=False)
class Parameters:
    """What a layer with weights has.

    `weights` are of the type in `WEIGHTS`: [out, kh, kw, in] (conv2d, pointwise), [kh, kw, c] (depthwise) or [out, in]
    (fully_connected).
    """

    weights: np.ndarray

    def with_weights(self: P, weights: np.ndarray) -> P:
        """Return the same parameters with other weights."""
        return replace(self, weights=weights)


def channels_of(weights: np.ndarray) -> int:
    """Return the output channels of weights in the shape of their operation."""
    return int(weights.shape[-1 if weights.ndim == DEPTHWISE_AXES else 0])


@dataclass(frozen=True, eq=False)
class ChainParameters(Parameters):
    """Of a format of chains: weights and their exponent."""

    exponent: int = 0


@dataclass(frozen=True, eq=False)
class WithBias(Parameters):
    """Biases [out]: int32, scale `s_x * s_w` (`tflite8`, `w16a8`), or real numbers, float32 (`float32`, `affine8`)."""

    bias: np.ndarray


@dataclass(frozen=True, eq=False)
class Tflite8Parameters(WithBias):
    """Of `tflite8`: multipliers, int32, 2^30..2^31 - 1; shifts, int8, -31..30; and s_w, float32; each [out]."""

    multiplier: np.ndarray
    shift: np.ndarray
    scale: np.ndarray

    @property
    def sums(self) -> np.ndarray:
        """The sums of the weights, int64 [out]."""
        axes = (0, 1) if self.weights.ndim == DEPTHWISE_AXES else tuple(range(1, self.weights.ndim))
        sums: np.ndarray = self.weights.sum(axis=axes, dtype=np.int64)
        return sums


@dataclass(frozen=True, eq=False)
class W16A8Parameters(WithBias):
    """Of `w16a8`: multiplier and shift, the scale of the weights (a binary32 number), w_max (32767 or 127)."""

    multiplier: int
    shift: int
    scale: float
    largest: int


@dataclass(frozen=True, eq=False)
class Float32Parameters(WithBias):
    """Of `float32`."""


@dataclass(frozen=True, eq=False)
class Affine8Parameters(WithBias):
    """Of `affine8`: scale (a binary32 number) and zero point, -128..127, of the weights."""

    scale: float
    zero: int


@dataclass(frozen=True)
class AddFactors(Part):
    """Multipliers and shifts of an add: of both inputs and the output (docs/arithmetic-zeroth-order.md, section 1)."""

    multipliers: Annotated[tuple[int, int, int], "3i"]
    shifts: Annotated[tuple[int, int, int], "3b"]
    none: U8 = 0


@dataclass(frozen=True)
class MeanFactor(Part):
    """Multiplier, 2^29..2^31 - 1, and shift, -31..30, of a mean (docs/arithmetic-tflite.md, section 4)."""

    multiplier: I32
    shift: I8
    none: NoBytes = NO_BYTES


@dataclass(frozen=True)
class Table(Part):
    """The outputs of a table for the inputs -128..127, as bytes."""

    entries: Annotated[bytes, "256s"]

    @classmethod
    def holding(cls, outputs: np.ndarray) -> Table:
        """Return a table with these outputs, int8 [256]."""
        return cls(outputs.astype(np.int8).tobytes())

    @property
    def outputs(self) -> np.ndarray:
        """The outputs, int8 [256]."""
        return np.frombuffer(self.entries, np.int8)


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
    """

    FORMAT: ClassVar[Format]

    name: str
    op: Op
    reads: tuple[int, ...]
    in_shape: Shape
    out_shape: Shape
    kernel: tuple[int, int] = (0, 0)
    stride: tuple[int, int] = (0, 0)
    pad: tuple[int, int] = (0, 0)
    block: int = 0

    @property
    def format(self) -> Format:
        """Of the output and of the weights."""
        return self.FORMAT

    @property
    def own(self) -> Parameters | None:
        """Weights and what goes with them; None where there are none. A class of a format has a field for it."""
        return None

    def with_own(self: N, own: Parameters) -> N:
        """Return the same node with other parameters.

        Raises:
            TypeError: they are of another kind than its own.
        """
        if type(own) is not type(self.own):
            raise TypeError(f"{self.name} has {type(self.own).__name__}, not {type(own).__name__}")
        changes: dict[str, Any] = {"own": own}
        return replace(self, **changes)

    @property
    def rounding(self) -> str:
        """`double` or `single` (`tflite8`), `single` (`w16a8`), `nearest` or `floor` (`affine8`), else ""."""
        return next(iter(ROUNDINGS[self.format]))

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
class ChainNode(Node):
    """A layer in `bfp8` or another format of chains."""

    own: ChainParameters | None = None
    format: Format = Format.BFP8

    @property
    def weight_exp(self) -> int:
        """The exponent of the weights; 0 where there are none."""
        return 0 if self.own is None else self.own.exponent


@dataclass(frozen=True, eq=False)
class Scaled(Node):
    """A layer whose output has limits, a scale and a zero point.

    Attributes:
        act_min, act_max: limits of the output: whole numbers; in `affine8` binary32 numbers.
        scale, zero: of the output; the scale is a binary32 number. In `affine8` by `affine8.with_scales`.
    """

    act_min: float = -128
    act_max: float = 127
    scale: float = 1.0
    zero: int = 0


@dataclass(frozen=True, eq=False)
class Quantized(Scaled):
    """A layer in `tflite8` or `w16a8`; `factors` are of an add, a mean or a table, else None."""

    act_min: int = -128
    act_max: int = 127
    own: Tflite8Parameters | W16A8Parameters | None = None
    factors: AddFactors | MeanFactor | Table | None = None


@dataclass(frozen=True, eq=False)
class Tflite8Node(Quantized):
    """A layer in `tflite8`."""

    FORMAT = Format.TFLITE8

    own: Tflite8Parameters | None = None
    rounding: str = "double"


@dataclass(frozen=True, eq=False)
class W16A8Node(Quantized):
    """A layer in `w16a8`; its factors are of an add."""

    FORMAT = Format.W16A8

    own: W16A8Parameters | None = None
    factors: AddFactors | None = None


@dataclass(frozen=True, eq=False)
class Affine8Node(Scaled):
    """A layer in `affine8`; -128 and 127 of the output stand for `low` and `high`, binary32 numbers (a pool: 0.0)."""

    FORMAT = Format.AFFINE8

    own: Affine8Parameters | None = None
    low: float = 0.0
    high: float = 0.0
    rounding: str = "nearest"


@dataclass(frozen=True, eq=False)
class Float32Node(Node):
    """A layer in `float32`; `act_min` and `act_max` are the limits of the output, binary32 numbers."""

    FORMAT = Format.FLOAT32

    act_min: float = -128.0
    act_max: float = 127.0
    own: Float32Parameters | None = None


NODES: dict[Format, type[Node]] = {kind.FORMAT: kind for kind in (Tflite8Node, W16A8Node, Affine8Node, Float32Node)}
"""The layers of each format but those of chains."""
