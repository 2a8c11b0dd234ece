"""What a reader refuses of the data of a `w16a8` layer (docs/arithmetic-w16a8.md, sections 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from hil.training.graph.contents import LARGEST_BIAS, LEAST_MULTIPLIER, AffineContents, Fault, counts, is_scale, within
from hil.training.graph.formats import Op, named
from hil.training.graph.parameters import Output, Scaling

LARGEST_WEIGHTS = (32767, 127)  # w_max
MOST_PRODUCTS = 2**15  # behind one output
SHIFTS = (-31, -2)
HOLDS = 2**31 - 1 - 2**30  # what products may add to a bias in int32
SATURATES_FROM = -22  # a shift from which a sum beyond int32 is an output beyond its limits


def largest_input(zero: int) -> int:
    """Return D, the largest magnitude of a value less its zero point."""
    return max(127 - zero, 128 + zero)


def needs_saturating_shift(products: int, largest: int, zero: int) -> bool:
    """Return whether a sum of so many products, with a bias, could leave int32.

    Args:
        products: of one output.
        largest: w_max.
        zero: zero point of the input.
    """
    return products * largest * largest_input(zero) > HOLDS


class W16A8Contents(AffineContents):
    """The checks of a layer."""

    @cached_property
    def scaling(self) -> Scaling | None:
        """Of a layer with weights, else None."""
        record = self.record
        if not record.channels:
            return None
        return Scaling.unpack(self.blob, record.parameters_at + Output.size(), record.channels)

    def padding(self) -> Iterator[Fault]:
        """Check 7."""
        parts = (self.output, self.factors, self.scaling)
        if any(part is not None and part.none for part in parts):
            yield 7, "a field of its parameters that must be zero is not"
        if any(self.padding_of_weights):
            yield 7, "a byte after its weights that must be zero is not"

    def scales(self) -> Iterator[Fault]:
        """Check 9."""
        if not is_scale(self.output.scale) or (self.scaling is not None and not is_scale(self.scaling.scale)):
            yield 9, "a scale is not a normal number in 2^-40..2^40"

    def sums(self) -> Iterator[Fault]:
        """Check 11."""
        yield from super().sums()
        scaling = self.scaling
        if scaling is None:
            return
        yield from counts((self.record.taps,), (MOST_PRODUCTS,))
        if not within(scaling.bias.astype(np.int64), -LARGEST_BIAS, LARGEST_BIAS):
            yield 11, "a bias is beyond 2^30"
        if not (scaling.multiplier >= LEAST_MULTIPLIER and within(scaling.shift, *SHIFTS)):
            yield 11, f"multiplier {scaling.multiplier} with shift {scaling.shift} is no factor below 1/4"
        _, zero = self.scale_and_zero_of(self.record.first)
        bounded = not needs_saturating_shift(self.record.taps, scaling.largest, zero)
        if not (bounded or scaling.shift >= SATURATES_FROM):
            name = named([Op(record.op) for record in self.records[: self.index + 1]])[-1]
            product = scaling.largest * largest_input(zero)
            yield (
                11,
                f"the sums of {name} could leave int32 and change an output: {self.record.taps:,} products of at most "
                f"{product:,} with shift {scaling.shift}; use at most {HOLDS // product:,} inputs, or calibrate so "
                "that s_x * s_w / s_y is at least 2^-23",
            )

    def weights(self) -> Iterator[Fault]:
        """Check 12."""
        if self.scaling is None:
            return
        largest = self.scaling.largest
        if largest not in LARGEST_WEIGHTS:
            yield 12, f"w_max is {largest}, not {' or '.join(map(str, LARGEST_WEIGHTS))}"
        beyond = self.values[np.abs(self.values.astype(np.int32)) > largest]
        if beyond.size:
            yield 12, f"a weight is {beyond[0]}, which is beyond w_max of {largest}"
