"""A step of ElasticZO on float32, one weight at a time: docs/arithmetic-float32.md, sections 6 and 7."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import xxhash

from hil.training.graph.graph import Graph
from tests.oracle import float32
from tests.oracle.float32 import ZERO, Floats, clamp
from tests.oracle.numbers import F32, MASK32, mix32, start

LARGEST_UPDATE = F32(2.0**20)


class Settings(Protocol):
    """What decides the bits of a step."""

    partition: int
    epsilon: float
    eta: float
    g_clip: float
    seed: int


def quantile(q: float) -> float:
    """Return x with erfc(x / sqrt(2)) = q / 2^32, by halving an interval."""
    low, high = 0.0, 8.0
    for _ in range(80):
        middle = (low + high) / 2
        if math.erfc(middle / math.sqrt(2)) > q / 2**32:
            low = middle
        else:
            high = middle
    return low


TABLE = [round(0.99978231 * 2**21 * quantile(2 ** (j // 8) * (1 + j % 8 / 8))) for j in range(256)] + [0]


def normal(h: int) -> int:
    """Return Z of a word: a normal number in units of 2^-21."""
    q = h | 1
    n = 32 - q.bit_length()
    m = q << n
    j = 8 * (31 - n) + (m >> 28 & 7)
    f = m >> 14 & 0x3FFF
    z = TABLE[j] - (TABLE[j] - TABLE[j + 1]) * f // 2**14
    return -z if h & 1 else z


def draws(settings: Any, step: int, tensor: int, count: int) -> list[int]:
    """Return Z for the elements of one trained tensor (index from 0) at one step."""
    key = start(settings, step, tensor + 1)
    return [normal(mix32(key ^ (0x9E3779B9 * i & MASK32))) for i in range(count)]


def moved(weights: Floats, z: Sequence[int], c: np.float32) -> Floats:
    """Return the weights moved by the number c along z."""
    c = c * F32(2.0**-21)
    return [w + c * F32(z_i) for w, z_i in zip(weights, z, strict=True)]


class PlainElasticZoFp32:
    """ElasticZO FP32 on a graph; `own` holds weights and biases of every layer."""

    def __init__(self, graph: Graph, settings: Settings) -> None:
        self.graph, self.settings = graph, settings
        self.own = float32.Own.of(graph)
        self.trained = [index for index, one in enumerate(self.own) if one is not None]

    @property
    def tensors(self) -> list[Floats]:
        """The trained tensors, input to output: the weights of a layer, then its biases."""
        return [tensor for one in self.own if one is not None for tensor in (one.weights, one.bias)]

    def digests(self) -> tuple[int, ...]:
        """Return XXH32 of every trained tensor."""
        return tuple(xxhash.xxh32_intdigest(np.array(tensor, "<f4").tobytes()) for tensor in self.tensors)

    def step(
        self, step: int, images: Sequence[np.ndarray], labels: Sequence[int]
    ) -> tuple[np.float32, np.float32, int]:
        """Train on uint8 images and labels; return S_plus, S_minus and the sign."""
        of, layers = self.settings, self.trained[self.settings.partition :]
        self._first = layers[0] if layers else len(self.graph.layers)
        self._sums = {
            index: float32.Own([ZERO] * len(one.weights), [ZERO] * len(one.bias))
            for index, one in enumerate(self.own)
            if one is not None and index in layers
        }
        if of.partition == 0:
            plus = minus = self._pass(images, labels, with_gradients=True)
        else:
            eps, eta = F32(of.epsilon), F32(of.eta)
            tensors = self.tensors[: 2 * of.partition]
            z = [draws(of, step, index, len(tensor)) for index, tensor in enumerate(tensors)]
            self._move(z, eps)
            plus = self._pass(images, labels, with_gradients=False)
            self._move(z, F32(-2) * eps)
            minus = self._pass(images, labels, with_gradients=bool(layers))
            self.g = (plus - minus) / (F32(len(images)) * (F32(2) * eps))
            self.g = clamp(self.g, -F32(of.g_clip), F32(of.g_clip))
            self._move(z, eps - eta * self.g)
        self._update(len(images))
        return plus, minus, 0 if of.partition == 0 else int(plus > minus) - int(plus < minus)

    def logits(self, image: np.ndarray) -> Floats:
        """Return the logits of a uint8 image."""
        return float32.forward(self.graph, self.own, image)[-1]

    def _move(self, z: Sequence[Sequence[int]], c: np.float32) -> None:
        for tensor, z_l in zip(self.tensors, z, strict=False):
            tensor[:] = moved(tensor, z_l, c)

    def _pass(self, images: Sequence[np.ndarray], labels: Sequence[int], with_gradients: bool) -> np.float32:
        """Run every sample forward, and add its gradients where they are wanted; return the sum of the losses."""
        total = ZERO
        for image, label in zip(images, labels, strict=True):
            values = float32.forward(self.graph, self.own, image)
            loss, error = float32.loss_and_error(values[-1], int(label))
            total = total + loss
            if with_gradients:
                found = float32.backward(self.graph, self.own, values, error, self._first)
                for index, g in found.own.items():
                    _add(self._sums[index].weights, g.weights)
                    _add(self._sums[index].bias, g.bias)
        return total

    def _update(self, samples: int) -> None:
        u = F32(self.settings.eta) / F32(samples)
        for index, sums in self._sums.items():
            one = self.own[index]
            assert one is not None
            for tensor, gradient in ((one.weights, sums.weights), (one.bias, sums.bias)):
                tensor[:] = [
                    w - clamp(u * g, -LARGEST_UPDATE, LARGEST_UPDATE) for w, g in zip(tensor, gradient, strict=True)
                ]


def _add(total: Floats, one: Floats) -> None:
    total[:] = [a + b for a, b in zip(total, one, strict=True)]
