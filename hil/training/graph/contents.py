"""What a reader refuses of the data of a layer, format by format: checks 7, 9, 11, 12 and 13 of docs/network.md."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hil.training.graph.formats import CHAINS, POOLS, WEIGHTED, ChainFormat, Format, Op, rounding_word, weight_type
from hil.training.graph.layouts import LAYOUTS
from hil.training.graph.node import AddFactors, MeanFactor
from hil.training.graph.parameters import Arrays, Output
from hil.training.graph.part import NO_BYTES
from hil.training.graph.record import Header, Record

SMALLEST_SCALE, LARGEST_SCALE = 2.0**-40, 2.0**40
LARGEST_WEIGHT, LARGEST_BIAS = 127, 2**30
LEAST_MULTIPLIER, LEAST_OF_MEAN = 2**30, 2**29
MOST_POSITIONS = 2**16
SHIFTS, ADD_SHIFTS = (-31, 30), (-31, 0)

Fault = tuple[int, str]


@dataclass(frozen=True)
class Contents(ABC):
    """The checks of the data of a layer that lie inside the file."""

    blob: bytes
    index: int
    records: Sequence[Record]
    header: Header

    @property
    def record(self) -> Record:
        """Its own record."""
        return self.records[self.index]

    @property
    def error_products(self) -> int:
        """Products behind the error of one input."""
        record = self.record
        if record.op == Op.FULLY_CONNECTED:
            return record.channels
        area = record.kernel[0] * record.kernel[1]
        return area if record.op == Op.DEPTHWISE else area * record.channels

    @property
    def positions(self) -> int:
        """Output positions."""
        return self.record.out_shape[0] * self.record.out_shape[1]

    @cached_property
    def values(self) -> np.ndarray:
        """The weights as they lie in the file."""
        return np.frombuffer(self.blob, weight_type(self.record.format), self.record.weights, self.record.weights_at)

    @property
    def padding_of_weights(self) -> bytes:
        """The bytes after the weights up to a multiple of 4."""
        end = self.record.weights_at + self.record.weight_bytes
        return self.blob[end : end + -end % 4]

    def scale_and_zero_of(self, value: int) -> tuple[float, int]:
        """Return scale and zero point of a value of a format that has them."""
        while value:
            maker = self.records[value - 1]
            found = LAYOUTS[maker.format].quantization(
                self.blob, maker.parameters_at, maker.op, maker.channels, rounding_word(maker.format, maker.rounding)
            )
            if found is not None:
                return found
            value = maker.first
        return self.header.scale, self.header.zero

    def beyond(self, largest: float) -> Iterator[Fault]:
        """Check 12, of the magnitudes of the weights."""
        wrong = self.values[~(np.abs(self.values.astype(np.float64)) <= largest)]  # not-a-number compares false
        if wrong.size:
            yield 12, f"a weight is {wrong[0]}, which no tensor may hold"

    @abstractmethod
    def padding(self) -> Iterator[Fault]:
        """Check 7."""

    @abstractmethod
    def scales(self) -> Iterator[Fault]:
        """Check 9."""

    @abstractmethod
    def sums(self) -> Iterator[Fault]:
        """Check 11."""

    @abstractmethod
    def weights(self) -> Iterator[Fault]:
        """Check 12."""

    @abstractmethod
    def limits(self) -> Iterator[Fault]:
        """Check 13."""


class ChainContents(Contents):
    """The checks of a layer in a format of chains."""

    @property
    def format(self) -> ChainFormat:
        """Of the layer."""
        return CHAINS[Format(self.record.format)]

    def padding(self) -> Iterator[Fault]:
        """Check 7."""
        if any(self.padding_of_weights):
            yield 7, "a byte after its weights that must be zero is not"

    def scales(self) -> Iterator[Fault]:
        """Check 9."""
        header, record, (least, most) = self.header, self.record, self.format.exponents
        if (header.scale, header.zero) != (2.0**self.format.input_exponent, 0):
            found = f"scale {header.scale} and zero point {header.zero}"
            yield 9, f"an input of {found} is none of {Format(record.format).name.lower()}"
        if record.op in WEIGHTED and not within(record.exponent, least, most):
            yield 9, f"weight exponent {record.exponent} is outside {least}..{most}"

    def sums(self) -> Iterator[Fault]:
        """Check 11."""
        if self.record.channels:
            found = (self.record.taps, self.error_products, self.positions)
            yield from counts(found, (self.format.most_products,) * 3)

    def weights(self) -> Iterator[Fault]:
        """Check 12."""
        yield from self.beyond(self.format.largest_weight)

    def limits(self) -> Iterator[Fault]:
        """Check 13."""
        return iter(())


class AffineContents(Contents):
    """The checks that layers with scales and zero points share, whatever their weights are."""

    @cached_property
    def output(self) -> Output:
        """Scale, zero point and limits."""
        return Output.unpack(self.blob, self.record.parameters_at)

    @cached_property
    def factors(self) -> AddFactors | None:
        """Of an add, else None."""
        record = self.record
        return AddFactors.unpack(self.blob, record.parameters_at + Output.size()) if record.op == Op.ADD else None

    def sums(self) -> Iterator[Fault]:
        """Check 11, of positions and of an add."""
        yield from counts((self.positions,), (MOST_POSITIONS,))
        if self.factors is not None:
            multipliers, shifts = self.factors.multipliers, self.factors.shifts
            if not (within(multipliers, LEAST_MULTIPLIER) and within(shifts, *ADD_SHIFTS)):
                yield 11, f"factors {multipliers} with shifts {shifts} are none of an add"

    def limits(self) -> Iterator[Fault]:
        """Check 13."""
        output = self.output
        if output.act_min > output.act_max:
            yield 13, f"the limits {output.act_min} and {output.act_max} of the output leave nothing"
        if self.record.op not in POOLS:
            return
        scale, zero = self.scale_and_zero_of(self.record.first)
        if (output.scale, output.zero) != (scale, zero):
            mine = f"scale {output.scale}, zero point {output.zero}"
            yield 13, f"a pool of {mine} reads a value of scale {scale}, zero point {zero}"


class Tflite8Contents(AffineContents):
    """The checks of a tflite8 layer."""

    @cached_property
    def arrays(self) -> Arrays | None:
        """Of a layer with weights, else None."""
        record = self.record
        if not record.channels:
            return None
        return Arrays.unpack(self.blob, record.parameters_at + Output.size(), record.channels)

    @cached_property
    def factor(self) -> MeanFactor | None:
        """Of a mean, else None."""
        record = self.record
        return MeanFactor.unpack(self.blob, record.parameters_at + Output.size()) if record.op == Op.MEAN else None

    def padding(self) -> Iterator[Fault]:
        """Check 7."""
        of_mean = self.factor is not None and self.factor.none != NO_BYTES
        if self.output.none or (self.factors is not None and self.factors.none) or of_mean:
            yield 7, "a field of its parameters that must be zero is not"
        end = self.record.end
        padding_of_shifts = self.blob[end - -self.record.channels % 4 : end]
        if any(self.padding_of_weights) or any(padding_of_shifts):
            yield 7, "a byte after its weights or shifts that must be zero is not"

    def scales(self) -> Iterator[Fault]:
        """Check 9."""
        if not is_scale(self.output.scale) or (self.arrays is not None and not is_scale(self.arrays.scale)):
            yield 9, "a scale is not a normal number in 2^-40..2^40"

    def sums(self) -> Iterator[Fault]:
        """Check 11."""
        yield from super().sums()
        if self.factor is not None:
            yield from self._mean(self.factor)
        if self.arrays is None:
            return
        yield from counts((self.record.taps, self.error_products), (2**15, 2**17))
        if not within(self.arrays.bias.astype(np.int64), -LARGEST_BIAS, LARGEST_BIAS):
            yield 11, "a bias is beyond 2^30"
        if not (within(self.arrays.multiplier, LEAST_MULTIPLIER) and within(self.arrays.shift, *SHIFTS)):
            yield 11, "a multiplier is outside 2^30..2^31 - 1, or a shift outside -31..30"

    def _mean(self, factor: MeanFactor) -> Iterator[Fault]:
        """Check 11, of a mean."""
        height, width, _ = self.record.in_shape
        yield from counts((height * width,), (MOST_POSITIONS,))
        if not (factor.multiplier >= LEAST_OF_MEAN and within(factor.shift, *SHIFTS)):
            yield 11, f"multiplier {factor.multiplier} with shift {factor.shift} is none of a mean"

    def weights(self) -> Iterator[Fault]:
        """Check 12."""
        if self.arrays is None:
            return
        record, weights = self.record, self.values
        yield from self.beyond(LARGEST_WEIGHT)
        depthwise = record.op == Op.DEPTHWISE
        by_channel = weights.reshape(-1, record.channels) if depthwise else weights.reshape(record.channels, -1).T
        if (by_channel.sum(0, np.int64) != self.arrays.sums).any():
            yield 12, "a sum is not that of the weights"

    def limits(self) -> Iterator[Fault]:
        """Check 13."""
        yield from super().limits()
        limits = self.output.act_min, self.output.act_max
        if self.record.op == Op.TABLE and limits != (-128, 127):
            yield 13, f"a table has the limits {limits[0]} and {limits[1]}, not -128 and 127"


def is_scale(scale: float | np.ndarray) -> bool:
    """Return whether all scales are normal numbers in 2^-40..2^40; not-a-number compares false."""
    return within(scale, SMALLEST_SCALE, LARGEST_SCALE)


def within(values: float | Sequence[int] | np.ndarray, low: float, high: float = np.inf) -> bool:
    """Return whether all numbers are in low..high; not-a-number compares false."""
    return bool(np.all((np.asarray(values) >= low) & (np.asarray(values) <= high)))


def counts(found: Sequence[int], most: Sequence[int]) -> Iterator[Fault]:
    """Check products and positions against their limits."""
    for count, limit in zip(found, most, strict=True):
        if count > limit:
            yield 11, f"{count:,} products or positions behind one sum are more than {limit:,}"
