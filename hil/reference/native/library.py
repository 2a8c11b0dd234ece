"""The functions of the library, on arrays (docs/arithmetic.md, sections 4 and 7).

The batch is the first axis, every sample has an exponent of its own: int8 [B, H, W, C] or [B, values], and int64 [B].
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64
from typing import Any

import numpy as np

from hil.reference.native.build import library

Group = tuple[np.ndarray, np.ndarray]  # values and exponents


def array(dtype: type[np.generic]) -> Any:
    """Return the type of an argument that is a whole array."""
    return np.ctypeslib.ndpointer(dtype, flags="C_CONTIGUOUS")


class Conv(ctypes.Structure):
    """A convolution of stride 1, as native.h has it."""

    _fields_ = tuple(
        (name, c_int32)
        for name in ("height", "width", "channels", "outputs", "kh", "kw", "above", "left", "relu", "pool")
    )


BYTES, LONGS = array(np.int8), array(np.int64)
PASSED = (BYTES, c_int64, c_int64, BYTES, LONGS, BYTES, LONGS)  # weights, their exponent, samples, input, output
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "native_conv": (POINTER(Conv), *PASSED),
    "native_dense": (c_int64, c_int64, c_int, *PASSED),
    "native_pool": (c_int32, c_int32, c_int32, c_int32, c_int64, BYTES, BYTES),
}


class Native:
    """The library, its functions with the types of their arguments.

    Raises:
        NotBuilt: there is none on this computer.
    """

    def __init__(self) -> None:
        self._library = library()
        for name, types in ARGUMENTS.items():
            getattr(self._library, name).argtypes = types
        self._library.native_name.restype = c_char_p
        self.name: str = self._library.native_name().decode()

    def convolution(
        self, x: Group, weights: np.ndarray, weight_exp: int, pads: tuple[int, int], relu: bool = False, pool: int = 1
    ) -> Group:
        """Return the requantized convolution of [B, H, W, C], then relu, then max-pooled by `pool`.

        Args:
            x: the input.
            weights: [O, kh, kw, C].
            weight_exp: their exponent.
            pads: zeros above and below, left and right.
            relu: whether negative values become 0.
            pool: size and stride of the windows; 1 pools nothing.
        """
        values, exponents = x
        batch, height, width, channels = values.shape
        outputs, kh, kw, _ = weights.shape
        out_h, out_w = height + 2 * pads[0] - kh + 1, width + 2 * pads[1] - kw + 1
        conv = Conv(height, width, channels, outputs, kh, kw, *pads, relu, pool)
        out = np.empty((batch, out_h // pool, out_w // pool, outputs), np.int8), np.empty(batch, np.int64)
        _check(self._library.native_conv(byref(conv), _whole(weights), weight_exp, batch, values, exponents, *out))
        return out

    def dense(self, x: Group, weights: np.ndarray, weight_exp: int, relu: bool = False) -> Group:
        """Return the requantized products of [B, ...] with weights [O, I], [B, 1, 1, O], then relu."""
        values, exponents = x
        outputs, inputs = weights.shape
        out = np.empty((len(values), 1, 1, outputs), np.int8), np.empty(len(values), np.int64)
        _check(
            self._library.native_dense(
                inputs, outputs, relu, _whole(weights), weight_exp, len(values), values, exponents, *out
            )
        )
        return out

    def pooled(self, values: np.ndarray, k: int) -> np.ndarray:
        """Return the maxima of windows k x k, k apart, of [B, H, W, C]."""
        batch, height, width, channels = values.shape
        out = np.empty((batch, height // k, width // k, channels), np.int8)
        self._library.native_pool(height, width, channels, k, batch, values, out)
        return out


def _whole(weights: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(weights, np.int8)


def _check(result: int) -> None:
    if result:
        raise MemoryError("no memory for a layer of the batch: choose a smaller one.")
