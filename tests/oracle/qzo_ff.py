"""A step of QZO-FF on w16a8, one weight at a time: docs/arithmetic-qzo-ff.md, sections 1 to 8."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import xxhash

from hil.training.graph.graph import Graph
from tests.oracle import w16a8
from tests.oracle.numbers import F32
from tests.oracle.qzo_directions import direction, mask
from tests.oracle.w16a8 import clamp

ONE, STEP_OF_Z = F32(1), F32(2.0**-5)
SMALL = F32(float.fromhex("0x1.5798eep-27"))  # e of AdamW
HALF_PI_TWICE = F32(float.fromhex("0x1.921fb6p+1"))
SINE = [
    F32(float.fromhex(one))
    for one in ("0x1p+0", "-0x1.555556p-3", "0x1.111112p-7", "-0x1.a01a02p-13", "0x1.71de3ap-19", "-0x1.ae6456p-26")
]


def sign(x: int) -> int:
    """Return -1, 0 or 1."""
    return (x > 0) - (x < 0)


def half_away(x: int, n: int) -> int:
    """Return R(x, n): x / 2^n, half away from zero (section 1)."""
    return sign(x) * ((abs(x) + 2 ** (n - 1)) // 2**n)


def rounded(x: int) -> np.float32:
    """Return float(x) of an integer of 0 or more, rounded once, half to even."""
    extra = max(x.bit_length() - 24, 0)
    return F32(math.ldexp(round(Fraction(x, 2**extra)), extra))


def moved_by(g: int, f: np.float32) -> int:
    """Return D(g, f) (section 1)."""
    if not np.isfinite(f) or f < F32(2.0**-126):
        return 0
    half, exponent = math.frexp(float(f))
    mant, n = int(half * 2**24), 24 - exponent
    if n <= 0:
        return sign(g) * min(abs(g) * mant * 2 ** min(-n, 31), 2**30)
    return sign(g) * min((abs(g) * mant + 2 ** (n - 1)) // 2**n, 2**30) if n <= 62 else 0


def sqrt32(x: np.float32) -> np.float32:
    """Return the root of a binary32 number of 0 or more by integers (section 6)."""
    if x == 0:
        return F32(0)
    half, exponent = math.frexp(float(x))
    n, exponent = int(half * 2**24) * 2**25, exponent - 49
    if exponent % 2:
        n, exponent = n * 2, exponent - 1
    return F32(math.ldexp((math.isqrt(n) + 1) // 2, exponent // 2 + 1))


def rate(settings: Any, t: int) -> np.float32:
    """Return eta_t of step t (section 6, Schedule)."""
    eta, eta_min, warmup, steps = F32(settings.eta), F32(settings.eta_min), settings.warmup, settings.steps
    if t < warmup:
        return eta * (F32(t + 1) / F32(warmup))
    if steps == 0:
        return eta
    if t >= steps:
        return eta_min
    x = F32(t - warmup) / F32(steps - warmup)
    r = (x - F32(0.5)) * HALF_PI_TWICE
    q, p = r * r, SINE[5]
    for i in (4, 3, 2, 1, 0):
        p = (p * q) + SINE[i]
    h = F32(0.5) - (F32(0.5) * (r * p))
    return eta_min + ((eta - eta_min) * h)


@dataclass
class Tensor:
    """A trained tensor; `values` are those of its layer, changed in place.

    Attributes:
        values: the elements.
        unit: the real value of 1.
        largest: X.
        eps_q, rho_q: the steps of perturbation and sharpness.
        selected: which elements are trained.
        v, m1, m2: of momentum-guided sampling and AdamW.
    """

    values: list[int]
    unit: np.float32
    largest: int
    eps_q: int
    rho_q: int
    selected: list[bool] = field(default_factory=list)
    v: list[int] = field(default_factory=list)
    m1: list[np.float32] = field(default_factory=list)
    m2: list[np.float32] = field(default_factory=list)

    @classmethod
    def of(cls, values: list[int], unit: np.float32, largest: int, settings: Any) -> Tensor:
        """Return a tensor that has not been trained."""
        eps_q, rho_q = (int(np.rint(F32(size) / unit)) for size in (settings.epsilon, settings.rho))
        n = len(values)
        return cls(values, unit, largest, eps_q, rho_q, [], [0] * n, [F32(0)] * n, [F32(0)] * n)

    @property
    def limit(self) -> int:
        """W, of the elements at rest."""
        return self.largest - half_away(127 * self.eps_q, 5) - half_away(127 * self.rho_q, 5)


class PlainQzoFf:
    """QZO-FF on a graph; `own` holds weights and biases of every layer."""

    def __init__(self, graph: Graph, settings: Any, own: Sequence[w16a8.Own | None] | None = None) -> None:
        self.graph = graph
        self.own = w16a8.Own.of(graph) if own is None else own
        self.configure(settings)

    def configure(self, settings: Any) -> None:
        """Begin anew with settings: without moments, history and masks."""
        self.settings, self.p1, self.p2 = settings, ONE, ONE
        self.layers: list[list[Tensor]] = []  # weights and, if they are trained, biases
        trained = [index for index, one in enumerate(self.own) if one is not None][-settings.last_layers :]
        self._first = trained[0]
        for index in trained:
            one = self.own[index]
            assert one is not None
            s_x = F32(self.graph.scale_of(self.graph.layers[index].reads[0]))
            tensors = [Tensor.of(one.weights, one.scale, one.largest, settings)]
            if settings.train_bias:
                tensors.append(Tensor.of(one.bias, s_x * one.scale, 2**30, settings))
            self.layers.append(tensors)

    @property
    def tensors(self) -> list[Tensor]:
        """The trained tensors, input to output."""
        return [tensor for layer in self.layers for tensor in layer]

    def digests(self) -> tuple[int, ...]:
        """Return XXH32 of every trained tensor."""
        types = ["<i4" if tensor.largest == 2**30 else "<i2" for tensor in self.tensors]
        return tuple(
            xxhash.xxh32_intdigest(np.array(tensor.values, type).tobytes())
            for tensor, type in zip(self.tensors, types, strict=True)
        )

    def logits(self, image: np.ndarray) -> list[int]:
        """Return the logits of a uint8 image."""
        return w16a8.forward(self.graph, self.own, image)[-1]

    def step(self, t: int, images: Sequence[np.ndarray], labels: Sequence[int]) -> tuple[np.float32, np.float32, int]:
        """Train on uint8 images and labels; return the sums of L_plus_i and of L_minus_i, and the step's sign."""
        self._rest()
        m, tensors = self.settings.directions, self.tensors
        at_rest = [list(tensor.values) for tensor in tensors]
        beside = at_rest  # w + a
        self._known = [w16a8.forward(self.graph, self.own, image)[: self._first + 1] for image in images]
        self.losses: list[tuple[np.float32, np.float32]] = []  # of every direction, that of sharpness first
        if self.settings.rho > 0:
            z = self._directions(t, m)
            sign_m = self._try(z, at_rest, images, labels)
            beside = [
                [w + sign_m * half_away(tensor.rho_q * z_i, 5) for w, z_i in zip(rest, z_l, strict=True)]
                for tensor, rest, z_l in zip(tensors, at_rest, z, strict=True)
            ]
        self.sums = [[0] * len(tensor.values) for tensor in tensors]  # G
        plus, minus, signs = F32(0), F32(0), 0
        for i in range(m):
            z = self._directions(t, i)
            sign_i = self._try(z, beside, images, labels)
            self.sums = [
                [total + sign_i * z_i for total, z_i in zip(sums, z_l, strict=True)]
                for sums, z_l in zip(self.sums, z, strict=True)
            ]
            plus, minus, signs = plus + self.losses[-1][0], minus + self.losses[-1][1], signs + sign_i
        for tensor, rest in zip(tensors, at_rest, strict=True):
            tensor.values[:] = rest
        self._update(t)
        return plus, minus, sign(signs)

    def _rest(self) -> None:
        """Clip and select, in the first step after `configure`; later the clip changes nothing."""
        for index, tensor in enumerate(self.tensors):
            tensor.values[:] = [clamp(w, -tensor.limit, tensor.limit) for w in tensor.values]
            if not tensor.selected:
                weights = any(tensor is layer[0] for layer in self.layers)
                n = len(tensor.values)
                tensor.selected = (
                    mask(self.settings, index, tensor.values, tensor.unit) if weights else [True] * n
                )  # fmt: skip

    def _directions(self, t: int, i: int) -> list[list[int]]:
        """Return z of direction i for every trained tensor, 0 for an element that is not selected."""
        guide, found = self.settings.guide if t >= self.settings.guide_from else 0, []
        for index, tensor in enumerate(self.tensors):
            z = direction(self.settings, t, i, index, len(tensor.values))
            z = [clamp(z_i + half_away(v * guide, 16), -127, 127) for z_i, v in zip(z, tensor.v, strict=True)]
            found.append([z_i if chosen else 0 for z_i, chosen in zip(z, tensor.selected, strict=True)])
        return found

    def _try(
        self, z: list[list[int]], beside: list[list[int]], images: Sequence[np.ndarray], labels: Sequence[int]
    ) -> int:
        """Run both passes of a direction from given weights; return its sign."""
        losses = []
        for side in (1, -1):
            for tensor, z_l, weights in zip(self.tensors, z, beside, strict=True):
                tensor.values[:] = [
                    w + side * half_away(tensor.eps_q * z_i, 5) for w, z_i in zip(weights, z_l, strict=True)
                ]
            losses.append(self._loss(images, labels))
        self.losses.append((losses[0], losses[1]))
        return int(losses[0] > losses[1]) - int(losses[0] < losses[1])

    def _loss(self, images: Sequence[np.ndarray], labels: Sequence[int]) -> np.float32:
        total, scale = F32(0), F32(self.graph.scale_of(len(self.graph.layers)))
        for image, known, label in zip(images, self._known, labels, strict=True):
            values = w16a8.forward(self.graph, self.own, image, known)  # no weight of the known ones moves
            total = total + w16a8.loss(values[-1], int(label), scale)
        return total

    def _update(self, t: int) -> None:
        m, eta, sums = self.settings.directions, rate(self.settings, t), iter(self.sums)
        self.p1, self.p2 = self.p1 * F32(self.settings.beta1), self.p2 * F32(self.settings.beta2)
        for layer in self.layers:
            means = [[sign(g) * ((abs(g) + m // 2) // m) for g in next(sums)] for _ in layer]
            k = self._step_of_g(layer[0], means[0])
            for tensor, g in zip(layer, means, strict=True):
                for place in (place for place, chosen in enumerate(tensor.selected) if chosen):
                    self._move(tensor, place, g[place], k, eta)
                    if self.settings.guide > 0:
                        v = tensor.v[place]
                        tensor.v[place] = v + half_away((256 * g[place] - v) * self.settings.smoothing, 8)

    def _step_of_g(self, weights: Tensor, g: list[int]) -> np.float32:
        """Return k of a layer."""
        if not self.settings.normalise:
            return STEP_OF_Z
        a, b = sum(w * w for w in weights.values), sum(g_i * g_i for g_i in g)
        return sqrt32(rounded(a) / rounded(b)) * weights.unit if a and b else F32(0)

    def _move(self, tensor: Tensor, place: int, g: int, k: np.float32, eta: np.float32) -> None:
        """Update one element."""
        if self.settings.optimizer == "plain":
            by = moved_by(g, (eta * k) / tensor.unit)
        else:
            by = int(np.rint(self._adamw(tensor, place, g, k, eta)))
        tensor.values[place] = clamp(tensor.values[place] - by, -tensor.limit, tensor.limit)

    def _adamw(self, tensor: Tensor, place: int, g: int, k: np.float32, eta: np.float32) -> np.float32:
        """Return y of one element, by which AdamW moves it."""
        beta1, beta2 = F32(self.settings.beta1), F32(self.settings.beta2)
        h = F32(g) * k
        m1 = tensor.m1[place] = (beta1 * tensor.m1[place]) + ((ONE - beta1) * h)
        m2 = tensor.m2[place] = (beta2 * tensor.m2[place]) + ((ONE - beta2) * (h * h))
        x = ((m1 / (ONE - self.p1)) / (sqrt32(m2 / (ONE - self.p2)) + SMALL)) * eta
        return min(max(x / tensor.unit, F32(-(2.0**30))), F32(2.0**30))
