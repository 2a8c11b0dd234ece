"""ElasticZO-INT8: Full ZO, ZO-Feat-Cls2, ZO-Feat-Cls1 and Full BP (NITI) by one partition.

See docs/arithmetic.md, section 9; ElasticZO, algorithm 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pkgutil import resolve_name

import numpy as np

from hil.errors import RigError
from hil.training.formats import kernels_of
from hil.training.graph.formats import CHAINS
from hil.training.graph.graph import Graph
from hil.training.methods.elasticzo_settings import ElasticZoSettings
from hil.training.reference.arith import bits
from hil.training.reference.formats.bfp8.arithmetic import NumpyArithmetic, Pass
from hil.training.reference.formats.bfp8.loss import integer_losses
from hil.training.reference.methods import MethodReference, StepOutcome, TracedStage, stage_bytes

CHUNK = 256  # images of an evaluation at a time
LARGEST = 127  # magnitude of a perturbed weight


class ElasticZoInt8Reference(MethodReference):
    """The method, with its weights and its step counter.

    Args:
        network: the graph and the initial weights, which are copied.
        settings: docs/arithmetic.md, section 9.
        arithmetic: what computes the passes of the network; NumPy where none is given.

    Raises:
        RigError: a partition of more tensors than the network has.
    """

    settings: ElasticZoSettings

    def __init__(self, network: Graph, settings: ElasticZoSettings, arithmetic: NumpyArithmetic | None = None) -> None:
        if settings.partition > len(network.trained):
            raise RigError(
                f"setting partition is {settings.partition}: the network has {len(network.trained)} trained tensors, "
                "choose no more."
            )
        self.network = network
        self._tensors = [own.weights.copy() for own in network.own.values()]
        kind = resolve_name(kernels_of(network.format_of(0)).REFERENCE)
        self._plain = kind(network)  # shows what lies between the layers
        self._arithmetic = arithmetic or self._plain
        self.arithmetic = self._arithmetic.name
        self.value_type = CHAINS[network.format_of(0)].values.name
        self._first_bp = network.first_bp(settings.partition)
        self.configure(settings, 0)

    @property
    def weights(self) -> list[np.ndarray]:
        """The trained tensors, input to output."""
        return self._tensors

    def step(self, images: np.ndarray, labels: np.ndarray) -> StepOutcome:
        """Train one step on uint8 images [B, H, W] and labels [B]."""
        step, self._next_step = self._next_step, self._next_step + 1
        noise = self._arithmetic.noise(self.settings, step)
        passed: list[Pass] = []
        weights = self.weights
        for weights in self._passes(self.weights, noise):
            last = len(passed) == (1 if noise else 0)
            passed.append(self._forward(weights, images, self._together, self._first_bp if last else self._layers))
        gradients = self._gradients(weights, passed[-1], labels)
        floats = [float(self._arithmetic.cross_entropy(one, labels)) for one in passed]
        losses = [float(loss) for loss in self._losses(passed, floats, labels)]
        sign = int(np.sign(losses[0] - losses[-1]))
        if noise:
            self._zo_update(weights, noise, sign)
        for index, gradient in gradients.items():
            self.weights[index] = self._arithmetic.bp_updated(self.weights[index], gradient, self.settings.b_bp)
        return StepOutcome(step, losses[0], losses[-1], floats[0], floats[-1], sign, self.digests())

    def passes(self, weights: Sequence[np.ndarray], step: int) -> Iterator[list[np.ndarray]]:
        """Yield the weights of the plus and the minus pass; of the one clean pass where nothing is perturbed."""
        return self._passes(weights, self._arithmetic.noise(self.settings, step))

    def logits(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the logits of uint8 images [B, H, W], int8 [B, classes], and their exponents."""
        parts = (images[at : at + CHUNK] for at in range(0, len(images), CHUNK))
        clean = [self._forward(self.weights, part, False, self._layers) for part in parts]
        return np.concatenate([one.logits for one in clean]), np.concatenate([one.exponents for one in clean])

    def trace(
        self, weights: Sequence[np.ndarray], images: np.ndarray, labels: np.ndarray, slot: int
    ) -> list[TracedStage]:
        """Return every stage of one sample: outputs, the logits' error, and the errors handed on."""
        if not self._together:
            images, labels, slot = images[slot : slot + 1], labels[slot : slot + 1], 0
        activations = self._plain.activations(weights, images, self._together)
        layers = self.network.layers
        stages = [
            self._stage(layer.name, "output", act, slot) for layer, act in zip(layers, activations[1:], strict=True)
        ]
        if self._first_bp < len(layers):
            error = self._plain.logits_error(
                self._plain.error(*self._plain.logits(activations), labels, self.settings.logit_error)
            )
            stages.append(self._stage(layers[-1].name, "error", error, slot))
            for index in range(len(layers) - 1, self._first_bp, -1):
                error = self._plain.handed_on(index, weights, error, activations, self._together)
                stages.append(self._stage(layers[index].name, "error handed on", error, slot))
        return stages

    @property
    def _together(self) -> bool:
        return self.settings.scope == "batch"

    @property
    def _layers(self) -> int:
        return len(self.network.layers)

    def _passes(self, weights: Sequence[np.ndarray], noise: list[np.ndarray]) -> Iterator[list[np.ndarray]]:
        rest, current, limit = list(weights[len(noise) :]), list(weights[: len(noise)]), self.settings.limit
        for factor in (1, -2) if noise else (0,):
            current = [self._arithmetic.moved(w, z, factor, limit) for w, z in zip(current, noise, strict=True)]
            limit = LARGEST
            yield current + rest

    def _losses(self, passed: list[Pass], floats: list[float], labels: np.ndarray) -> Sequence[float]:
        """Return L_plus and L_minus (section 5)."""
        if self.settings.loss == "float":
            return floats
        if not self.settings.partition:
            return 0, 0
        logits = [(one.logits, one.exponents) for one in passed]
        return integer_losses(logits[0], logits[1], labels, self.settings.loss_fraction)

    def _forward(self, weights: Sequence[np.ndarray], images: np.ndarray, together: bool, kept_from: int) -> Pass:
        return self._arithmetic.forward(weights, images, together, kept_from)

    def _gradients(self, weights: Sequence[np.ndarray], passed: Pass, labels: np.ndarray) -> dict[int, np.ndarray]:
        """Return the gradients of the back-propagated tensors, integers [weights], by index of the tensor."""
        if self._first_bp == self._layers:
            return {}
        error = self._plain.error(passed.logits, passed.exponents, labels, self.settings.logit_error)
        return self._arithmetic.gradients(weights, passed, error)

    def _zo_update(self, perturbed: Sequence[np.ndarray], noise: list[np.ndarray], sign: int) -> None:
        shift, limit = bits(self.settings.r_max) - self.settings.b_zo, self.settings.limit
        for index, z in enumerate(noise):
            self.weights[index] = self._arithmetic.zo_updated(perturbed[index], z, sign, shift, limit)

    def _stage(self, layer: str, what: str, found: tuple[np.ndarray, np.ndarray], slot: int) -> TracedStage:
        data = stage_bytes(found[0][..., slot], found[1][slot], self.value_type)
        return TracedStage(layer, what, data, self.value_type)
