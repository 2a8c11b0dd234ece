"""Small random networks in affine8, float32 and both, made from real numbers: docs/arithmetic-affine8.md, section 9.

They have every operation, residual adds, and squeeze-and-excite blocks: average_pool, two pointwise layers, multiply.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from hil.training.graph.graph import Graph
from reference import affine8_double
from reference.drawn_graphs import drawn_graph
from tests.oracle.affine8 import forward
from tests.oracle.affine8_network import POOLS, WEIGHTED, Layer, Network, Shape
from tests.oracle.affine8_numbers import params, quantize
from tests.oracle.numbers import F32

from .oracle_affine8_networks import HARD_SIGMOID, NONE, RELU, RELU6, weight_count

CALIBRATION = 8  # images
BLOCKS = ("conv2d", "depthwise", "pointwise", "hard_swish", "pool", "residual", "squeeze", "twice")

Window = tuple[tuple[int, int], tuple[int, int], tuple[int, int]]  # kernel, stride, padding
NO_WINDOW: Window = ((0, 0), (0, 0), (0, 0))
POINT: Window = ((1, 1), (1, 1), (0, 0))


@dataclass
class Drawn:
    """A network that grows layer by layer, with the real values of some images."""

    rng: np.random.Generator
    in_shape: Shape
    format: str = "affine8"
    rounding: str = "nearest"
    layers: list[Layer] = field(default_factory=list)
    tflite: Graph | None = None

    def __post_init__(self) -> None:
        self.s, self.z = F32(self.rng.uniform(0.003, 0.02)), int(self.rng.integers(-128, 0))
        pixels = self.rng.integers(0, 256, (CALIBRATION, int(np.prod(self.in_shape)))).tolist()
        self.values = [[[float(self.s) * (p - 128 - self.z) for p in image] for image in pixels]]

    @property
    def network(self) -> Network:
        """The network so far."""
        return Network(self.layers, self.in_shape, self.s, self.z, self.rounding, self.tflite)

    @property
    def last(self) -> int:
        """The last value."""
        return len(self.layers)

    def shape(self, value: int) -> Shape:
        """Return the shape of a value."""
        return self.in_shape if value == 0 else self.layers[value - 1].out_shape

    def append(
        self,
        op: str,
        channels: int = 0,
        window: Window = NO_WINDOW,
        limits: tuple[float, float] = NONE,
        reads: tuple[int, ...] | None = None,
    ) -> None:
        """Append a layer; `window` is kernel, stride and padding of both axes; 0 channels: those of the input."""
        reads = (self.last,) if reads is None else reads
        in_shape = self.shape(reads[0])
        kernel, stride, pad = window
        height, width = in_shape[:2]
        if op == "fully_connected":
            height, width = 1, 1
        elif stride != (0, 0):
            axes = zip((height, width), *window, strict=True)
            height, width = (min((n + p - 1) // s, (n + 2 * p - k) // s) + 1 for n, k, s, p in axes)
        out_shape = height, width, channels or in_shape[2]
        layer = Layer(op, reads, in_shape, out_shape, kernel, stride, pad, self.format, *limits)
        if op in WEIGHTED:
            self._parameters(layer)
        self.layers.append(layer)
        inputs = [self.values[value] for value in reads]
        own = affine8_double.weights_of(self.network).get(self.last - 1, ([], []))
        self.values.append([affine8_double.run(layer, own, list(image)) for image in zip(*inputs, strict=True)])
        if self.format == "affine8" and op not in POOLS:
            self._range(layer)

    def _parameters(self, layer: Layer) -> None:
        count, outputs = weight_count(layer), layer.channels
        real = self.rng.normal(0, (1.5 * outputs / count) ** 0.5, count).astype(np.float32)
        middle = {HARD_SIGMOID: 0.5, NONE: 0.0}.get((layer.act_min, layer.act_max), 0.3)  # few channels are always 0
        layer.bias = list(self.rng.normal(middle, 0.15, outputs).astype(np.float32))
        if self.format == "float32":
            layer.weights = list(real)
            return
        layer.s_w, j, layer.z_w = params(min(F32(0), *real), max(F32(0), *real), "nearest")
        layer.weights = [quantize(w, j, layer.z_w, "nearest") for w in real]

    def _range(self, layer: Layer) -> None:
        seen = [v for image in self.values[-1] for v in image]
        low, high = max(min(0.0, *seen), layer.act_min), min(max(0.0, *seen), layer.act_max)
        scales = [self.network.scale(value)[0] for value in layer.reads]
        unit = {"multiply": scales[0] * scales[-1], "add": max(scales) * F32(2.0**-14), "hard_swish": F32(0)}
        least = max(F32(255) * unit.get(layer.op, scales[0] * layer.s_w), F32(2.0**-20))
        layer.low, layer.high = F32(low), F32(high)
        if layer.high - layer.low < least:
            layer.high = layer.low + least

    def block(self, kind: str) -> None:
        """Append a block that reads the last value only."""
        rng, first = self.rng, self.last
        height, width, channels = self.shape(first)
        limits = (NONE, RELU, RELU6)[rng.integers(3)]
        more = int(rng.integers(2, 5))
        if kind in ("conv2d", "depthwise"):
            kernel = min(3, height), min(3, width)
            stride = int(rng.integers(1, 3)), int(rng.integers(1, 4))
            pad = int(rng.integers(0, kernel[0])), int(rng.integers(0, kernel[1]))
            self.append(kind, more if kind == "conv2d" else 0, (kernel, stride, pad), limits)
        elif kind == "pointwise":
            self.append(kind, more, POINT, limits)
        elif kind == "hard_swish":
            self.append(kind)
        elif kind == "pool" and height >= 2 and width >= 2:
            self.append(POOLS[rng.integers(2)], 0, ((2, 2), (2, int(rng.integers(2, 4))), (0, 0)))
        elif kind == "residual":
            self.append("pointwise", more, POINT, limits)
            kernel = 3 if height >= 3 else 1, 3 if width >= 3 else 1
            self.append("depthwise", 0, (kernel, (1, 1), (kernel[0] // 2, kernel[1] // 2)), RELU)
            self.append("pointwise", channels, POINT)
            self.append("add", reads=(self.last, first) if rng.integers(2) else (first, self.last), limits=limits)
        elif kind == "squeeze":
            self.append("average_pool", 0, ((height, width), (1, 1), (0, 0)))
            self.append("pointwise", more, POINT, RELU)
            self.append("pointwise", channels, POINT, HARD_SIGMOID)
            self.append("multiply", reads=(first, self.last))
        elif kind == "twice":
            self.append("multiply" if height == width == 1 else "add", reads=(first, first))


def behind_tflite8(rng: np.random.Generator) -> Drawn:
    """Return the layers in `tflite8` of a random graph, all but the last, for others to read."""
    graph = drawn_graph(rng, apart=True)
    while len(graph.layers) == 1:
        graph = drawn_graph(rng, apart=True)
    graph = replace(graph, layers=graph.layers[:-1], scale=float(np.float32(graph.scale)))
    drawn = Drawn(rng, graph.in_shape, rounding=str(rng.choice(["nearest", "floor"])))
    drawn.s, drawn.z, drawn.tflite = F32(graph.scale), graph.zero, graph
    drawn.layers = [
        Layer(node.op.name.lower(), node.reads, node.in_shape, node.out_shape, format="tflite8")
        for node in graph.layers
    ]
    pictures = rng.integers(0, 256, (CALIBRATION, *graph.in_shape)).astype(np.uint8)
    passes = [forward(drawn.network, picture) for picture in pictures]
    drawn.values = []
    for value in range(len(graph.layers) + 1):
        s, z = drawn.network.scale(value)
        drawn.values.append([[float(s) * (q - z) for q in values[value]] for values in passes])
    return drawn


def alive(drawn: Drawn) -> bool:
    """Return whether no value is the same everywhere: then its scale would be too small for the biases behind it."""
    return all(np.array(value).max() - np.array(value).min() > 0.05 for value in drawn.values)


def drawn_network(rng: np.random.Generator, format: str = "affine8", blocks: int = 4) -> Network:
    """Return a network of some blocks and a fully connected layer.

    Args:
        rng: what to draw from.
        format: of all layers; `mixed`: a cast at a random place, and float32 behind it; `behind`: that or
            affine8, and layers in tflite8 before them.
        blocks: at most so many.
    """
    drawn = _drawn(rng, format, blocks)
    while not alive(drawn):
        drawn = _drawn(rng, format, blocks)
    return drawn.network


def _drawn(rng: np.random.Generator, format: str, blocks: int) -> Drawn:
    if format == "behind":
        drawn = behind_tflite8(rng)
    else:
        in_shape = int(rng.integers(3, 7)), int(rng.integers(3, 7)), int(rng.integers(1, 4))
        rounding = "nearest" if rng.random() < 0.7 else "floor"
        drawn = Drawn(rng, in_shape, "affine8" if format == "mixed" else format, rounding)
    kinds = [BLOCKS[i] for i in rng.integers(len(BLOCKS), size=int(rng.integers(1, blocks + 1)))]
    cuts = {"mixed": (0, len(kinds) + 1), "behind": (-1, len(kinds) + 1)}  # -1: no cast
    cut = int(rng.integers(*cuts.get(format, (-1, 0))))
    for place, kind in enumerate([*kinds, "end"]):
        if place == cut:
            if drawn.last == 0 or drawn.layers[-1].format == "tflite8":
                drawn.block("conv2d")  # a cast reads affine8, and value 0 has the format of the first layer
            drawn.format = "float32"
            drawn.append("cast")
        if kind != "end":
            drawn.block(kind)
    if rng.random() < 0.5:
        drawn.append("fully_connected", int(rng.integers(3, 7)), limits=RELU)
    drawn.append("fully_connected", int(rng.integers(2, 5)))
    return drawn


def images(network: Network, count: int, rng: np.random.Generator) -> tuple[np.ndarray, list[int]]:
    """Return uint8 images and labels."""
    labels = rng.integers(0, network.layers[-1].channels, count)
    return rng.integers(0, 256, (count, *network.in_shape)).astype(np.uint8), labels.tolist()
