"""The training loops by name: the same names as in firmware/methods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any, Protocol

import numpy as np

from hil.errors import RigError, close_matches
from hil.graph.graph import Graph
from hil.methods import METHODS, Method


@dataclass(frozen=True)
class StepOutcome:
    """What one step gave: loss terms (float32), the sign of their difference, and XXH32 of every trained tensor.

    Under INT8* the loss terms are integers; `float_loss_plus` and `_minus` are those of section 5's floats, whatever
    decided the sign.
    """

    step: int
    loss_plus: float
    loss_minus: float
    float_loss_plus: float
    float_loss_minus: float
    sign: int
    digests: tuple[int, ...]

    @property
    def right_sign(self) -> bool:
        """Whether the sign is that of the float losses.

        About 95 % of the signs of INT8* are (ElasticZO, section 4.3).
        """
        return self.sign == (self.float_loss_plus > self.float_loss_minus) - (
            self.float_loss_plus < self.float_loss_minus
        )


@dataclass(frozen=True)
class Stage:
    """One stage of a traced sample: `what` (`output`, `error` or `error handed on`) of `layer`.

    `data` is the values, of the NumPy type `type`, then the exponent as int16.
    """

    layer: str
    what: str
    data: bytes
    type: str = "int8"


class Reference(Protocol):
    """A training method in NumPy, with its weights and its step counter."""

    @property
    def weights(self) -> list[np.ndarray]:
        """The trained tensors, input to output."""
        ...

    def __init__(self, network: Graph, settings: Any, /) -> None: ...

    @property
    def arithmetic(self) -> str:
        """What computes the passes."""
        ...

    def configure(self, settings: Any, first_step: int) -> None:
        """Go on with other settings and another index of the next step; the weights stay."""
        ...

    def step(self, images: np.ndarray, labels: np.ndarray) -> StepOutcome:
        """Train one step on uint8 images [B, H, W] and labels [B]."""
        ...

    def digests(self) -> tuple[int, ...]:
        """Return XXH32 of every trained tensor."""
        ...

    def evaluate_chunk(self, images: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, int, int]:
        """Return predictions uint8 [B], how many are right, and the digest of the logits."""
        ...

    def accuracy(self, images: np.ndarray, labels: np.ndarray) -> float:
        """Return the share of images that the weights classify rightly."""
        ...

    def passes(self, weights: Sequence[np.ndarray], step: int) -> Iterator[list[np.ndarray]]:
        """Yield the weights that each forward pass of a step uses, from the weights before it."""
        ...

    def trace(self, weights: Sequence[np.ndarray], images: np.ndarray, labels: np.ndarray, slot: int) -> list[Stage]:
        """Return every stage of one sample among those that share its exponents.

        They are in the order of docs/link.md (`trace`).
        """
        ...


def reference_of(method: Method) -> Reference:
    """Return the reference of a method at its first weights."""
    return training_loop(method.loop)(method.network, method.settings)


def training_loop(loop: str) -> type[Reference]:
    """Return a training loop by name.

    Raises:
        RigError: no such loop.
    """
    known = {kind.loop: kind.reference for kind in METHODS.values()}
    if loop not in known:
        raise RigError(f"there is no method {loop!r}: {close_matches(loop, known)}")
    found: type[Reference] = resolve_name(f"{__name__}.{known[loop]}")
    return found
