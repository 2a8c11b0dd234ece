"""Layers with int16 weights (docs/arithmetic-w16a8.md, section 2), many samples at a time.

Values as in `tflite8.fast`: float32 [N, 1, H, W, C] less their zero point. Sums run through BLAS in float64, which is
exact: all partial sums are integers below 2^53. They are rescaled in int64.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Quantized, W16A8Parameters
from hil.training.graph.w16a8_contents import needs_saturating_shift
from hil.training.reference.arith import INT32_MAX, INT32_MIN
from hil.training.reference.formats.tflite8.fast import FastLayer


def rescale(acc: np.ndarray, multiplier: int, shift: int) -> np.ndarray:
    """Return floor((a * M + 2^(30 - shift)) / 2^(31 - shift)) of int64 sums in int32; shift is -31..0."""
    scaled: np.ndarray = acc * multiplier
    scaled += 1 << (30 - shift)
    scaled >>= 31 - shift
    return scaled


class W16A8Layer(FastLayer):
    """One layer of a graph in `w16a8`, ready to run."""

    def __init__(self, graph: Graph, layer: Quantized) -> None:
        super().__init__(graph, layer)
        self._scaling = None
        if isinstance(layer.own, W16A8Parameters):
            self._factor = layer.own.multiplier, layer.own.shift
            self._saturates = needs_saturating_shift(layer.taps, layer.own.largest, self.zeros[0])

    def float_type(self, weights: np.ndarray, bias: np.ndarray) -> type[np.float64]:
        """As `FastLayer`; no sum of int16 weights that a graph may have leaves it."""
        return np.float64

    def patches(self, x: np.ndarray) -> np.ndarray:
        """Return what the taps of every output position see, float64 [N, 1, positions, taps]."""
        if self.layer.op is not Op.CONV2D:
            return super().patches(x)
        padded = self._padded(x, 0).astype(np.float64)
        batch, _, _, width, channels = padded.shape
        (kernel_h, kernel_w), (down, across), (out_h, out_w, _) = (
            self.layer.kernel,
            self.layer.stride,
            self.layer.out_shape,
        )
        rows = padded.reshape(batch, -1, width * channels)  # the taps of a window's row are next to each other
        seen = sliding_window_view(rows, (kernel_h, kernel_w * channels), axis=(1, 2))
        seen = seen[:, ::down, :: across * channels]
        return seen.reshape(batch, 1, out_h * out_w, -1)

    def scaled(self, acc: np.ndarray, channels: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return outputs less their zero point, float32, of exact sums in float64, which are overwritten."""
        if self._saturates:
            np.clip(acc, INT32_MIN, INT32_MAX, out=acc)
        out = rescale(acc.astype(np.int64), *self._factor)
        return np.clip(out, self.low, self.high, out=out).astype(np.float32)
