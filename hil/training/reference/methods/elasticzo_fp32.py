"""ElasticZO on `float32`: Full ZO, Cls2, Cls1 and Full BP by one partition (docs/arithmetic-float32.md, section 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hil.errors import RigError
from hil.training.graph.graph import Graph
from hil.training.graph.node import Float32Parameters
from hil.training.methods.backward_pass import check_passable
from hil.training.methods.elasticzo_settings import Fp32Settings
from hil.training.reference.floats import F
from hil.training.reference.formats.float32.arithmetic import Float32Arithmetic
from hil.training.reference.formats.float32.backward import errors_of
from hil.training.reference.formats.float32.forward import Own, values_of
from hil.training.reference.formats.float32.loss import logits_error
from hil.training.reference.methods import MethodReference, StepOutcome, TracedStage, stage_bytes

GROUP = 32  # samples that are computed at a time


class ElasticZoFp32Reference(MethodReference):
    """The method, with its weights and its step counter.

    Args:
        network: the graph and the initial weights, which are copied.
        settings: docs/arithmetic-float32.md, section 10.
        arithmetic: what computes the passes of the network; NumPy where none is given.

    Raises:
        RigError: a partition of more layers than have weights, or a pool that errors cannot be handed through.
    """

    value_type = "float32"
    settings: Fp32Settings

    def __init__(self, network: Graph, settings: Fp32Settings, arithmetic: Float32Arithmetic | None = None) -> None:
        own = network.own_of(Float32Parameters)
        if settings.partition > len(own):
            raise RigError(
                f"setting partition is {settings.partition}: the network has {len(own)} layers with weights, choose no "
                "more."
            )
        self.network = network
        self._arithmetic = arithmetic or Float32Arithmetic(network)
        self.arithmetic = self._arithmetic.name
        self._first_bp = network.first_bp(settings.partition)
        check_passable(network.layers[self._first_bp :])
        self._trained = tuple(own)
        self._tensors = [array.copy() for its in own.values() for array in (its.weights, its.bias)]
        self._by_zo = 2 * settings.partition  # trained tensors
        self.configure(settings, 0)

    @property
    def weights(self) -> list[np.ndarray]:
        """The trained tensors, input to output: of each layer its weights, then its biases, float32."""
        return self._tensors

    def step(self, images: np.ndarray, labels: np.ndarray) -> StepOutcome:
        """Train one step on uint8 images [B, H, W] or [B, H, W, C] and labels [B]."""
        step, self._next_step = self._next_step, self._next_step + 1
        z = self._normals(step)
        sums = self._zeros()
        found: list[np.float32] = []
        tensors = self._tensors
        for tensors in self._passes(self._tensors, z):
            last = len(found) == (1 if z else 0)
            found.append(self._forward(tensors, images, labels, sums if last else []))
        plus, minus = found[0], found[-1]
        if z:
            g = self.projected(plus, minus, len(images))
            back = F(F(self.settings.epsilon) - F(self.settings.eta) * g)  # restores and updates (line 6)
            tensors = [*map(self._arithmetic.moved, tensors, z, [back] * len(z)), *tensors[len(z) :]]
        u = F(self.settings.eta) / F(len(images))
        by_bp = (
            self._arithmetic.lowered(tensor, u, total)
            for tensor, total in zip(tensors[self._by_zo :], sums, strict=True)
        )
        self._tensors = [*tensors[: self._by_zo], *by_bp]
        losses_of = float(plus), float(minus)
        return StepOutcome(step, *losses_of, *losses_of, int(np.sign(plus - minus)), self.digests())

    def gradients(self, images: np.ndarray, labels: np.ndarray) -> list[np.ndarray]:
        """Return G of every tensor that back-propagation trains, with the weights as they are now (section 5)."""
        sums = self._zeros()
        self._forward(self._tensors, images, labels, sums)
        return sums

    def _zeros(self) -> list[np.ndarray]:
        return [np.zeros(tensor.shape, F) for tensor in self._tensors[self._by_zo :]]

    def projected(self, plus: np.float32, minus: np.float32, samples: int) -> np.float32:
        """Return g, the projected gradient, of the sums of the losses (section 7, line 5)."""
        g = (plus - minus) / (F(samples) * (F(2) * F(self.settings.epsilon)))
        limit = F(self.settings.g_clip)
        return F(min(max(g, -limit), limit))

    def passes(self, weights: Sequence[np.ndarray], step: int) -> Iterator[list[np.ndarray]]:
        """Yield the weights of the plus and the minus pass; of the one clean pass where nothing is perturbed."""
        return self._passes(weights, self._normals(step))

    def _passes(self, weights: Sequence[np.ndarray], z: Sequence[np.ndarray]) -> Iterator[list[np.ndarray]]:
        current, rest = list(weights[: len(z)]), list(weights[len(z) :])
        for times in (1, -2) if z else (1,):
            c = F(times) * F(self.settings.epsilon)
            current = [self._arithmetic.moved(tensor, its, c) for tensor, its in zip(current, z, strict=True)]
            yield current + rest

    def _normals(self, step: int) -> list[np.ndarray]:
        tensors = enumerate(self._tensors[: self._by_zo])
        seed, draw = self.settings.seed, self._arithmetic.normals
        return [draw(seed, step, index, tensor.size) for index, tensor in tensors]

    def _forward(
        self, tensors: Sequence[np.ndarray], images: np.ndarray, labels: np.ndarray, sums: Sequence[np.ndarray]
    ) -> np.float32:
        """Return the sum of the losses; add the gradients of the last tensors to as many sums."""
        own, total = self._own(tensors), F(0)
        of_layers = dict(zip(self._trained[self._by_zo // 2 :], zip(sums[::2], sums[1::2], strict=True), strict=False))
        for first in range(0, len(images), GROUP):
            part = slice(first, first + GROUP)
            for loss in self._arithmetic.losses(images[part], np.asarray(labels[part]), own, of_layers):
                total = total + loss
        return F(total)

    def _own(self, tensors: Sequence[np.ndarray]) -> dict[int, Own]:
        return dict(zip(self._trained, zip(tensors[::2], tensors[1::2], strict=True), strict=True))

    def logits(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the logits of uint8 images, float32 [B, classes], and zeros for exponents, which they have not."""
        own = self._own(self._tensors)
        parts = (images[first : first + GROUP] for first in range(0, len(images), GROUP))
        found = [self._arithmetic.logits(part, own) for part in parts]
        return np.concatenate(found), np.zeros(len(images), np.int64)

    def trace(
        self, weights: Sequence[np.ndarray], images: np.ndarray, labels: np.ndarray, slot: int
    ) -> list[TracedStage]:
        """Return the outputs of a sample, and the errors of the outputs that errors reach, from the last layer on."""
        images, labels = images[slot : slot + 1], np.asarray(labels[slot : slot + 1]).astype(np.intp)
        own, layers = self._own(weights), self.network.layers
        values = values_of(self.network, images, own)
        stages = [self._stage(layer.name, "output", value) for layer, value in zip(layers, values[1:], strict=True)]
        if self._first_bp < len(layers):
            error = logits_error(values[-1][0, 0], labels)
            errors = errors_of(self.network, self._first_bp, values, own, error)
            stages += [self._stage(layers[index].name, "error", whole) for index, whole in errors]
        return stages

    def _stage(self, layer: str, what: str, values: np.ndarray) -> TracedStage:
        return TracedStage(layer, what, stage_bytes(values, type=self.value_type), self.value_type)
