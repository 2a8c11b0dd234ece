"""Maps of the gradients of one training sample in the first and in the last step of a trial."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hil.record.sample_gradients import LEVELS, MOST_CELLS, MOST_LAYERS, MOST_ROWS
from hil.training.reference.methods import MethodReference, StepFailed
from hil.training.reference.methods.sample_gradients import SampleGradient, ShowsSampleGradients


@dataclass
class GradientMaps:
    """The maps so far, in the form of the record.

    Attributes:
        reference: shows the gradients.
        steps: with a map.
        layers: the last ones, input to output.
        trouble: why a step has no map, a sentence; empty if there is no reason.
    """

    reference: ShowsSampleGradients
    steps: list[int] = field(default_factory=list)
    layers: list[dict[str, Any]] = field(default_factory=list)
    trouble: str = ""
    _sample: tuple[np.ndarray, int] | None = None

    @classmethod
    def of(cls, reference: MethodReference) -> GradientMaps | None:
        """Return no maps yet; None if the reference shows no gradients."""
        return cls(reference) if isinstance(reference, ShowsSampleGradients) else None

    def take(self, step: int, images: np.ndarray, labels: np.ndarray) -> None:
        """Map the gradients with the weights before a step; of its first sample if no other was taken before."""
        self._sample = self._sample or (images[0].copy(), int(labels[0]))
        try:
            found = self.reference.sample_gradients(*self._sample)[-MOST_LAYERS:]
        except StepFailed:  # perhaps only of this sample, which need not be in the step
            self.trouble = f"the backward pass of the sample fails with the weights before step {step}."
            return
        wild = [gradient.layer for gradient in found if not np.isfinite(gradient.weights).all()]
        if wild:
            self.trouble = f"the gradient of {wild[0]} in step {step} is not finite."
            return
        self.steps.append(step)
        self.layers = self.layers or [_without_maps(gradient) for gradient in found]
        for layer, gradient in zip(self.layers, found, strict=True):
            layer["maps"].append(_map(gradient, layer["down"], layer["across"]))


def _without_maps(gradient: SampleGradient) -> dict[str, Any]:
    channels, weights = gradient.weights.shape
    return {
        "layer": gradient.layer,
        "channels": channels,
        "weights": weights,
        "down": math.ceil(channels / MOST_ROWS),
        "across": math.ceil(weights / MOST_CELLS),
        "maps": [],
    }


def _map(gradient: SampleGradient, down: int, across: int) -> dict[str, Any]:
    size = np.abs(gradient.weights)
    largest = float(size.max())
    cells = block_maxima(size, down, across).astype(np.float64)
    levels = np.rint(LEVELS * (cells / (largest or 1.0))).astype(np.uint8)
    kept = np.ones(len(size), bool) if gradient.kept is None else gradient.kept
    shown = block_maxima(kept[:, None], down, 1)[:, 0]
    return {
        "largest": largest,
        "kept": None if gradient.kept is None else int(kept.sum()),
        "rows": [row.tobytes().hex() if of_kept else "" for row, of_kept in zip(levels, shown, strict=True)],
    }


def block_maxima(values: np.ndarray, down: int, across: int) -> np.ndarray:
    """Return the largest value in each block of `down` x `across`; the last blocks may be smaller."""
    rows = np.maximum.reduceat(values, np.arange(0, values.shape[0], down), axis=0)
    maxima: np.ndarray = np.maximum.reduceat(rows, np.arange(0, values.shape[1], across), axis=1)
    return maxima
