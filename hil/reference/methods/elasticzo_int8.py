"""ElasticZO-INT8: Full ZO, ZO-Feat-Cls2, ZO-Feat-Cls1 and Full BP (NITI) by one partition (docs/arithmetic.md, section 9; ElasticZO, algorithm 2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import xxhash

from hil.errors import RigError
from hil.network.graph import Network
from hil.network.settings import Settings
from hil.reference.arith import INT32_MAX, INT32_MIN, bits, clip127, psto_shift, trunc_shift
from hil.reference.layers import forward, input_error, weight_gradients
from hil.reference.loss import ERROR_EXP, cross_entropy, logits_error
from hil.reference.methods import Stage, StepOutcome
from hil.reference.prng import perturbation

Activations = list[tuple[np.ndarray, np.ndarray]]  # values int8 [B, H, W, C] and exponents int [B], input first


class Gradient:
    """The sum of a layer's gradients over a batch, with the exponent of its largest sample so far (section 7)."""

    def __init__(self) -> None:
        self.exponent: int | None = None
        self.total = np.zeros(0, np.int64)

    def add(self, gradient: np.ndarray, exponent: int) -> None:
        """Add one sample: int64 [weights], in the order of the batch."""
        if self.exponent is None:
            self.exponent, self.total = exponent, np.zeros_like(gradient)
        if exponent > self.exponent:
            self.total = trunc_shift(self.total, exponent - self.exponent)
            self.exponent = exponent
        aligned = trunc_shift(gradient, self.exponent - exponent)
        self.total = np.clip(self.total + aligned, INT32_MIN, INT32_MAX)


