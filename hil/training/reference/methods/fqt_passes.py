"""Forward and backward pass of a group of samples (docs/arithmetic-fqt.md, section 3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hil.training.graph.formats import Format
from hil.training.graph.graph import Graph
from hil.training.methods.backward_pass import BackwardPass
from hil.training.reference.floats import F, exp32
from hil.training.reference.formats.affine8.backward import ErrorSums
from hil.training.reference.formats.affine8.errors import Affine8Errors, RunningRange, of_floats, of_sums
from hil.training.reference.formats.float32.loss import logits_error, losses
from hil.training.reference.formats.tflite8.loss import cross_entropy
from hil.training.reference.methods.fqt_layers import RunningLayer, TrainingLayer, input_value, running_layer, sum_of

SCALE_TOO_LARGE = 3  # the cause of a step that fails in a backward pass


@dataclass(frozen=True)
class StepFailure:
    """Why a step fails: index of the layer, and the number of the cause (section 8)."""

    layer: int
    cause: int


@dataclass(eq=False)
class Reached:
    """A layer that errors reach, with what has come about at it.

    Attributes:
        index, layer: of the graph.
        whole: the error of its output, before the gate.
        error: after the gate; the walk goes on with what it is set to.
    """

    index: int
    layer: TrainingLayer
    whole: Any
    error: Any


class FqtPasses:
    """A network with the weights and scales of a step.

    Args:
        graph: whose scales follow from its ranges.
        backward: which layers errors reach.
        ranges: the running ranges of errors by layer and by place among what it reads; empty if each sample has its
            own.

    Attributes:
        layers: of the graph, ready to run.
    """

    def __init__(
        self, graph: Graph, backward: BackwardPass, ranges: Mapping[tuple[int, int], RunningRange] | None = None
    ) -> None:
        self.graph, self._backward, self._ranges = graph, backward, ranges or {}
        self.layers: list[RunningLayer] = [running_layer(graph, index) for index in range(len(graph.layers))]
        self._failed: tuple[int, StepFailure] | None = None  # the first sample of the group that fails

    def values(self, images: np.ndarray) -> list[np.ndarray]:
        """Return all values, n + 1 of them, of uint8 images, each in the form of its format."""
        values = [input_value(self.graph, images)]
        for layer in self.layers:
            values.append(layer.run([values[value] for value in layer.node.reads]))
        return values

    def stored(self, value: int, values: Sequence[np.ndarray]) -> np.ndarray:
        """Return a value as it is stored, int8 or float32 [B, H, W, C]."""
        if self.graph.format_of(value) is Format.FLOAT32:
            return np.ascontiguousarray(values[value].transpose(3, 0, 1, 2))
        return (values[value] + self.graph.zero_of(value)).astype(np.int8)

    def logits(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """Return the logits, int8 or float32 [B, classes]."""
        return self.stored(len(self.layers), values)[:, 0, 0]

    def losses(self, values: Sequence[np.ndarray], labels: np.ndarray) -> np.ndarray:
        """Return the loss of each sample, float32 [B]."""
        logits = self.logits(values)
        if logits.dtype == F:
            return losses(np.ascontiguousarray(logits.T), labels)
        return cross_entropy(logits, labels, self.graph.scale_of(len(self.layers)))

    def error_of_logits(self, values: Sequence[np.ndarray], labels: np.ndarray) -> Any:
        """Return the error of the logits in the form of their format."""
        logits = self.logits(values)
        if logits.dtype == F:
            return logits_error(np.ascontiguousarray(logits.T), labels)[None, None]
        q = logits.astype(np.int32)
        terms = exp32((q - q.max(axis=1)[:, None]).astype(F) * F(self.graph.scale_of(len(self.layers))))
        d = terms / np.add.accumulate(terms, axis=1, dtype=F)[:, -1:]
        d[np.arange(len(d)), labels] -= F(1)
        return of_floats(d[:, None, None], self.graph.affine_rounding)

    def walk(self, values: Sequence[np.ndarray], labels: np.ndarray) -> Iterator[Reached]:
        """Yield each reached layer, from the last one back; what the caller sets as its error goes on.
        Where an error has a scale that is too large it is 0 from there on, and `failure` says why.
        """
        self._failed = None
        held = {len(self.layers): self.error_of_logits(values, labels)}
        self._note(len(self.layers) - 1, held[len(self.layers)])
        for index in sorted(self._backward.reached, reverse=True):
            layer, whole = self.layers[index], held.pop(index + 1)
            assert isinstance(layer, TrainingLayer)  # the settings are refused with a layer of tflite8 there
            at = Reached(index, layer, whole, layer.gated(whole, values[index + 1]))
            yield at
            reads = layer.node.reads
            wanted = [self._backward.has_error(value) for value in reads]
            if not any(wanted):
                continue
            for place, its in enumerate(layer.given(at.error, [values[value] for value in reads], wanted)):
                if wanted[place]:
                    self._give(held, index, place, its)

    def _give(self, held: dict[int, Any], index: int, place: int, its: Any) -> None:
        """Give an error to a value that a layer reads."""
        if isinstance(its, ErrorSums):
            its = self._errors(index, place, its)
        self._note(index, its)
        value = self.layers[index].node.reads[place]
        if value in held:
            its = sum_of(held[value], its, self.graph.affine_rounding)
            self._note(index, its)
        held[value] = its

    def _errors(self, index: int, place: int, sums: ErrorSums) -> Affine8Errors:
        rounding = self.graph.affine_rounding
        if self._ranges:
            return self._ranges[index, place].of_sums(sums.acc, sums.c, rounding)
        return of_sums(sums.acc, sums.c, rounding)

    def _note(self, index: int, error: Any) -> None:
        """Remember the first sample whose error has too large a scale; of one sample what comes first."""
        if isinstance(error, Affine8Errors) and error.wrong.any():
            sample = int(np.argmax(error.wrong))
            if self._failed is None or sample < self._failed[0]:
                self._failed = sample, StepFailure(index, SCALE_TOO_LARGE)

    @property
    def failure(self) -> StepFailure | None:
        """Why the last walk failed, None if it did not."""
        return None if self._failed is None else self._failed[1]
