"""`fixed16` in NumPy, written from docs/arithmetic-fixed16.md and from nothing else.

Tensors have the batch as their last axis, [H, W, C, B]. Sums of products are exact in float64.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from hil.training.graph.formats import Op
from hil.training.graph.node import Node
from hil.training.reference.arith import INT32_MAX, INT32_MIN, bits, clip, psto_shift
from hil.training.reference.formats.bfp8 import arithmetic as bfp8
from hil.training.reference.formats.bfp8.loss import logits_error

ACTIVATION, ERROR = -12, -14  # exponents
LARGEST, LARGEST_WEIGHT = 32767, 32512
Z, U = 256, 64  # steps of a weight that z and u stand for


def rounded(x: np.ndarray, s: int) -> np.ndarray:
    """Return Round(x, s), int64."""
    x = x.astype(np.int64)
    return np.sign(x) * ((np.abs(x) + (1 << s - 1)) >> s)


def narrowed(logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the logits int16 [B, classes] as int8, and their exponents (section 3)."""
    found, exponents = np.zeros(logits.shape, np.int8), np.full(len(logits), ACTIVATION)
    for sample, row in enumerate(logits.astype(np.int64)):
        t = max(bits(int(np.abs(row).max())) - 7, 0)
        found[sample] = clip(rounded(row, t), 127) if t else row
        exponents[sample] += t
    return found, exponents


