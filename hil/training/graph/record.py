"""The header and the records of the network file as they lie in it (docs/network.md)."""

from __future__ import annotations

import struct
from typing import NamedTuple

from hil.training.graph.graph import WEIGHTED, Op, weight_type
from hil.training.graph.layouts import parameter_bytes
from hil.training.graph.parameters import ended

HEADER = struct.Struct("<IHHIIHHHHfb3s")
REST = struct.Struct("<HHHHfb3s")  # of the header, from offset 16
RECORD = struct.Struct("<BBBb2B2B2B2B3H3HB3sII")
NO_BYTES = bytes(3)
assert (HEADER.size, RECORD.size) == (32, 36)


class Header(NamedTuple):
    """The header from offset 16; `none` must be zero."""

    in_shape: tuple[int, int, int]
    classes: int
    scale: float
    zero: int
    none: bytes = NO_BYTES

    def pack(self) -> bytes:
        """Return its 16 bytes."""
        return REST.pack(*self.in_shape, *self[1:])

    @classmethod
    def unpack(cls, blob: bytes, offset: int) -> Header:
        """Read it from a file that is long enough."""
        f = REST.unpack_from(blob, offset)
        return cls(f[:3], *f[3:])


class Record(NamedTuple):
    """The 36 bytes of a layer; `none` must be zero."""

    op: int
    format: int
    block: int
    exponent: int
    kernel: tuple[int, int]
    stride: tuple[int, int]
    pad: tuple[int, int]
    first: int
    second: int
    in_shape: tuple[int, int, int]
    out_shape: tuple[int, int, int]
    rounding: int
    none: bytes
    weights_at: int
    parameters_at: int

    def pack(self) -> bytes:
        """Return its bytes."""
        windows = (*self.kernel, *self.stride, *self.pad)
        return RECORD.pack(*self[:4], *windows, *self[7:9], *self.in_shape, *self.out_shape, *self[11:])

    @classmethod
    def unpack(cls, blob: bytes, offset: int) -> Record:
        """Read it from a file that is long enough."""
        f = RECORD.unpack_from(blob, offset)
        return cls._make((*f[:4], f[4:6], f[6:8], f[8:10], *f[10:12], f[12:15], f[15:18], *f[18:]))

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
