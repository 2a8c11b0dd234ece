"""The parts of the network file as they lie in it: header, record, arrays of parameters (docs/network-tflite.md)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

HEADER = struct.Struct("<IHHIIHHHHfbBH")
REST = struct.Struct("<HHHHfbBH")  # of the header, from offset 16
RECORD = struct.Struct("<6B3b3B3H3HfIIII3i3b5s")
assert (HEADER.size, RECORD.size) == (32, 64)


class Header(NamedTuple):
    """The header from offset 16; `zero` is the field that must be zero."""

    height: int
    width: int
    channels: int
    classes: int
    scale: float
    zero_point: int
    rounding: int
    zero: int

    def pack(self) -> bytes:
        """Return its 16 bytes."""
        return REST.pack(*self)

    @classmethod
    def unpack(cls, blob: bytes, offset: int) -> Header:
        """Read it from a file that is long enough."""
        return cls(*REST.unpack_from(blob, offset))


class Record(NamedTuple):
    """The 64 bytes of a layer; `pad_byte` and `rest` must be zero."""

    op: int
    kernel_h: int
    kernel_w: int
    stride: int
    pad: int
    block: int
    act_min: int
    act_max: int
    zero: int
    first: int
    second: int
    pad_byte: int
    in_shape: tuple[int, int, int]
    out_shape: tuple[int, int, int]
    scale: float
    weights_at: int
    weights: int
    parameters_at: int
    channels: int
    multipliers: tuple[int, int, int]
    shifts: tuple[int, int, int]
    rest: bytes

    def pack(self) -> bytes:
        """Return its bytes."""
        return RECORD.pack(
            *self[:12], *self.in_shape, *self.out_shape, *self[14:19], *self.multipliers, *self.shifts, self.rest
        )

    @classmethod
    def unpack(cls, blob: bytes, offset: int) -> Record:
        """Read it from a file that is long enough."""
        f = RECORD.unpack_from(blob, offset)
        return cls(*f[:12], f[12:15], f[15:18], *f[18:23], f[23:26], f[26:29], f[29])


@dataclass(frozen=True, eq=False)
class Arrays:
    """The parameters of a layer by output channel: int32, int32, float32, int32, int8."""

    bias: np.ndarray
    multiplier: np.ndarray
    scale: np.ndarray
    sums: np.ndarray
    shift: np.ndarray

    def pack(self, channels: int) -> bytes:
        """Return their bytes, the last array padded."""
        words = zip((self.bias, self.multiplier, self.scale, self.sums), ("<i4", "<i4", "<f4", "<i4"), strict=True)
        data = b"".join(np.asarray(array).astype(kind).tobytes() for array, kind in words)
        data += padded(np.asarray(self.shift).astype(np.int8).tobytes())
        assert len(data) == parameter_bytes(channels), "an array of parameters has another length than the channels"
        return data

    @classmethod
    def unpack(cls, blob: bytes, offset: int, channels: int) -> Arrays:
        """Read them from a file that is long enough; the arrays are copies."""
        read = [
            np.frombuffer(blob, kind, channels, offset + 4 * channels * place).astype(native)
            for place, (kind, native) in enumerate(
                (("<i4", np.int32), ("<i4", np.int32), ("<f4", np.float32), ("<i4", np.int32))
            )
        ]
        return cls(*read, np.frombuffer(blob, np.int8, channels, offset + 16 * channels).copy())


def ended(size: int) -> int:
    """Return a size rounded up to a multiple of 4."""
    return (size + 3) & ~3


def padded(data: bytes) -> bytes:
    """Return bytes with zeros up to a multiple of 4."""
    return data + bytes(-len(data) % 4)


def parameter_bytes(channels: int) -> int:
    """Return the bytes of a layer's parameters."""
    return 16 * channels + ended(channels)
