"""How the parameters of a layer lie in the network file, by format (docs/network.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np

from hil.training.graph.affine8_parameters import Affine8Layout
from hil.training.graph.formats import Format, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import (
    AddFactors,
    Float32Parameters,
    MeanFactor,
    Node,
    Quantized,
    Table,
    Tflite8Parameters,
    W16A8Parameters,
    WithBias,
    channels_of,
)
from hil.training.graph.parameters import Arrays, Biases, Limits, Output, Scaling


class Layout(Protocol):
    """How the parameters of a layer lie in the file."""

    def biases_at(self, channels: int) -> int:
        """Return where the biases of a layer with weights lie, from the first byte of the parameters."""

    def size(self, op: int, channels: int) -> int:
        """Return the bytes of the parameters of a layer; `channels` is 0 without weights."""

    def pack(self, layer: Node, graph: Graph) -> bytes:
        """Return the bytes of the parameters of a layer of a graph."""

    def unpack(self, blob: bytes, offset: int, op: int, weights: np.ndarray | None) -> dict[str, Any]:
        """Return the fields of a node that its parameters say, from a file that is long enough."""

    def quantization(self, blob: bytes, offset: int, op: int, channels: int, rounding: str) -> tuple[float, int] | None:
        """Return scale and zero point of the output; None if they are those of the input.

        `rounding` is the word of the layer's.
        """


@dataclass(frozen=True)
class StartAndOwn:
    """What all layers begin with, then what some operations or a layer with weights have.

    Attributes:
        start: what all layers begin with.
        own: what a layer with weights continues with.
        parameters: what becomes of it.
        factors: what the layers of an operation without weights continue with.
    """

    start: type[Output] | type[Limits]
    own: type[Arrays] | type[Scaling] | type[Biases]
    parameters: type[WithBias]
    factors: Mapping[int, type[AddFactors] | type[MeanFactor] | type[Table]]

    def biases_at(self, channels: int) -> int:
        """As `Layout`."""
        return self.start.size() + self.own.offset("bias", channels)

    def size(self, op: int, channels: int) -> int:
        """As `Layout`."""
        more = self.factors[op].size() if op in self.factors else 0
        return self.start.size() + more + (self.own.size(channels) if channels else 0)

    def pack(self, layer: Node, graph: Graph) -> bytes:
        """As `Layout`."""
        data = self.start.of(layer).pack()
        if isinstance(layer, Quantized) and layer.factors is not None:
            data += layer.factors.pack()
        if layer.own is not None:
            data += self.own.of(layer.own).pack()
        return data

    def unpack(self, blob: bytes, offset: int, op: int, weights: np.ndarray | None) -> dict[str, Any]:
        """As `Layout`."""
        after = offset + self.start.size()
        read = self.start.unpack(blob, offset).values()
        if op in self.factors:
            read["factors"] = self.factors[op].unpack(blob, after)
        if weights is not None:
            own = self.own.unpack(blob, after, channels_of(weights))
            given = {each.name: getattr(own, each.name) for each in fields(self.parameters) if each.name != "weights"}
            read["own"] = self.parameters(weights, **given)
        return read

    def quantization(self, blob: bytes, offset: int, op: int, channels: int, rounding: str) -> tuple[float, int] | None:
        """As `Layout`."""
        start = self.start.unpack(blob, offset)
        return (start.scale, start.zero) if isinstance(start, Output) else (1.0, 0)


LAYOUTS: dict[int, Layout] = {
    Format.TFLITE8: StartAndOwn(
        Output, Arrays, Tflite8Parameters, {Op.ADD: AddFactors, Op.MEAN: MeanFactor, Op.TABLE: Table}
    ),
    Format.FLOAT32: StartAndOwn(Limits, Biases, Float32Parameters, {}),
    Format.W16A8: StartAndOwn(Output, Scaling, W16A8Parameters, {Op.ADD: AddFactors}),
    Format.AFFINE8: Affine8Layout(),
}
"""By format; the layers of a format that is not here have no parameters."""


def parameter_bytes(op: int, format: int, channels: int) -> int:
    """Return the bytes of a layer's parameters."""
    return LAYOUTS[format].size(op, channels) if format in LAYOUTS else 0
