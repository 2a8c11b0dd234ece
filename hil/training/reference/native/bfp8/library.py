"""The functions of the library, on arrays (docs/arithmetic.md, sections 4, 7, 8 and 9).

The batch is the first axis, every sample has an exponent of its own: int8 [B, H, W, C] or [B, values], and int64 [B].
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_int32, c_int64, c_uint32
from typing import Any

import numpy as np

from hil.training.methods.prng import ENTRIES, start_state
from hil.training.reference.native.functions import array

Group = tuple[np.ndarray, np.ndarray]  # values and exponents


class Conv(ctypes.Structure):
    """A convolution of stride 1, as native.h has it."""

    _fields_ = tuple(
        (name, c_int32)
        for name in ("height", "width", "channels", "outputs", "kh", "kw", "above", "left", "relu", "pool")
    )


BYTES, SHORTS, WORDS, LONGS = array(np.int8), array(np.int16), array(np.int32), array(np.int64)
PASSED = (BYTES, c_int64, c_int64, BYTES, LONGS, BYTES, LONGS)  # weights, their exponent, samples, input, output
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "native_conv": (POINTER(Conv), *PASSED),
    "native_dense": (c_int64, c_int64, c_int, *PASSED),
    "native_pool": (c_int32, c_int32, c_int32, c_int32, c_int64, BYTES, BYTES),
    "native_unpool": (c_int32, c_int32, c_int32, c_int32, c_int, c_int64, BYTES, BYTES, BYTES),
    "native_dense_gradient": (c_int64, c_int64, c_int64, BYTES, BYTES, LONGS, WORDS),
    "native_conv_gradient": (POINTER(Conv), c_int64, BYTES, BYTES, LONGS, WORDS),
    "native_cross_entropy": (c_int64, c_int64, BYTES, LONGS, LONGS, POINTER(c_float)),
    "native_noise_pool": (c_uint32, c_int32, c_int32, SHORTS),
    "native_noise": (SHORTS, c_uint32, c_int64, SHORTS),
    "native_moved": (BYTES, SHORTS, c_int64, c_int32, c_int32, BYTES),
    "native_zo_updated": (BYTES, SHORTS, c_int64, c_int32, c_int32, c_int32, BYTES),
    "native_bp_updated": (BYTES, WORDS, c_int64, c_int32, BYTES),
}


class Bfp8Library:
    """The library that `hil.training.reference.native.build` makes, its functions with the types of their arguments."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        for name, types in ARGUMENTS.items():
            getattr(self._library, name).argtypes = types
        self._library.native_name.restype = c_char_p
        self.name: str = self._library.native_name().decode()

    def convolution(
        self, x: Group, weights: np.ndarray, weight_exp: int, pads: tuple[int, int], relu: bool = False, pool: int = 1
    ) -> Group:
        """Return the requantized convolution of [B, H, W, C] by [O, kh, kw, C], then relu, then max-pooled by `pool`.

        The pads are zeros above and below, left and right; a pool of 1 pools nothing.
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
        _check(self._library.native_pool(height, width, channels, k, batch, values, out))
        return out

    def unpooled(self, error: np.ndarray, x: np.ndarray, k: int, relu: bool = False) -> np.ndarray:
        """Return the error of max-pooling's input x [B, H, W, C] from that of its output [B, H / k, W / k, C].

        With `relu`, the input is a relu's output, whose error is handed on with it.
        """
        batch, height, width, channels = x.shape
        out = np.empty(x.shape, np.int8)
        _check(self._library.native_unpool(height, width, channels, k, relu, batch, error, x, out))
        return out

    def dense_gradient(self, error: np.ndarray, x: np.ndarray, exponents: np.ndarray) -> np.ndarray:
        """Return G of a dense layer, int32 [O * I], of errors [B, 1, 1, O], inputs [B, ...] and exponents int64 [B]."""
        batch, outputs = len(error), error.shape[-1]
        inputs = x.size // batch
        out = np.empty(outputs * inputs, np.int32)
        _check(self._library.native_dense_gradient(inputs, outputs, batch, error, x, exponents, out))
        return out

    def convolution_gradient(
        self, error: np.ndarray, x: np.ndarray, exponents: np.ndarray, kernel: tuple[int, int], pad: int
    ) -> np.ndarray:
        """Return G of a convolution, int32 [O * kh * kw * C].

        Errors are [B, oh, ow, O], inputs [B, H, W, C], exponents int64 [B]; `pad` zeros lie on every side.
        """
        batch, height, width, channels = x.shape
        outputs = error.shape[-1]
        out = np.empty(outputs * kernel[0] * kernel[1] * channels, np.int32)
        conv = Conv(height, width, channels, outputs, *kernel, pad, pad, False, 1)
        _check(self._library.native_conv_gradient(byref(conv), batch, error, x, exponents, out))
        return out

    def cross_entropy(self, logits: np.ndarray, exponents: np.ndarray, labels: np.ndarray) -> np.float32:
        """As `hil.training.reference.formats.bfp8.loss.cross_entropy`."""
        batch, classes = logits.shape
        own, loss = np.ascontiguousarray(labels, np.int64), c_float()
        if own.min() < 0 or own.max() >= classes:
            raise IndexError(f"a label beyond the {classes} classes of the network.")
        _check(self._library.native_cross_entropy(batch, classes, logits, exponents, own, byref(loss)))
        return np.float32(loss.value)

    def signed_pool(self, seed: int, step: int, p_zero: int, r_max: int) -> np.ndarray:
        """As `hil.training.methods.prng.signed_pool`."""
        pool = np.empty((2 * ENTRIES, 4), np.int16)
        self._library.native_noise_pool(start_state(seed, step, 0), p_zero, r_max, pool)
        return pool

    def perturbation(self, pool: np.ndarray, seed: int, step: int, tensor: int, shape: tuple[int, ...]) -> np.ndarray:
        """As `hil.training.methods.prng.perturbation`, in the shape of the tensor."""
        z = np.empty(shape, np.int16)
        self._library.native_noise(pool, start_state(seed, step, tensor + 1), z.size, z)
        return z

    def moved(self, weights: np.ndarray, noise: np.ndarray, factor: int, limit: int) -> np.ndarray:
        """As `NumpyArithmetic.moved`."""
        out = np.empty(weights.shape, np.int8)
        self._library.native_moved(_whole(weights), noise, out.size, factor, limit, out)
        return out

    def zo_updated(self, weights: np.ndarray, noise: np.ndarray, sign: int, shift: int, limit: int) -> np.ndarray:
        """As `NumpyArithmetic.zo_updated`."""
        out = np.empty(weights.shape, np.int8)
        self._library.native_zo_updated(_whole(weights), noise, out.size, sign, shift, limit, out)
        return out

    def bp_updated(self, weights: np.ndarray, gradient: np.ndarray, b_bp: int) -> np.ndarray:
        """As `NumpyArithmetic.bp_updated`."""
        out = np.empty(weights.shape, np.int8)
        self._library.native_bp_updated(_whole(weights), np.ascontiguousarray(gradient, np.int32), out.size, b_bp, out)
        return out


def _whole(weights: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(weights, np.int8)


def _check(result: int) -> None:
    if result:
        raise MemoryError("no memory for a layer of the batch: choose a smaller one.")
