"""The training loops by name: the same names as in firmware/methods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

import numpy as np
import xxhash

from hil.errors import RigError, close_matches
from hil.training.graph.graph import Graph
from hil.training.methods import METHODS, Method
from hil.training.methods.figures import StepWork
from hil.training.methods.fqt_settings import failed_step


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
        """Whether the sign is that of the float losses; about 95 % of those of INT8* are (ElasticZO, section 4.3)."""
        plus, minus = self.float_loss_plus, self.float_loss_minus
        return self.sign == (plus > minus) - (plus < minus)


class StepFailed(RigError):
    """A step that the method's arithmetic does not let happen; no trained tensor has changed.

    Attributes:
        step: its index.
        layer: index of the layer.
        cause: number of the cause (docs/arithmetic-fqt.md, section 8).
    """

    def __init__(self, step: int, name: str, layer: int, cause: int) -> None:
        super().__init__(failed_step(step, name, cause))
        self.step, self.layer, self.cause = step, layer, cause


@dataclass(frozen=True)
class TracedStage:
    """A stage of a traced sample: `output`, `error` or `error handed on` of a layer, as `stage_bytes` returns it.

    `type` is the NumPy type of its values. If it is `scaled`, their scale (f32) and their zero point (i16) come after
    them, in place of an exponent.
    """

    layer: str
    what: str
    data: bytes
    type: str = "int8"
    scaled: bool = False


class MethodReference(ABC):
    """A training method in NumPy, with its weights and its step counter; `arithmetic` says what computes the passes."""

    arithmetic: str
    value_type = "int8"  # of activations and errors

    @property
    @abstractmethod
    def weights(self) -> list[np.ndarray]:
        """The trained tensors, input to output."""

    def configure(self, settings: Any, first_step: int) -> None:
        """Go on from the weights with settings and an index of the next step; all other state begins anew."""
        self.settings, self._next_step = settings, first_step

    def follow(self, settings: Any) -> None:
        """Go on with settings that a schedule has changed; other state stays (docs/link.md, Requests of a trial)."""
        self.settings = settings

    def state(self) -> dict[str, np.ndarray]:
        """Return what decides later steps beside the weights, by name: momentum, moments, masks."""
        return {}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:  # noqa: B027 (most have no state)
        """Go on with what `state` returned, after `configure`."""

    def remarks(self) -> tuple[str, ...]:
        """Return sentences about what the steps decided, for the warnings of a record."""
        return ()

    def last_work(self) -> StepWork | None:
        """Return the passes of the last step where the data decide them; None where `MethodFigures.work` says them."""
        return None

    @abstractmethod
    def step(self, images: np.ndarray, labels: np.ndarray) -> StepOutcome:
        """Train one step on uint8 images [B, H, W] or [B, H, W, C] and labels [B]."""

    def digests(self) -> tuple[int, ...]:
        """Return XXH32 of every trained tensor; biases as little-endian int32."""
        tensors = (tensor.astype(tensor.dtype.newbyteorder("<")) for tensor in self.weights)
        return tuple(xxhash.xxh32_intdigest(tensor.tobytes()) for tensor in tensors)

    @abstractmethod
    def logits(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the logits of uint8 images, int8 [B, classes], and their exponents, integers [B]."""

    def logit_scale(self) -> float:
        """Return the real value of one step of integer logits, before their exponents."""
        return 1.0

    def evaluate_chunk(self, images: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, int, int]:
        """Return predictions uint16 [B], how many are right, and the digest of logits and exponents (section 10)."""
        logits, exponents = self.logits(images)
        predictions = logits.argmax(axis=1).astype(np.uint16)
        data = b"".join(
            stage_bytes(row, exponent, self.value_type) for row, exponent in zip(logits, exponents, strict=True)
        )
        return predictions, int((predictions == labels).sum()), xxhash.xxh32_intdigest(data)

    def accuracy(self, images: np.ndarray, labels: np.ndarray) -> float:
        """Return the share of uint8 images [n, H, W] or [n, H, W, C] that the weights classify rightly."""
        return float((self.logits(images)[0].argmax(axis=1) == labels).mean())

    @abstractmethod
    def passes(self, weights: Sequence[np.ndarray], step: int) -> Iterator[list[np.ndarray]]:
        """Yield the weights that each forward pass of a step uses, from the weights before it."""

    @abstractmethod
    def trace(
        self, weights: Sequence[np.ndarray], images: np.ndarray, labels: np.ndarray, slot: int
    ) -> list[TracedStage]:
        """Return the stages of one sample among those that share its exponents, in the order of docs/link.md (`trace`).

        `weights` replace those of the method.
        """


def stage_bytes(values: np.ndarray, exponent: int = 0, type: str = "int8") -> bytes:
    """Return values as the link has them: followed by their exponent as int16; 0 in a format without."""
    return values.astype(type).tobytes() + int(exponent).to_bytes(2, "little", signed=True)


def reference_of(method: Method) -> MethodReference:
    """Return the reference of a method at its first weights."""
    loop: Callable[[Graph, Any], MethodReference] = resolve_name(method.reference)
    return loop(method.network, method.settings)


def training_loop(loop: str) -> Callable[[Graph, Any], MethodReference]:
    """Return a training loop by name; RigError for an unknown one."""
    known = {kind.loop: kind.reference for kind in METHODS.values()}
    if loop not in known:
        raise RigError(f"there is no method {loop!r}: {close_matches(loop, known)}")
    found: Callable[[Graph, Any], MethodReference] = resolve_name(known[loop])
    return found
