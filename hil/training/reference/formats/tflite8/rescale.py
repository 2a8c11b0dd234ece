"""From int32 sums to int8 outputs (docs/arithmetic-tflite.md, sections 1 and 3), on whole arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hil.training.reference.arith import INT32_MAX, INT32_MIN


@dataclass(frozen=True, eq=False)
class Quantization:
    """What a layer has beside its shape, weights and bias.

    Attributes:
        input_zero, output_zero: zero points, -128..127.
        act_min, act_max: limits of the output, -128..127.
        multiplier: int64 [O], 2^29..2^31 - 1.
        shift: int64 [O], -31..30; the real factor is multiplier * 2^(shift - 31).
        rounding: `double` or `single`, which the layer has.
    """

    input_zero: int
    output_zero: int
    act_min: int
    act_max: int
    multiplier: np.ndarray
    shift: np.ndarray
    rounding: str = "double"


def rescale_double(acc: np.ndarray, multiplier: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Scale int64 [..., O], each in int32, by factors int64 [O]; round half up, then half away from zero, int64."""
    raised = np.clip(acc << np.maximum(shift, 0), INT32_MIN, INT32_MAX)
    high = (raised * multiplier + (1 << 30)) >> 31
    right = np.maximum(-shift, 0)
    half = (1 << right) >> 1  # 0 where nothing is shifted out
    scaled: np.ndarray = np.sign(high) * ((np.abs(high) + half) >> right)
    return scaled


def rescale_single(acc: np.ndarray, multiplier: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Scale and round once, half up; arguments and result as of `rescale_double`."""
    scaled: np.ndarray = (acc * multiplier + (np.int64(1) << (30 - shift))) >> (31 - shift)
    return scaled


def rescale(acc: np.ndarray, multiplier: np.ndarray, shift: np.ndarray, rounding: str) -> np.ndarray:
    """Scale by the rounding that is named, `double` or `single`; the rest as of `rescale_double`."""
    return (rescale_double if rounding == "double" else rescale_single)(acc, multiplier, shift)


def requantize(acc: np.ndarray, quantization: Quantization) -> np.ndarray:
    """Return the int8 outputs [..., O] of sums that have their bias, int64 [..., O].

    Raises:
        OverflowError: a sum is not in int32, for which the text defines no output.
    """
    if acc.size and (acc.min() < INT32_MIN or acc.max() > INT32_MAX):
        raise OverflowError(
            f"a sum of {acc.min()}..{acc.max()} is outside int32; the layer has too many taps or too large a bias"
        )
    scaled = rescale(acc, quantization.multiplier, quantization.shift, quantization.rounding)
    held: np.ndarray = np.clip(scaled + quantization.output_zero, quantization.act_min, quantization.act_max)
    return held.astype(np.int8)
