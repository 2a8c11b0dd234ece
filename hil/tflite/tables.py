"""The 256 outputs of what depends on one value only (docs/arithmetic-tflite.md, section 4)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hil.graph.factors import multiplier_of
from hil.tflite.runtimes import DOUBLE

Grid = tuple[float, int]  # scale, zero point
INPUTS = np.arange(-128, 128)
FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "HARD_SWISH": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "LOGISTIC": lambda x: 1 / (1 + np.exp(-x)),
    "RELU": lambda x: np.maximum(x, 0),
    "RELU6": lambda x: np.clip(x, 0, 6),
    "RELU_N1_TO_1": lambda x: np.clip(x, -1, 1),
    "TANH": np.tanh,
}
"""Operators that map each element, in real numbers."""


def table_of(function: str, given: Grid, out: Grid) -> np.ndarray:
    """Return the outputs for the inputs -128..127, int8: the function in binary64, halves away from zero."""
    real = FUNCTIONS[function](given[0] * (INPUTS - given[1])) / out[0]
    return _int8(np.sign(real) * np.floor(np.abs(real) + 0.5) + out[1])


def requantizing(given: Grid, out: Grid, rounding: str) -> np.ndarray:
    """Return the outputs of QUANTIZE from int8 to int8, by a multiplier and a shift as TFLite makes them.

    Raises:
        RigError: the ratio of the scales has none.
    """
    multiplier, shift = multiplier_of(given[0] / out[0], "give both tensors scales of about the same size")
    values = [_rescaled(int(value) - given[1], multiplier, shift, rounding) for value in INPUTS]
    return _int8(np.array(values, np.float64) + out[1])


def _rescaled(value: int, multiplier: int, shift: int, rounding: str) -> int:
    if rounding != DOUBLE:
        return (value * multiplier + (1 << 30 - shift)) >> (31 - shift)
    high = ((value << max(shift, 0)) * multiplier + (1 << 30)) >> 31
    right = max(-shift, 0)
    half = 1 << right - 1 if right else 0
    return (abs(high) + half >> right) * (1 if high >= 0 else -1)


def _int8(values: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.clip(values, -128, 127).astype(np.int8)
    return found
