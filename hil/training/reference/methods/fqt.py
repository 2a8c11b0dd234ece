"""FQT: fully quantized training, with dynamic sparse gradient updates (docs/arithmetic-fqt.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass

import numpy as np

from hil.errors import RigError
from hil.training.graph.affine8 import with_scales
from hil.training.graph.formats import POOLS, Format
from hil.training.graph.graph import Graph
from hil.training.methods.backward_pass import BackwardPass
from hil.training.methods.figures import StepWork
from hil.training.methods.fqt_figures import step_work
from hil.training.methods.fqt_settings import FqtSettings
from hil.training.methods.fqt_tensors import array_of, trained_tensors, with_arrays
from hil.training.reference.floats import F
from hil.training.reference.formats.affine8.errors import Affine8Errors, RunningRange
from hil.training.reference.formats.bfp8.arithmetic import NumpyArithmetic
from hil.training.reference.methods import MethodReference, StepFailed, StepOutcome, TracedStage, stage_bytes
from hil.training.reference.methods.fqt_optimizers import optimizer_of
from hil.training.reference.methods.fqt_passes import FqtPasses, Reached, StepFailure
from hil.training.reference.methods.fqt_sparse import KeptShare, count, kept
from hil.training.reference.methods.fqt_statistics import Statistics
from hil.training.reference.methods.fqt_update import LayerGradient, shapes, updated
from hil.training.reference.methods.sample_gradients import SampleGradient, ShowsSampleGradients

GROUP = 16  # samples that are computed at a time
LEAST, MOST = 127, -128  # lo and hi of a value when a step begins


@dataclass(frozen=True, eq=False)
class Summed:
    """What the samples of a step gave.

    Attributes:
        loss: sum of the losses, float32.
        gradients: by trained layer.
        observed: smallest and largest stored value of outputs, by layer.
        failure: of the first backward pass that fails, None if none does.
    """

    loss: np.float32
    gradients: dict[int, LayerGradient]
    observed: dict[int, tuple[int, int]]
    failure: StepFailure | None


class FqtReference(MethodReference, ShowsSampleGradients):
    """The method, with its weights, its statistics and its step counter.

    Args:
        network: the graph with the first weights.
        settings: docs/arithmetic-fqt.md, section 9.

    Raises:
        RigError: nothing to train, or a pool that errors cannot be handed through.
    """

    arithmetic = NumpyArithmetic.name
    settings: FqtSettings

    def __init__(self, network: Graph, settings: FqtSettings) -> None:
        self.graph = with_scales(network)
        self.trained = settings.trained(network)
        if not self.trained:
            raise RigError(f"{network.name} has no weights in affine8 or float32 to train: choose another network.")
        self._backward = BackwardPass(network, self.trained, True)
        self._tensors = trained_tensors(network, self.trained, bool(settings.train_bias))
        self._observes = [
            index
            for index in range(self._backward.first, len(network.layers))
            if network.layers[index].format is Format.AFFINE8 and network.layers[index].op not in POOLS
        ]
        self._head = max(network.own)
        self.value_type = "float32" if network.layers[-1].format is Format.FLOAT32 else "int8"
        self.configure(settings, 0)

    @property
    def weights(self) -> list[np.ndarray]:
        """The trained tensors, input to output (section 2)."""
        return [array_of(self.graph.layers[tensor.layer], tensor.part) for tensor in self._tensors]

    def configure(self, settings: FqtSettings, first_step: int) -> None:
        """As `MethodReference`; statistics, the largest loss, running ranges and the optimizer begin anew."""
        super().configure(settings, first_step)
        self._share, self._ranges = KeptShare(settings), self._new_ranges()
        self._optimizer = optimizer_of(settings, shapes(self._zeros()))
        channels = {index: self.graph.layers[index].channels for index in self.trained}
        self._statistics = Statistics(channels, settings) if settings.runs_statistics else None

    def _new_ranges(self) -> dict[tuple[int, int], RunningRange]:
        if self.settings.error_range != "running":
            return {}
        return {
            (index, place): RunningRange(self.settings.range_momentum)
            for index in self._backward.reached
            for place in range(len(self.graph.layers[index].reads))
        }

    def state(self) -> dict[str, np.ndarray]:
        """Return what decides later steps beside the weights.

        The largest loss, statistics, ranges of errors, and what the optimizer keeps.
        """
        found = {"largest_loss": np.array(self._share.largest)} | self._optimizer.state()
        if self._statistics is not None:
            found |= self._statistics.state()
        for (index, place), range in self._ranges.items():
            found[f"error{index}.{place}"] = np.array([range.low, range.high])
        return found

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on with what `state` returned, after `configure`."""
        self._share.largest = F(state["largest_loss"])
        self._optimizer.restore(state)
        if self._statistics is not None:
            self._statistics.restore(state)
        for (index, place), range in self._ranges.items():
            range.low, range.high = state[f"error{index}.{place}"].astype(F)

    def step(self, images: np.ndarray, labels: np.ndarray) -> StepOutcome:
        """Train one step on uint8 images [B, H, W] or [B, H, W, C] and labels [B].

        Raises:
            StepFailed: the step fails (section 8); no trained tensor has changed.
        """
        step, self._next_step = self._next_step, self._next_step + 1
        with np.errstate(over="ignore"):  # squares and changes beyond binary32: limited, or a failure
            summed = self._summed(images, labels)
            found = summed.failure or self._updated(summed.gradients, summed.observed, len(images))
        if isinstance(found, StepFailure):
            raise self._failed(step, found)
        self.graph = found
        loss = float(summed.loss)
        return StepOutcome(step, loss, 0.0, loss, 0.0, 0, self.digests())

    def _failed(self, step: int, failure: StepFailure) -> StepFailed:
        return StepFailed(step, self.graph.layers[failure.layer].name, failure.layer, failure.cause)

    def _summed(self, images: np.ndarray, labels: np.ndarray) -> Summed:
        """Take samples forward and backward."""
        passes = FqtPasses(self.graph, self._backward, self._ranges)
        gradients, self._kept = self._zeros(), dict.fromkeys(self.trained, 0)
        observed = dict.fromkeys(self._observes, (LEAST, MOST))
        self._samples, total, failure = len(images), F(0), None
        for first in range(0, len(images), GROUP):
            part = slice(first, first + GROUP)
            of_labels = np.asarray(labels[part]).astype(np.intp)
            values = passes.values(images[part])
            self._observe(values, observed)
            losses = passes.losses(values, of_labels)
            for loss in losses:
                total = total + loss
            share = self._share.of(losses)
            if failure is None:
                self._add_gradients(passes, values, of_labels, share, gradients)
                failure = passes.failure
        return Summed(F(total), gradients, observed, failure)

    def sample_gradients(self, image: np.ndarray, label: int) -> list[SampleGradient]:
        """As `ShowsSampleGradients`: G of a step of one sample, with a copy of what moves from sample to sample."""
        apart = copy(self)
        apart._share, apart._ranges, apart._statistics = deepcopy(self._share), deepcopy(self._ranges), None
        with np.errstate(over="ignore"):
            summed = apart._summed(image[None], np.array([label]))
        if summed.failure is not None:
            raise self._failed(self._next_step, summed.failure)
        return [
            SampleGradient(
                self.graph.layers[index].name, gradient.weights, gradient.kept if self.settings.is_sparse else None
            )
            for index, gradient in summed.gradients.items()
        ]

    def last_work(self) -> StepWork | None:
        """Return the passes of the last step if channels may be skipped."""
        return step_work(self.graph, self._backward, self._samples, self._kept) if self.settings.is_sparse else None

    def _zeros(self) -> dict[int, LayerGradient]:
        found = {}
        for index in self.trained:
            layer = self.graph.layers[index]
            channels = layer.channels
            biases = np.zeros(channels, F) if self.settings.train_bias else None
            found[index] = LayerGradient(np.zeros((channels, layer.taps), F), biases, np.zeros(channels, bool))
        return found

    def _observe(self, values: Sequence[np.ndarray], observed: dict[int, tuple[int, int]]) -> None:
        for index, (lo, hi) in observed.items():
            value, zero = values[index + 1], self.graph.zero_of(index + 1)
            observed[index] = min(lo, int(value.min()) + zero), max(hi, int(value.max()) + zero)

    def _add_gradients(
        self,
        passes: FqtPasses,
        values: Sequence[np.ndarray],
        labels: np.ndarray,
        share: np.ndarray,
        gradients: dict[int, LayerGradient],
    ) -> None:
        """Take a group of samples through the backward pass."""
        moments, chosen = {}, {}
        by_sample = self._statistics if self._statistics is not None and self._statistics.by_sample else None
        for at in passes.walk(values, labels):
            if at.index not in gradients:
                continue
            gradient = gradients[at.index]
            chosen[at.index] = self._select(at, share)
            gradient.kept |= chosen[at.index].any(axis=0)
            self._kept[at.index] += int(chosen[at.index].sum())
            moments[at.index] = at.layer.add_gradients(
                at.error, values[at.layer.node.reads[0]], gradient.weights, gradient.biases, by_sample is not None
            )
        if by_sample is not None:
            by_sample.take_samples(len(labels), moments, chosen)

    def _select(self, at: Reached, share: np.ndarray) -> np.ndarray:
        """Choose the channels of a layer with weights that are kept, bool [B, O], and drop the error of the others."""
        channels = at.layer.node.channels
        k = count(share, channels)
        if (k == channels).all() or (at.index == self._head and not self.settings.sparse_head):
            return np.ones((len(share), channels), bool)
        chosen = kept(at.layer.norms(at.error), k)
        at.error = at.layer.selected(at.error, chosen)
        return chosen

    def _updated(
        self, gradients: dict[int, LayerGradient], observed: dict[int, tuple[int, int]], samples: int
    ) -> Graph | StepFailure:
        u = F(1) if self.settings.gradient == "sum" else F(1) / F(samples)
        for gradient in gradients.values():
            gradient.scale(u)
        if self._statistics is not None:
            self._statistics.standardise(list(gradients.values()))
        self._optimizer.begin(self.settings.eta)
        found = updated(self.graph, gradients, observed, self.settings, self._optimizer)
        return found if isinstance(found, StepFailure) else with_scales(found)

    def logits(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the logits of uint8 images, int8 or float32 [B, classes], and zeros for exponents: they have none."""
        passes = FqtPasses(self.graph, self._backward)
        parts = (images[first : first + GROUP] for first in range(0, len(images), GROUP))
        return np.concatenate([passes.logits(passes.values(part)) for part in parts]), np.zeros(len(images), np.int64)

    def logit_scale(self) -> float:
        """Return the scale of the last layer's output."""
        return self.graph.scale_of(len(self.graph.layers))

    def passes(self, weights: Sequence[np.ndarray], step: int) -> Iterator[list[np.ndarray]]:
        """Yield the weights of the one pass."""
        yield list(weights)

    def trace(
        self, weights: Sequence[np.ndarray], images: np.ndarray, labels: np.ndarray, slot: int
    ) -> list[TracedStage]:
        """Return the outputs of all layers, then the errors of the reached ones, from the last one down.

        All channels are kept, and errors have the ranges of the sample. An error that leaves its bounds ends the trace.
        """
        graph = with_arrays(self.graph, self._tensors, weights)
        passes, one = FqtPasses(graph, self._backward), slice(slot, slot + 1)
        values, of_labels = passes.values(images[one]), np.asarray(labels[one]).astype(np.intp)
        stages = []
        for index, layer in enumerate(graph.layers):
            stored = passes.stored(index + 1, values)
            stages.append(
                TracedStage(layer.name, "output", stage_bytes(stored, type=stored.dtype.name), stored.dtype.name)
            )
        for at in passes.walk(values, of_labels):
            if passes.failure is not None:
                break
            stages.append(_error_stage(graph.layers[at.index].name, at.whole))
        return stages


def _error_stage(layer: str, error: Affine8Errors | np.ndarray) -> TracedStage:
    """Return the whole error of the output of a layer for the only sample."""
    if not isinstance(error, Affine8Errors):
        return TracedStage(layer, "error", stage_bytes(error[..., 0], type="float32"), "float32")
    scale = np.array(error.s[0], "<f4").tobytes()
    data = error.stored[0].tobytes() + scale + int(error.z[0]).to_bytes(2, "little", signed=True)
    return TracedStage(layer, "error", data, scaled=True)
