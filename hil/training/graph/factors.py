"""Multipliers, shifts and limits as TFLite makes them from scales (docs/arithmetic-tflite.md, sections 3 and 4)."""

from __future__ import annotations

import math

from hil.errors import RigError
from hil.training.graph.node import AddFactors, MeanFactor

LARGEST_SHIFT, SMALLEST_SHIFT = 30, -31
ADD_HEADROOM = 20  # bits by which an add's inputs are shifted left (TFLite)
OTHER_IMAGES = "calibrate with other images"


def nearest(value: float) -> int:
    """Round as TFLite does: halves away from zero."""
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def act_limits(activation: str, scale: float, zero: int) -> tuple[int, int]:
    """Return act_min and act_max (docs/arithmetic-tflite.md, section 3)."""
    if activation == "none":
        return -128, 127
    return zero, 127 if activation == "relu" else min(127, zero + nearest(6 / scale))


def multiplier_of(factor: float, cure: str = OTHER_IMAGES) -> tuple[int, int]:
    """Return M in 2^30..2^31 - 1 and shift with factor = M * 2^(shift - 31), as TFLite's `QuantizeMultiplier`.

    Raises:
        RigError: a factor for which no shift in -31..30 is left; `cure` says what to do.
    """
    part, shift = math.frexp(factor)
    multiplier = nearest(part * 2**31)
    if multiplier == 2**31:
        multiplier, shift = 2**30, shift + 1
    if not (factor > 0 and SMALLEST_SHIFT <= shift <= LARGEST_SHIFT):
        raise RigError(f"a factor of {factor} cannot be written as multiplier and shift: {cure}.")
    return multiplier, shift


def add_factors(first: float, second: float, out: float, cure: str = "use other images") -> AddFactors:
    """Return the factors of an add from the scales of its inputs and its output, as TFLite makes them.

    Both inputs are brought to twice the larger scale, 20 bits finer; the output comes back from there.

    Raises:
        RigError: an output of a far finer scale than its inputs.
    """
    common = 2 * max(first, second)
    factors = [multiplier_of(f, cure) for f in (first / common, second / common, common / (2**ADD_HEADROOM * out))]
    if max(shift for _, shift in factors) > 0:
        raise RigError(f"an add of scales {first} and {second} cannot have an output of scale {out}: {cure}.")
    (m_a, s_a), (m_b, s_b), (m_y, s_y) = factors
    return AddFactors((m_a, m_b, m_y), (s_a, s_b, s_y))


def mean_factor(given: float, out: float, positions: int, cure: str = OTHER_IMAGES) -> MeanFactor:
    """Return the factor of a mean over so many positions from the scales of its input and its output.

    Raises:
        RigError: no shift in -31..30 is left.
    """
    multiplier, shift = multiplier_of(given / out, cure)
    bits = positions.bit_length() - 1
    if shift - bits < SMALLEST_SHIFT:
        raise RigError(f"a mean of {positions:,} positions at the scales {given} and {out} has no shift: {cure}.")
    return MeanFactor((multiplier << bits) // positions, shift - bits)
