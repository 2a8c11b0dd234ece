"""Perturbed scales: zeroth order on the gains of output channels (docs/arithmetic-quzo.md, sections 7 to 10)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hil.training.graph.graph import Graph
from hil.training.methods.perturbed_scales_settings import PerturbedScalesSettings
from hil.training.methods.perturbed_scales_tensors import first_gains, trained_tensors
from hil.training.reference.floats import F
from hil.training.reference.formats.tflite8.gained import GainedNetwork
from hil.training.reference.formats.tflite8.loss import summed
from hil.training.reference.methods import StepOutcome
from hil.training.reference.methods.directions import direction, direction_pool
from hil.training.reference.methods.two_sided import TwoSidedReference

LARGEST_X = 2.0**14
STEPS_OF_X = 2.0**27
FRACTION = 8  # bits of C * z below a step of a gain


class Gains:
    """The gains of a trained layer; `values` are those of the present pass, int32 [out].

    Args:
        gains: the first ones, which are copied.
        limits: W_min and W_max.
    """

    def __init__(self, gains: np.ndarray, limits: tuple[int, int]) -> None:
        self.limits = limits
        self.values = gains.astype(np.int32)

    @property
    def stored(self) -> np.ndarray:
        """A copy of the values."""
        return self.values.copy()

    def clip(self) -> None:
        """Bring the values to where they may rest."""
        self.values = self._held(self.values)

    def lower(self, c: int, z: np.ndarray) -> None:
        """Lower the values along z, int16 [out], by the factor C of the step."""
        self.values = self._held(self.values - ((c * z.astype(np.int64) + (1 << (FRACTION - 1))) >> FRACTION))

    def _held(self, values: np.ndarray) -> np.ndarray:
        held: np.ndarray = np.clip(values, *self.limits).astype(np.int32)
        return held


class PerturbedScalesReference(TwoSidedReference):
    """The method, with its gains and its step counter.

    Args:
        network: the graph, whose weights stay, with its first gains.
        settings: docs/arithmetic-quzo.md, section 10.
    """

    settings: PerturbedScalesSettings
    _tensors: list[Gains]

    def __init__(self, network: Graph, settings: PerturbedScalesSettings) -> None:
        self.graph = network
        trained = trained_tensors(network, settings.trained(network))
        self._tensors = [Gains(first_gains(network, tensor.layer), settings.limits) for tensor in trained]
        self._network = GainedNetwork(network, [(tensor.layer, False) for tensor in trained], self._tensors)
        self.arithmetic = self._network.arithmetic
        self.configure(settings, 0)

    def configure(self, settings: PerturbedScalesSettings, first_step: int) -> None:
        """As `MethodReference`."""
        super().configure(settings, first_step)
        for tensor in self._tensors:
            tensor.limits = settings.limits

    def step(self, images: np.ndarray, labels: np.ndarray) -> StepOutcome:
        """Train one step on uint8 images [B, H, W] or [B, H, W, C] and labels [B]."""
        step, self._next_step = self._next_step, self._next_step + 1
        self._rest()
        prefix, z = self._network.prefix(images), self._z(step)
        plus, minus = [summed(self._network.losses(prefix, labels), F(0)) for _ in self._moved(self._by(z))]
        c = factor(self.settings, plus, minus, len(images))
        for tensor, its in zip(self._tensors, z, strict=True):
            tensor.lower(c, its)
        sign = int(plus > minus) - int(plus < minus)
        terms = float(plus), float(minus)
        return StepOutcome(step, *terms, *terms, sign, self.digests())

    def _moves(self, step: int) -> Iterator[list[np.ndarray]]:
        """Yield E * z of every tensor, once."""
        yield self._by(self._z(step))

    def _by(self, z: list[np.ndarray]) -> list[np.ndarray]:
        return [self.settings.epsilon_steps * its.astype(np.int32) for its in z]

    def _z(self, step: int) -> list[np.ndarray]:
        """Return z of every tensor, int16 [out]."""
        seed, pool = self.settings.seed, direction_pool("gaussian", self.settings.seed, step)
        return [
            direction(pool, seed, step, 0, number, tensor.values.size) for number, tensor in enumerate(self._tensors)
        ]


def factor(settings: PerturbedScalesSettings, plus: np.float32, minus: np.float32, samples: int) -> int:
    """Return C of a step: eta times the slope, in 2^-27.

    Args:
        settings: with epsilon, clip and eta.
        plus, minus: L_plus and L_minus, binary32.
        samples: of the step.
    """
    clip = F(settings.clip)
    with np.errstate(over="ignore", under="ignore"):
        x = (plus - minus) / F(2 * samples) / F(settings.epsilon)
        if clip > 0:
            x = min(max(x, -clip), clip)
        x = F(settings.eta) * x
    return int(np.rint(min(max(float(x), -LARGEST_X), LARGEST_X) * STEPS_OF_X))
