"""The 256 outputs of what depends on one value only (docs/arithmetic-tflite.md, section 4)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hil.training.graph.factors import multiplier_of, nearest
from hil.training.tflite.activations import limits
from hil.training.tflite.hard_swish import hard_swish
from hil.training.tflite.model import Operator
from hil.training.tflite.runtimes import XNNPACK

Grid = tuple[float, int]  # scale, zero point
INPUTS = np.arange(-128, 128)
FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "LOGISTIC": lambda x: 1 / (1 + np.exp(-x)),
    "TANH": np.tanh,
}
"""Operators that map each element by a function of real numbers."""
RELUS = ("RELU", "RELU6", "RELU_N1_TO_1")
BY_ELEMENT = (*FUNCTIONS, *RELUS, "HARD_SWISH")


def table_of(operator: Operator, given: Grid, out: Grid) -> np.ndarray:
    """Return the outputs for the inputs -128..127, int8.

    ReLUs are rescaled and limited, HARD_SWISH is computed in fixed point, other functions in binary64 with halves away
    from zero.

    Raises:
        RigError: the output has far too fine a scale.
    """
    function = operator.name
    if function == "HARD_SWISH":
        return _int8(np.array(hard_swish(given, out)))
    if function in RELUS:
        return _int8(np.clip(_requantized(given, out), *limits(operator, *out, function)))
    real = FUNCTIONS[function](given[0] * (INPUTS - given[1])) / out[0]
    return _int8(np.sign(real) * np.floor(np.abs(real) + 0.5) + out[1])


def requantizing(given: Grid, out: Grid, runtime: str) -> np.ndarray:
    """Return the outputs of QUANTIZE from int8 to int8: by a multiplier and a shift, in XNNPACK by 8 bits of fraction.

    Raises:
        RigError: the ratio of the scales has no multiplier and shift.
    """
    ratio = given[0] / out[0]
    if runtime == XNNPACK:
        return _int8((((INPUTS - given[1]) * nearest(ratio * 2**8) + 2**7) >> 8) + out[1])
    return _int8(_requantized(given, out))


def _requantized(given: Grid, out: Grid) -> np.ndarray:
    multiplier, shift = multiplier_of(given[0] / out[0], "give both tensors scales of about the same size")
    return np.array([_rescaled(int(value) - given[1], multiplier, shift) for value in INPUTS]) + out[1]


def _rescaled(value: int, multiplier: int, shift: int) -> int:
    """Return value * multiplier * 2^(shift - 31), rounded `double` (docs/arithmetic-tflite.md, section 3)."""
    high = ((value << max(shift, 0)) * multiplier + (1 << 30)) >> 31
    right = max(-shift, 0)
    half = 1 << right - 1 if right else 0
    return (abs(high) + half >> right) * (1 if high >= 0 else -1)


def _int8(values: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.clip(values, -128, 127).astype(np.int8)
    return found
