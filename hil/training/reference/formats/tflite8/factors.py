"""What the steps of a graph's values are worth, in binary32 (docs/arithmetic-tflite.md, section 7.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import MeanFactor, Tflite8Node, Tflite8Parameters
from hil.training.reference.floats import F

SMALLEST_NORMAL = F(2.0**-126)
SHARE_BITS, RATIO_BITS = 15, 16  # of k_o, of m


@dataclass(frozen=True)
class Factor:
    """What a step of a value is worth: `c * 2^j`, float32 c in 1 <= c < 2."""

    c: np.float32
    j: int

    @classmethod
    def of(cls, p: np.float32, j: int) -> Factor:
        """Return p * 2^j, with the power of two held apart."""
        fraction, power = np.frexp(p)
        return cls(F(fraction * 2), j + int(power) - 1)


@dataclass(frozen=True)
class Ratio:
    """The factor of a further reader over that of the value: `m * 2^k`, m in 2^15..2^16 - 1."""

    m: int
    k: int

    @classmethod
    def of(cls, reader: Factor, value: Factor) -> Ratio:
        """Return the upper 16 bits of the rounded quotient."""
        fraction, power = np.frexp(np.float64(reader.c / value.c))
        return cls(int(fraction * 2**RATIO_BITS), int(power) - RATIO_BITS + reader.j - value.j)


@dataclass(frozen=True)
class Chain:
    """Factors of the values that an error reaches.

    Attributes:
        of_value: by value.
        of_reader: for each further reader (layer, place among what it reads), its ratio.
    """

    of_value: dict[int, Factor]
    of_reader: dict[tuple[int, int], Ratio]

    @classmethod
    def of(cls, graph: Graph, first: int) -> Chain:
        """Return the factors of all values made at or behind the layer `first`."""
        chain = cls({len(graph.layers): Factor.of(F(graph.scale_of(len(graph.layers))) * (F(1) / F(127)), 0)}, {})
        for index in range(len(graph.layers) - 1, first, -1):
            if index + 1 in chain.of_value:
                chain._hand_on(graph, index, first)
        return chain

    def _hand_on(self, graph: Graph, index: int, first: int) -> None:
        layer, output = graph.node(index, Tflite8Node), self.of_value[index + 1]
        for place, value in enumerate(layer.reads):
            if value <= first:
                continue
            given = Factor.of(_given(graph, layer, output.c, value), output.j)
            if value in self.of_value:
                self.of_reader[index, place] = Ratio.of(given, self.of_value[value])
            else:
                self.of_value[value] = given


def _given(graph: Graph, layer: Tflite8Node, c: np.float32, value: int) -> np.float32:
    """Return p of what a layer with the output's C_y gives to a value that it reads."""
    if layer.own is not None:
        return F(c * slopes(layer.own).max())
    if isinstance(layer.factors, MeanFactor):
        return F(c * slopes(layer.factors).max())
    if layer.op is Op.ADD:
        return c * (F(graph.scale_of(value)) / F(layer.scale))
    return c / F(layer.kernel[0] * layer.kernel[1]) if layer.op is Op.AVERAGE_POOL else c


def slopes(rescaling: Tflite8Parameters | MeanFactor) -> np.ndarray:
    """Return r_o, the steps of the output that one step of a sum is, float32 [O]; of a mean [1]."""
    return np.ldexp(np.atleast_1d(rescaling.multiplier).astype(F), np.atleast_1d(rescaling.shift).astype(np.int32) - 31)


def shares(own: Tflite8Parameters) -> np.ndarray:
    """Return k_o, the slope of each output channel in parts of 2^15 of the largest, float32 [O]."""
    largest = int(np.argmax(slopes(own)))
    lowest = int(own.shift.min())
    exact = [int(m) << (int(s) - lowest) for m, s in zip(own.multiplier, own.shift, strict=True)]
    return np.array([(one << SHARE_BITS) // exact[largest] for one in exact], F)


def is_normal(value: np.ndarray | np.float32) -> np.ndarray:
    """Return where numbers above 0 are finite and not subnormal."""
    return np.isfinite(value) & (value >= SMALLEST_NORMAL)
