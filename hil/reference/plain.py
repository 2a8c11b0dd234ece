"""One training step in loops over plain integers: docs/arithmetic.md read aloud, slow on purpose.

It shares no code with the vectorised reference, so that the two can be held against each other. Integers are Python's
own, without a width; only section 5 uses `numpy.float32` scalars, because its roundings are part of the specification.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, product

import numpy as np

from hil.network.graph import Layer, Network, Op
from hil.network.settings import Settings

F32 = np.float32
MASK32 = 0xFFFFFFFF
LOG2_E, SQRT2 = F32(float.fromhex("0x1.715476p+0")), F32(float.fromhex("0x1.6a09e6p+0"))
LN2_HIGH, LN2_LOW = F32(float.fromhex("0x1.62e400p-1")), F32(float.fromhex("0x1.7f7d1cp-20"))


@dataclass(frozen=True)
class Tensor:
    """Integers in flattened order with one exponent: each stands for `value * 2**exponent`."""

    values: list[int]
    exponent: int


Images, Labels = Sequence[np.ndarray], Sequence[int]
Gradients = dict[int, Tensor]  # by index of the trained tensor


def bits(m: int) -> int:
    """Return the bits of an unsigned m (section 1): 0 for 0, else floor(log2 m) + 1."""
    return len(f"{m:b}") if m else 0


def clip127(x: int) -> int:
    """Return x held in -127..127."""
    return min(max(x, -127), 127)


def trunc_shift(x: int, n: int) -> int:
    """Return x / 2**n rounded toward zero."""
    return abs(x) >> n if x >= 0 else -(abs(x) >> n)


def round_shift(x: int, s: int) -> int:
    """Return x / 2**s, half away from zero, clipped (section 2); s >= 1."""
    q = trunc_shift(x, s)
    return clip127(q + trunc_shift(x - q * 2**s, s - 1))


def psto_shift(x: int, s: int) -> int:
    """Return x / 2**s rounded pseudo-stochastically, clipped (section 2); s >= 0."""
    if s == 0:
        return clip127(x)
    q = trunc_shift(x, s)
    p = abs(x - q * 2**s)
    h = s // 2
    hi = p >> h
    lo = p - (hi << h)
    lo = 2 * lo if s % 2 else lo
    up = 1 if hi > lo else 0
    return clip127(q + up if x > 0 else q - up)


def exp32(x: np.float32) -> np.float32:
    """Return e**x in binary32 for x <= 0, rounded as section 5 says."""
    if x < F32(-87.0):
        return F32(0.0)
    k = np.rint(x * LOG2_E)
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    p = F32(1 / math.factorial(7))
    for i in (6, 5, 4, 3, 2, 1, 0):
        p = p * r + F32(1 / math.factorial(i))
    return p * F32(2.0 ** int(k))


def log32(x: np.float32) -> np.float32:
    """Return ln x in binary32 for normal x > 0, rounded as section 5 says."""
    half, exponent = math.frexp(float(x))
    m, k = F32(2 * half), exponent - 1
    if m > SQRT2:
        m, k = m / F32(2), k + 1
    f = (m - F32(1)) / (m + F32(1))
    q = f * f
    p = F32(1 / 9)
    for i in (3, 2, 1, 0):
        p = p * q + F32(1 / (2 * i + 1))
    return F32(k) * LN2_HIGH + ((F32(2) * f) * p + F32(k) * LN2_LOW)


def sample_loss(logits: Tensor, label: int) -> np.float32:
    """Return the cross-entropy of one sample (section 5)."""
    top, scale = max(logits.values), F32(2.0 ** min(max(logits.exponent, -60), 60))
    total = F32(0.0)
    for a in logits.values:
        total = total + exp32(F32(a - top) * scale)
    return log32(total) + F32(top - logits.values[label]) * scale


def logits_error(logits: Tensor, label: int) -> Tensor:
    """Return the error of the logits of one sample (section 6)."""
    a, s = logits.values, logits.exponent
    if s > -7:
        h = [(a_j * 47274) >> (15 - min(s, 8)) for a_j in a]
        v = [2 ** max(h_j - (max(h) - 10), 0) for h_j in h]
    else:
        n = min(max(-8 - s, 0), 8)
        s = max(s, -8)
        small = [trunc_shift(a_j, n) for a_j in a]
        v = [2 ** (1 - 2 * s) + a_j * 2 ** (1 - s) + a_j * a_j for a_j in small]
    total = sum(v)
    shares = [v_j * 2**11 // total for v_j in v]
    d = [share - (sum(shares) if j == label else 0) for j, share in enumerate(shares)]
    return Tensor([psto_shift(d_j, 4) for d_j in d], -7)


def taps(layer: Layer) -> Iterator[tuple[int, int, int]]:
    """Yield each product of a layer as (output, weight, input), indices into the flattened tensors; no padding."""
    if layer.op is Op.FULLY_CONNECTED:
        yield from ((o, o * layer.in_size + i, i) for o in range(layer.out_size) for i in range(layer.in_size))
        return
    (in_h, in_w, in_c), (out_h, out_w, out_c), (k_h, k_w) = layer.in_shape, layer.out_shape, layer.kernel
    for o, k_y, k_x, c in product(range(out_c), range(k_h), range(k_w), range(in_c)):
        weight = ((o * k_h + k_y) * k_w + k_x) * in_c + c
        for y, x in product(range(out_h), range(out_w)):
            i_y, i_x = y + k_y - layer.pad, x + k_x - layer.pad
            if 0 <= i_y < in_h and 0 <= i_x < in_w:
                yield (y * out_w + x) * out_c + o, weight, (i_y * in_w + i_x) * in_c + c


def windows(layer: Layer) -> Iterator[tuple[int, list[int]]]:
    """Yield every output of a max_pool with its window, row by row: indices into the flattened tensors."""
    (_, in_w, channels), (out_h, out_w, _), k = layer.in_shape, layer.out_shape, layer.stride
    for y, x, c in product(range(out_h), range(out_w), range(channels)):
        window = [((y * k + dy) * in_w + x * k + dx) * channels + c for dy, dx in product(range(k), repeat=2)]
        yield (y * out_w + x) * channels + c, window


def narrowed(acc: list[int], exponent: int) -> Tensor:
    """Return int32 sums as an int8 tensor (sections 4 and 7)."""
    s = bits(max(abs(value) for value in acc)) - 7
    return Tensor([round_shift(value, s) for value in acc], exponent + s) if s > 0 else Tensor(acc, exponent)


def forward(layer: Layer, weights: list[int], x: Tensor) -> Tensor:
    """Return the output of a layer for one sample (section 4); `weights` is not read where the layer has none."""
    if layer.op is Op.RELU:
        return Tensor([max(value, 0) for value in x.values], x.exponent)
    if layer.op is Op.MAX_POOL:
        return Tensor([max(x.values[i] for i in window) for _, window in windows(layer)], x.exponent)
    out = [0] * layer.out_size
    for o, w, i in taps(layer):
        out[o] += weights[w] * x.values[i]
    return narrowed(out, x.exponent + layer.weight_exp)


def input_error(layer: Layer, weights: list[int], x: Tensor, y: Tensor, error: Tensor) -> Tensor:
    """Return the error of a layer's input x, from the error of its output y (section 7)."""
    if layer.op is Op.RELU:
        return Tensor([e if out > 0 else 0 for e, out in zip(error.values, y.values, strict=True)], error.exponent)
    back = [0] * layer.in_size
    if layer.op is Op.MAX_POOL:
        for o, window in windows(layer):
            back[max(window, key=x.values.__getitem__)] = error.values[o]  # `max` gives the first of equals
        return Tensor(back, error.exponent)
    for o, w, i in taps(layer):
        back[i] += weights[w] * error.values[o]
    return narrowed(back, error.exponent + layer.weight_exp)


