"""The header and the records of the network file as they lie in it (docs/network.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from hil.training.graph.formats import WEIGHTED, Op, weight_type
from hil.training.graph.layouts import parameter_bytes
from hil.training.graph.part import F32, I8, NO_BYTES, U8, U16, U32, NoBytes, Part, ended

Pair = Annotated[tuple[int, int], "2B"]
Triple = Annotated[tuple[int, int, int], "3H"]


@dataclass(frozen=True)
class HeaderStart(Part):
    """The header up to offset 16."""

    magic: U32
    version: U16
    count: U16
    total: U32
    digest: U32


@dataclass(frozen=True)
class Header(Part):
    """The header from offset 16; `none` must be zero."""

    in_shape: Triple
    classes: U16
    scale: F32
    zero: I8
    none: NoBytes = NO_BYTES


RECORDS_AT = HeaderStart.size() + Header.size()


@dataclass(frozen=True)
class Record(Part):
    """The 36 bytes of a layer; `none` must be zero."""

    op: U8
    format: U8
    block: U8
    exponent: I8
    kernel: Pair
    stride: Pair
    pad: Pair
    first: U8
    second: U8
    in_shape: Triple
    out_shape: Triple
    rounding: U8
    none: NoBytes
    weights_at: U32
    parameters_at: U32

    @classmethod
    def numbered(cls, blob: bytes, index: int) -> Record:
        """Return the record of a layer in a file that is long enough."""
        return cls.unpack(blob, RECORDS_AT + cls.size() * index)

    @property
    def taps(self) -> int:
        """Products behind one output; 0 without weights."""
        height, width, channels = self.in_shape
        if self.op == Op.FULLY_CONNECTED:
            return height * width * channels
        area = self.kernel[0] * self.kernel[1] * (self.op in WEIGHTED)
        return area if self.op == Op.DEPTHWISE else area * channels

    @property
    def channels(self) -> int:
        """Output channels of a layer with weights, else 0."""
        return self.out_shape[2] if self.op in WEIGHTED else 0

    @property
    def weights(self) -> int:
        """How many weights it has."""
        return self.taps * self.channels

    @property
    def weight_bytes(self) -> int:
        """Bytes of its weights."""
        return self.weights * weight_type(self.format).itemsize

    @property
    def parameter_bytes(self) -> int:
        """Bytes of its parameters."""
        return parameter_bytes(self.op, self.format, self.channels)

    @property
    def end(self) -> int:
        """Where its data end; 0 where it has none."""
        if self.parameters_at:
            return self.parameters_at + self.parameter_bytes
        return self.weights_at + ended(self.weight_bytes)
