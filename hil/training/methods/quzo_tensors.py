"""The trained tensors of QuZO, and what epsilon is in steps of their weights (docs/arithmetic-quzo.md, section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Node, Tflite8Parameters, W16A8Parameters
from hil.training.methods.directions import FRACTION, LARGEST_TABLE
from hil.training.methods.quzo_settings import QuzoSettings

F = np.float32
PARTS = 16  # bits of a part of a step: a, b and r
RAISED = F(2.0 ** (PARTS - FRACTION))
LARGEST_Z = LARGEST_TABLE["gaussian"]
MOST_PARTS = 2**24  # E
LARGEST_INT8 = 127


@dataclass(frozen=True, eq=False)
class QuzoTensor:
    """The weights of a trained layer.

    Attributes:
        name: of the layer.
        layer: index among all layers.
        unit: real value of 1, float32, in a shape that broadcasts to the weights.
        largest: X, the largest magnitude of a weight.
        epsilon: the perturbation scale, binary32.
    """

    name: str
    layer: int
    unit: np.ndarray
    largest: int
    epsilon: np.float32

    @cached_property
    def parts(self) -> np.ndarray:
        """E of every unit, int64 in the shape of `unit`: epsilon / 32 in 2^-16 of a step."""
        rounded = np.rint((self.epsilon / self.unit) * RAISED)
        found: np.ndarray = np.minimum(rounded, MOST_PARTS).astype(np.int64)
        return found

    @cached_property
    def reach(self) -> np.ndarray:
        """U of every unit, int64: no perturbation is larger."""
        found: np.ndarray = (LARGEST_Z * self.parts + (1 << PARTS) - 1) >> PARTS
        return found

    @cached_property
    def limit(self) -> np.ndarray:
        """W of every unit, int64, the largest magnitude of a weight at rest."""
        found: np.ndarray = self.largest - self.reach
        return found


def trained_tensors(graph: Graph, settings: QuzoSettings) -> tuple[QuzoTensor, ...]:
    """Return the trained tensors, input to output; layers in other formats than `w16a8` and `tflite8` have none."""
    epsilon, found = F(settings.epsilon), []
    for index in settings.trained(graph):
        layer = graph.layers[index]
        match layer.own:
            case W16A8Parameters() as own:
                found.append(QuzoTensor(layer.name, index, np.array(own.scale, F), own.largest, epsilon))
            case Tflite8Parameters() as own:
                unit = _by_channel(layer, own.scale.astype(F))
                found.append(QuzoTensor(layer.name, index, unit, LARGEST_INT8, epsilon))
    return tuple(found)


def _by_channel(layer: Node, numbers: np.ndarray) -> np.ndarray:
    """Return numbers of the output channels [O] in a shape that broadcasts to the weights of a layer."""
    own = layer.own
    assert own is not None
    last = layer.op is Op.DEPTHWISE
    return numbers if last else numbers.reshape(-1, *[1] * (own.weights.ndim - 1))
