"""What a reader refuses of the data of an `affine8` layer (docs/arithmetic-affine8.md, section 8)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from hil.training.graph.affine8 import folded_biases, params, quantized_biases
from hil.training.graph.affine8_parameters import FoldedAndBias, OfWeights, Range, biases_at, range_at
from hil.training.graph.contents import Contents, Fault, counts, within
from hil.training.graph.float32_contents import beyond_file
from hil.training.graph.formats import LARGEST_FLOAT, PAIRED, POOLS, Op
from hil.training.graph.part import NO_BYTES

F = np.float32
SCALES_OF_WEIGHTS = 2.0**-28, 2.0**14
SCALES_READ = 2.0**-40, 2.0**23
WIDTHS = 2.0**-20, 2.0**30  # of the range of an output
LARGEST_FACTOR = float.fromhex("0x1.01p+0")  # from sums to an output
MOST_PRODUCTS, MOST_OF_ERROR, MOST_POSITIONS = 2**14, 2**15, 2**15
UNLIMITED = (*POOLS, Op.HARD_SWISH, Op.MULTIPLY)  # their outputs have no limits of their own


class Affine8Contents(Contents):
    """The checks of a layer."""

    @cached_property
    def output(self) -> Range:
        """Range and limits of the output."""
        return range_at(self.blob, self.record.parameters_at, self.record.channels)

    @cached_property
    def of_weights(self) -> OfWeights | None:
        """Scale and zero point of the weights, None without weights."""
        return OfWeights.unpack(self.blob, self.record.parameters_at) if self.record.channels else None

    @cached_property
    def biases(self) -> FoldedAndBias:
        """Of a layer with weights."""
        return biases_at(self.blob, self.record.parameters_at, self.record.channels)

    @cached_property
    def read(self) -> list[tuple[float, int]]:
        """Scale and zero point of each value that it reads."""
        values = (self.record.first, self.record.second) if self.record.op in PAIRED else (self.record.first,)
        return [self.scale_and_zero_of(value) for value in values]

    def padding(self) -> Iterator[Fault]:
        """Check 7."""
        if any(self.padding_of_weights) or (self.of_weights is not None and self.of_weights.none != NO_BYTES):
            yield 7, "a byte after its weights or their zero point that must be zero is not"

    def scales(self) -> Iterator[Fault]:
        """Check 9."""
        if self.of_weights is not None and not within(self.of_weights.scale, *SCALES_OF_WEIGHTS):
            yield 9, f"the scale of the weights is {self.of_weights.scale}, not within 2^-28..2^14"
        for scale, _ in self.read:
            if not within(scale, *SCALES_READ):
                yield 9, f"it reads a value of scale {scale}, not within 2^-40..2^23"
        factor = self._factor()
        if factor is not None and factor > LARGEST_FACTOR:  # where the range is no number, check 13 refuses it
            yield 9, f"its sums are multiplied by {factor} for its output, which is more than 0x1.01p+0"

    def _factor(self) -> float | None:
        """Return what the sums of products are multiplied by, None where there are none."""
        (s_x, _), *others = self.read
        if self.of_weights is not None:
            other = self.of_weights.scale
        elif self.record.op == Op.MULTIPLY:
            other = others[0][0]
        else:
            return None
        with np.errstate(all="ignore"):  # check 13 comes later: the range may be none
            s_y, _, _ = params(self.output.low, self.output.high)
            return float((F(s_x) * F(other)) / s_y)

    def sums(self) -> Iterator[Fault]:
        """Check 11."""
        if self.of_weights is None:
            if self.record.op == Op.MULTIPLY:
                yield from counts((self.positions,), (MOST_POSITIONS,))
            return
        found = self.record.taps, self.error_products, self.positions
        yield from counts(found, (MOST_PRODUCTS, MOST_OF_ERROR, MOST_POSITIONS))
        wrong = beyond_file(self.biases.bias)
        if wrong.size:
            yield 11, f"a bias is {wrong[0]}, which is not within 2^20"

    def weights(self) -> Iterator[Fault]:
        """Check 12."""
        if self.of_weights is None:
            return
        s_x, z_x = self.read[0]
        b_q = quantized_biases(self.biases.bias, s_x, self.of_weights.scale)
        depthwise, channels = self.record.op == Op.DEPTHWISE, self.record.channels
        by_channel = self.values.reshape((-1, 1, channels) if depthwise else (channels, -1))
        if (self.biases.folded != folded_biases(self.record.op, by_channel, self.of_weights.zero, b_q, z_x)).any():
            yield 12, "a folded bias is not that of weights, bias and scales"

    def limits(self) -> Iterator[Fault]:
        """Check 13."""
        low, high, act_min, act_max = numbers = tuple(self.output.values().values())
        widest = (-LARGEST_FLOAT, LARGEST_FLOAT)
        if not (widest[0] <= act_min <= 0 <= act_max <= widest[1] and act_min < act_max):
            yield 13, f"the limits {act_min} and {act_max} of the output are not rising around 0 within 2^40"
        if any(number == 0 and np.signbit(number) for number in numbers):
            yield 13, "a limit, or an end of the range, of the output is -0"
        if self.record.op in UNLIMITED and (act_min, act_max) != widest:
            name = Op(self.record.op).name.lower()
            yield 13, f"a {name} has the limits {act_min} and {act_max}, not -2^40 and 2^40"
        if self.record.op in POOLS:
            if (low, high) != (0.0, 0.0):
                yield 13, f"a pool has the range {low}..{high}, not that of its input (0.0, 0.0)"
            return
        yield from self._range()

    def _range(self) -> Iterator[Fault]:
        low, high, act_min = self.output.low, self.output.high, self.output.act_min
        with np.errstate(all="ignore"):  # infinities less infinities
            width = float(F(high) - F(low))
        if not (low <= 0 <= high and within(width, *WIDTHS)):
            yield 13, f"the range {low}..{high} of the output does not hold 0, or is not 2^-20..2^30 wide"
        if low < act_min:
            yield 13, f"the range {low}..{high} of the output begins below its limit {act_min}"
