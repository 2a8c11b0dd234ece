"""What a reader refuses of the data of a `float32` layer (docs/arithmetic-float32.md, section 11)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hil.training.graph.contents import SMALLEST_SCALE, Contents, Fault, counts, within
from hil.training.graph.formats import LARGEST_FLOAT, POOLS, Format, Op
from hil.training.graph.parameters import Biases, Limits

LARGEST_SCALE = 2.0**32  # of the input
LARGEST_WEIGHT = 2.0**20
UNLIMITED = (*POOLS, Op.CAST, Op.HARD_SWISH, Op.MULTIPLY)  # their outputs have no limits of their own


class Float32Contents(Contents):
    """The checks of a float32 layer (docs/arithmetic-float32.md, section 11)."""

    def padding(self) -> Iterator[Fault]:
        """Check 7: nothing of a layer is padded."""
        return iter(())

    def scales(self) -> Iterator[Fault]:
        """Check 9: of the input, which has the format of the first layer."""
        header = self.header
        if self.records[0].format != Format.FLOAT32:
            return
        if not within(header.scale, SMALLEST_SCALE, LARGEST_SCALE):
            yield 9, f"an input of scale {header.scale} is none of float32"

    def sums(self) -> Iterator[Fault]:
        """Check 11."""
        yield from counts((self.positions,), (2**16,))
        if self.record.channels:
            yield from counts((self.record.taps, self.error_products), (2**17, 2**17))

    def weights(self) -> Iterator[Fault]:
        """Check 12."""
        record = self.record
        if not record.channels:
            return
        biases = Biases.unpack(self.blob, record.parameters_at + Limits.size(), record.channels)
        for kind, numbers in (("weight", self.values), ("bias", biases.bias)):
            wrong = beyond_file(numbers)
            if wrong.size:
                yield 12, f"a {kind} is {wrong[0]}, which is not within 2^20"

    def limits(self) -> Iterator[Fault]:
        """Check 13."""
        its = Limits.unpack(self.blob, self.record.parameters_at)
        low, high = limits = its.act_min, its.act_max
        widest = (-LARGEST_FLOAT, LARGEST_FLOAT)
        ordered = widest[0] <= low < high <= widest[1]
        if not ordered or any(limit == 0 and np.signbit(limit) for limit in limits):
            yield 13, f"the limits {low} and {high} of the output are not rising numbers within 2^40, or one is -0"
        if self.record.op in UNLIMITED and limits != widest:
            yield 13, f"a {Op(self.record.op).name.lower()} has the limits {low} and {high}, not -2^40 and 2^40"


def beyond_file(numbers: np.ndarray) -> np.ndarray:
    """Return the weights and biases in `float32` that no file may hold; not-a-number is one."""
    return numbers[~(np.abs(numbers) <= LARGEST_WEIGHT)]
