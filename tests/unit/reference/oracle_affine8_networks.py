"""The networks and samples of docs/arithmetic-affine8.md, section 11, for the oracle of affine8 and FQT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import xxhash

from tests.oracle.affine8_network import WEIGHTED, H, Layer, Network, Shape
from tests.oracle.numbers import F32

NONE, RELU, RELU6, HARD_SIGMOID = (-H, H), (0.0, H), (0.0, 6.0), (0.0, 1.0)


@dataclass
class Affine8Builder:
    """A network in affine8 that grows layer by layer, with the weights and biases of the text."""

    in_shape: Shape
    s: np.float32
    z: int
    layers: list[Layer] = field(default_factory=list)

    def append(
        self,
        op: str,
        out_shape: Shape,
        ends: tuple[float, float] = (0.0, 0.0),
        limits: tuple[float, float] = NONE,
        window: tuple[int, int, int] = (0, 0, 0),
        reads: tuple[int, ...] | None = None,
        format: str = "affine8",
    ) -> None:
        """Append a layer; `window` is the side of the kernel, stride and padding."""
        reads = (len(self.layers),) if reads is None else reads
        in_shape = self.in_shape if reads[0] == 0 else self.layers[reads[0] - 1].out_shape
        low, high = F32(ends[0]), F32(ends[1])
        kernel = window[0], window[0]
        layer = Layer(
            op, reads, in_shape, out_shape, kernel, (window[1],) * 2, (window[2],) * 2, format, *limits, low, high
        )
        if op in WEIGHTED:
            place, count = sum(one.op in WEIGHTED for one in self.layers), weight_count(layer)
            layer.weights = [(37 * i + 11 * place + 5) % 256 - 128 for i in range(count)]
            layer.s_w, layer.z_w = F32(2.0**-8), (29 * place) % 64 - 32
            layer.bias = [F32(((3 * o + 2 * place + 1) % 5 - 1) / 8) for o in range(out_shape[2])]
            if format == "float32":
                layer.weights = [F32((q - layer.z_w) / 256) for q in layer.weights]
        self.layers.append(layer)

    def network(self, rounding: str = "nearest") -> Network:
        """Return the network so far."""
        return Network(self.layers, self.in_shape, self.s, self.z, rounding)


def weight_count(layer: Layer) -> int:
    """Return how many weights a layer has."""
    inputs = int(np.prod(layer.in_shape)) if layer.op == "fully_connected" else layer.in_shape[2]
    taps = 1 if layer.op == "fully_connected" else int(np.prod(layer.kernel))
    return taps * layer.out_shape[2] * (1 if layer.op == "depthwise" else inputs)


def network_a(rounding: str = "nearest", cast: bool = False) -> Network:
    """Return network A; with a cast, C."""
    builder = Affine8Builder((6, 6, 1), F32(1 / 255), -128)
    builder.append("conv2d", (6, 6, 2), (0, 1.3125), RELU, (3, 1, 1))
    builder.append("max_pool", (3, 3, 2), window=(2, 2, 0))
    if cast:
        builder.append("cast", (3, 3, 2), format="float32")
    builder.append("fully_connected", (1, 1, 3), (-0.0625, 0.9375), format="float32" if cast else "affine8")
    return builder.network(rounding)


def network_b(rounding: str = "nearest") -> Network:
    """Return network B."""
    builder = Affine8Builder((4, 4, 2), F32(2.0**-5), 0)
    builder.append("pointwise", (4, 4, 4), (-1.8125, 3), window=(1, 1, 0))
    builder.append("hard_swish", (4, 4, 4), (-0.375, 2.9375))
    builder.append("depthwise", (4, 4, 4), (0, 1.6875), RELU6, (3, 1, 1))
    builder.append("average_pool", (1, 1, 4), window=(4, 4, 0))
    builder.append("pointwise", (1, 1, 2), (0, 0.375), RELU, (1, 1, 0))
    builder.append("pointwise", (1, 1, 4), (0, 0.4375), HARD_SIGMOID, (1, 1, 0))
    builder.append("multiply", (4, 4, 4), (0, 0.4375), reads=(3, 6))
    builder.append("pointwise", (4, 4, 4), (-0.1875, 0.375), window=(1, 1, 0))
    builder.append("add", (4, 4, 4), (-0.5, 3.1875), reads=(8, 2))
    builder.append("conv2d", (2, 2, 3), (0, 2.25), RELU, (3, 2, 1))
    builder.append("average_pool", (1, 1, 3), window=(2, 2, 0))
    builder.append("fully_connected", (1, 1, 3), (-0.375, 0.4375))
    return builder.network(rounding)


def in_float32(network: Network) -> Network:
    """Return the same network in float32, with the real numbers that its weights stand for."""
    layers = [replace(layer, format="float32", weights=layer.real_weights) for layer in network.layers]
    return replace(network, layers=layers)


def text_samples(network: Network) -> tuple[np.ndarray, list[int]]:
    """Return the samples 0 and 1."""
    count = int(np.prod(network.in_shape))
    images = [[(31 * i + 17 * b + 5) % 256 for i in range(count)] for b in (0, 1)]
    return np.array(images, np.uint8).reshape(2, *network.in_shape), [0, 1]


def floats(hexes: str) -> list[np.float32]:
    """Return the binary32 numbers of bit patterns."""
    return [np.uint32(int(one, 16)).view(np.float32) for one in hexes.split()]


def hexed(values: Sequence[np.float32]) -> str:
    """Return bit patterns of binary32 numbers as the text writes them."""
    return " ".join(f"{int(np.float32(value).view(np.uint32)):08X}" for value in values)


def digest(values: Sequence, type: str) -> str:
    """Return XXH32 of numbers of a type as the text writes it."""
    return f"{xxhash.xxh32_intdigest(np.array(values, type).tobytes()):08X}"


def value_digests(network: Network, values: Sequence[Sequence]) -> str:
    """Return the digests of the values 0..n, each in its format."""
    formats = [network.layers[0].format, *(layer.format for layer in network.layers)]
    types = ["<f4" if one == "float32" else "<i1" for one in formats]
    return " ".join(digest(value, type) for value, type in zip(values, types, strict=True))