class NumpyArithmetic(bfp8.NumpyArithmetic):
    """What differs from `bfp8`."""

    def activations(self, weights: bfp8.Tensors, images: np.ndarray, together: bool) -> bfp8.Activations:
        """Return the input and the output of every layer."""
        pixels = images.reshape(len(images), -1).T.astype(np.int16)
        values = [(pixels * 16).reshape(*self.network.in_shape, -1)]
        for layer, own in zip(self.network.layers, self._of_layer(weights), strict=True):
            values.append(_forward(layer, own, values[-1]))
        return [(value, np.full(len(images), ACTIVATION)) for value in values]

    def gradients(self, weights: bfp8.Tensors, passed: bfp8.Pass, error: np.ndarray) -> dict[int, np.ndarray]:
        """Return G of the trained tensors from layer `kept_from` on, by index of the tensor."""
        activations, together, kept_from = passed.kept
        found, tensor, handed = {}, len(weights), self.logits_error(error)
        for index in range(len(self.network.layers) - 1, kept_from - 1, -1):
            layer = self.network.layers[index]
            if layer.weights is not None:
                tensor -= 1
                found[tensor] = _gradient(layer, handed[0], activations[index][0])
            if index > kept_from:
                handed = self.handed_on(index, weights, handed, activations, together)
        return found

    def error(self, logits: np.ndarray, exponents: np.ndarray, labels: np.ndarray, form: str) -> np.ndarray:
        """Return the error of the logits, int16 [B, classes]."""
        return logits_error(*narrowed(logits), labels, form).astype(np.int16) * 128

    def logits_error(self, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the error of the logits [B, classes] as that of the last layer's output, and its exponents."""
        return super().logits_error(error)[0], np.full(len(error), ERROR)

    def handed_on(
        self,
        index: int,
        weights: bfp8.Tensors,
        error: tuple[np.ndarray, np.ndarray],
        activations: bfp8.Activations,
        together: bool,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the error of a layer's input and its exponents, from those of its output."""
        layer, own = self.network.layers[index], self._of_layer(weights)[index]
        return _backward(layer, own, error[0], activations[index][0], activations[index + 1][0]), error[1]

    def moved(self, weights: np.ndarray, noise: np.ndarray, factor: int, limit: int) -> np.ndarray:
        """Return weights after a perturbation by `factor` * z."""
        return clip(clip(weights.astype(np.int64), Z * limit) + Z * factor * noise, LARGEST_WEIGHT).astype(np.int16)

    def zo_updated(self, weights: np.ndarray, noise: np.ndarray, sign: int, shift: int, limit: int) -> np.ndarray:
        """Return the weights of the minus pass after the update."""
        u = sign * noise.astype(np.int64) if shift < 1 else psto_shift(sign * noise.astype(np.int64), shift)
        rest = clip(weights.astype(np.int64) + Z * noise, Z * limit)
        return clip(rest - U * u, Z * limit).astype(np.int16)

    def bp_updated(self, weights: np.ndarray, gradient: np.ndarray, b_bp: int) -> np.ndarray:
        """Return weights after a step down their gradient."""
        largest = bits(int(np.abs(gradient).max()))
        if largest == 0:
            return weights
        s = largest - b_bp
        u = gradient if s < 1 else psto_shift(gradient, s)
        return clip(weights - U * u.reshape(weights.shape), LARGEST_WEIGHT).astype(np.int16)


def _forward(layer: Node, weights: np.ndarray | None, x: np.ndarray) -> np.ndarray:
    if layer.op is Op.RELU:
        return np.maximum(x, np.int16(0))
    if layer.op is Op.MAX_POOL:
        return reduce(np.maximum, _places(layer, x))
    assert weights is not None
    if layer.op is Op.FULLY_CONNECTED:
        sums = weights.astype(np.float64) @ x.reshape(-1, x.shape[-1])
    else:
        sums = np.einsum("oyxc,ijcbyx->ijob", weights.astype(np.float64), _windows(layer, x), optimize=True)
    return _output(layer, sums.reshape(*layer.out_shape, -1))


def _backward(layer: Node, weights: np.ndarray | None, error: np.ndarray, x: np.ndarray, out: np.ndarray) -> np.ndarray:
    if layer.op is Op.RELU:
        return error * (out > 0)
    if layer.op is Op.MAX_POOL:
        found, free = np.zeros_like(x), np.ones(out.shape, bool)
        for value, place in zip(_places(layer, x), _places(layer, found), strict=True):
            first = free & (value == out)
            place[...] = error * first
            free &= ~first
        return found
    assert weights is not None
    if layer.op is Op.FULLY_CONNECTED:
        sums = weights.T.astype(np.float64) @ error.reshape(-1, error.shape[-1])
        return _output(layer, sums.reshape(*layer.in_shape, -1))
    (pad, _), (height, width, _) = layer.pad, layer.in_shape
    padded = np.zeros((height + 2 * pad, width + 2 * pad, *x.shape[2:]))
    for dy, dx in np.ndindex(*layer.kernel):
        part = np.einsum("oc,ijob->ijcb", weights[:, dy, dx].astype(np.float64), error, optimize=True)
        padded[dy : dy + error.shape[0], dx : dx + error.shape[1]] += part
    return _output(layer, padded[pad : pad + height, pad : pad + width])


def _gradient(layer: Node, error: np.ndarray, x: np.ndarray) -> np.ndarray:
    total = np.zeros(layer.weight_count, np.int64)
    for sample in range(x.shape[-1]):
        e, its = error[..., sample].astype(np.float64), x[..., sample : sample + 1]
        convolves = layer.op is Op.CONV2D
        sums = np.einsum("ijo,ijcbyx->oyxc", e, _windows(layer, its)) if convolves else np.outer(e, its)
        total = np.clip(total + rounded(sums.reshape(-1), 12), INT32_MIN, INT32_MAX)
    return total


def _output(layer: Node, sums: np.ndarray) -> np.ndarray:
    return clip(rounded(sums, -layer.weight_exp), LARGEST).astype(np.int16)


def _windows(layer: Node, x: np.ndarray) -> np.ndarray:
    """Return what each position of a convolution sees, float64 [oh, ow, C, B, kh, kw]."""
    pads = ((layer.pad[0],) * 2,) * 2 + ((0, 0),) * 2
    return sliding_window_view(np.pad(x.astype(np.float64), pads), layer.kernel, axis=(0, 1))


def _places(layer: Node, x: np.ndarray) -> list[np.ndarray]:
    """Return what all pooling windows have at each of their places, in row-major order, as views [oh, ow, C, B]."""
    (k, _), (height, width, _) = layer.stride, layer.out_shape
    return [x[dy : height * k : k, dx : width * k : k] for dy in range(k) for dx in range(k)]
