"""The kernels in TFLite's convention as functions of arrays, one sample at a time: the host's shared library behind them."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np

from hil.training.graph.formats import Op
from hil.training.reference.formats.tflite8.rescale import Quantization
from tests.oracle.tflite_layers import Window

SCRATCH = ("forward", "weight_gradient", "input_error")


class Shape(ctypes.Structure):
    """layer_shape_t of kernels/shapes.h."""

    _fields_ = [
        *((name, ctypes.c_uint16) for name in ("in_h", "in_w", "in_c", "out_h", "out_w", "out_c")),
        *((name, ctypes.c_uint8) for name in ("kernel_h", "kernel_w", "stride_h", "stride_w", "padding_h", "padding_w")),
    ]  # fmt: skip


class LayerParameters(ctypes.Structure):
    """tflite_layer_t of kernels/requantize.h."""

    _fields_ = [
        *((name, ctypes.c_int8) for name in ("input_zero", "output_zero", "act_min", "act_max")),
        *((name, ctypes.c_void_p) for name in ("bias", "multiplier", "shift", "requantize")),
    ]  # fmt: skip


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    """Return the address of an array's values, which lie one behind the other."""
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)


@dataclass(frozen=True)
class Kernels:
    """The kernels of a shared library."""

    library: ctypes.CDLL

    def shape(self, x_shape: tuple[int, ...], out_c: int, window: Window) -> Shape:
        """Return a layer's shape for the input shape (H, W, C)."""
        return Shape(*x_shape, *window.out, out_c, *window.kernel, *window.stride, *window.padding)

    def scratch(self, name: str, which: str, shape: Shape) -> np.ndarray:
        """Return scratch of the size that the memory plan has for a kernel of an operation, one of `SCRATCH`."""
        sizes = (ctypes.c_uint64 * len(SCRATCH))()
        self.library.host_scratch(ctypes.c_int(Op[name.upper()]), ctypes.byref(shape), sizes)
        return np.full(sizes[SCRATCH.index(which)] // 4 + 1, 0x5A5A5A5A, np.int32)

    def fold(self, bias: np.ndarray, weights: np.ndarray, zero: int, depthwise: bool) -> np.ndarray:
        """Return the folded bias, int32 [O]."""
        channels = bias.size
        taps = weights.size // channels
        steps = (channels, 1) if depthwise else (1, taps)
        folded = np.zeros(channels, np.int32)
        numbers = [ctypes.c_uint32(n) for n in (taps, steps[0], channels, steps[1])]
        self.library.tflite_fold_bias(pointer(bias), pointer(weights), *numbers, ctypes.c_int8(zero), pointer(folded))
        return folded

    def parameters(self, quantization: Quantization, bias: np.ndarray) -> tuple[LayerParameters, list[np.ndarray]]:
        """Return a layer with this folded bias, and the arrays that have to live as long."""
        arrays = [bias, quantization.multiplier.astype(np.int32), quantization.shift.astype(np.int8)]
        name = "requantize_channels_s8" if quantization.rounding == "double" else "requantize_channels_single_s8"
        function = ctypes.cast(getattr(self.library, name), ctypes.c_void_p)
        q = quantization
        layer = LayerParameters(
            q.input_zero, q.output_zero, q.act_min, q.act_max, *(a.ctypes.data for a in arrays), function.value
        )
        return layer, arrays

    def forward(
        self,
        name: str,
        x: np.ndarray,
        weights: np.ndarray,
        bias: np.ndarray,
        window: Window,
        quantization: Quantization,
    ) -> np.ndarray:
        """Run conv2d, pointwise or depthwise: int8 [oh, ow, O]."""
        depthwise = name == "depthwise"
        shape = self.shape(x.shape, bias.size, window)
        folded = self.fold(bias, weights, quantization.input_zero, depthwise)
        layer, _alive = self.parameters(quantization, folded)
        out = np.zeros((*window.out, bias.size), np.int8)
        arguments = [pointer(x), pointer(weights), ctypes.byref(shape), ctypes.byref(layer)]
        scratch = self.scratch(name, "forward", shape)
        getattr(self.library, f"tflite_{name}_s8")(*arguments, pointer(scratch), pointer(out))
        return out

    def fully_connected(
        self, x: np.ndarray, weights: np.ndarray, bias: np.ndarray, quantization: Quantization
    ) -> np.ndarray:
        """Run fully_connected: int8 [O] of int8 [I]."""
        layer, _alive = self.parameters(quantization, self.fold(bias, weights, quantization.input_zero, False))
        acc, out = np.zeros(bias.size, np.int32), np.zeros(bias.size, np.int8)
        sizes = ctypes.c_uint32(x.size), ctypes.c_uint32(bias.size)
        self.library.tflite_fully_connected_s8(
            pointer(x), pointer(weights), *sizes, ctypes.byref(layer), pointer(acc), pointer(out)
        )
        return out

    def requantize(self, acc: np.ndarray, bias: np.ndarray, quantization: Quantization) -> np.ndarray:
        """Requantize int32 sums [O, n] with their int32 bias [O]: int8 [n, O]."""
        layer, _alive = self.parameters(quantization, bias)
        channels, positions = acc.shape
        out = np.zeros((positions, channels), np.int8)
        name = "requantize_channels_s8" if quantization.rounding == "double" else "requantize_channels_single_s8"
        numbers = ctypes.c_uint32(positions), ctypes.c_uint32(0), ctypes.c_uint32(channels)
        getattr(self.library, name)(
            pointer(acc), *numbers, ctypes.byref(layer), ctypes.c_uint32(channels), pointer(out)
        )
        return out

    def pool(self, name: str, x: np.ndarray, window: Window, act_min: int, act_max: int) -> np.ndarray:
        """Run max_pool or average_pool: int8 [oh, ow, C]."""
        shape = self.shape(x.shape, x.shape[-1], window)
        out = np.zeros((*window.out, x.shape[-1]), np.int8)
        limits = ctypes.c_int8(act_min), ctypes.c_int8(act_max)
        getattr(self.library, f"tflite_{name}_s8")(pointer(x), ctypes.byref(shape), *limits, pointer(out))
        return out

    def weight_gradient(
        self, name: str, error: np.ndarray, x: np.ndarray, window: Window, zero: int, gradient: np.ndarray
    ) -> np.ndarray:
        """Return int32 `gradient` with that of conv2d, pointwise or depthwise added."""
        shape, found = self.shape(x.shape, error.shape[-1], window), gradient.copy()
        arguments = [pointer(x), pointer(error), ctypes.byref(shape), ctypes.c_int8(zero)]
        kernel = f"tflite_{name}_s8_weight_gradient"
        if name != "pointwise":
            scratch = self.scratch(name, "weight_gradient", shape)
            arguments.append(pointer(scratch))
        getattr(self.library, kernel)(*arguments, pointer(found))
        return found

    def input_error(
        self, name: str, error: np.ndarray, weights: np.ndarray, window: Window, x_shape: tuple[int, ...]
    ) -> np.ndarray:
        """Return the error of the input of conv2d, pointwise or depthwise, int32 [H, W, C]."""
        shape, acc = self.shape(x_shape, error.shape[-1], window), np.full(x_shape, 77, np.int32)
        arguments = [pointer(error), pointer(weights), ctypes.byref(shape)]
        kernel = f"tflite_{name}_s8_input_error"
        if name != "pointwise":
            scratch = self.scratch(name, "input_error", shape)
            arguments.append(pointer(scratch))
        getattr(self.library, kernel)(*arguments, pointer(acc))
        return acc