def weight_gradient(layer: Layer, x: Tensor, error: Tensor) -> Tensor:
    """Return the gradient of a layer's weights for one sample: exact sums, wider than int8 (section 7)."""
    gradient = [0] * math.prod(np.shape(layer.weights))
    for o, w, i in taps(layer):
        gradient[w] += error.values[o] * x.values[i]
    return Tensor(gradient, error.exponent + x.exponent)


def accumulated(total: Tensor | None, one: Tensor) -> Tensor:
    """Return the batch's gradient G with one more sample in it (section 7); None before the first."""
    total = total or Tensor([0] * len(one.values), one.exponent)
    exponent = max(total.exponent, one.exponent)
    old, new = (
        [trunc_shift(value, exponent - part.exponent) if exponent - part.exponent < 31 else 0 for value in part.values]
        for part in (total, one)
    )
    return Tensor([min(max(a + b, -(2**31)), 2**31 - 1) for a, b in zip(old, new, strict=True)], exponent)


def mix32(h: int) -> int:
    """Return the scrambled word of section 8."""
    h ^= h >> 16
    h = h * 0x85EBCA6B & MASK32
    h ^= h >> 13
    h = h * 0xC2B2AE35 & MASK32
    return h ^ h >> 16


def xorshift32(x: int) -> int:
    """Return the next word of the stream of section 8."""
    x ^= x << 13 & MASK32
    x ^= x >> 17
    return x ^ x << 5 & MASK32


