"""ElasticZO-INT8: Full ZO, ZO-Feat-Cls2, ZO-Feat-Cls1 and Full BP (NITI) by one partition (docs/arithmetic.md, section 9; ElasticZO, algorithm 2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import xxhash

from hil.errors import RigError
from hil.network.graph import Network
from hil.network.settings import Settings
from hil.reference.arith import bits, clip, clip127, psto_shift
from hil.reference.gradient import batch_gradient
from hil.reference.layers import forward, input_error
from hil.reference.loss import ERROR_EXP, cross_entropy, integer_losses, logits_error
from hil.reference.methods import Stage, StepOutcome
from hil.reference.prng import perturbation, signed_pool

Activations = list[tuple[np.ndarray, np.ndarray]]  # values int8 [H, W, C, B] and exponents int [B], input first
CHUNK = 256  # images of an evaluation at a time


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
        self.network = network
        self.weights = [layer.weights.copy() for layer in network.trained if layer.weights is not None]
        self._first_bp = network.first_bp(settings.partition)
        self.configure(settings, 0)

    def configure(self, settings: Settings, first_step: int) -> None:
        """Go on with other settings of the schedule and another index of the next step; the weights stay."""
        self.settings, self._next_step = settings, first_step

    def step(self, images: np.ndarray, labels: np.ndarray) -> StepOutcome:
        """Train one step on uint8 images [B, H, W] and labels [B]."""
        step, self._next_step = self._next_step, self._next_step + 1
        noise = self._noise(step)
        x = self._input(images)
        logits, gradients, weights = [], {}, self.weights
        for weights in self._passes(self.weights, noise):
            activations = self._forward(weights, x, self._together)
            logits.append(self._logits(activations))
            last = len(logits) == (2 if noise else 1)
            if last:
                gradients = self._backward(weights, activations, labels)
        floats = [float(cross_entropy(*one, labels)) for one in logits]
        losses = [float(loss) for loss in self._losses(logits, floats, labels)]
        sign = int(np.sign(losses[0] - losses[-1]))
        if noise:
            self._zo_update(weights, noise, sign)
        for index, gradient in gradients.items():
            self._bp_update(index, gradient)
        return StepOutcome(step, losses[0], losses[-1], floats[0], floats[-1], sign, self.digests())

    def passes(self, weights: Sequence[np.ndarray], step: int) -> Iterator[list[np.ndarray]]:
        """Yield the weights of the plus and the minus pass; of the one clean pass where nothing is perturbed."""
        return self._passes(weights, self._noise(step))

    def digests(self) -> tuple[int, ...]:
        """Return XXH32 of every trained tensor."""
        return tuple(xxhash.xxh32_intdigest(weights.tobytes()) for weights in self.weights)

    def evaluate_chunk(self, images: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, int, int]:
        """Return predictions uint8 [B], how many are right, and the digest of the logits (section 10)."""
        logits, exponents = self._logits(self._forward(self.weights, self._input(images), together=False))
        predictions = logits.argmax(axis=1).astype(np.uint8)
        data = b"".join(_bytes(row, exponent) for row, exponent in zip(logits, exponents, strict=True))
        return predictions, int((predictions == labels).sum()), xxhash.xxh32_intdigest(data)

    def accuracy(self, images: np.ndarray, labels: np.ndarray) -> float:
        """Return the share of uint8 images [n, H, W] that the weights classify rightly."""
        right = 0
        for at in range(0, len(images), CHUNK):
            part = slice(at, at + CHUNK)
            logits, _ = self._logits(self._forward(self.weights, self._input(images[part]), together=False))
            right += int((logits.argmax(axis=1) == labels[part]).sum())
        return right / len(images)

    def trace(self, weights: Sequence[np.ndarray], images: np.ndarray, labels: np.ndarray, slot: int) -> list[Stage]:
        """Return every stage of one sample: outputs, the logits' error, and the errors handed on."""
        if not self._together:
            images, labels, slot = images[slot : slot + 1], labels[slot : slot + 1], 0
        activations = self._forward(weights, self._input(images), self._together)
        layers = self.network.layers
        stages = [
            Stage(layer.name, "output", _bytes(*_of_slot(act, slot)))
            for layer, act in zip(layers, activations[1:], strict=True)
        ]
        if self._first_bp < len(layers):
            error = self._logits_error(activations, labels)
            stages.append(Stage(layers[-1].name, "error", _bytes(*_of_slot(error, slot))))
            for index in range(len(layers) - 1, self._first_bp, -1):
                error = self._hand_on(index, weights, error, activations)
                stages.append(Stage(layers[index].name, "error handed on", _bytes(*_of_slot(error, slot))))
        return stages

    @property
    def _together(self) -> bool:
        return self.settings.scope == "batch"

    def _noise(self, step: int) -> list[np.ndarray]:
        """Return z of the perturbed tensors, in their shapes."""
        s = self.settings
        if s.partition == 0:
            return []
        pool = signed_pool(s.seed, step, s.p_zero, s.r_max)
        return [
            perturbation(pool, s.seed, step, index, weights.size).reshape(weights.shape)
            for index, weights in enumerate(self.weights[: s.partition])
        ]

    def _passes(self, weights: Sequence[np.ndarray], noise: list[np.ndarray]) -> Iterator[list[np.ndarray]]:
        rest = list(weights[len(noise) :])
        current = [clip(tensor, self.settings.limit) for tensor in weights[: len(noise)]]
        for factor in (1, -2) if noise else (0,):
            current = [clip127(w + factor * z).astype(np.int8) for w, z in zip(current, noise, strict=True)]
            yield current + rest

    def _losses(
        self, logits: list[tuple[np.ndarray, np.ndarray]], floats: list[float], labels: np.ndarray
    ) -> Sequence[float]:
        """Return L_plus and L_minus (section 5)."""
        if self.settings.loss == "float":
            return floats
        if self.settings.partition == 0:
            return 0, 0
        return integer_losses(logits[0], logits[1], labels, self.settings.loss_fraction)

    def _of_layer(self, weights: Sequence[np.ndarray]) -> list[np.ndarray | None]:
        left = iter(weights)
        return [None if layer.weights is None else next(left) for layer in self.network.layers]

    def _input(self, images: np.ndarray) -> np.ndarray:
        """Return uint8 images [B, H, W] as int8 [H, W, C, B] (section 3)."""
        pixels = np.ascontiguousarray(images.reshape(len(images), -1).T)
        return (pixels >> 1).view(np.int8).reshape(*self.network.in_shape, -1)

    def _forward(self, weights: Sequence[np.ndarray], x: np.ndarray, together: bool) -> Activations:
        activations = [(x, np.full(x.shape[-1], self.network.input_exp))]
        for layer, own in zip(self.network.layers, self._of_layer(weights), strict=True):
            activations.append(forward(layer, own, *activations[-1], together))
        return activations

    def _logits(self, activations: Activations) -> tuple[np.ndarray, np.ndarray]:
        """Return the logits int8 [B, classes] and their exponents."""
        logits, exponents = activations[-1]
        return np.ascontiguousarray(logits.reshape(-1, logits.shape[-1]).T), exponents

    def _logits_error(self, activations: Activations, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        error = logits_error(*self._logits(activations), labels, self.settings.logit_error)
        return np.ascontiguousarray(error.T).reshape(activations[-1][0].shape), np.full(len(labels), ERROR_EXP)

    def _hand_on(
        self, index: int, weights: Sequence[np.ndarray], error: tuple[np.ndarray, np.ndarray], activations: Activations
    ) -> tuple[np.ndarray, np.ndarray]:
        layer, own = self.network.layers[index], self._of_layer(weights)[index]
        return input_error(layer, own, *error, activations[index][0], activations[index + 1][0], self._together)

    def _backward(
        self, weights: Sequence[np.ndarray], activations: Activations, labels: np.ndarray
    ) -> dict[int, np.ndarray]:
        """Return the gradients of the back-propagated tensors, integers [weights], by index of the tensor."""
        gradients: dict[int, np.ndarray] = {}
        tensor = len(self.weights)
        if self._first_bp < len(self.network.layers):
            error = self._logits_error(activations, labels)
        for index in range(len(self.network.layers) - 1, self._first_bp - 1, -1):
            layer, (x, exponents) = self.network.layers[index], activations[index]
            if layer.weights is not None:
                tensor -= 1
                gradients[tensor] = batch_gradient(layer, error[0], x, error[1] + exponents)
            if index > self._first_bp:
                error = self._hand_on(index, weights, error, activations)
        return gradients

    def _zo_update(self, perturbed: Sequence[np.ndarray], noise: list[np.ndarray], sign: int) -> None:
        shift, limit = bits(self.settings.r_max) - self.settings.b_zo, self.settings.limit
        for index, z in enumerate(noise):
            update = sign * z if shift < 1 else psto_shift(sign * z, shift)
            self.weights[index] = clip(clip(perturbed[index] + z, limit) - update, limit).astype(np.int8)

    def _bp_update(self, index: int, gradient: np.ndarray) -> None:
        largest = bits(int(np.abs(gradient).max()))
        if largest == 0:
            return
        shift = largest - self.settings.b_bp
        update = gradient if shift < 1 else psto_shift(gradient, shift)
        weights = self.weights[index]
        self.weights[index] = clip127(weights - update.reshape(weights.shape)).astype(np.int8)


def _of_slot(activation: tuple[np.ndarray, np.ndarray], slot: int) -> tuple[np.ndarray, int]:
    return activation[0][..., slot], int(activation[1][slot])


def _bytes(values: np.ndarray, exponent: int) -> bytes:
    return values.astype(np.int8).tobytes() + int(exponent).to_bytes(2, "little", signed=True)
