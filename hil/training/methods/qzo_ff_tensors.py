"""The trained tensors of QZO-FF, and what its settings are in the integers of each (docs/arithmetic-qzo-ff.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hil.training.graph.graph import Graph
from hil.training.graph.node import W16A8Parameters
from hil.training.methods.directions import FRACTION, LARGEST_TABLE
from hil.training.methods.qzo_ff_settings import QzoFfSettings

F = np.float32
STEP_OF_Z = F(2.0**-FRACTION)
LARGEST_Z = 127
LARGEST_BIAS = 2**30
MOST_STEPS = 2**23  # eps_q, rho_q
LARGEST_UPDATE = 2**30
LARGEST_SHIFT = 62
SMALLEST_NORMAL = F(2.0**-126)


def rounded_shift(x: int, n: int) -> int:
    """Return R(x, n): x / 2^n, half away from zero; n is 1 or more."""
    size = (abs(x) + (1 << (n - 1))) >> n
    return size if x >= 0 else -size


def update_steps(g: np.ndarray, f: np.float32) -> np.ndarray:
    """Return D(g, f): g * f, half away from zero, within +-2^30, int64; 0 if f is no normal number above 0.

    Args:
        g: int64, -127..127.
        f: binary32.
    """
    fraction, power = math.frexp(float(f))
    n = 24 - power if np.isfinite(f) and f >= SMALLEST_NORMAL else LARGEST_SHIFT + 1
    if n > LARGEST_SHIFT:
        return np.zeros_like(g)
    size = np.abs(g) * int(fraction * 2**24)
    size = size << min(-n, 31) if n <= 0 else (size + (1 << (n - 1))) >> n
    steps: np.ndarray = np.sign(g) * np.minimum(size, LARGEST_UPDATE)
    return steps


def quotient(value: float, unit: np.float32) -> int:
    """Return rint(value / unit), one quotient in binary32."""
    return int(np.rint(F(value) / unit))


@dataclass(frozen=True)
class QzoFfTensor:
    """A trained tensor.

    Attributes:
        name: `conv1`, or `conv1.bias`.
        layer: index among all layers.
        is_bias: it has biases, not weights.
        unit: real value of 1, binary32.
        largest: X, the largest magnitude of an element; 0 in `float32`, where no element is an integer.
    """

    name: str
    layer: int
    is_bias: bool
    unit: np.float32
    largest: int

    def epsilon_steps(self, settings: QzoFfSettings) -> int:
        """Return eps_q."""
        return quotient(settings.epsilon, self.unit)

    def rho_steps(self, settings: QzoFfSettings) -> int:
        """Return rho_q; 0 without sharpness."""
        return quotient(settings.rho, self.unit)

    def reach(self, settings: QzoFfSettings) -> int:
        """Return how far perturbations may move an element."""
        return sum(
            rounded_shift(LARGEST_Z * steps, FRACTION)
            for steps in (self.epsilon_steps(settings), self.rho_steps(settings))
        )

    def limit(self, settings: QzoFfSettings) -> int:
        """Return W, the largest magnitude of an element at rest."""
        return self.largest - self.reach(settings)

    def rate_acts(self, settings: QzoFfSettings, directions: int) -> bool:
        """Return whether a large gradient of so many directions moves an element at the rate eta."""
        if settings.optimizer == "adamw":
            return quotient(settings.eta, self.unit) != 0
        g = largest_gradient(settings.distribution, directions)
        return bool(update_steps(np.array(g), (F(settings.eta) * STEP_OF_Z) / self.unit))


def largest_gradient(distribution: str, directions: int) -> int:
    """Return g_top, a large g of so many directions."""
    return math.isqrt(LARGEST_TABLE[distribution] ** 2 // directions)


def trained_tensors(graph: Graph, settings: QzoFfSettings) -> tuple[QzoFfTensor, ...]:
    """Return the trained tensors, input to output: of each layer its weights, then its biases if they are trained."""
    found = []
    for index in settings.trained(graph):
        layer, own = graph.layers[index], graph.own[index]
        if not isinstance(own, W16A8Parameters):
            names = (layer.name, f"{layer.name}.bias")[: 1 + settings.train_bias]
            found += [QzoFfTensor(name, index, name != layer.name, F(1), 0) for name in names]
            continue
        scale = F(own.scale)
        found.append(QzoFfTensor(layer.name, index, False, scale, own.largest))
        if settings.train_bias:
            unit = F(graph.scale_of(layer.reads[0])) * scale
            found.append(QzoFfTensor(f"{layer.name}.bias", index, True, unit, LARGEST_BIAS))
    return tuple(found)
