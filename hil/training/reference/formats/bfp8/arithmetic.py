"""What a step in `bfp8` computes on whole batches and whole tensors (docs/arithmetic.md, sections 3 to 8).

A method decides what happens in which order. `hil.training.reference.native` computes the same bits faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hil.training.graph.graph import Graph
from hil.training.graph.node import ChainNode
from hil.training.methods.elasticzo_settings import ElasticZoSettings
from hil.training.methods.prng import perturbation, signed_pool
from hil.training.reference.arith import bits, clip, clip127, psto_shift
from hil.training.reference.formats.bfp8.layers import forward, input_error
from hil.training.reference.formats.bfp8.loss import ERROR_EXP, cross_entropy, logits_error
from hil.training.reference.gradient import batch_gradient

Tensors = Sequence[np.ndarray]  # the trained tensors, int8, input to output
Activations = list[tuple[np.ndarray, np.ndarray]]  # values int8 [H, W, C, B] and exponents int [B], input first


@dataclass(frozen=True, eq=False)
class Pass:
    """A forward pass: logits int8 [B, classes], their exponents int [B], and what `gradients` needs of it."""

    logits: np.ndarray
    exponents: np.ndarray
    kept: Any


class NumpyArithmetic:
    """The arithmetic of a graph in NumPy; the graph's weights are not used."""

    name = "NumPy"

    def __init__(self, network: Graph) -> None:
        self.network, self.layers = network, network.nodes(ChainNode)

    def forward(self, weights: Tensors, images: np.ndarray, together: bool, kept_from: int) -> Pass:
        """Run uint8 images [B, H, W] with the weights of every layer that has any.

        Args:
            together: whether the batch is one group (section 4).
            kept_from: index of the first layer that `gradients` will be asked for; the number of layers for none.
        """
        activations = self.activations(weights, images, together)
        return Pass(*self.logits(activations), (activations, together, kept_from))

    def activations(self, weights: Tensors, images: np.ndarray, together: bool) -> Activations:
        """Return the input and the output of every layer."""
        pixels = np.ascontiguousarray(images.reshape(len(images), -1).T)
        x = (pixels >> 1).view(np.int8).reshape(*self.network.in_shape, -1)  # section 3
        found = [(x, np.full(x.shape[-1], self.network.input_exp))]
        for layer, own in zip(self.layers, self._of_layer(weights), strict=True):
            found.append(forward(layer, own, *found[-1], together))
        return found

    def logits(self, activations: Activations) -> tuple[np.ndarray, np.ndarray]:
        """Return the logits int8 [B, classes] and their exponents."""
        logits, exponents = activations[-1]
        return np.ascontiguousarray(logits.reshape(-1, logits.shape[-1]).T), exponents

    def gradients(self, weights: Tensors, passed: Pass, error: np.ndarray) -> dict[int, np.ndarray]:
        """Return G of the trained tensors from layer `kept_from` on by their indices, integers [weights] (section 7).

        The error of the logits is int8 [B, classes], with the exponent -7.
        """
        activations, together, kept_from = passed.kept
        found: dict[int, np.ndarray] = {}
        tensor = len(weights)
        handed = self.logits_error(error)
        for index in range(len(self.layers) - 1, kept_from - 1, -1):
            layer, (x, exponents) = self.layers[index], activations[index]
            if layer.own is not None:
                tensor -= 1
                found[tensor] = batch_gradient(layer, handed[0], x, handed[1] + exponents)
            if index > kept_from:
                handed = self.handed_on(index, weights, handed, activations, together)
        return found

    def error(self, logits: np.ndarray, exponents: np.ndarray, labels: np.ndarray, form: str) -> np.ndarray:
        """Return the error of logits [B, classes] (section 6), of the same shape."""
        return logits_error(logits, exponents, labels, form)

    def logits_error(self, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the error of the logits [B, classes] as that of the last layer's output, and its exponents."""
        shape = self.layers[-1].out_shape
        return np.ascontiguousarray(error.T).reshape(*shape, -1), np.full(len(error), ERROR_EXP)

    def handed_on(
        self,
        index: int,
        weights: Tensors,
        error: tuple[np.ndarray, np.ndarray],
        activations: Activations,
        together: bool,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the error of a layer's input and its exponents, from those of its output."""
        layer, own = self.layers[index], self._of_layer(weights)[index]
        return input_error(layer, own, error, activations[index][0], activations[index + 1][0], together)

    def cross_entropy(self, passed: Pass, labels: np.ndarray) -> np.float32:
        """Return the float loss summed over the batch, whose labels are [B] (section 5)."""
        return cross_entropy(passed.logits, passed.exponents, labels)

    def noise(self, settings: ElasticZoSettings, step: int) -> list[np.ndarray]:
        """Return z of the perturbed tensors, int16 in their shapes (section 8)."""
        if settings.partition == 0:
            return []
        pool = signed_pool(settings.seed, step, settings.p_zero, settings.r_max)
        perturbed = list(self.network.own.values())[: settings.partition]
        return [
            perturbation(pool, settings.seed, step, index, own.weights.size).reshape(own.weights.shape)
            for index, own in enumerate(perturbed)
        ]

    def moved(self, weights: np.ndarray, noise: np.ndarray, factor: int, limit: int) -> np.ndarray:
        """Return clip127(clip(weights, limit) + factor * noise), int8."""
        return clip127(clip(weights, limit) + factor * noise).astype(np.int8)

    def zo_updated(self, weights: np.ndarray, noise: np.ndarray, sign: int, shift: int, limit: int) -> np.ndarray:
        """Return the perturbed weights of the minus pass after the update of section 9 with sign g, int8.

        A shift below 1 rounds nothing; `limit` is that of weights at rest.
        """
        update = sign * noise if shift < 1 else psto_shift(sign * noise, shift)
        return clip(clip(weights + noise, limit) - update, limit).astype(np.int8)

    def bp_updated(self, weights: np.ndarray, gradient: np.ndarray, b_bp: int) -> np.ndarray:
        """Return weights after the update of section 7, int8; `gradient` is G [weights]."""
        largest = bits(int(np.abs(gradient).max()))
        if largest == 0:
            return weights
        shift = largest - b_bp
        update = gradient if shift < 1 else psto_shift(gradient, shift)
        return clip127(weights - update.reshape(weights.shape)).astype(np.int8)

    def _of_layer(self, weights: Tensors) -> list[np.ndarray | None]:
        left = iter(weights)
        return [None if layer.own is None else next(left) for layer in self.layers]