def perturbation(settings: Settings, step: int, tensor: int, count: int) -> list[int]:
    """Return z for the `count` weights of one trained tensor (index from 0) at one step (section 8)."""
    key = mix32((settings.seed + 0x9E3779B9 * (step + 1)) & MASK32)
    state = mix32(key ^ (0x27D4EB2F * (tensor + 1) & MASK32)) or 0x6D2B79F5
    r_max, z = settings.r_max, []
    for _ in range(0, count, 4):
        a = xorshift32(state)
        b = state = xorshift32(a)
        for i in range(4):
            a_i, b_i = a >> 8 * i & 0xFF, b >> 8 * i & 0xFF
            z.append(0 if a_i < settings.p_zero else ((b_i * (2 * r_max + 1) + r_max) >> 8) - r_max)
    return z[:count]


class PlainElasticZoInt8:
    """ElasticZO-INT8 by section 9. `weights` holds one flattened list a trained tensor."""

    def __init__(self, network: Network, settings: Settings) -> None:
        self.weights = [[int(w) for w in np.ravel(layer.weights)] for layer in network.trained]
        self._input_exp, self._settings, self._steps = network.input_exp, settings, 0
        # With each layer goes the index of its trained tensor; a layer without weights carries its predecessor's.
        counts = accumulate(int(layer.weights is not None) for layer in network.layers)
        self._layers = [(layer, count - 1) for layer, count in zip(network.layers, counts, strict=True)]

    def step(self, images: Images, labels: Labels) -> tuple[np.float32, np.float32, int]:
        """Train on uint8 images [B, H, W] or [B, H, W, C] and B labels; return L_plus, L_minus and g."""
        zeroth = self._settings.partition
        if zeroth > 0:
            self._perturb(1)
            plus, _ = self._pass(images, labels, backward=False)
            self._perturb(-2)
            minus, gradients = self._pass(images, labels, backward=zeroth < len(self.weights))
            g = int(plus > minus) - int(plus < minus)
            self._update_zo(g)
        else:
            minus, gradients = self._pass(images, labels, backward=True)
            plus, g = minus, 0
        self._update_bp(gradients)
        self._steps += 1
        return plus, minus, g

    def activations(self, image: np.ndarray) -> list[Tensor]:
        """Return the input of one uint8 image and every layer's output (sections 3 and 4)."""
        values = [Tensor([int(pixel) >> 1 for pixel in np.ravel(image)], self._input_exp)]
        for layer, tensor in self._layers:
            values.append(forward(layer, self.weights[max(tensor, 0)], values[-1]))
        return values

    def _noise(self) -> Iterator[tuple[list[int], list[int]]]:
        for tensor, weights in enumerate(self.weights[: self._settings.partition]):
            yield weights, perturbation(self._settings, self._steps, tensor, len(weights))

    def _perturb(self, k: int) -> None:
        for weights, noise in self._noise():
            weights[:] = [clip127(w + k * z) for w, z in zip(weights, noise, strict=True)]

    def _update_zo(self, g: int) -> None:
        s = bits(self._settings.r_max) - self._settings.b_zo
        for weights, noise in self._noise():
            for i, z in enumerate(noise):
                u = g * z if s < 1 else psto_shift(g * z, s)
                weights[i] = clip127(clip127(weights[i] + z) - u)

    def _update_bp(self, gradients: Gradients) -> None:
        for tensor, gradient in gradients.items():
            b = bits(max(abs(value) for value in gradient.values))
            s, weights = b - self._settings.b_bp, self.weights[tensor]
            for i, value in enumerate(gradient.values if b else ()):
                weights[i] = clip127(weights[i] - (value if s < 1 else psto_shift(value, s)))

    def _pass(self, images: Images, labels: Labels, backward: bool) -> tuple[np.float32, Gradients]:
        loss, gradients = F32(0.0), {}
        for image, label in zip(images, labels, strict=True):
            values = self.activations(image)
            loss = loss + sample_loss(values[-1], int(label))
            if backward:
                self._backward(values, int(label), gradients)
        return loss, gradients

    def _backward(self, values: list[Tensor], label: int, gradients: Gradients) -> None:
        error = logits_error(values[-1], label)
        for index, (layer, tensor) in reversed(list(enumerate(self._layers))):
            x, y = values[index], values[index + 1]
            if layer.weights is not None:
                gradients[tensor] = accumulated(gradients.get(tensor), weight_gradient(layer, x, error))
                if tensor == self._settings.partition:
                    return
            error = input_error(layer, self.weights[max(tensor, 0)], x, y, error)
