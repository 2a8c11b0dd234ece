"""Float graphs with drawn weights, layer after layer, and images to calibrate them with.

They are for shapes without pre-trained weights.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from hil.training.graph.formats import Op, Shape
from hil.training.graph.node import Float32Parameters
from hil.training.networks.floating import FloatGraph, FloatLayer

CALIBRATION = 1  # second word of the seed of the images; weights have the seed alone
COARSE = (1, 4, 16)  # an image is detail upon areas upon large areas: sides of their squares


class Drawing:
    """A graph under construction: every layer reads the value before it.

    Weights are normal with variance 2 / fan-in where the input has been rectified (He et al., 2015, equation 10) and 1
    / fan-in elsewhere, by NumPy's PCG64 from the seed; biases are 0.
    """

    def __init__(self, name: str, in_shape: Shape, classes: int, seed: int, black: int = 0, unit: float = 255) -> None:
        self.graph = FloatGraph(name, (), in_shape, classes, black, unit)
        self.block = 1
        self._rng = np.random.Generator(np.random.PCG64(seed))
        self._shapes = [in_shape]

    @property
    def value(self) -> int:
        """The value that the next layer reads."""
        return len(self.graph.layers)

    @property
    def shape(self) -> Shape:
        """Its height, width and channels."""
        return self._shapes[-1]

    def conv(self, kernel: int, stride: int, pad: int, outputs: int, activation: str) -> None:
        """Append a conv2d; on a series (an image of width 1) its window is `kernel` x 1, without padding."""
        window, pad = self._window(kernel, pad)
        weights = self._draw((outputs, *window, self.shape[2]), math.prod(window) * self.shape[2])
        self._append(Op.CONV2D, weights, window, stride, pad, activation)

    def depthwise(self, kernel: int, stride: int, activation: str) -> None:
        """Append a depthwise convolution with padding kernel // 2; on a series as `conv`."""
        window, pad = self._window(kernel, kernel // 2)
        weights = self._draw((*window, self.shape[2]), math.prod(window))
        self._append(Op.DEPTHWISE, weights, window, stride, pad, activation)

    def _window(self, kernel: int, pad: int) -> tuple[tuple[int, int], int]:
        """Return the window and its padding.

        A file has one padding for both axes, and it is smaller than the window: a window of width 1 has none.
        """
        return ((kernel, 1), 0) if self.shape[1] == 1 else ((kernel, kernel), pad)

    def pointwise(self, outputs: int, activation: str) -> None:
        """Append a pointwise convolution."""
        self._append(Op.POINTWISE, self._draw((outputs, 1, 1, self.shape[2]), self.shape[2]), (1, 1), 1, 0, activation)

    def bottleneck(self, kernel: int, stride: int, expanded: int, outputs: int, residual: bool) -> None:
        """Append an inverted bottleneck (Sandler et al., 2018): pointwise, depthwise, linear pointwise, add."""
        read = self.value
        self.pointwise(expanded, "relu6")
        self.depthwise(kernel, stride, "relu6")
        self.pointwise(outputs, "none")
        if residual:
            self.add(read)

    def hard_swish(self) -> None:
        """Append a hard_swish."""
        self._push(FloatLayer(Op.HARD_SWISH, (self.value,)))

    def squeeze_excite(self, squeezed: int) -> None:
        """Append squeeze-and-excite (Hu et al., 2018) as in MobileNetV3: mean, pointwise, pointwise, multiply."""
        read, channels = self.value, self.shape[2]
        self.mean()
        self.pointwise(squeezed, "relu")
        self.pointwise(channels, "hard_sigmoid")
        self._push(FloatLayer(Op.MULTIPLY, (read, self.value)))

    def add(self, read: int) -> None:
        """Append an add of the last value and `read`."""
        self._push(FloatLayer(Op.ADD, (self.value, read)))

    def max_pool(self, kernel: int) -> None:
        """Append a max_pool whose windows do not overlap."""
        self._push(FloatLayer(Op.MAX_POOL, (self.value,), kernel=(kernel, kernel), stride=kernel))

    def mean(self) -> None:
        """Append an average_pool over the whole image."""
        self._push(FloatLayer(Op.AVERAGE_POOL, (self.value,), kernel=self.shape[:2], stride=1))

    def fully_connected(self, outputs: int, activation: str = "none") -> None:
        """Append a fully connected layer."""
        inputs = math.prod(self.shape)
        self._append(Op.FULLY_CONNECTED, self._draw((outputs, inputs), inputs), (0, 0), 0, 0, activation)

    def _draw(self, shape: tuple[int, ...], fan_in: int) -> np.ndarray:
        last = self.graph.layers[-1] if self.graph.layers else None
        rectified = last is not None and (last.activation != "none" or last.op is Op.HARD_SWISH)
        return self._rng.normal(0.0, math.sqrt((2 if rectified else 1) / fan_in), shape).astype(np.float32)

    def _append(
        self, op: Op, weights: np.ndarray, kernel: tuple[int, int], stride: int, pad: int, activation: str
    ) -> None:
        channels = weights.shape[2] if op is Op.DEPTHWISE else len(weights)
        bias = np.zeros(channels, np.float32)
        if activation == "hard_sigmoid":  # of weights and biases as drawn: x / 6 + 1 / 2
            weights, bias = weights / np.float32(6), bias + np.float32(0.5)
        own = Float32Parameters(weights, bias)
        self._push(FloatLayer(op, (self.value,), own, kernel, stride, pad, activation, self.block))

    def _push(self, layer: FloatLayer) -> None:
        self._shapes.append(layer.out_shape(self._shapes[layer.reads[0]]))
        self.graph = replace(self.graph, layers=(*self.graph.layers, layer))


def calibration_images(shape: Shape, seed: int, count: int = 8) -> np.ndarray:
    """Draw images to calibrate with, uint8 [count, ...]: squares of three sizes upon one another, black to white."""
    rng = np.random.Generator(np.random.PCG64([seed, CALIBRATION]))
    height, width, channels = shape
    total = np.zeros((count, *shape))
    for side in COARSE:
        field = rng.random((count, -(-height // side), -(-width // side), channels))
        total += field.repeat(side, 1).repeat(side, 2)[:, :height, :width]
    low, high = (limit(total, axis=(1, 2, 3), keepdims=True) for limit in (np.min, np.max))
    images: np.ndarray = np.rint((total - low) / (high - low) * 255).astype(np.uint8)
    return images
