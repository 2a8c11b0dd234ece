"""The base of the methods on graphs: state, evaluation (docs/arithmetic-zeroth-order.md)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hil.errors import RigError
from hil.training.graph.graph import Graph
from hil.training.graph.node import Tflite8Node, Tflite8Parameters
from hil.training.methods.graph_settings import GraphSettings
from hil.training.reference.floats import F
from hil.training.reference.formats.bfp8.arithmetic import NumpyArithmetic
from hil.training.reference.formats.tflite8.fast import OwnWeights
from hil.training.reference.formats.tflite8.loss import cross_entropy, summed
from hil.training.reference.formats.tflite8.passes import Passes
from hil.training.reference.gradient import Gradient
from hil.training.reference.methods import MethodReference, StepOutcome, TracedStage, stage_bytes
from hil.training.reference.methods.trained import TrainedLayer

CHUNK = 64  # images of an evaluation at a time


@dataclass(frozen=True)
class Samples:
    """Samples of a step: their places in it uint32 [N], uint8 images [N, H, W] or [N, H, W, C], and labels [N]."""

    step: int
    numbers: np.ndarray
    images: np.ndarray
    labels: np.ndarray


@dataclass
class Estimate:
    """The gradients of the trained layers (section 5), the sums of the clean losses and of all others (section 7)."""

    gradients: list[Gradient]
    plus: np.float32
    minus: np.float32


class TrainedGraph(MethodReference):
    """A method that trains a graph, with its weights and its step counter.

    Args:
        graph: layers and initial weights, which are copied.
        settings: docs/arithmetic-zeroth-order.md, section 8.

    Raises:
        RigError: no layer is trained.
    """

    arithmetic = NumpyArithmetic.name
    settings: GraphSettings

    def __init__(self, graph: Graph, settings: GraphSettings) -> None:
        self.graph = graph
        self.forward = Passes(graph)
        self.trained = [TrainedLayer(graph, settings, self.forward.layers[i], i) for i in settings.trained(graph)]
        if not self.trained:
            raise RigError(
                f"settings train = {settings.train!r} and blocks = {settings.blocks} leave no layer to train: choose "
                "others."
            )
        self._frozen = [self._own(index) for index in range(len(graph.layers))]
        self.configure(settings, 0)

    @property
    def weights(self) -> list[np.ndarray]:
        """The trained tensors, input to output: of each layer its int8 weights, then its int32 biases."""
        return [tensor for layer in self.trained for tensor in layer.tensors]

    def step(self, images: np.ndarray, labels: np.ndarray) -> StepOutcome:
        """Train one step on uint8 images [B, H, W] or [B, H, W, C] and labels [B]."""
        step, self._next_step = self._next_step, self._next_step + 1
        found = self.estimate(step, images, labels)
        for layer, gradient in zip(self.trained, found.gradients, strict=True):
            self._update(layer, gradient, len(images))
        plus, minus = float(found.plus), float(found.minus)
        return StepOutcome(step, plus, minus, plus, minus, 0, self.digests())

    def estimate(self, step: int, images: np.ndarray, labels: np.ndarray) -> Estimate:
        """Return what a step updates by; only weights beyond their limits are changed: they are clipped."""
        for layer in self.trained:
            layer.clip()
        own = self.own_now()
        found = Estimate([Gradient() for _ in self.trained], F(0), F(0))
        size = self._group_size()
        for first in range(0, len(images), size):
            part = slice(first, first + size)
            numbers = np.arange(first, min(first + size, len(images)), dtype=np.uint32)
            some = Samples(step, numbers, images[part], labels[part])
            clean, queries = self.estimate_samples(some, own, found.gradients)
            found.plus, found.minus = summed(clean, found.plus), summed(queries, found.minus)
        return found

    @abstractmethod
    def estimate_samples(
        self, some: Samples, own: list[OwnWeights | None], gradients: list[Gradient]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Add the gradients of some samples of a step, with the weights of all layers.

        Returns:
            Clean losses float32 [N], and all others float32 [N, ...] in the order in which a board computes them.
        """

    @abstractmethod
    def _group_size(self) -> int:
        """Return how many samples are estimated at once."""

    @abstractmethod
    def _update(self, layer: TrainedLayer, gradient: Gradient, samples: int) -> None:
        """Step a layer down the gradient of this many samples."""

    def logits(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the logits of uint8 images, int8 [B, classes], and zeros for the exponents that they do not have."""
        own, parts = self.own_now(), []
        for at in range(0, len(images), CHUNK):
            logits = self.forward.logits(0, {0: self.forward.input_values(images[at : at + CHUNK])}, own)
            parts.append(_stored(logits[:, 0], self.graph.zero_of(len(self.graph.layers))))
        return np.concatenate(parts), np.zeros(len(images), np.int64)

    def logit_scale(self) -> float:
        """Return the scale of the last layer's output."""
        return self.graph.scale_of(len(self.graph.layers))

    def passes(self, weights: Sequence[np.ndarray], step: int) -> Iterator[list[np.ndarray]]:
        """Yield the weights of the clean pass: of a layer-wise step no other pass begins at the input."""
        yield list(weights)

    def trace(
        self, weights: Sequence[np.ndarray], images: np.ndarray, labels: np.ndarray, slot: int
    ) -> list[TracedStage]:
        """Return the output of every layer for one sample."""
        left = iter(weights)
        own = list(self._frozen)
        for layer in self.trained:
            given = next(left) if layer.trains_weights else layer.weights
            bias = next(left) if layer.trains_bias else layer.bias
            own[layer.index] = layer.fast.own(given.ravel(), bias, layer.fast.float_type(given, bias))
        values = self.forward.clean(images[slot : slot + 1], own)[1:]
        return [
            TracedStage(layer.name, "output", stage_bytes(_stored(value, layer.zero)))
            for layer, value in zip(self.graph.nodes(Tflite8Node), values, strict=True)
        ]

    def _losses(self, logits: np.ndarray, labels: np.ndarray, passes: int = 1) -> np.ndarray:
        """Return the losses, float32 [N, passes], of logits [N, passes, classes] less any zero point, and labels [N].

        The logits are [N, 1, classes] where no pass differs, since nothing reads what was perturbed.
        """
        losses = cross_entropy(
            logits, np.asarray(labels).astype(np.intp)[:, None], self.graph.scale_of(len(self.graph.layers))
        )
        return np.broadcast_to(losses, (len(losses), passes))

    def own_now(self) -> list[OwnWeights | None]:
        """Return the weights of all layers as they are now."""
        own = list(self._frozen)
        for layer in self.trained:
            own[layer.index] = layer.own()
        return own

    def _own(self, index: int) -> OwnWeights | None:
        own, fast = self.graph.own_of(Tflite8Parameters).get(index), self.forward.layers[index]
        return None if own is None else fast.own(own.weights.ravel(), own.bias, fast.float_type(own.weights, own.bias))


def _stored(values: np.ndarray, zero: int) -> np.ndarray:
    """Return values less their zero point as they are stored, int8."""
    return (values + np.float32(zero)).astype(np.int8)
