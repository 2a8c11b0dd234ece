"""The parameters of an `affine8` layer as they lie in the network file (docs/arithmetic-affine8.md, section 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from hil.training.graph.affine8 import folded_biases, params, quantized_biases
from hil.training.graph.formats import POOLS
from hil.training.graph.graph import Graph
from hil.training.graph.node import Affine8Parameters, Node, channels_of
from hil.training.graph.part import F32, I8, NO_BYTES, NoBytes, Part


@dataclass(frozen=True)
class OfWeights(Part):
    """What the parameters of a layer with weights begin with: their scale and zero point; `none` must be zero."""

    scale: F32
    zero: I8
    none: NoBytes = NO_BYTES


@dataclass(frozen=True)
class Range(Part):
    """Range and limits of the output: of all other layers the beginning, of a layer with weights what follows."""

    low: F32
    high: F32
    act_min: F32
    act_max: F32


@dataclass(frozen=True, eq=False)
class FoldedAndBias(Part):
    """Folded biases and biases, which end the parameters of a layer with weights."""

    folded: Annotated[np.ndarray, "<i4"]
    bias: Annotated[np.ndarray, "<f4"]


@dataclass(frozen=True)
class Head(Part):
    """The first 16 bytes of a layer with weights, which its digest covers and training moves."""

    scale: F32
    zero: Annotated[int, "b3x"]
    low: F32
    high: F32


class Affine8Layout:
    """How the parameters of a layer lie: those of the weights, range and limits, folded biases, biases."""

    def biases_at(self, channels: int) -> int:
        """Return where the biases of a layer with weights lie, from the first byte of the parameters."""
        return OfWeights.size() + Range.size() + FoldedAndBias.offset("bias", channels)

    def size(self, op: int, channels: int) -> int:
        """Return the bytes of the parameters of a layer; `channels` is 0 without weights."""
        return Range.size() + (OfWeights.size() + FoldedAndBias.size(channels) if channels else 0)

    def pack(self, layer: Node, graph: Graph) -> bytes:
        """Return the bytes of the parameters of a layer of a graph whose scales follow from its ranges."""
        its = Range.of(layer).pack()
        own = layer.own
        if not isinstance(own, Affine8Parameters):
            return its
        read = layer.reads[0]
        b_q = quantized_biases(own.bias, graph.scale_of(read), own.scale)
        folded = folded_biases(layer.op, own.weights, own.zero, b_q, graph.zero_of(read))
        return OfWeights.of(own).pack() + its + FoldedAndBias(folded, own.bias).pack()

    def unpack(self, blob: bytes, offset: int, op: int, weights: np.ndarray | None) -> dict[str, Any]:
        """Return the fields of a node that its parameters say; the scale of the output is not yet known."""
        if weights is None:
            return range_at(blob, offset, 0).values()
        channels = channels_of(weights)
        bias = biases_at(blob, offset, channels).bias
        own = Affine8Parameters(weights, bias, **OfWeights.unpack(blob, offset).values())
        return {**range_at(blob, offset, channels).values(), "own": own}

    def quantization(self, blob: bytes, offset: int, op: int, channels: int, rounding: str) -> tuple[float, int] | None:
        """Return scale and zero point of the output; None of a pool, which has those of its input."""
        if op in POOLS:
            return None
        its = range_at(blob, offset, channels)
        s, _, z = params(its.low, its.high, rounding)
        return float(s), int(z)


def range_at(blob: bytes, offset: int, channels: int) -> Range:
    """Return range and limits of the parameters at an offset; `channels` is 0 without weights."""
    return Range.unpack(blob, offset + (OfWeights.size() if channels else 0))


def biases_at(blob: bytes, offset: int, channels: int) -> FoldedAndBias:
    """Return copies of the folded biases and of the biases of the parameters at an offset."""
    return FoldedAndBias.unpack(blob, offset + OfWeights.size() + Range.size(), channels)
