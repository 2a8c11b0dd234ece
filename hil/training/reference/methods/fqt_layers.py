"""The layers of a network that FQT trains, format by format, behind one interface.

Values and errors are in the form of their format: of `tflite8` and `affine8` whole numbers in float64 less their zero
point, [B, H, W, C], and `Affine8Errors`; of `float32` float32 [H, W, C, B], both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hil.training.graph.formats import Format, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Affine8Node, Float32Node, Node, Tflite8Node
from hil.training.reference.floats import F
from hil.training.reference.formats.affine8 import backward
from hil.training.reference.formats.affine8.backward import ErrorSums
from hil.training.reference.formats.affine8.errors import Affine8Errors, joined, of_floats
from hil.training.reference.formats.affine8.layer import RunnableLayer
from hil.training.reference.formats.float32 import backward as float32_backward
from hil.training.reference.formats.float32 import forward as float32_forward
from hil.training.reference.formats.tflite8.fast import FastLayer

LARGEST_MEAN, LARGEST_SQUARE = F(2.0**50), F(2.0**100)  # of the gradients of a channel


@dataclass(frozen=True, eq=False)
class GradientMoments:
    """Mean and mean square of the gradients of each channel of each sample, float32 [B, O]."""

    mean: np.ndarray
    square: np.ndarray

    @classmethod
    def of(cls, mean: np.ndarray, square: np.ndarray) -> GradientMoments:
        """Return the moments within their limits."""
        return cls(np.clip(mean, -LARGEST_MEAN, LARGEST_MEAN), np.minimum(square, LARGEST_SQUARE))


class RunningLayer(ABC):
    """A layer with the weights of a step."""

    def __init__(self, node: Node) -> None:
        self.node = node

    @abstractmethod
    def run(self, reads: Sequence[np.ndarray]) -> np.ndarray:
        """Return the output of the values that it reads."""


class TrainingLayer(RunningLayer):
    """A layer that errors may reach."""

    @abstractmethod
    def gated(self, error: Any, out: np.ndarray) -> Any:
        """Return the error of the output after the gate."""

    @abstractmethod
    def norms(self, error: Any) -> np.ndarray:
        """Return the L1 norm of the error of each channel of each sample, [B, O]."""

    @abstractmethod
    def selected(self, error: Any, kept: np.ndarray) -> Any:
        """Return the error with 0 in the channels that are not kept, bool [B, O]."""

    @abstractmethod
    def given(self, error: Any, reads: Sequence[np.ndarray], wanted: Sequence[bool]) -> list[Any]:
        """Return the error that it gives to each value that it reads; None if it is not wanted.

        `ErrorSums` are errors that have no scale yet.

        Args:
            error: after gate and selection.
            reads: the values.
            wanted: by value.
        """

    @abstractmethod
    def add_gradients(
        self, error: Any, x: np.ndarray, of_weights: np.ndarray, of_biases: np.ndarray | None, wants_moments: bool
    ) -> GradientMoments | None:
        """Add the gradients of all samples in order to G float32 [O, K] and [O]; return their moments if wanted."""


class Affine8Layer(TrainingLayer):
    """A layer in `affine8`."""

    def __init__(self, graph: Graph, node: Affine8Node) -> None:
        super().__init__(node)
        self._layer = RunnableLayer(graph, node)

    def run(self, reads: Sequence[np.ndarray]) -> np.ndarray:
        """As `RunningLayer`."""
        return self._layer.run(reads)

    def gated(self, error: Affine8Errors, out: np.ndarray) -> Affine8Errors:
        """As `TrainingLayer`."""
        gate = self._layer.gate(out)
        return error if gate is None else error.where(gate)

    def norms(self, error: Affine8Errors) -> np.ndarray:
        """As `TrainingLayer`: whole numbers in float64."""
        norms: np.ndarray = np.abs(error.centred).sum(axis=(1, 2))
        return norms

    def selected(self, error: Affine8Errors, kept: np.ndarray) -> Affine8Errors:
        """As `TrainingLayer`."""
        return error.where(kept[:, None, None])

    def given(
        self, error: Affine8Errors, reads: Sequence[np.ndarray], wanted: Sequence[bool]
    ) -> list[Affine8Errors | ErrorSums | None]:
        """As `TrainingLayer`."""
        return backward.given(self._layer, error, reads, wanted)

    def add_gradients(
        self,
        error: Affine8Errors,
        x: np.ndarray,
        of_weights: np.ndarray,
        of_biases: np.ndarray | None,
        wants_moments: bool,
    ) -> GradientMoments | None:
        """As `TrainingLayer`."""
        found = backward.Gradients.of(self._layer, error, x)
        for c, weights in zip(found.c, found.weights(), strict=True):
            of_weights += c * weights
        if of_biases is not None:
            for one in found.s_e[:, None] * found.bias.astype(F):
                of_biases += one
        if not wants_moments:
            return None
        c, taps = found.c[:, None], F(of_weights.shape[1])
        sums, squares = found.sums_and_squares()
        return GradientMoments.of(c * (sums.astype(F) / taps), (c * c) * (squares.astype(F) / taps))


class Float32Layer(TrainingLayer):
    """A layer in `float32` that reads its own format."""

    def __init__(self, node: Float32Node) -> None:
        super().__init__(node)
        self._node = node
        self._own = None if node.own is None else (node.own.weights, node.own.bias)

    def run(self, reads: Sequence[np.ndarray]) -> np.ndarray:
        """As `RunningLayer`."""
        return float32_forward.run(self._node, reads, self._own)

    def gated(self, error: np.ndarray, out: np.ndarray) -> np.ndarray:
        """As `TrainingLayer`."""
        return float32_backward.gated(self._node, error, out)

    def norms(self, error: np.ndarray) -> np.ndarray:
        """As `TrainingLayer`: sums in the order of the positions."""
        return float32_backward.bias_gradients(np.abs(error))

    def selected(self, error: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """As `TrainingLayer`."""
        return np.where(kept.T, error, F(0))

    def given(self, error: np.ndarray, reads: Sequence[np.ndarray], wanted: Sequence[bool]) -> list[np.ndarray]:
        """As `TrainingLayer`."""
        return float32_backward.input_errors(self.node, error, reads, self._own)

    def add_gradients(
        self,
        error: np.ndarray,
        x: np.ndarray,
        of_weights: np.ndarray,
        of_biases: np.ndarray | None,
        wants_moments: bool,
    ) -> GradientMoments | None:
        """As `TrainingLayer`."""
        if of_biases is not None:
            for one in float32_backward.bias_gradients(error):
                of_biases += one
        moments = []
        for one in float32_backward.weight_gradients(self.node, error, x):
            g = one.T if self.node.op is Op.DEPTHWISE else one
            of_weights += g
            if wants_moments:
                moments.append([_ordered(g), _ordered(g * g)])
        if not wants_moments:
            return None
        mean, square = (np.array(each) / F(of_weights.shape[1]) for each in zip(*moments, strict=True))
        return GradientMoments.of(mean, square)


def _ordered(terms: np.ndarray) -> np.ndarray:
    """Return the sums of float32 rows [O, K], from the first element on, [O]."""
    return np.add.accumulate(terms, axis=1, dtype=F)[:, -1]


class CastLayer(Float32Layer):
    """A cast from `affine8` to `float32`."""

    def __init__(self, graph: Graph, node: Float32Node) -> None:
        super().__init__(node)
        self._s_x, self._rounding = F(graph.scale_of(node.reads[0])), graph.affine_rounding

    def run(self, reads: Sequence[np.ndarray]) -> np.ndarray:
        """As `RunningLayer`."""
        x = np.ascontiguousarray(reads[0].transpose(1, 2, 3, 0)).astype(F)
        return self._s_x * x

    def given(self, error: np.ndarray, reads: Sequence[np.ndarray], wanted: Sequence[bool]) -> list[Any]:
        """As `TrainingLayer`."""
        return [of_floats(np.ascontiguousarray(error.transpose(3, 0, 1, 2)), self._rounding)]


class FrozenLayer(RunningLayer):
    """A layer in `tflite8`, which no error reaches."""

    def __init__(self, graph: Graph, node: Tflite8Node) -> None:
        super().__init__(node)
        self._layer, self._own = FastLayer(graph, node), None
        if node.own is not None:
            kind = self._layer.float_type(node.own.weights, node.own.bias)
            self._own = self._layer.own(node.own.weights.reshape(-1), node.own.bias, kind)

    def run(self, reads: Sequence[np.ndarray]) -> np.ndarray:
        """As `RunningLayer`."""
        return self._layer.run([x[:, None].astype(F) for x in reads], self._own)[:, 0].astype(np.float64)


def running_layer(graph: Graph, index: int) -> RunningLayer:
    """Return a layer of a graph."""
    node = graph.layers[index]
    if isinstance(node, Float32Node):
        return CastLayer(graph, node) if node.op is Op.CAST else Float32Layer(node)
    if isinstance(node, Affine8Node):
        return Affine8Layer(graph, node)
    return FrozenLayer(graph, graph.node(index, Tflite8Node))


def input_value(graph: Graph, images: np.ndarray) -> np.ndarray:
    """Return uint8 images as value 0 in the form of its format."""
    if graph.format_of(0) is Format.FLOAT32:
        return float32_forward.input_value(graph, images)
    return images.reshape(-1, *graph.in_shape).astype(np.float64) - (float32_forward.PIXEL_OFFSET + graph.zero)


def sum_of(one: Any, other: Any, rounding: str) -> Any:
    """Return the sum of two errors of one value."""
    if isinstance(one, Affine8Errors):
        return joined(one, other, rounding)
    return float32_backward.joined(one, other)