class ElasticZoInt8:
    """The method, with its weights and its step counter.

    Args:
        network: the graph and the initial weights, which are copied.
        settings: docs/arithmetic.md, section 9.

    Raises:
        RigError: a partition of more tensors than the network has.
    """

    def __init__(self, network: Network, settings: Settings) -> None:
        if settings.partition > len(network.trained):
            raise RigError(
                f"setting partition is {settings.partition}: the network has {len(network.trained)} trained tensors, choose no more."
            )
        self.network, self.settings = network, settings
        self.weights = [layer.weights.copy() for layer in network.trained if layer.weights is not None]
        self._first_bp = network.first_bp(settings.partition)
        self._next_step = 0

    def step(self, images: np.ndarray, labels: np.ndarray) -> StepOutcome:
        """Train one step on uint8 images [B, H, W] and labels [B]."""
        step, self._next_step = self._next_step, self._next_step + 1
        gradients: dict[int, Gradient] = {}
        losses = []
        passes = list(self.passes(self.weights, step))
        for number, weights in enumerate(passes):
            activations = self._forward(weights, images)
            losses.append(cross_entropy(*self._logits(activations), labels))
            if number == len(passes) - 1:
                gradients = self._backward(weights, activations, labels)
        sign = int(np.sign(float(losses[0]) - float(losses[-1])))
        if self.settings.partition:
            self._zo_update(passes[-1], step, sign)
        for index, gradient in gradients.items():
            self._bp_update(index, gradient)
        return StepOutcome(step, float(losses[0]), float(losses[-1]), sign, self.digests())

    def passes(self, weights: Sequence[np.ndarray], step: int) -> Iterator[list[np.ndarray]]:
        """Yield the weights of the plus and the minus pass; of the one clean pass where nothing is perturbed."""
        current = list(weights)
        for factor in (1, -2) if self.settings.partition else (0,):
            for index in range(self.settings.partition):
                moved = current[index] + factor * self._z(index, step).reshape(current[index].shape)
                current[index] = clip127(moved).astype(np.int8)
            yield list(current)

    def digests(self) -> tuple[int, ...]:
        """Return XXH32 of every trained tensor."""
        return tuple(xxhash.xxh32_intdigest(weights.tobytes()) for weights in self.weights)

    def evaluate_chunk(self, images: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, int, int]:
        """Return predictions uint8 [B], how many are right, and the digest of the logits (section 10)."""
        logits, exponents = self._logits(self._forward(self.weights, images))
        predictions = logits.argmax(axis=1).astype(np.uint8)
        data = b"".join(_bytes(row, exponent) for row, exponent in zip(logits, exponents, strict=True))
        return predictions, int((predictions == labels).sum()), xxhash.xxh32_intdigest(data)

    def trace(self, weights: Sequence[np.ndarray], image: np.ndarray, label: int) -> list[Stage]:
        """Return every stage of one sample: outputs, the logits' error, and the errors handed on."""
        activations = self._forward(weights, image[None])
        layers = self.network.layers
        stages = [
            Stage(layer.name, "output", _bytes(*_only(act))) for layer, act in zip(layers, activations[1:], strict=True)
        ]
        if self._first_bp < len(layers):
            error = self._logits_error(activations, np.array([label]))
            stages.append(Stage(layers[-1].name, "error", _bytes(*_only(error))))
            for index in range(len(layers) - 1, self._first_bp, -1):
                error = self._hand_on(index, weights, error, activations)
                stages.append(Stage(layers[index].name, "error handed on", _bytes(*_only(error))))
        return stages

    def _z(self, index: int, step: int) -> np.ndarray:
        s = self.settings
        return perturbation(s.seed, step, index, self.weights[index].size, s.p_zero, s.r_max)

    def _of_layer(self, weights: Sequence[np.ndarray]) -> list[np.ndarray | None]:
        left = iter(weights)
        return [None if layer.weights is None else next(left) for layer in self.network.layers]

    def _forward(self, weights: Sequence[np.ndarray], images: np.ndarray) -> Activations:
        batch = len(images)
        x = (images >> 1).astype(np.int8).reshape(batch, *self.network.in_shape)
        activations = [(x, np.full(batch, self.network.input_exp))]
        for layer, own in zip(self.network.layers, self._of_layer(weights), strict=True):
            activations.append(forward(layer, own, *activations[-1]))
        return activations

    def _logits(self, activations: Activations) -> tuple[np.ndarray, np.ndarray]:
        logits, exponents = activations[-1]
        return logits.reshape(len(logits), -1), exponents

    def _logits_error(self, activations: Activations, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        error = logits_error(*self._logits(activations), labels)
        return error.reshape(activations[-1][0].shape), np.full(len(labels), ERROR_EXP)

    def _hand_on(
        self, index: int, weights: Sequence[np.ndarray], error: tuple[np.ndarray, np.ndarray], activations: Activations
    ) -> tuple[np.ndarray, np.ndarray]:
        own = self._of_layer(weights)[index]
        return input_error(self.network.layers[index], own, *error, activations[index][0], activations[index + 1][0])

    def _backward(
        self, weights: Sequence[np.ndarray], activations: Activations, labels: np.ndarray
    ) -> dict[int, Gradient]:
        """Return the gradients of the back-propagated tensors, by index of the tensor."""
        gradients: dict[int, Gradient] = {}
        tensor = len(self.weights)
        if self._first_bp < len(self.network.layers):
            error = self._logits_error(activations, labels)
        for index in range(len(self.network.layers) - 1, self._first_bp - 1, -1):
            layer, (x, exponents) = self.network.layers[index], activations[index]
            if layer.weights is not None:
                tensor -= 1
                gradients[tensor] = Gradient()
                for sample, exponent in zip(weight_gradients(layer, error[0], x), error[1] + exponents, strict=True):
                    gradients[tensor].add(sample, int(exponent))
            if index > self._first_bp:
                error = self._hand_on(index, weights, error, activations)
        return gradients

    def _zo_update(self, perturbed: list[np.ndarray], step: int, sign: int) -> None:
        shift = bits(self.settings.r_max) - self.settings.b_zo
        for index in range(self.settings.partition):
            z = self._z(index, step).reshape(self.weights[index].shape)
            update = sign * z if shift < 1 else psto_shift(sign * z, shift)
            self.weights[index] = clip127(clip127(perturbed[index] + z) - update).astype(np.int8)

    def _bp_update(self, index: int, gradient: Gradient) -> None:
        largest = bits(int(np.abs(gradient.total).max()))
        if largest == 0:
            return
        shift = largest - self.settings.b_bp
        update = gradient.total if shift < 1 else psto_shift(gradient.total, shift)
        weights = self.weights[index]
        self.weights[index] = clip127(weights - update.reshape(weights.shape)).astype(np.int8)


def _only(activation: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, int]:
    return activation[0][0], int(activation[1][0])


def _bytes(values: np.ndarray, exponent: int) -> bytes:
    return values.astype(np.int8).tobytes() + int(exponent).to_bytes(2, "little", signed=True)
