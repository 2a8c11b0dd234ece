"""What the steps of a graph's values are worth, in binary32 (docs/arithmetic-backward.md, section 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hil.network.tflite.layers import Graph, GraphLayer, GraphOp
from hil.reference.floats import F

SMALLEST_NORMAL = F(2.0**-126)
SHARE_BITS, RATIO_BITS = 15, 16  # of k_o, of m


@dataclass(frozen=True)
class Ratio:
    """The factor of a further reader over that of the value, `m * 2^k`."""

    m: int
    k: int

    @classmethod
    def of(cls, quotient: np.float32) -> Ratio | None:
        """Return the upper 16 bits of a quotient; None where it is not a normal number."""
        if not is_normal(quotient):
            return None
        fraction, power = np.frexp(np.float64(quotient))
        return cls(int(fraction * 2**RATIO_BITS), int(power) - RATIO_BITS)


@dataclass(frozen=True)
class Chain:
    """Factors of the values that errors are handed on to.

    Attributes:
        of_value: C_v of each value that has an error, float32.
        of_reader: for each further reader (layer, place among what it reads), its ratio; None: it adds nothing.
    """

    of_value: dict[int, np.float32]
    of_reader: dict[tuple[int, int], Ratio | None]

    @classmethod
    def of(cls, graph: Graph, first: int) -> Chain:
        """Return the factors of all values made at or behind the layer `first`."""
        with np.errstate(all="ignore"):
            chain = cls({len(graph.layers): F(graph.layers[-1].scale) * (F(1) / F(127))}, {})
            for index in range(len(graph.layers) - 1, first, -1):
                if index + 1 in chain.of_value:
                    chain._hand_on(graph, index, first)
        return chain

    def _hand_on(self, graph: Graph, index: int, first: int) -> None:
        layer = graph.layers[index]
        for place, value in enumerate(layer.reads):
            if value <= first:
                continue
            given = _given(graph, layer, self.of_value[index + 1], value)
            if value in self.of_value:
                self.of_reader[index, place] = Ratio.of(given / self.of_value[value])
            else:
                self.of_value[value] = given


def _given(graph: Graph, layer: GraphLayer, factor: np.float32, value: int) -> np.float32:
    """Return the factor that a layer with the output's factor C_y gives to a value that it reads."""
    if layer.op is GraphOp.ADD:
        return factor * (F(graph.scale_of(value)) / F(layer.scale))
    if layer.op is GraphOp.MAX_POOL:
        return factor
    if layer.op is GraphOp.AVERAGE_POOL:
        return factor / F(layer.kernel[0] * layer.kernel[1])
    return F(factor * slopes(layer).max())


def slopes(layer: GraphLayer) -> np.ndarray:
    """Return r_o, the steps of the output that one step of a sum is, float32 [O]."""
    assert layer.own is not None
    return np.ldexp(layer.own.multiplier.astype(F), layer.own.shift.astype(np.int32) - 31)


def shares(layer: GraphLayer) -> np.ndarray:
    """Return k_o, the slope of each output channel in parts of 2^15 of the largest, float32 [O]."""
    assert layer.own is not None
    largest = int(np.argmax(slopes(layer)))
    lowest = int(layer.own.shift.min())
    exact = [int(m) << (int(s) - lowest) for m, s in zip(layer.own.multiplier, layer.own.shift, strict=True)]
    return np.array([(one << SHARE_BITS) // exact[largest] for one in exact], F)


def is_normal(value: np.ndarray | np.float32) -> np.ndarray:
    """Return where numbers above 0 are finite and not subnormal."""
    return np.isfinite(value) & (value >= SMALLEST_NORMAL)
