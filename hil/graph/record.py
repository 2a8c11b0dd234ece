"""The parts of the network file as they lie in it: header, record, parameters (docs/network.md)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from hil.graph.graph import GRAPH_WEIGHTS, WEIGHTED, Format, Op, Parameters, weight_type

HEADER = struct.Struct("<IHHIIHHHHfbBH")
REST = struct.Struct("<HHHHfbBH")  # of the header, from offset 16
RECORD = struct.Struct("<BB4BBb2B3H3HHII")
OUTPUT = struct.Struct("<fbbbB")  # what the parameters of every layer begin with that has some
FACTORS = struct.Struct("<3i3bB")  # of an add
SCALING = struct.Struct("<fibBH")  # of the weights of a w16a8 layer
assert (HEADER.size, RECORD.size, OUTPUT.size, FACTORS.size, SCALING.size) == (32, 32, 8, 16, 12)


class Header(NamedTuple):
    """The header from offset 16; `none` is the field that must be zero."""

    in_shape: tuple[int, int, int]
    classes: int
    scale: float
    zero: int
    rounding: int
    none: int = 0

    def pack(self) -> bytes:
        """Return its 16 bytes."""
        return REST.pack(*self.in_shape, *self[1:])

    @classmethod
    def unpack(cls, blob: bytes, offset: int) -> Header:
        """Read it from a file that is long enough."""
        f = REST.unpack_from(blob, offset)
        return cls(f[:3], *f[3:])


class Record(NamedTuple):
    """The 32 bytes of a layer; `none` must be zero."""

    op: int
    format: int
    kernel: tuple[int, int]
    stride: int
    pad: int
    block: int
    exponent: int
    first: int
    second: int
    in_shape: tuple[int, int, int]
    out_shape: tuple[int, int, int]
    none: int
    weights_at: int
    parameters_at: int

    def pack(self) -> bytes:
        """Return its bytes."""
        return RECORD.pack(*self[:2], *self.kernel, *self[3:9], *self.in_shape, *self.out_shape, *self[11:])

    @classmethod
    def unpack(cls, blob: bytes, offset: int) -> Record:
        """Read it from a file that is long enough."""
        f = RECORD.unpack_from(blob, offset)
        return cls._make((f[0], f[1], f[2:4], *f[4:10], f[10:13], f[13:16], *f[16:]))

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


class Output(NamedTuple):
    """Scale, zero point and limits of the output of a layer; `none` must be zero."""

    scale: float
    zero: int
    act_min: int
    act_max: int
    none: int = 0

    def pack(self) -> bytes:
        """Return its bytes."""
        return OUTPUT.pack(*self)

    @classmethod
    def unpack(cls, blob: bytes, offset: int) -> Output:
        """Read it from a file that is long enough."""
        return cls(*OUTPUT.unpack_from(blob, offset))


class Factors(NamedTuple):
    """Multipliers and shifts of an add; `none` must be zero."""

    multipliers: tuple[int, int, int]
    shifts: tuple[int, int, int]
    none: int = 0

    def pack(self) -> bytes:
        """Return its bytes."""
        return FACTORS.pack(*self.multipliers, *self.shifts, self.none)

    @classmethod
    def unpack(cls, blob: bytes, offset: int) -> Factors:
        """Read it from a file that is long enough."""
        f = FACTORS.unpack_from(blob, offset)
        return cls(f[:3], f[3:6], f[6])


@dataclass(frozen=True, eq=False)
class Arrays:
    """The parameters of a layer by output channel: int32, int32, float32, int32, int8."""

    BIASES_AT: ClassVar[int] = 0

    bias: np.ndarray
    multiplier: np.ndarray
    scale: np.ndarray
    sums: np.ndarray
    shift: np.ndarray

    @classmethod
    def of(cls, op: Op, own: Parameters) -> Arrays:
        """Return those of a layer; the sums are made from the weights."""
        axis = (0, 1) if op is Op.DEPTHWISE else tuple(range(1, own.weights.ndim))
        return cls(own.bias, own.multiplier, own.scale, own.weights.sum(axis=axis, dtype=np.int64), own.shift)

    def with_weights(self, weights: np.ndarray) -> Parameters:
        """Return the parameters with weights, without the sums."""
        return Parameters(weights, self.bias, self.multiplier, self.shift, self.scale)

    def pack(self) -> bytes:
        """Return their bytes, the last array padded."""
        words = zip((self.bias, self.multiplier, self.scale, self.sums), ("<i4", "<i4", "<f4", "<i4"), strict=True)
        data = b"".join(np.asarray(array).astype(kind).tobytes() for array, kind in words)
        data += padded(np.asarray(self.shift).astype(np.int8).tobytes())
        assert len(data) == array_bytes(len(self.bias)), "an array of parameters has another length than the channels"
        return data

    @classmethod
    def unpack(cls, blob: bytes, offset: int, channels: int) -> Arrays:
        """Read them from a file that is long enough; the arrays are copies."""
        kinds = (("<i4", np.int32), ("<i4", np.int32), ("<f4", np.float32), ("<i4", np.int32))
        bias, multiplier, scale, sums = (
            np.frombuffer(blob, kind, channels, offset + 4 * channels * place).astype(native)
            for place, (kind, native) in enumerate(kinds)
        )
        return cls(bias, multiplier, scale, sums, np.frombuffer(blob, np.int8, channels, offset + 16 * channels).copy())

    @staticmethod
    def size(channels: int) -> int:
        """Return their bytes."""
        return array_bytes(channels)


@dataclass(frozen=True, eq=False)
class Scaling:
    """The parameters of a w16a8 layer with weights: its scale of weights, its factor, w_max, and int32 biases.

    `none` must be zero.
    """

    BIASES_AT: ClassVar[int] = SCALING.size

    scale: float
    multiplier: int
    shift: int
    none: int
    largest: int
    bias: np.ndarray

    @classmethod
    def of(cls, op: Op, own: Parameters) -> Scaling:
        """Return those of a layer."""
        return cls(float(own.scale[0]), int(own.multiplier[0]), int(own.shift[0]), 0, own.largest, own.bias)

    def with_weights(self, weights: np.ndarray) -> Parameters:
        """Return the parameters with weights."""
        factor = np.array([self.multiplier], np.int32), np.array([self.shift], np.int8)
        return Parameters(weights, self.bias, *factor, np.array([self.scale], np.float32), largest=self.largest)

    def pack(self) -> bytes:
        """Return their bytes."""
        start = SCALING.pack(self.scale, self.multiplier, self.shift, self.none, self.largest)
        return start + np.asarray(self.bias).astype("<i4").tobytes()

    @classmethod
    def unpack(cls, blob: bytes, offset: int, channels: int) -> Scaling:
        """Read them from a file that is long enough; the biases are a copy."""
        bias = np.frombuffer(blob, "<i4", channels, offset + SCALING.size).astype(np.int32)
        scale, multiplier, shift, none, largest = SCALING.unpack_from(blob, offset)
        return cls(scale, multiplier, shift, none, largest, bias)

    @staticmethod
    def size(channels: int) -> int:
        """Return their bytes."""
        return SCALING.size + 4 * channels


OWN: dict[int, type[Arrays] | type[Scaling]] = {Format.TFLITE8: Arrays, Format.W16A8: Scaling}
"""What the parameters of a layer with weights continue with, by format; `BIASES_AT` is the offset of its biases."""


def ended(size: int) -> int:
    """Return a size rounded up to a multiple of 4."""
    return (size + 3) & ~3


def padded(data: bytes) -> bytes:
    """Return bytes with zeros up to a multiple of 4."""
    return data + bytes(-len(data) % 4)


def array_bytes(channels: int) -> int:
    """Return the bytes of the parameters by output channel."""
    return 16 * channels + ended(channels)


def parameter_bytes(op: int, format: int, channels: int) -> int:
    """Return the bytes of a layer's parameters."""
    if format not in GRAPH_WEIGHTS:
        return 0
    if op == Op.ADD:
        return OUTPUT.size + FACTORS.size
    return OUTPUT.size + (OWN[format].size(channels) if channels else 0)
