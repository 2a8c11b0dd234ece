"""Small float graphs of drawn layers: odd sizes, windows that differ by axis, strides up to 3, padding on few sides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hil.training.graph.formats import POOLS, WEIGHTED, Op, Shape
from hil.training.graph.node import Float32Parameters
from hil.training.networks.floating import FloatGraph, FloatLayer

Axis = tuple[int, int, int, int]  # kernel, stride, padding before, positions of the output
LARGEST_KERNEL, LARGEST_STRIDE = 5, 3
SPREAD_OF_BIASES = 0.3
BLOCKS = 4


@dataclass(frozen=True, eq=False)
class DrawnLayer(FloatLayer):
    """A layer whose window has strides, padding and positions of its own on each axis.

    Attributes:
        rows, columns: of the window.
    """

    rows: Axis = (0, 0, 0, 0)
    columns: Axis = (0, 0, 0, 0)

    @property
    def window(self) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        """Kernel, stride and padding of both axes."""
        (k_h, s_h, p_h, _), (k_w, s_w, p_w, _) = self.rows, self.columns
        return (k_h, k_w), (s_h, s_w), (p_h, p_w)

    def out_shape(self, shape: Shape) -> Shape:
        """Return the output's height, width and channels for those of the input."""
        if not self.rows[0]:
            return super().out_shape(shape)
        outputs = shape[2] if self.own is None or self.op is Op.DEPTHWISE else len(self.own.weights)
        return self.rows[3], self.columns[3], outputs


@dataclass(frozen=True)
class Layer:
    """A layer of a plan; what it leaves open is drawn.

    Attributes:
        op: the operation.
        outputs: channels; 0: drawn, or those of the input.
        rows, columns: (kernel, stride, padding, positions) of a window; 0 positions: as many as TFLite's SAME has;
            None: drawn.
        activation: one of `hil.training.networks.floating.LIMITS`.
        back: of an add and a multiply, how many layers back its first value is.
        apart: the windows lie beside each other and inside the image, so that errors pass a pool.
        bias: added to the biases; far below 0, a ReLU or a gate is 0 and passes no error.
        gain: of the weights, to spread the outputs.
    """

    op: Op
    outputs: int = 0
    rows: Axis | None = None
    columns: Axis | None = None
    activation: str = "none"
    back: int = 0
    apart: bool = False
    bias: float = 0.0
    gain: float = 1.0


def drawn_graph(name: str, seed: int, in_shape: Shape, classes: int, plan: Sequence[Layer], black: int) -> FloatGraph:
    """Return a graph of the layers of a plan, then a fully connected one, all drawn from `seed` by NumPy's PCG64.

    Args:
        name, seed, in_shape, classes: of the graph.
        plan: its layers but the last; each reads the one before.
        black: the byte of a sample that stands for 0.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    graph = FloatGraph(name, (), in_shape, classes, black)
    for layer in (*plan, Layer(Op.FULLY_CONNECTED, classes)):
        graph = replace(graph, layers=(*graph.layers, _drawn(layer, graph, rng)))
    return graph


def _drawn(layer: Layer, graph: FloatGraph, rng: np.random.Generator) -> FloatLayer:
    value = len(graph.layers)
    shape = graph.shapes()[value]
    reads = (value - layer.back, value) if layer.back else (value,)
    if layer.op not in WEIGHTED and layer.op not in POOLS:
        return FloatLayer(layer.op, reads, activation=layer.activation)
    rows, columns = (
        _axis(size, layer.op, layer.apart, rng) if axis is None else _whole(axis, size)
        for axis, size in zip((layer.rows, layer.columns), shape[:2], strict=True)
    )
    if layer.op in POOLS:
        return DrawnLayer(layer.op, reads, kernel=(rows[0], columns[0]), rows=rows, columns=columns)
    outputs = layer.outputs or int(rng.integers(2, 6))
    area = (rows[0], columns[0])
    weights: tuple[int, ...] = (outputs, *area, shape[2])
    if layer.op is Op.FULLY_CONNECTED:
        weights = (outputs, math.prod(shape))
    elif layer.op is Op.DEPTHWISE:
        weights, outputs = (*area, shape[2]), shape[2]
    fan_in = math.prod(weights) // outputs
    own = Float32Parameters(
        (layer.gain * rng.normal(0.0, math.sqrt(2 / fan_in), weights)).astype(np.float32),
        rng.normal(layer.bias, SPREAD_OF_BIASES, outputs).astype(np.float32),
    )
    drawn = DrawnLayer(layer.op, reads, own, activation=layer.activation, block=value % BLOCKS + 1)
    if layer.op is Op.FULLY_CONNECTED:
        return drawn
    return replace(drawn, kernel=area, rows=rows, columns=columns)


def _whole(axis: Axis, size: int) -> Axis:
    kernel, stride, padding, positions = axis
    return kernel, stride, padding, positions or -(-size // stride)


def _axis(size: int, op: Op, apart: bool, rng: np.random.Generator) -> Axis:
    """Draw the window on an axis; the first and the last have a position inside the image."""
    if op is Op.FULLY_CONNECTED:
        return 0, 0, 0, 0
    if op is Op.POINTWISE:
        return 1, 1, 0, size
    kernel = int(rng.integers(1, min(LARGEST_KERNEL, size) + 1))
    if apart:
        stride = kernel + int(rng.integers(2))
        return kernel, stride, 0, (size - kernel) // stride + 1
    stride, padding = int(rng.integers(1, LARGEST_STRIDE + 1)), int(rng.integers(kernel))
    most = (size + padding - 1) // stride + 1
    inside = max(1, (size + padding - kernel) // stride + 1)
    return kernel, stride, padding, int(rng.integers(inside, most + 1))
