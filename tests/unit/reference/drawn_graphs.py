"""Small random graphs in `tflite8`, built from the data classes: every operation, residual adds, all three activations.

Biases and multipliers are chosen so that a layer's outputs fill its range for random images, as a calibrated network's do: all channels live.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from hil.training.graph.formats import KIND, Op, Shape
from hil.training.graph.graph import Graph
from hil.training.graph.node import AddFactors, MeanFactor, Node, Table, Tflite8Node, Tflite8Parameters
from tests.oracle import tflite_graph as spec

SPREAD = 45  # standard deviation of a layer's outputs, in steps
WINDOWED = (Op.CONV2D, Op.DEPTHWISE, Op.MAX_POOL, Op.AVERAGE_POOL)


def factor_parts(factor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return multiplier int32 and shift int8 of positive real factors."""
    fraction, exponent = np.frexp(factor)
    multiplier = np.minimum(np.round(fraction * 2.0**31), 2.0**31 - 1)
    return multiplier.astype(np.int32), exponent.astype(np.int8)


@dataclass
class Builder:
    """A graph that grows layer by layer, with what its values are for a few random images."""

    rng: np.random.Generator
    in_shape: Shape
    rounding: str
    classes: int
    bits: int = 7
    layers: list[Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.values = [self.rng.integers(-128, 128, (6, *self.in_shape)).astype(np.int8)]

    @property
    def graph(self) -> Graph:
        """The graph so far."""
        return Graph("drawn", tuple(self.layers), self.in_shape, self.classes, 1 / 255, -128)

    @property
    def shape(self) -> Shape:
        """Of the last value."""
        height, width, channels = self.values[-1].shape[1:]
        return height, width, channels

    def append(self, op: Op, out_shape: Shape, kernel: tuple[int, int] = (0, 0), stride: int = 0, pad: int = 0) -> None:
        """Append a layer that reads the last value, with one stride and one padding for both axes."""
        self.append_window(op, out_shape, kernel, (stride, stride), (pad, pad))

    def append_window(
        self, op: Op, out_shape: Shape, kernel: tuple[int, int], stride: tuple[int, int], pad: tuple[int, int]
    ) -> None:
        """Append a layer that reads the last value."""
        if op in (Op.MAX_POOL, Op.AVERAGE_POOL):
            scale, zero = self.graph.scale_of(len(self.layers)), self.graph.zero_of(len(self.layers))
            low, high = -128, 127
        else:
            scale, (zero, low, high) = float(np.float32(self.rng.uniform(0.02, 0.06))), self._activation()
        read, own = len(self.layers), None
        plain = Tflite8Node(
            self._name(op), op, (read,), self.shape, out_shape, kernel, stride, pad, 0, low, high, scale, zero,
            rounding=self.rounding,
        )  # fmt: skip
        if op not in (Op.MAX_POOL, Op.AVERAGE_POOL):
            own = self._parameters(plain)
        self._add(plain, own)

    def append_add(self, other: int) -> None:
        """Append the sum of the last value and an earlier one."""
        scale, (zero, low, high) = float(np.float32(self.rng.uniform(0.02, 0.06))), self._activation()
        reads = (other, len(self.layers)) if self.rng.integers(2) else (len(self.layers), other)
        scales = [self.graph.scale_of(value) for value in reads]
        largest = 2 * max(scales)
        parts = [
            factor_parts(np.array(f)) for f in (scales[0] / largest, scales[1] / largest, largest / (2**20 * scale))
        ]
        factors = AddFactors(tuple(int(m) for m, _ in parts), tuple(int(s) for _, s in parts))
        layer = Tflite8Node(
            self._name(Op.ADD),
            Op.ADD,
            reads,
            self.shape,
            self.shape,
            act_min=low,
            act_max=high,
            scale=scale,
            zero=zero,
            factors=factors,
            rounding=self.rounding,
        )
        self._add(layer, None)

    def append_mean(self) -> None:
        """Append the mean of the last value over height and width, in a range that it fills."""
        scale, (zero, low, high) = float(np.float32(self.rng.uniform(0.5, 1) * self._last_scale)), self._activation()
        height, width, channels = self.shape
        multiplier, shift = factor_parts(np.array(self._last_scale / (scale * height * width)))
        halved = int(self.rng.integers(2))  # M may be below 2^30
        self._add(
            Tflite8Node(
                self._name(Op.MEAN), Op.MEAN, (len(self.layers),), self.shape, (1, 1, channels), act_min=low,
                act_max=high, scale=scale, zero=zero, factors=MeanFactor(int(multiplier) >> halved, int(shift) + halved),
                rounding=self.rounding,
            ),
            None,
        )  # fmt: skip

    def append_table(self) -> None:
        """Append a table of a smooth function of the last value, with another scale and zero point."""
        scale, zero = float(np.float32(self.rng.uniform(0.02, 0.06))), int(self.rng.integers(-20, 20))
        bent = np.arange(-128, 128) + self.rng.uniform(20, 50) * np.sin(np.arange(256) / self.rng.uniform(9, 40))
        table = np.clip(np.rint(bent), -128, 127).astype(np.int8)
        reads = (len(self.layers),)
        self._add(
            Tflite8Node(
                self._name(Op.TABLE),
                Op.TABLE,
                reads,
                self.shape,
                self.shape,
                scale=scale,
                zero=zero,
                factors=Table.holding(table),
            ),
            None,
        )

    @property
    def _last_scale(self) -> float:
        return self.graph.scale_of(len(self.layers))

    def _add(self, layer: Tflite8Node, own: Tflite8Parameters | None) -> None:
        block = 0 if own is None else int(self.rng.integers(1, 5))
        layer = replace(layer, own=own, block=block)
        self.layers.append(layer)
        weights = (None, None) if own is None else (own.weights, own.bias)
        self.values.append(spec.run(self.graph, layer, [self.values[v] for v in layer.reads], *weights))

    def _name(self, op: Op) -> str:
        return f"{KIND[op]}{1 + sum(layer.op is op for layer in self.layers)}"

    def _activation(self) -> tuple[int, int, int]:
        """Return zero point and limits: none, ReLU or ReLU6."""
        kind, zero = self.rng.integers(3), int(self.rng.integers(-128, 20))
        return zero, -128 if kind == 0 else zero, 127 if kind < 2 else min(127, zero + int(self.rng.integers(60, 160)))

    def _parameters(self, layer: Tflite8Node) -> Tflite8Parameters:
        """Draw weights, then biases and multipliers that fill the range of the output."""
        rng, outputs = self.rng, layer.out_shape[2]
        shape = {
            Op.DEPTHWISE: (*layer.kernel, outputs),
            Op.FULLY_CONNECTED: (outputs, layer.in_size),
        }.get(layer.op, (outputs, *layer.kernel, layer.in_shape[2]))
        largest = 2**self.bits - 1
        weights = rng.integers(-largest, largest + 1, shape).astype(np.int8)
        one = np.full(outputs, 2**30, np.int32), np.full(outputs, -31, np.int8)
        without_bias = Tflite8Parameters(weights, np.zeros(outputs, np.int32), *one, np.ones(outputs, np.float32))
        trial = replace(layer, own=without_bias)
        acc = sums(self.graph, trial, self.values[layer.reads[0]]).reshape(-1, outputs)
        mean, spread = acc.mean(axis=0), acc.std(axis=0) + 50
        bias = np.rint(spread * rng.uniform(-0.5, 0.8, outputs) - mean).astype(np.int32)
        factor = SPREAD / spread * rng.uniform(0.7, 1.4, outputs)
        scale = (factor * layer.scale / self.graph.scale_of(layer.reads[0])).astype(np.float32)
        return Tflite8Parameters(weights, bias, *factor_parts(factor), scale)


def sums(graph: Graph, layer: Tflite8Node, x: np.ndarray) -> np.ndarray:
    """Return acc of a layer with weights, int64 [B, oh, ow, O], by a product with all windows."""
    from tests.oracle.tflite_layers import centred, windows

    assert layer.own is not None
    weights, values = layer.own.weights.astype(np.int64), centred(x, graph.zero_of(layer.reads[0]))
    if layer.op is Op.FULLY_CONNECTED:
        return (values.reshape(len(x), -1) @ weights.T + layer.own.bias)[:, None, None, :]
    seen = windows(values, spec.window_of(layer), 0)
    if layer.op is Op.DEPTHWISE:
        return (seen * weights).sum(axis=(-3, -2)) + layer.own.bias
    return np.tensordot(seen, weights, axes=((-3, -2, -1), (1, 2, 3))) + layer.own.bias


def drawn_graph(
    rng: np.random.Generator, largest: int = 5, middle: int = 4, apart: bool = False, more: tuple[Op, ...] = ()
) -> Graph:
    """Return a graph of up to `middle` random layers and a last fully connected one.

    `apart`: windows of pools lie apart, inside the image. `more`: operations of `tflite8` alone that it may have.
    """
    size = [int(n) for n in rng.integers(2, largest + 1, 2)]
    builder = Builder(
        rng, (size[0], size[1], int(rng.integers(1, 4))), str(rng.choice(["double", "single"])), int(rng.integers(2, 5))
    )
    for _ in range(int(rng.integers(0, middle + 1))):
        builder.rounding = str(rng.choice(["double", "single"]))
        _append_one(builder, rng, apart, more)
    builder.append(Op.FULLY_CONNECTED, (1, 1, builder.classes))
    return builder.graph


def _append_one(builder: Builder, rng: np.random.Generator, apart: bool, more: tuple[Op, ...]) -> None:
    height, width, channels = builder.shape
    twins = [v for v, value in enumerate(builder.values) if value.shape == builder.values[-1].shape]
    if rng.random() < 0.35 and len(builder.layers):
        builder.append_add(int(rng.choice(twins)))
        return
    op = Op(int(rng.choice([1, 1, 4, 5, 5, 6, 6, 7, 2, *more])))
    outputs = int(rng.integers(1, 4)) if op in (Op.CONV2D, Op.POINTWISE, Op.FULLY_CONNECTED) else channels
    if op is Op.POINTWISE:
        builder.append(op, (height, width, outputs), (1, 1), 1)
    elif op is Op.FULLY_CONNECTED:
        builder.append(op, (1, 1, outputs))
    elif op is Op.MEAN:
        builder.append_mean()
    elif op is Op.TABLE:
        builder.append_table()
    else:
        whole = apart and op in (Op.MAX_POOL, Op.AVERAGE_POOL) and rng.random() < 0.3
        axes = [_axis(rng, size, apart and op in (Op.MAX_POOL, Op.AVERAGE_POOL), whole) for size in (height, width)]
        kernel, stride, pad, out = ((down, across) for down, across in zip(*axes, strict=True))
        builder.append_window(op, (*out, outputs), kernel, stride, pad)


def _axis(rng: np.random.Generator, size: int, apart: bool, whole: bool) -> tuple[int, int, int, int]:
    """Return kernel, stride, padding and output of an axis; `whole`: one window is all of it."""
    if whole:
        return size, int(rng.integers(1, 3)), 0, 1
    kernel = int(rng.integers(1, min(3, size) + 1))
    if apart:
        stride, pad = kernel + int(rng.integers(2)), 0
        return kernel, stride, pad, (size - kernel) // stride + 1
    stride, pad = int(rng.integers(1, 4)), int(rng.integers(0, kernel))
    most = (size + pad - 1) // stride + 1
    return (
        kernel,
        stride,
        pad,
        most if rng.random() < 0.5 else max(1, min(most, (size + 2 * pad - kernel) // stride + 1)),
    )


def many_readers(builder: Builder, side: int, channels: int) -> Graph:
    """Return a value with four readers: a depthwise layer and three adds, one of which reads another value twice; as many classes as channels."""
    builder.append(Op.CONV2D, (side, side, channels), (3, 3), 1, 1)
    builder.append(Op.DEPTHWISE, (side, side, channels), (3, 3), 1, 1)
    builder.append_add(1)
    builder.append(Op.POINTWISE, (side, side, channels), (1, 1), 1)
    builder.append_add(1)
    builder.append_add(1)
    builder.append_add(6)
    builder.append(Op.AVERAGE_POOL, (1, 1, channels), (side, side), 1)
    builder.append(Op.FULLY_CONNECTED, (1, 1, channels))
    return builder.graph


def images(graph: Graph, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return uint8 images and labels."""
    return rng.integers(0, 256, (count, *graph.in_shape)).astype(np.uint8), rng.integers(0, graph.classes, count)


def labelled(graph: Graph, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return two images and their labels, uint8, as a step of a reference takes them."""
    pictures, labels = images(graph, 2, rng)
    return pictures, labels.astype(np.uint8)
