"""The parameters of a layer as they lie in the network file, format by format (docs/network.md)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hil.training.graph.graph import AddFactors, MeanFactor, Node, Op, Parameters

OUTPUT = struct.Struct("<fbbbB")  # what the parameters of every tflite8 and w16a8 layer begin with
LIMITS = struct.Struct("<ff")  # what those of every float32 layer begin with
FACTORS = struct.Struct("<3i3bB")  # of an add
FACTOR = struct.Struct("<ib3s")  # of a mean
TABLE = struct.Struct("<256s")
SCALING = struct.Struct("<fibBH")  # of the weights of a w16a8 layer
NO_BYTES = bytes(3)
assert (OUTPUT.size, LIMITS.size, FACTORS.size, FACTOR.size, SCALING.size) == (8, 8, 16, 8, 12)


class Output(NamedTuple):
    """Scale, zero point and limits of the output of a layer; `none` must be zero."""

    scale: float
    zero: int
    act_min: int
    act_max: int
    none: int = 0

    @classmethod
    def of(cls, layer: Node) -> Output:
        """Return those of a layer."""
        return cls(layer.scale, layer.zero, int(layer.act_min), int(layer.act_max))

    def pack(self) -> bytes:
        """Return its bytes."""
        return OUTPUT.pack(*self)

    @classmethod
    def unpack(cls, blob: bytes, offset: int) -> Output:
        """Read it from a file that is long enough."""
        return cls(*OUTPUT.unpack_from(blob, offset))

    def fields(self) -> dict[str, float]:
        """Return the fields of a node that it says."""
        return {"scale": self.scale, "zero": self.zero, "act_min": self.act_min, "act_max": self.act_max}

    @staticmethod
    def size() -> int:
        """Return its bytes."""
        return OUTPUT.size


class Limits(NamedTuple):
    """Limits of the output of a float32 layer."""

    act_min: float
    act_max: float

    @classmethod
    def of(cls, layer: Node) -> Limits:
        """Return those of a layer."""
        return cls(layer.act_min, layer.act_max)

    def pack(self) -> bytes:
        """Return its bytes."""
        return LIMITS.pack(*self)

    @classmethod
    def unpack(cls, blob: bytes, offset: int) -> Limits:
        """Read it from a file that is long enough."""
        return cls(*LIMITS.unpack_from(blob, offset))

    def fields(self) -> dict[str, float]:
        """Return the fields of a node that they say."""
        return {"act_min": self.act_min, "act_max": self.act_max}

    @staticmethod
    def size() -> int:
        """Return their bytes."""
        return LIMITS.size


class Factors(NamedTuple):
    """Multipliers and shifts of an add; `none` must be zero."""

    multipliers: tuple[int, int, int]
    shifts: tuple[int, int, int]
    none: int = 0

    @classmethod
    def of(cls, layer: Node) -> Factors:
        """Return those of an add."""
        assert isinstance(layer.factors, AddFactors)
        return cls(layer.factors.multipliers, layer.factors.shifts)

    def pack(self) -> bytes:
        """Return its bytes."""
        return FACTORS.pack(*self.multipliers, *self.shifts, self.none)

    @classmethod
    def unpack(cls, blob: bytes, offset: int) -> Factors:
        """Read it from a file that is long enough."""
        f = FACTORS.unpack_from(blob, offset)
        return cls(f[:3], f[3:6], f[6])

    def fields(self) -> dict[str, Any]:
        """Return the fields of a node that they say."""
        return {"factors": AddFactors(self.multipliers, self.shifts)}

    @staticmethod
    def size() -> int:
        """Return their bytes."""
        return FACTORS.size


class Factor(NamedTuple):
    """Multiplier and shift of a mean; `none` must be zero."""

    multiplier: int
    shift: int
    none: bytes = NO_BYTES

    @classmethod
    def of(cls, layer: Node) -> Factor:
        """Return those of a mean."""
        assert isinstance(layer.factors, MeanFactor)
        return cls(layer.factors.multiplier, layer.factors.shift)

    def pack(self) -> bytes:
        """Return its bytes."""
        return FACTOR.pack(*self)

    @classmethod
    def unpack(cls, blob: bytes, offset: int) -> Factor:
        """Read it from a file that is long enough."""
        return cls(*FACTOR.unpack_from(blob, offset))

    def fields(self) -> dict[str, Any]:
        """Return the fields of a node that they say."""
        return {"factors": MeanFactor(self.multiplier, self.shift)}

    @staticmethod
    def size() -> int:
        """Return their bytes."""
        return FACTOR.size


class Table(NamedTuple):
    """Outputs of a table for the inputs -128..127."""

    entries: bytes

    @classmethod
    def of(cls, layer: Node) -> Table:
        """Return that of a layer."""
        assert layer.table is not None
        return cls(layer.table.astype(np.int8).tobytes())

    def pack(self) -> bytes:
        """Return its bytes."""
        return TABLE.pack(*self)

    @classmethod
    def unpack(cls, blob: bytes, offset: int) -> Table:
        """Read it from a file that is long enough."""
        return cls(*TABLE.unpack_from(blob, offset))

    def fields(self) -> dict[str, Any]:
        """Return the field of a node that it says."""
        return {"table": np.frombuffer(self.entries, np.int8).copy()}

    @staticmethod
    def size() -> int:
        """Return its bytes."""
        return TABLE.size


@dataclass(frozen=True, eq=False)
class Arrays:
    """What a tflite8 layer with weights has, by output channel: int32, int32, float32, int32, int8."""

    BIASES_AT: ClassVar[int] = 0

    bias: np.ndarray
    multiplier: np.ndarray
    scale: np.ndarray
    sums: np.ndarray
    shift: np.ndarray

    @classmethod
    def of(cls, op: Op, own: Parameters) -> Arrays:
        """Return those of a layer: the sums are made from the weights."""
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
    """What a w16a8 layer with weights has: their scale, its factor, w_max, and int32 biases.

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


@dataclass(frozen=True, eq=False)
class Biases:
    """What a float32 layer with weights has: float32 biases."""

    BIASES_AT: ClassVar[int] = 0

    bias: np.ndarray

    @classmethod
    def of(cls, op: Op, own: Parameters) -> Biases:
        """Return those of a layer."""
        return cls(own.bias)

    def with_weights(self, weights: np.ndarray) -> Parameters:
        """Return the parameters with weights."""
        return Parameters(weights, self.bias)

    def pack(self) -> bytes:
        """Return their bytes."""
        return np.asarray(self.bias).astype("<f4").tobytes()

    @classmethod
    def unpack(cls, blob: bytes, offset: int, channels: int) -> Biases:
        """Read them from a file that is long enough; the array is a copy."""
        return cls(np.frombuffer(blob, "<f4", channels, offset).astype(np.float32))

    @staticmethod
    def size(channels: int) -> int:
        """Return their bytes."""
        return 4 * channels


def ended(size: int) -> int:
    """Return a size rounded up to a multiple of 4."""
    return (size + 3) & ~3


def padded(data: bytes) -> bytes:
    """Return bytes with zeros up to a multiple of 4."""
    return data + bytes(-len(data) % 4)


def array_bytes(channels: int) -> int:
    """Return the bytes of the parameters by output channel of a tflite8 layer."""
    return 16 * channels + ended(channels)
