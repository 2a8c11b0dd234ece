"""The steps of ElasticZO-INT8: docs/arithmetic.md, section 9."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np

from hil.training.graph.graph import Graph
from hil.training.methods.elasticzo_settings import ElasticZoSettings
from tests.oracle.layers import Group, accumulated, forward, input_error, weight_gradient
from tests.oracle.loss import integer_losses, logits_error, sample_loss
from tests.oracle.numbers import F32, Tensor, bits, clip127, perturbation, psto_shift

Images, Labels = Sequence[np.ndarray], Sequence[int]
Gradients = dict[int, Tensor]  # by index of the trained tensor


class PlainElasticZoInt8:
    """ElasticZO-INT8 by section 9. `weights` holds one flattened list a trained tensor."""

    def __init__(self, network: Graph, settings: ElasticZoSettings) -> None:
        self.weights = [[int(w) for w in np.ravel(layer.weights)] for layer in network.trained]
        self._input_exp = network.input_exp
        # With each layer goes the index of its trained tensor; a layer without weights carries its predecessor's.
        counts = accumulate(int(layer.weights is not None) for layer in network.layers)
        self._layers = [(layer, count - 1) for layer, count in zip(network.layers, counts, strict=True)]
        self.configure(settings, 0)

    def configure(self, settings: ElasticZoSettings, first_step: int) -> None:
        """Go on with other settings of the schedule; the weights stay."""
        self._settings, self._steps = settings, first_step

    def step(self, images: Images, labels: Labels) -> tuple[float, float, int]:
        """Train on uint8 images [B, H, W] or [B, H, W, C] and B labels; return L_plus, L_minus and g."""
        zeroth = self._settings.partition
        chosen = [int(label) for label in labels]
        if zeroth > 0:
            self._perturb_plus()
            plus, _ = self._pass(images, chosen, backward=False)
            self._perturb_minus()
            minus, gradients = self._pass(images, chosen, backward=zeroth < len(self.weights))
            losses = self._losses(plus, minus, chosen)
            g = int(losses[0] > losses[1]) - int(losses[0] < losses[1])
            self._update_zo(g)
        else:
            clean, gradients = self._pass(images, chosen, backward=True)
            losses, g = self._losses(clean, clean, chosen), 0
        self._update_bp(gradients)
        self._steps += 1
        return *losses, g

    def activations(self, images: Images) -> list[Group]:
        """Return the inputs of a group of uint8 images and every layer's outputs (sections 3 and 4)."""
        values = [[Tensor([int(pixel) >> 1 for pixel in np.ravel(image)], self._input_exp) for image in images]]
        for layer, tensor in self._layers:
            values.append(forward(layer, self.weights[max(tensor, 0)], values[-1]))
        return values

    def _losses(self, plus: Group, minus: Group, labels: list[int]) -> tuple[float, float]:
        if self._settings.loss == "integer":
            return (
                integer_losses(plus, minus, labels, self._settings.loss_fraction)
                if self._settings.partition
                else (0, 0)
            )
        sums = []
        for logits in (plus, minus):
            total = F32(0.0)
            for one, label in zip(logits, labels, strict=True):
                total = total + sample_loss(one, label)
            sums.append(total)
        return sums[0], sums[1]

    def _limited(self, w: int) -> int:
        limit = 127 - self._settings.r_max if self._settings.perturb == "exact" else 127
        return min(max(w, -limit), limit)

    def _noise(self) -> Iterator[tuple[list[int], list[int]]]:
        for tensor, weights in enumerate(self.weights[: self._settings.partition]):
            yield weights, perturbation(self._settings, self._steps, tensor, len(weights))

    def _perturb_plus(self) -> None:
        for weights, noise in self._noise():
            weights[:] = [clip127(self._limited(w) + z) for w, z in zip(weights, noise, strict=True)]

    def _perturb_minus(self) -> None:
        for weights, noise in self._noise():
            weights[:] = [clip127(w - 2 * z) for w, z in zip(weights, noise, strict=True)]

    def _update_zo(self, g: int) -> None:
        s = bits(self._settings.r_max) - self._settings.b_zo
        for weights, noise in self._noise():
            for i, z in enumerate(noise):
                u = g * z if s < 1 else psto_shift(g * z, s)
                weights[i] = self._limited(self._limited(weights[i] + z) - u)

    def _update_bp(self, gradients: Gradients) -> None:
        for tensor, gradient in gradients.items():
            b = bits(max(abs(value) for value in gradient.values))
            s, weights = b - self._settings.b_bp, self.weights[tensor]
            for i, value in enumerate(gradient.values if b else ()):
                weights[i] = clip127(weights[i] - (value if s < 1 else psto_shift(value, s)))

    def _pass(self, images: Images, labels: list[int], backward: bool) -> tuple[Group, Gradients]:
        """Return the logits of all samples, group by group, and the gradients."""
        size = len(images) if self._settings.scope == "batch" else 1
        logits: Group = []
        gradients: Gradients = {}
        for at in range(0, len(images), size):
            values = self.activations(images[at : at + size])
            logits += values[-1]
            if backward:
                self._backward(values, labels[at : at + size], gradients)
        return logits, gradients

    def _backward(self, values: list[Group], labels: list[int], gradients: Gradients) -> None:
        form = self._settings.logit_error
        errors = [logits_error(logits, label, form) for logits, label in zip(values[-1], labels, strict=True)]
        for index, (layer, tensor) in reversed(list(enumerate(self._layers))):
            inputs, outputs = values[index], values[index + 1]
            if layer.weights is not None:
                for x, error in zip(inputs, errors, strict=True):
                    gradients[tensor] = accumulated(gradients.get(tensor), weight_gradient(layer, x, error))
                if tensor == self._settings.partition:
                    return
            errors = input_error(layer, self.weights[max(tensor, 0)], inputs, outputs, errors)
