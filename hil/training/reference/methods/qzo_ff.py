"""QZO-FF: quantized zeroth-order forward gradients by signs (docs/arithmetic-qzo-ff.md).

What depends on the format of the weights is in the class that the format's module names as `REFERENCE`
(hil/training/formats): passes and losses, and the moves and updates of each trained tensor (`w16a8.network`,
`w16a8.tensor`). On `float32` the same class is the yardstick of section 10 (`float32.network`, `float32.tensor`): it is
on the host only, and no trial names it. A tensor gets the sum of the signed directions with their mean, because floats
use the one and integers the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

import numpy as np

from hil.errors import RigError
from hil.training.formats import kernels_of
from hil.training.graph.graph import Graph
from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.methods.qzo_ff_tensors import QzoFfTensor, trained_tensors
from hil.training.reference.floats import F
from hil.training.reference.formats.tflite8.loss import summed
from hil.training.reference.methods import StepOutcome
from hil.training.reference.methods.adam_moments import Decay, Moments
from hil.training.reference.methods.directions import direction, direction_pool
from hil.training.reference.methods.network_reference import NetworkReference
from hil.training.reference.methods.qzo_directions import DirectionGradient, Momentum, mask_of
from hil.training.reference.methods.qzo_rates import SMALLEST_ROOT, rate


@dataclass(frozen=True)
class DrawnDirections:
    """The directions of a step: of every trained tensor one after the other, that of sharpness last; its sign."""

    step: int
    directions: list[list[np.ndarray]]
    sharpness_sign: int = 0


class QzoFfReference(NetworkReference):
    """The method, with its weights, momentum, moments and step counter.

    Args:
        network: the graph and the initial weights, which are copied.
        settings: docs/arithmetic-qzo-ff.md, section 9.
        kind: makes the network of graph and trained tensors; that of the format in NumPy where none is given.
    """

    settings: QzoFfSettings

    def __init__(
        self,
        network: Graph,
        settings: QzoFfSettings,
        kind: Callable[[Graph, Sequence[QzoFfTensor]], Any] | None = None,
    ) -> None:
        self.graph = network
        trained = trained_tensors(network, settings)
        kind = kind or resolve_name(kernels_of(network.format_of(0)).REFERENCE)
        self._network = kind(network, trained)
        self.arithmetic = self._network.arithmetic
        self._tensors = self._network.tensors
        self.value_type = self._network.VALUE_TYPE
        self.configure(settings, 0)

    def configure(self, settings: QzoFfSettings, first_step: int) -> None:
        """As `MethodReference`; momentum, moments and masks begin anew."""
        super().configure(settings, first_step)
        for tensor in self._tensors:
            tensor.configure(settings)
        sizes = [tensor.values.size for tensor in self._tensors]
        self._momenta = [Momentum(size) for size in sizes] if settings.guide else []
        self._moments = [Moments(size) for size in sizes] if settings.optimizer == "adamw" else []
        self._decay = Decay(settings.beta1, settings.beta2, SMALLEST_ROOT)
        self._masks: list[np.ndarray | None] = []  # until the first step
        self._last: DrawnDirections | None = None

    def state(self) -> dict[str, np.ndarray]:
        """Return what decides later steps beside the weights: momentum, moments and masks, by name."""
        found = self._decay.state() if self._moments else {}
        for index, moments in enumerate(self._moments):
            found |= moments.state(index)
        found |= {f"momentum{index}": its.v for index, its in enumerate(self._momenta)}
        masks = enumerate(self._masks)
        return found | {f"mask{index}": mask for index, mask in masks if mask is not None}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on with what `state` returned, after `configure`."""
        for index, moments in enumerate(self._moments):
            moments.restore(state, index)
        if self._moments:
            self._decay.restore(state)
        for index, its in enumerate(self._momenta):
            its.v = state[f"momentum{index}"].astype(np.int32)
        masks = [state.get(f"mask{index}") for index in range(len(self._tensors))]
        self._masks = [None if mask is None else mask.astype(bool) for mask in masks]

    def step(self, images: np.ndarray, labels: np.ndarray) -> StepOutcome:
        """Train one step on uint8 images [B, H, W] or [B, H, W, C] and labels [B]."""
        step, self._next_step = self._next_step, self._next_step + 1
        self._begin()
        prefix, directions = self._network.prefix(images), self._draw(step)
        pairs: list[tuple[np.float32, np.float32]] = []
        sharpness = self.settings.directions if self.settings.has_sharpness else None
        sharpness_sign = 0
        if sharpness is not None:
            sharpness_sign = _sign(*self._pair(directions, sharpness, prefix, labels))
            self._sharpen(directions, sharpness, sharpness_sign)
        for number in range(self.settings.directions):
            pairs.append(self._pair(directions, number, prefix, labels))
        if sharpness is not None:
            self._sharpen(directions, sharpness, -sharpness_sign)
        signs = [_sign(*pair) for pair in pairs]
        self._update(step, [DirectionGradient.of(signs, each[: len(signs)]) for each in directions])
        self._last = DrawnDirections(step, directions, sharpness_sign)
        plus, minus = (float(summed(np.array(losses, F), F(0))) for losses in zip(*pairs, strict=True))
        return StepOutcome(step, plus, minus, plus, minus, int(np.sign(sum(signs))), self.digests())

    def passes(self, weights: Sequence[np.ndarray], step: int) -> Iterator[list[np.ndarray]]:
        """Yield the weights of the passes of the last step, from the weights before it.

        Raises:
            RigError: another step than the last: its momentum and the sign of sharpness are not known.
        """
        if self._last is None or self._last.step != step:
            raise RigError(f"step {step} is not the last one, whose passes are known: train it again.")
        drawn, kept = self._last, [tensor.values for tensor in self._tensors]
        for tensor, given in zip(self._tensors, weights, strict=True):
            tensor.values = given.astype(tensor.values.dtype)
            tensor.clip()
        order = list(range(self.settings.directions))
        if self.settings.has_sharpness:
            order.insert(0, self.settings.directions)
        try:
            for number in order:
                for _ in self._moved(drawn.directions, number):
                    yield self.weights
                if number == self.settings.directions:
                    self._sharpen(drawn.directions, number, drawn.sharpness_sign)
        finally:
            for tensor, values in zip(self._tensors, kept, strict=True):
                tensor.values = values

    def _begin(self) -> None:
        """Bring the weights to where they may rest; choose what is updated in the first step."""
        for tensor in self._tensors:
            tensor.clip()
        if not self._masks:
            self._masks = [self._mask(number) for number in range(len(self._tensors))]

    def _mask(self, number: int) -> np.ndarray | None:
        tensor = self._tensors[number]
        if self.settings.sparse == "off" or tensor.known.is_bias:
            return None
        return mask_of(tensor.magnitudes(), self.settings, number, tensor.threshold(self.settings))

    def _draw(self, step: int) -> list[list[np.ndarray]]:
        """Return all directions of a step by tensor, int16 [size] each: 0 where nothing is updated."""
        settings, found = self.settings, []
        pool = direction_pool(settings.distribution, settings.seed, step)
        guide = self.settings.guide if step >= self.settings.guide_from else 0
        for index, (tensor, mask) in enumerate(zip(self._tensors, self._masks, strict=True)):
            size, mine = tensor.values.size, []
            for number in range(settings.draws):
                z = direction(pool, settings.seed, step, number, index, size)
                if guide:
                    z = self._momenta[index].guided(z, guide)
                mine.append(z if mask is None else z * mask)
            found.append(mine)
        return found

    def _pair(
        self, directions: list[list[np.ndarray]], number: int, prefix: list[dict[int, np.ndarray]], labels: np.ndarray
    ) -> tuple[np.float32, np.float32]:
        """Return L_plus and L_minus of a direction; the weights come back."""
        losses = [summed(self._network.losses(prefix, labels), F(0)) for _ in self._moved(directions, number)]
        return losses[0], losses[1]

    def _moved(self, directions: list[list[np.ndarray]], number: int) -> Iterator[None]:
        """Move the weights to the plus pass of a direction, to its minus pass, and back."""
        moves = [tensor.move_of(mine[number]) for tensor, mine in zip(self._tensors, directions, strict=True)]
        for times in (1, -2):
            self._move(moves, times)
            yield
        self._move(moves, 1)

    def _move(self, moves: list[np.ndarray], times: int) -> None:
        for tensor, move in zip(self._tensors, moves, strict=True):
            tensor.moved(move, times)

    def _sharpen(self, directions: list[list[np.ndarray]], number: int, sign: int) -> None:
        for tensor, mine in zip(self._tensors, directions, strict=True):
            tensor.sharpened(mine[number], sign)

    def _update(self, step: int, gradients: list[DirectionGradient]) -> None:
        """Step down the gradients of all tensors, which are 0 where nothing is updated."""
        eta = rate(self.settings, step)
        self._decay.advance()
        k = None  # of a layer, if it is normalised
        for index, (tensor, gradient, mask) in enumerate(zip(self._tensors, gradients, self._masks, strict=True)):
            if self.settings.normalise and not tensor.known.is_bias:  # the biases of the layer take its k
                k = tensor.normalisation(gradient)
            if self._moments:
                tensor.lower_by(self._moments[index].step(tensor.real(gradient, k), self._decay, eta, mask))
            else:
                tensor.lower_plain(gradient, k, eta)
            if self._momenta:
                self._momenta[index].follow(gradient.mean, self.settings.smoothing, mask)


def _sign(plus: np.float32, minus: np.float32) -> int:
    return int(plus > minus) - int(plus < minus)
