"""The parameters of a layer as they lie in the network file, format by format (docs/network.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from hil.training.graph.graph import AddFactors, MeanFactor, Node, Op, Parameters
from hil.training.graph.part import F32, I8, I32, NO_BYTES, U8, U16, NoBytes, Part


@dataclass(frozen=True)
class Output(Part):
    """Scale, zero point and limits of the output of every tflite8 and w16a8 layer; `none` must be zero."""

    scale: F32
    zero: I8
    act_min: I8
    act_max: I8
    none: U8 = 0


@dataclass(frozen=True)
class Limits(Part):
    """Limits of the output of every float32 layer."""

    act_min: F32
    act_max: F32


@dataclass(frozen=True)
class Factors(Part):
    """Multipliers and shifts of an add; `none` must be zero."""

    multipliers: Annotated[tuple[int, int, int], "3i"]
    shifts: Annotated[tuple[int, int, int], "3b"]
    none: U8 = 0

    @classmethod
    def of_layer(cls, layer: Node) -> Factors:
        """Return those of an add."""
        return cls.of(layer.factors)

    def fields(self) -> dict[str, AddFactors]:
        """Return the field of a node that they say."""
        return {"factors": AddFactors(self.multipliers, self.shifts)}


@dataclass(frozen=True)
class Factor(Part):
    """Multiplier and shift of a mean; `none` must be zero."""

    multiplier: I32
    shift: I8
    none: NoBytes = NO_BYTES

    @classmethod
    def of_layer(cls, layer: Node) -> Factor:
        """Return those of a mean."""
        return cls.of(layer.factors)

    def fields(self) -> dict[str, MeanFactor]:
        """Return the field of a node that they say."""
        return {"factors": MeanFactor(self.multiplier, self.shift)}


@dataclass(frozen=True)
class Table(Part):
    """Outputs of a table for the inputs -128..127."""

    entries: Annotated[bytes, "256s"]

    @classmethod
    def of_layer(cls, layer: Node) -> Table:
        """Return that of a layer."""
        return cls(np.asarray(layer.table, np.int8).tobytes())

    def fields(self) -> dict[str, np.ndarray]:
        """Return the field of a node that it says."""
        return {"table": np.frombuffer(self.entries, np.int8).copy()}


@dataclass(frozen=True, eq=False)
class Arrays(Part):
    """What a tflite8 layer with weights has, by output channel; `sums` are those of the weights."""

    bias: Annotated[np.ndarray, "<i4"]
    multiplier: Annotated[np.ndarray, "<i4"]
    scale: Annotated[np.ndarray, "<f4"]
    sums: Annotated[np.ndarray, "<i4"]
    shift: Annotated[np.ndarray, "<i1"]

    @classmethod
    def of_own(cls, op: Op, own: Parameters) -> Arrays:
        """Return those of a layer: the sums are made from the weights."""
        axis = (0, 1) if op is Op.DEPTHWISE else tuple(range(1, own.weights.ndim))
        return cls.of(own, sums=own.weights.sum(axis=axis, dtype=np.int64))

    def with_weights(self, weights: np.ndarray) -> Parameters:
        """Return the parameters with weights, without the sums."""
        return Parameters(weights, self.bias, self.multiplier, self.shift, self.scale)


@dataclass(frozen=True, eq=False)
class Scaling(Part):
    """What a w16a8 layer with weights has: their scale, its factor, w_max, and biases; `none` must be zero."""

    scale: F32
    multiplier: I32
    shift: I8
    none: U8 = field(default=0, kw_only=True)
    largest: U16
    bias: Annotated[np.ndarray, "<i4"]

    @classmethod
    def of_own(cls, op: Op, own: Parameters) -> Scaling:
        """Return those of a layer."""
        factor = int(own.multiplier[0]), int(own.shift[0])
        return cls(float(own.scale[0]), *factor, own.largest, own.bias)

    def with_weights(self, weights: np.ndarray) -> Parameters:
        """Return the parameters with weights."""
        factor = np.array([self.multiplier], np.int32), np.array([self.shift], np.int8)
        return Parameters(weights, self.bias, *factor, np.array([self.scale], np.float32), largest=self.largest)


@dataclass(frozen=True, eq=False)
class Biases(Part):
    """What a float32 layer with weights has: biases."""

    bias: Annotated[np.ndarray, "<f4"]

    @classmethod
    def of_own(cls, op: Op, own: Parameters) -> Biases:
        """Return those of a layer."""
        return cls.of(own)

    def with_weights(self, weights: np.ndarray) -> Parameters:
        """Return the parameters with weights."""
        return Parameters(weights, self.bias)
