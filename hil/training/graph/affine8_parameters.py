"""The parameters of an `affine8` layer as they lie in the network file (docs/arithmetic-affine8.md, section 8)."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hil.training.graph.affine8 import folded_biases, params, quantized_biases
from hil.training.graph.graph import POOLS, Graph, Node, Parameters

WEIGHTS = struct.Struct("<fb3s")  # what the parameters of a layer with weights begin with
RANGE = struct.Struct("<ffff")  # what those of all other layers begin with, and those of a layer with weights then have
HEAD = struct.Struct("<fb3xff")  # of a layer with weights: what its digest covers and training moves
NO_BYTES = bytes(3)
assert (WEIGHTS.size, RANGE.size, HEAD.size) == (8, 16, 16)


class OfWeights(NamedTuple):
    """Scale and zero point of the weights; `none` must be zero."""

    scale: float
    zero: int
    none: bytes = NO_BYTES

    def pack(self) -> bytes:
        """Return its bytes."""
        return WEIGHTS.pack(*self)

    @classmethod
    def unpack(cls, blob: bytes, offset: int) -> OfWeights:
        """Read it from a file that is long enough."""
        return cls(*WEIGHTS.unpack_from(blob, offset))


class Range(NamedTuple):
    """Range and limits of the output: binary32 numbers."""

    low: float
    high: float
    act_min: float
    act_max: float

    def pack(self) -> bytes:
        """Return its bytes."""
        return RANGE.pack(*self)

    @classmethod
    def unpack(cls, blob: bytes, offset: int, channels: int) -> Range:
        """Read it from the parameters at an offset in a file that is long enough; `channels` is 0 without weights."""
        return cls(*RANGE.unpack_from(blob, offset + (WEIGHTS.size if channels else 0)))


class Head(NamedTuple):
    """What the parameters of a layer with weights begin with: of the weights, and the range of the output."""

    scale: float
    zero: int
    low: float
    high: float

    def pack(self) -> bytes:
        """Return its bytes."""
        return HEAD.pack(*self)

    @classmethod
    def unpack(cls, blob: bytes, offset: int) -> Head:
        """Read it from bytes that are long enough."""
        return cls(*HEAD.unpack_from(blob, offset))


class Affine8Layout:
    """How the parameters of a layer lie: those of the weights, range and limits, folded biases, biases."""

    def biases_at(self, channels: int) -> int:
        """Return where the biases of a layer with weights lie, from the first byte of the parameters."""
        return WEIGHTS.size + RANGE.size + 4 * channels

    def size(self, op: int, channels: int) -> int:
        """Return the bytes of the parameters of a layer; `channels` is 0 without weights."""
        return RANGE.size + (WEIGHTS.size + 8 * channels if channels else 0)

    def pack(self, layer: Node, graph: Graph) -> bytes:
        """Return the bytes of the parameters of a layer of a graph whose scales follow from its ranges."""
        its = Range(layer.low, layer.high, layer.act_min, layer.act_max).pack()
        own = layer.own
        if own is None:
            return its
        scale, read = float(own.scale[0]), layer.reads[0]
        b_q = quantized_biases(own.bias, graph.scale_of(read), scale)
        folded = folded_biases(layer.op, own.weights, own.zero, b_q, graph.zero_of(read))
        arrays = folded.astype("<i4").tobytes() + np.asarray(own.bias).astype("<f4").tobytes()
        return OfWeights(scale, own.zero).pack() + its + arrays

    def unpack(self, blob: bytes, offset: int, layer: Node) -> Node:
        """Return a layer, which has its weights, with its parameters; the scale of the output is not yet known."""
        its = Range.unpack(blob, offset, layer.channels)
        own = None
        if layer.own is not None:
            scale, zero, _ = OfWeights.unpack(blob, offset)
            _, bias = arrays(blob, offset, layer.channels)
            own = Parameters(layer.own.weights, bias, scale=np.array([scale], np.float32), zero=zero)
        return replace(layer, own=own, **its._asdict())

    def quantization(self, blob: bytes, offset: int, op: int, channels: int, rounding: str) -> tuple[float, int] | None:
        """Return scale and zero point of the output; None of a pool, which has those of its input."""
        if op in POOLS:
            return None
        low, high, _, _ = Range.unpack(blob, offset, channels)
        s, _, z = params(low, high, rounding)
        return float(s), int(z)


def arrays(blob: bytes, offset: int, channels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return copies of the folded biases, int32, and of the biases, float32, of the parameters at an offset."""
    offset += WEIGHTS.size + RANGE.size
    folded = np.frombuffer(blob, "<i4", channels, offset).astype(np.int32)
    return folded, np.frombuffer(blob, "<f4", channels, offset + 4 * channels).astype(np.float32)
