"""A layer graph in floats: what is pre-trained or drawn, before it is quantized (hil/training/networks/quantize.py)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hil.training.graph.formats import Op, Shape
from hil.training.graph.node import Float32Parameters

LIMITS = {"none": (-np.inf, np.inf), "relu": (0.0, np.inf), "relu6": (0.0, 6.0), "hard_sigmoid": (0.0, 1.0)}
"""The limits of the activations. A hard sigmoid is `clamp(x / 6 + 1 / 2, 0, 1)`: its layer's weights are already
divided by 6, and its biases are b / 6 + 1 / 2 (docs/arithmetic-affine8.md, section 3)."""


@dataclass(frozen=True, eq=False)
class FloatLayer:
    """One layer; padding is the same on all sides, as PyTorch has it.

    Attributes:
        op: the operation.
        reads: 0 is the network's input, v the output of layer v - 1; two for an add and a multiply.
        own: weights [out, kh, kw, in] (conv2d, pointwise), [kh, kw, c] (depthwise) or [out, in] (fully_connected, HWC),
            and bias [out]; None of an operation without.
        kernel, stride, pad: of the windows; (0, 0), 0 and 0 where there are none.
        activation: one of `LIMITS`.
        block: of sparse training, 1..4; 0 without weights.
    """

    op: Op
    reads: tuple[int, ...]
    own: Float32Parameters | None = None
    kernel: tuple[int, int] = (0, 0)
    stride: int = 0
    pad: int = 0
    activation: str = "none"
    block: int = 0

    @property
    def window(self) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        """Kernel, stride and padding of both axes."""
        return self.kernel, (self.stride, self.stride), (self.pad, self.pad)

    def out_shape(self, shape: Shape) -> Shape:
        """Return the output's height, width and channels for those of the input."""
        height, width, channels = shape
        if self.own is not None and self.op is not Op.DEPTHWISE:
            channels = len(self.own.weights)
        if self.op is Op.FULLY_CONNECTED:
            return 1, 1, channels
        if self.op in (Op.ADD, Op.HARD_SWISH, Op.MULTIPLY):
            return shape
        kh, kw = self.kernel
        over, across = height + 2 * self.pad - kh, width + 2 * self.pad - kw
        return over // self.stride + 1, across // self.stride + 1, channels


@dataclass(frozen=True, eq=False)
class FloatGraph:
    """Layers in the order in which they run; the last is fully_connected and gives the logits.

    Attributes:
        name, layers, in_shape, classes: of the network.
        black, unit: a byte p of a sample stands for (p - black) / unit.
    """

    name: str
    layers: tuple[FloatLayer, ...]
    in_shape: Shape
    classes: int
    black: int = 0
    unit: float = 255

    @property
    def of_input(self) -> tuple[float, int]:
        """Scale, a binary32 number, and zero point of the input in a network file."""
        return float(np.float32(1 / self.unit)), self.black - 128

    def shapes(self) -> list[Shape]:
        """Return the shape of every value, the input first."""
        shapes = [self.in_shape]
        for layer in self.layers:
            shapes.append(layer.out_shape(shapes[layer.reads[0]]))
        return shapes

    def values(self, images: np.ndarray) -> list[np.ndarray]:
        """Return all values of a forward pass, float64 [n, h, w, c], of uint8 images [n, h, w, c].

        The last bits of sums depend on the processor. Those of a result that is rounded to float32 practically do not.
        """
        values = [(images.astype(np.float64) - self.black) / self.unit]
        for layer, shape in zip(self.layers, self.shapes()[1:], strict=True):
            out = _run(layer, [values[value] for value in layer.reads], shape)
            values.append(np.clip(out, *LIMITS[layer.activation]))
        return values


def _run(layer: FloatLayer, reads: list[np.ndarray], shape: Shape) -> np.ndarray:
    x = reads[0]
    out: np.ndarray
    if layer.own is not None:
        out = _weighted(layer, layer.own, x, shape)
    elif layer.op is Op.ADD:
        out = x + reads[1]
    elif layer.op is Op.MULTIPLY:
        out = x * reads[1]
    elif layer.op is Op.HARD_SWISH:
        out = x * np.clip(x + 3, 0, 6) / 6
    elif layer.op is Op.MAX_POOL:
        out = _over_taps(layer, x, shape, -np.inf, lambda out, tap, _: np.maximum(out, tap))
    else:
        total, ones = (
            _over_taps(layer, array, shape, 0.0, lambda out, tap, _: out + tap) for array in (x, np.ones_like(x[:1]))
        )
        out = total / ones
    return out


def _weighted(layer: FloatLayer, own: Float32Parameters, x: np.ndarray, shape: Shape) -> np.ndarray:
    weights = own.weights
    sums: np.ndarray
    if layer.op is Op.FULLY_CONNECTED:
        sums = (x.reshape(len(x), -1) @ weights.T).reshape(len(x), *shape)
    elif layer.op is Op.DEPTHWISE:
        sums = _over_taps(layer, x, shape, 0.0, lambda out, tap, at: out + tap * weights[at])
    else:
        sums = _over_taps(layer, x, shape, 0.0, lambda out, tap, at: out + tap @ weights[:, at[0], at[1]].T)
    out: np.ndarray = sums + own.bias
    return out


Tap = Callable[[np.ndarray, np.ndarray, tuple[int, int]], np.ndarray]


def _over_taps(layer: FloatLayer, x: np.ndarray, shape: Shape, outside: float, with_tap: Tap) -> np.ndarray:
    """Fold `with_tap` over the taps of the windows; what lies in the padding is `outside`."""
    kernel, (down, across), (above, left) = layer.window
    below, right = ((n - 1) * step + k for n, step, k in zip(shape[:2], (down, across), kernel, strict=True))
    sides = (above, max(0, below - above - x.shape[1])), (left, max(0, right - left - x.shape[2]))
    padded = np.pad(x, ((0, 0), *sides, (0, 0)), constant_values=outside)
    out = np.full((len(x), *shape), outside)
    for ky in range(kernel[0]):
        for kx in range(kernel[1]):
            tap = padded[:, ky : ky + down * shape[0] : down, kx : kx + across * shape[1] : across]
            out = with_tap(out, tap[:, : shape[0], : shape[1]], (ky, kx))
    return out
