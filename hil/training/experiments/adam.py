"""Back-propagation with Adam on the host: the pre-training of ElasticZO's table 2 (section 5.2).

No board does this. Passes and gradients are those of docs/arithmetic-float32.md; Adam's own numbers are binary32, every
operation rounded by itself, so every computer gives the same weights.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hil.training.graph.graph import Graph
from hil.training.methods.elasticzo_settings import Fp32Settings
from hil.training.reference.floats import F
from hil.training.reference.formats.float32.arithmetic import Float32Arithmetic
from hil.training.reference.methods import StepOutcome
from hil.training.reference.methods.elasticzo_fp32 import ElasticZoFp32Reference

RATE, BETA1, BETA2, SMALL = 1e-3, 0.9, 0.999, 1e-8  # the last is PyTorch's default; the paper does not print it


class AdamPreTraining(ElasticZoFp32Reference):
    """Full back-propagation whose update is Adam's.

    Args:
        network: the graph and the initial weights, which are copied.
        batch: samples in a step.
        seed: of the network; Adam draws nothing.
        arithmetic: what computes the passes of the network; NumPy where none is given.
    """

    def __init__(self, network: Graph, batch: int, seed: int, arithmetic: Float32Arithmetic | None = None) -> None:
        layers = len(network.trained)
        settings = Fp32Settings.of_variant("full-bp", layers, batch=batch, seed=seed, eta=RATE)
        super().__init__(network, settings, arithmetic)
        self._mean, self._square = self._zeros(), self._zeros()

    def state(self) -> dict[str, np.ndarray]:
        """Return the moments of every tensor, by name."""
        moments = {"mean": self._mean, "square": self._square}
        return {f"{name}{index}": array for name, arrays in moments.items() for index, array in enumerate(arrays)}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on with what `state` returned, after `configure`."""
        for name, arrays in (("mean", self._mean), ("square", self._square)):
            arrays[:] = [state[f"{name}{index}"] for index in range(len(arrays))]

    def step(self, images: np.ndarray, labels: np.ndarray) -> StepOutcome:
        """Train one step on uint8 images [B, H, W] or [B, H, W, C] and labels [B]."""
        step, self._next_step = self._next_step, self._next_step + 1
        sums = self._zeros()
        loss = float(self._forward(self._tensors, images, labels, sums))
        of_mean, of_square = F(1 - BETA1**self._next_step), F(1 - BETA2**self._next_step)
        for place, total in enumerate(sums):
            g = total / F(len(images))
            self._mean[place] = F(BETA1) * self._mean[place] + F(1 - BETA1) * g
            self._square[place] = F(BETA2) * self._square[place] + F(1 - BETA2) * (g * g)
            root = np.sqrt(self._square[place] / of_square) + F(SMALL)
            self._tensors[place] = self._tensors[place] - F(RATE) * (self._mean[place] / of_mean / root)
        return StepOutcome(step, loss, loss, loss, loss, 0, self.digests())
