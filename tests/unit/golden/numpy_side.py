"""The NumPy reference as a trainer of golden rows; it is also what they are made from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xxhash

from hil.training.methods import Method
from hil.training.reference.methods import MethodReference, StepOutcome, TracedStage, reference_of
from hil.training.reference.native.tflite8 import fastest


class NumpyTrainer:
    """The reference."""

    name = "NumPy"

    def begin(self, of: Method) -> None:
        """Begin at the network's own weights."""
        self._method = self._reference(of)
        self._batch: tuple[np.ndarray, np.ndarray] | None = None

    def _reference(self, of: Method) -> MethodReference:
        return reference_of(of)

    def digests(self) -> tuple[int, ...]:
        """Return the digest of every trained tensor."""
        return self._method.digests()

    def samples(self, images: np.ndarray, labels: np.ndarray) -> None:
        """Take a batch."""
        self._batch = images, labels

    def step(self, step: int, count: int) -> StepOutcome:
        """Train on the batch."""
        assert self._batch is not None and len(self._batch[0]) == count
        outcome = self._method.step(*self._batch)
        assert outcome.step == step
        return outcome

    def infer(self) -> tuple[int, int]:
        """Return the predicted class of the one sample, and the digest of its logits."""
        assert self._batch is not None
        predictions, _, digest = self._method.evaluate_chunk(*self._batch)
        return int(predictions[0]), digest

    def trace(self, slot: int, stages: int) -> Sequence[int]:
        """Return the digest of every stage of a sample."""
        return [xxhash.xxh32_intdigest(stage.data) for stage in self.stages(slot)]

    def stages(self, slot: int) -> list[TracedStage]:
        """Return every stage of a sample."""
        assert self._batch is not None
        return self._method.trace(self._method.weights, *self._batch, slot)


class NativeTrainer(NumpyTrainer):
    """Poor Man's Training in C."""

    name = "C of the reference"

    def _reference(self, of: Method) -> MethodReference:
        found = fastest(of.network, of.settings)
        assert found.arithmetic.startswith("C, "), found.arithmetic
        return found
