"""A network of the method FQT: layers in affine8 and float32, behind some in tflite8."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import xxhash

from hil.training.graph.formats import Op, Shape
from hil.training.graph.graph import Graph
from hil.training.graph.node import Float32Node, Node
from tests.oracle.affine8_numbers import float_of, params
from tests.oracle.float32 import ZERO, Floats
from tests.oracle.numbers import F32

H = 2.0**40
POOLS = ("max_pool", "average_pool")
WEIGHTED = ("conv2d", "depthwise", "pointwise", "fully_connected")


@dataclass
class Layer:
    """A layer; weights, s_w, z_w, biases and the range of the output move in training.

    Attributes:
        op: the name of the operation in docs/network.md.
        reads: the values that it reads.
        in_shape, out_shape: height, width, channels.
        kernel, stride, pad: of the windows.
        format: `affine8`, `float32` or `tflite8`.
        act_min, act_max: limits of the output, binary32 numbers.
        low, high: the range of the output; of pools and in float32 it means nothing.
        weights: int8 in affine8, binary32 numbers in float32, in the order of the file; none where it has none.
        s_w, z_w: of the weights in affine8.
        bias: real numbers.
    """

    op: str
    reads: tuple[int, ...]
    in_shape: Shape
    out_shape: Shape
    kernel: tuple[int, int] = (0, 0)
    stride: tuple[int, int] = (0, 0)
    pad: tuple[int, int] = (0, 0)
    format: str = "affine8"
    act_min: float = -H
    act_max: float = H
    low: np.float32 = ZERO
    high: np.float32 = ZERO
    weights: list = field(default_factory=list)
    s_w: np.float32 = ZERO
    z_w: int = 0
    bias: Floats = field(default_factory=list)

    @cached_property
    def node(self) -> Node:
        """The same windows and limits for the oracles of other formats; of an operation that they know."""
        return Float32Node(
            self.op, Op[self.op.upper()], self.reads, self.in_shape, self.out_shape, self.kernel, self.stride, self.pad,
            0, self.act_min, self.act_max,
        )  # fmt: skip

    @property
    def has_range(self) -> bool:
        """Whether its output has a range of its own that can move."""
        return self.format == "affine8" and self.op not in POOLS

    @property
    def channels(self) -> int:
        """Output channels."""
        return self.out_shape[2]

    @property
    def real_weights(self) -> Floats:
        """The real numbers that the weights stand for, each one product."""
        if self.format == "float32":
            return self.weights
        return [self.s_w * F32(q - self.z_w) for q in self.weights]

    def channel(self, index: int) -> int:
        """Return the output channel of a weight."""
        taps = len(self.weights) // self.channels
        return index % self.channels if self.op == "depthwise" else index // taps

    def tensors(self, with_bias: bool) -> list[bytes]:
        """Return the bytes of its trained tensors (section 8)."""
        ends = np.array([self.low, self.high], "<f4").tobytes()
        if not self.weights:
            return [ends] if self.has_range else []
        if self.format == "float32":
            own = np.array(self.weights, "<f4").tobytes()
        else:
            padded = self.weights + [0] * (-len(self.weights) % 4)
            first = np.array([self.s_w], "<f4").tobytes() + np.array([self.z_w, 0, 0, 0], np.int8).tobytes()
            own = np.array(padded, np.int8).tobytes() + first + ends
        return [own, np.array(self.bias, "<f4").tobytes()] if with_bias else [own]


@dataclass
class Network:
    """Layers in order, and the input that they start from.

    Attributes:
        layers: those in tflite8 first.
        in_shape: of the input.
        s, z: scale and zero point of the input.
        rounding: of affine8, `nearest` or `floor`.
        tflite: the graph that the layers in tflite8 come from; its other layers do not count.
    """

    layers: list[Layer]
    in_shape: Shape
    s: np.float32
    z: int
    rounding: str = "nearest"
    tflite: Graph | None = None

    def scale(self, value: int) -> tuple[np.float32, int]:
        """Return scale and zero point of a value in tflite8 or affine8."""
        if value == 0:
            return self.s, self.z
        layer = self.layers[value - 1]
        if layer.format == "tflite8":
            assert self.tflite is not None
            return F32(self.tflite.scale_of(value)), self.tflite.zero_of(value)
        if layer.op in POOLS:
            return self.scale(layer.reads[0])
        s, _, z = params(layer.low, layer.high, self.rounding)
        return s, z

    def input_value(self, image: np.ndarray) -> list:
        """Return value 0 of a uint8 image, in the format of the first layer."""
        pixels = [int(p) - 128 for p in image.ravel()]
        if self.layers[0].format == "float32":
            return [self.s * float_of(p - self.z) for p in pixels]
        return pixels


def digest(data: bytes) -> int:
    """Return XXH32 with seed 0."""
    return int(xxhash.xxh32_intdigest(data))


def step_digest(digests: Sequence[int]) -> int:
    """Return the digest of digests (docs/arithmetic.md, section 11)."""
    return digest(b"".join(one.to_bytes(4, "little") for one in digests))
