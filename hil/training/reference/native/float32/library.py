"""The functions of the library in `float32`, on arrays (docs/arithmetic-float32.md).

Values and errors are float32 [H, W, C, lanes]: a lane for each sample, and some more that fill up the last vector.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, byref, c_float, c_int32, c_int64, c_uint32
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from hil.training.graph.formats import LARGEST_FLOAT, Op
from hil.training.graph.node import Float32Node
from hil.training.reference.formats.float32.arithmetic import LARGEST_CHANGE
from hil.training.reference.formats.float32.normal import KNOTS, UNIT
from hil.training.reference.native.functions import LanedLibrary, array


class LimitsInC(ctypes.Structure):
    """As lanes.h has it."""

    _fields_ = (("low", c_float), ("high", c_float))


class Float32LayerInC(ctypes.Structure):
    """A layer, as float32.h has it."""

    _fields_ = (
        *((name, c_int32) for name in ("height", "width", "channels", "out_height", "out_width", "outputs")),
        *((name, c_int32) for name in ("kernel_height", "kernel_width", "down", "across", "top", "left")),
        ("limits", LimitsInC),
    )


@lru_cache(maxsize=256)  # of a few graphs
def layer_of(node: Float32Node) -> Float32LayerInC:
    """Return a node of a graph in the form of the library; one that is fully connected has images of 1 x 1."""
    limits = LimitsInC(node.act_min, node.act_max)
    if node.op is Op.FULLY_CONNECTED:
        return Float32LayerInC(1, 1, node.in_size, 1, 1, node.out_size, 1, 1, 1, 1, 0, 0, limits)
    return Float32LayerInC(*node.in_shape, *node.out_shape, *node.kernel, *node.stride, *node.pad, limits)


BYTES, FLOATS, WORDS, LONGS = array(np.uint8), array(np.float32), array(np.int32), array(np.int64)
BETWEEN = (c_int64, c_float, c_float, FLOATS, FLOATS, FLOATS)  # size, limits, two arrays, output
WINDOWS = (POINTER(Float32LayerInC), c_int64)  # lanes
# samples, lanes, errors, input, gradient
SAMPLES = (POINTER(Float32LayerInC), c_int64, c_int64, FLOATS, FLOATS, FLOATS)
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "input": (c_int64, c_int64, c_int64, BYTES, c_float, c_float, FLOATS),
    "convolution": (*WINDOWS, FLOATS, FLOATS, FLOATS, FLOATS),
    "depthwise": (*WINDOWS, FLOATS, FLOATS, FLOATS, FLOATS),
    "max_pool": (*WINDOWS, FLOATS, FLOATS),
    "average_pool": (*WINDOWS, FLOATS, FLOATS),
    "add": BETWEEN,
    "losses": (c_int64, c_int64, c_int64, FLOATS, LONGS, FLOATS, FLOATS),
    "gate": BETWEEN,
    "convolution_error": (*WINDOWS, FLOATS, FLOATS, FLOATS),
    "depthwise_error": (*WINDOWS, FLOATS, FLOATS, FLOATS),
    "max_pool_error": (*WINDOWS, FLOATS, FLOATS, FLOATS),
    "average_pool_error": (*WINDOWS, FLOATS, FLOATS),
    "convolution_gradient": SAMPLES,
    "depthwise_gradient": SAMPLES,
    "dense_gradient": (c_int64, c_int64, c_int64, c_int64, FLOATS, FLOATS, FLOATS),
    "bias_gradient": (c_int64, c_int64, c_int64, c_int64, FLOATS, FLOATS),
    "normals": (c_uint32, WORDS, c_int64, FLOATS),
    "moved": (c_int64, c_float, FLOATS, FLOATS, FLOATS),
    "lowered": (c_int64, c_float, c_float, FLOATS, FLOATS, FLOATS),
}
MAY_FAIL = ("convolution", "convolution_error", "convolution_gradient", "depthwise_gradient", "dense_gradient")
T = KNOTS.astype(np.int32)


class Float32Library(LanedLibrary):
    """The functions of `float32`."""

    FORMAT = "float32"
    ARGUMENTS = ARGUMENTS
    MAY_FAIL = MAY_FAIL
    NO_MEMORY = "no memory for a layer of the batch: choose a smaller one."

    def input_value(self, images: np.ndarray, scale: float, offset: int, out: np.ndarray) -> None:
        """Write value 0 of uint8 images [B, H, W, C]: scale * (p - offset), and 0 in the lanes that fill up."""
        lanes = out.shape[3]
        self._run("input", len(images), out.size // lanes, lanes, np.ascontiguousarray(images), scale, offset, out)

    def forward(
        self, node: Float32Node, reads: Sequence[np.ndarray], own: tuple[np.ndarray, ...], out: np.ndarray
    ) -> None:
        """Write the output of a layer.

        Args:
            node: the layer.
            reads: what it reads.
            own: weights and biases, none where it has none.
            out: the output.
        """
        if node.op is Op.ADD:
            self._run("add", out.size, node.act_min, node.act_max, *reads, out)
        else:
            self._run(FORWARD[node.op], byref(layer_of(node)), out.shape[3], *own, *reads, out)

    def losses(self, logits: np.ndarray, labels: np.ndarray, error: np.ndarray) -> np.ndarray:
        """Return the loss of each sample, float32 [B], and write the error of the logits.

        Args:
            logits: [1, 1, classes, lanes].
            labels: integers [B].
            error: of the same shape as the logits.

        Raises:
            IndexError: a label that is no class.
        """
        classes, lanes = logits.shape[2:]
        own, losses = np.ascontiguousarray(labels, np.int64), np.empty(len(labels), np.float32)
        if own.min() < 0 or own.max() >= classes:
            raise IndexError(f"a label beyond the {classes} classes of the network.")
        self._run("losses", classes, len(own), lanes, logits, own, losses, error)
        return losses

    def gate(self, node: Float32Node, error: np.ndarray, value: np.ndarray, out: np.ndarray) -> None:
        """Write the error of a layer's output where that value lies between the limits of the layer, else +0.0."""
        self._run("gate", out.size, node.act_min, node.act_max, error, value, out)

    def input_error(
        self, node: Float32Node, error: np.ndarray, x: np.ndarray, weights: np.ndarray | None, out: np.ndarray
    ) -> None:
        """Write the error that a layer gives to what it reads; not of an add.

        Args:
            node: the layer.
            error: of its output, after the gate.
            x: what it reads.
            weights: of the pass; None where it has none.
            out: the error of what it reads.
        """
        arguments = (error,) if weights is None else (weights, error)
        if node.op is Op.MAX_POOL:
            arguments = error, x
        self._run(f"{FORWARD[node.op]}_error", byref(layer_of(node)), out.shape[3], *arguments, out)

    def join(self, one: np.ndarray, other: np.ndarray, out: np.ndarray) -> None:
        """Write the sum of two errors of one value."""
        self._run("add", out.size, -LARGEST_FLOAT, LARGEST_FLOAT, one, other, out)

    def add_gradients(
        self, node: Float32Node, error: np.ndarray, x: np.ndarray, samples: int, sums: tuple[np.ndarray, ...]
    ) -> None:
        """Add the gradients of weights and biases to their sums, sample after sample.

        Args:
            node: the layer.
            error: of its output, after the gate.
            x: what it reads.
            samples: how many there are.
            sums: G of the weights and of the biases, which are changed.
        """
        lanes, outputs = error.shape[3], node.out_shape[2]
        of_weights, of_biases = sums
        self._run("bias_gradient", prod(error.shape[:2]), outputs, samples, lanes, error, of_biases)
        if node.op is Op.FULLY_CONNECTED:
            self._run("dense_gradient", node.in_size, outputs, samples, lanes, error, x, of_weights)
        else:
            name = f"{FORWARD[node.op]}_gradient"
            self._run(name, byref(layer_of(node)), samples, lanes, error, x, of_weights)

    def normals(self, start: int, count: int) -> np.ndarray:
        """Return the first numbers Z of the stream of a start state, whole numbers float32 [count]."""
        z = np.empty(count, np.float32)
        self._run("normals", start, T, count, z)
        return z

    def moved(self, weights: np.ndarray, z: np.ndarray, c: np.float32) -> np.ndarray:
        """Return weights moved by c along Z, which is flattened."""
        out = np.empty(weights.shape, np.float32)
        self._run("moved", out.size, c * UNIT, weights, z, out)
        return out

    def lowered(self, weights: np.ndarray, u: np.float32, gradient: np.ndarray) -> np.ndarray:
        """Return weights less u * G."""
        out = np.empty(weights.shape, np.float32)
        self._run("lowered", out.size, u, LARGEST_CHANGE, weights, gradient, out)
        return out


FORWARD = {
    Op.CONV2D: "convolution",
    Op.POINTWISE: "convolution",
    Op.FULLY_CONNECTED: "convolution",
    Op.DEPTHWISE: "depthwise",
    Op.MAX_POOL: "max_pool",
    Op.AVERAGE_POOL: "average_pool",
}
