"""Float graphs with drawn weights, layer after layer, and images to calibrate them with.

They are for shapes without pre-trained weights.
"""

from __future__ import annotations

import math

import numpy as np

from hil.graph.graph import Op, Shape
from hil.networks.floating import FloatGraph, FloatLayer

CALIBRATION = 1  # second word of the seed of the images; weights have the seed alone
COARSE = (1, 4, 16)  # an image is detail upon areas upon large areas: sides of their squares


class Drawing:
    """A graph under construction: every layer reads the value before it.

    Weights are normal with variance 2 / fan-in where the input has been rectified (He et al., 2015, equation 10) and 1
    / fan-in elsewhere, by NumPy's PCG64 from the seed; biases are 0.
    """

    def __init__(self, name: str, in_shape: Shape, classes: int, seed: int) -> None:
        self.graph = FloatGraph(name, (), in_shape, classes)
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
        """Append a conv2d."""
        weights = self._draw((outputs, kernel, kernel, self.shape[2]), kernel * kernel * self.shape[2])
        self._append(Op.CONV2D, weights, (kernel, kernel), stride, pad, activation)

    def depthwise(self, kernel: int, stride: int, activation: str) -> None:
        """Append a depthwise convolution with padding kernel // 2."""
        weights = self._draw((kernel, kernel, self.shape[2]), kernel * kernel)
        self._append(Op.DEPTHWISE, weights, (kernel, kernel), stride, kernel // 2, activation)

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
        rectified = bool(self.graph.layers) and self.graph.layers[-1].activation != "none"
        return self._rng.normal(0.0, math.sqrt((2 if rectified else 1) / fan_in), shape).astype(np.float32)

    def _append(
        self, op: Op, weights: np.ndarray, kernel: tuple[int, int], stride: int, pad: int, activation: str
    ) -> None:
        channels = weights.shape[2] if op is Op.DEPTHWISE else len(weights)
        bias = np.zeros(channels, np.float32)
        self._push(FloatLayer(op, (self.value,), weights, bias, kernel, stride, pad, activation, self.block))

    def _push(self, layer: FloatLayer) -> None:
        self._shapes.append(layer.out_shape(self._shapes[layer.reads[0]]))
        self.graph = FloatGraph(self.graph.name, (*self.graph.layers, layer), self.graph.in_shape, self.graph.classes)


def calibration_images(shape: Shape, seed: int, count: int = 8) -> np.ndarray:
    """Draw images to calibrate with, uint8 [count, ...]: squares of three sizes upon one another, black to white."""
    rng = np.random.Generator(np.random.PCG64([seed, CALIBRATION]))
    height, width, channels = shape
    total = np.zeros((count, *shape))
    for side in COARSE:
        field = rng.random((count, -(-height // side), -(-width // side), channels))
        total += field.repeat(side, 1).repeat(side, 2)[:, :height, :width]
    low, high = (limit(total, axis=(1, 2, 3), keepdims=True) for limit in (np.min, np.max))
    return np.rint((total - low) / (high - low) * 255).astype(np.uint8)
