"""HARD_SWISH of int8 as TFLite's kernels compute it, in 16-bit fixed point (docs/tflite.md)."""

from __future__ import annotations

import math

import numpy as np

from hil.errors import RigError
from hil.training.graph.factors import nearest
from hil.training.tflite.values import CURE

HIGH, LOW = 2**15 - 1, -(2**15)
FINER = 7  # bits by which an input is shifted left
REALS = 3 / 32768  # what a step of the factor between 0 and 1 stands for, times 3


def hard_swish(given: tuple[float, int], out: tuple[float, int]) -> list[int]:
    """Return the outputs for the inputs -128..127, before they are limited to int8.

    Args:
        given, out: scale and zero point of input and output.

    Raises:
        RigError: the output has a far finer scale than the input.
    """
    fine = np.float32(given[0]) * np.float32(1 / 128)
    to_out, out_shift = _multiplier(float(fine / np.float32(out[0])))
    to_factor, factor_shift = _multiplier(float(fine / np.float32(REALS)))
    if out_shift > 0:
        raise RigError(f"a HARD_SWISH of scale {given[0]} cannot have an output of scale {out[0]}: {CURE}.")
    found = []
    for value in range(-128, 128):
        hires = (value - given[1]) << FINER
        factor = _saturated(hires << max(factor_shift - 1, 0))
        factor = _rounded_product(factor, to_factor)
        factor = _saturated(factor << 1) if factor_shift > 0 else _divided(factor, -factor_shift)
        product = math.trunc(((factor + 2**15) >> 1) * _rounded_product(hires, to_out) / 2**15)
        found.append(_divided(product, -out_shift) + out[1])
    return found


def _multiplier(factor: float) -> tuple[int, int]:
    """Return a factor as 16 bits and a shift, by way of 32 bits."""
    part, shift = math.frexp(factor)
    wide = nearest(part * 2**31)
    if wide == 2**31:
        wide, shift = 2**30, shift + 1
    return min((wide + 2**15) >> 16, HIGH), shift


def _saturated(value: int) -> int:
    return max(LOW, min(HIGH, value))


def _rounded_product(a: int, b: int) -> int:
    """Return a * b / 2^15, halves away from zero but for what truncation leaves of them."""
    product = a * b
    return math.trunc((product + (2**14 if product >= 0 else 1 - 2**14)) / 2**15)


def _divided(value: int, bits: int) -> int:
    """Return value / 2^bits, halves away from zero."""
    half = 1 << bits - 1 if bits else 0
    return (abs(value) + half >> bits) * (1 if value >= 0 else -1)
