"""Forward passes (docs/arithmetic-tflite.md, sections 2 to 4; add: docs/arithmetic-zeroth-order.md, section 1).

Zero points are subtracted where they stand; nothing is folded.

Tensors have any number of batch axes in front: [..., H, W, C].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from hil.training.graph.node import AddFactors
from hil.training.reference.formats.tflite8.rescale import Quantization, requantize, rescale


@dataclass(frozen=True)
class Window:
    """The windows of a convolution or a pooling: sizes are (height, width), `padding` lies above and left."""

    kernel: tuple[int, int]
    out: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)

    def span(self, axis: int) -> int:
        """Return how many positions of the padded image the windows cover along an axis."""
        return (self.out[axis] - 1) * self.stride[axis] + self.kernel[axis]


def windows(x: np.ndarray, window: Window, outside: int) -> np.ndarray:
    """Return what every window sees, [..., oh, ow, kh, kw, C], of x [..., H, W, C]; `outside` stands in the padding."""
    pads, size = window.padding, x.shape[-3:-1]
    inside = [(pads[axis], max(0, window.span(axis) - pads[axis] - size[axis])) for axis in (0, 1)]
    sides = [(0, 0)] * (x.ndim - 3) + [*inside, (0, 0)]
    padded = np.pad(x, sides, constant_values=outside)[..., : window.span(0), : window.span(1), :]
    seen = sliding_window_view(padded, window.kernel, axis=(-3, -2))  # [..., C, kh, kw]
    return np.moveaxis(seen[..., :: window.stride[0], :: window.stride[1], :, :, :], -3, -1)


def centred(x: np.ndarray, zero: int) -> np.ndarray:
    """Return q - z as int64."""
    return x.astype(np.int64) - zero


def conv2d(
    x: np.ndarray, weights: np.ndarray, bias: np.ndarray, window: Window, quantization: Quantization
) -> np.ndarray:
    """Run conv2d; pointwise is one with a 1 x 1 kernel.

    Args:
        x: int8 [..., H, W, C].
        weights: int8 [O, kh, kw, C].
        bias: int [O], not folded.
        window: its windows.
        quantization: of the layer.

    Returns:
        int8 [..., oh, ow, O].

    Raises:
        OverflowError: as `requantize`.
    """
    seen = windows(centred(x, quantization.input_zero), window, 0)
    acc = np.tensordot(seen, weights.astype(np.int64), axes=((-3, -2, -1), (1, 2, 3)))
    return requantize(acc + bias, quantization)


def depthwise(
    x: np.ndarray, weights: np.ndarray, bias: np.ndarray, window: Window, quantization: Quantization
) -> np.ndarray:
    """Run a depthwise convolution of multiplier 1: weights int8 [kh, kw, C]; the rest as of `conv2d`, with O = C."""
    seen = windows(centred(x, quantization.input_zero), window, 0)
    acc = (seen * weights.astype(np.int64)).sum(axis=(-3, -2))
    return requantize(acc + bias, quantization)


def fully_connected(x: np.ndarray, weights: np.ndarray, bias: np.ndarray, quantization: Quantization) -> np.ndarray:
    """Return int8 [..., O] of x int8 [..., I], weights int8 [O, I] and bias int [O].

    Raises:
        OverflowError: as `requantize`.
    """
    return requantize(centred(x, quantization.input_zero) @ weights.astype(np.int64).T + bias, quantization)


def max_pool(x: np.ndarray, window: Window, act_min: int, act_max: int) -> np.ndarray:
    """Return the largest of every window, held in act_min..act_max: int8 [..., oh, ow, C] of [..., H, W, C]."""
    seen = windows(x.astype(np.int64), window, -129)  # less than any value: the padding never wins
    return np.clip(seen.max(axis=(-3, -2)), act_min, act_max).astype(np.int8)


def average_pool(x: np.ndarray, window: Window, act_min: int, act_max: int) -> np.ndarray:
    """Return the mean of what every window has inside the image, half away from zero; shapes as of `max_pool`."""
    total = windows(x.astype(np.int64), window, 0).sum(axis=(-3, -2))
    count = windows(np.ones((*x.shape[-3:-1], 1), np.int64), window, 0).sum(axis=(-3, -2))
    mean = np.sign(total) * ((np.abs(total) + count // 2) // count)
    return np.clip(mean, act_min, act_max).astype(np.int8)


def mean(x: np.ndarray, quantization: Quantization) -> np.ndarray:
    """Return the rescaled sum of every channel: int8 [..., 1, 1, C] of [..., H, W, C]."""
    return requantize(centred(x, quantization.input_zero).sum(axis=(-3, -2), keepdims=True), quantization)


def add(a: np.ndarray, b: np.ndarray, a_zero: int, b_zero: int, factors: AddFactors, last: Quantization) -> np.ndarray:
    """Return the sum of two tensors of one shape.

    Args:
        a, b: int8 [...].
        a_zero, b_zero: their zero points.
        factors: multipliers and shifts.
        last: zero point, limits and rounding of the output; its multiplier and shift are those of `factors`.

    Returns:
        int8 [...].
    """
    raised = [
        rescale(centred(x, zero) << 20, np.asarray(multiplier), np.asarray(shift), last.rounding)
        for x, zero, multiplier, shift in zip(
            (a, b), (a_zero, b_zero), factors.multipliers, factors.shifts, strict=False
        )
    ]
    return requantize(raised[0] + raised[1], last)
