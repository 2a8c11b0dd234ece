"""How the parameters of a layer lie in the network file, by format (docs/network.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from hil.training.graph.affine8_parameters import Affine8Layout
from hil.training.graph.graph import Format, Graph, Node, Op
from hil.training.graph.parameters import Arrays, Biases, Factor, Factors, Limits, Output, Scaling, Table


class Layout(Protocol):
    """How the parameters of a layer lie in the file."""

    def biases_at(self, channels: int) -> int:
        """Return where the biases of a layer with weights lie, from the first byte of the parameters."""

    def size(self, op: int, channels: int) -> int:
        """Return the bytes of the parameters of a layer; `channels` is 0 without weights."""

    def pack(self, layer: Node, graph: Graph) -> bytes:
        """Return the bytes of the parameters of a layer of a graph."""

    def unpack(self, blob: bytes, offset: int, layer: Node) -> Node:
        """Return a layer, which has its weights, with its parameters from a file that is long enough."""

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
        more: what the layers of an operation without weights continue with.
    """

    start: type[Output] | type[Limits]
    own: type[Arrays] | type[Scaling] | type[Biases]
    more: Mapping[int, type[Factors] | type[Factor] | type[Table]]

    def biases_at(self, channels: int) -> int:
        """As `Layout`."""
        return self.start.size() + self.own.offset("bias", channels)

    def size(self, op: int, channels: int) -> int:
        """As `Layout`."""
        more = self.more[op].size() if op in self.more else 0
        return self.start.size() + more + (self.own.size(channels) if channels else 0)

    def pack(self, layer: Node, graph: Graph) -> bytes:
        """As `Layout`."""
        data = self.start.of(layer).pack()
        if layer.op in self.more:
            data += self.more[layer.op].of_layer(layer).pack()
        if layer.own is not None:
            data += self.own.of_own(layer.op, layer.own).pack()
        return data

    def unpack(self, blob: bytes, offset: int, layer: Node) -> Node:
        """As `Layout`."""
        after = offset + self.start.size()
        read = self.start.unpack(blob, offset).values()
        if layer.op in self.more:
            read |= self.more[layer.op].unpack(blob, after).fields()
        if layer.own is not None:
            read["own"] = self.own.unpack(blob, after, layer.channels).with_weights(layer.own.weights)
        return replace(layer, **read)

    def quantization(self, blob: bytes, offset: int, op: int, channels: int, rounding: str) -> tuple[float, int] | None:
        """As `Layout`."""
        start = self.start.unpack(blob, offset)
        return (start.scale, start.zero) if isinstance(start, Output) else (1.0, 0)


LAYOUTS: dict[int, Layout] = {
    Format.TFLITE8: StartAndOwn(Output, Arrays, {Op.ADD: Factors, Op.MEAN: Factor, Op.TABLE: Table}),
    Format.FLOAT32: StartAndOwn(Limits, Biases, {}),
    Format.W16A8: StartAndOwn(Output, Scaling, {Op.ADD: Factors}),
    Format.AFFINE8: Affine8Layout(),
}
"""By format; the layers of a format that is not here have no parameters."""


def parameter_bytes(op: int, format: int, channels: int) -> int:
    """Return the bytes of a layer's parameters."""
    return LAYOUTS[format].size(op, channels) if format in LAYOUTS else 0
