"""The functions of the library in `w16a8`, on arrays (docs/arithmetic-w16a8.md).

Values are int16 [H, W, C, lanes], less their zero point: a lane for each sample, and some more that fill up the last
vector.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, byref, c_float, c_int32, c_int64
from typing import Any

import numpy as np

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import AddFactors, W16A8Node
from hil.training.reference.formats.tflite8.passes import PIXEL_OFFSET
from hil.training.reference.native.functions import LanedLibrary, array


class ScalingInC(ctypes.Structure):
    """From sums to outputs, as w16a8.h has it."""

    _fields_ = tuple((name, c_int32) for name in ("multiplier", "shift", "low", "high"))


class W16A8LayerInC(ctypes.Structure):
    """A layer, as w16a8.h has it."""

    _fields_ = (
        *((name, c_int32) for name in ("height", "width", "channels", "out_height", "out_width", "outputs")),
        *((name, c_int32) for name in ("kernel_height", "kernel_width", "down", "across", "top", "left", "zero")),
        ("scaling", ScalingInC),
    )


class Add(ctypes.Structure):
    """An add, as w16a8.h has it."""

    _fields_ = (
        ("multipliers", c_int32 * 3),
        ("shifts", c_int32 * 3),
        ("low", c_int32),
        ("high", c_int32),
    )


def layer_of(graph: Graph, node: W16A8Node) -> W16A8LayerInC | Add:
    """Return a node of a graph in the form of the library; one that is fully connected has images of 1 x 1."""
    limits = node.act_min - node.zero, node.act_max - node.zero
    if isinstance(node.factors, AddFactors):
        return Add((c_int32 * 3)(*node.factors.multipliers), (c_int32 * 3)(*node.factors.shifts), *limits)
    factors = (0, 0) if node.own is None else (node.own.multiplier, node.own.shift)
    scaling, zero = ScalingInC(*factors, *limits), graph.zero_of(node.reads[0])
    if node.op is Op.FULLY_CONNECTED:
        return W16A8LayerInC(1, 1, node.in_size, 1, 1, node.out_size, 1, 1, 1, 1, 0, 0, zero, scaling)
    return W16A8LayerInC(*node.in_shape, *node.out_shape, *node.kernel, *node.stride, *node.pad, zero, scaling)


BYTES, SHORTS, WORDS = array(np.uint8), array(np.int16), array(np.int32)
LONGS, FLOATS = array(np.int64), array(np.float32)
WINDOWS = (POINTER(W16A8LayerInC), c_int64)  # lanes
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "input": (c_int64, c_int64, c_int64, BYTES, c_int32, SHORTS),
    "convolution": (*WINDOWS, SHORTS, WORDS, SHORTS, SHORTS),
    "depthwise": (*WINDOWS, SHORTS, WORDS, SHORTS, SHORTS),
    "max_pool": (*WINDOWS, SHORTS, SHORTS),
    "average_pool": (*WINDOWS, SHORTS, SHORTS),
    "add": (POINTER(Add), c_int64, SHORTS, SHORTS, SHORTS),
    "losses": (c_int64, c_int64, c_int64, c_float, SHORTS, LONGS, FLOATS),
}
MAY_FAIL = ("convolution", "depthwise")
FORWARD = {
    Op.CONV2D: "convolution",
    Op.POINTWISE: "convolution",
    Op.FULLY_CONNECTED: "convolution",
    Op.DEPTHWISE: "depthwise",
    Op.MAX_POOL: "max_pool",
    Op.AVERAGE_POOL: "average_pool",
    Op.ADD: "add",
}
Own = tuple[np.ndarray, np.ndarray]  # int16 weights and int32 biases of a layer


class W16A8Library(LanedLibrary):
    """The functions of `w16a8`."""

    FORMAT = "w16a8"
    ARGUMENTS = ARGUMENTS
    MAY_FAIL = MAY_FAIL
    NO_MEMORY = "no memory for the windows of a layer."

    def input_value(self, graph: Graph, images: np.ndarray, out: np.ndarray) -> None:
        """Write value 0 of uint8 images [B, H, W, C], and 0 in the lanes that fill up."""
        lanes = out.shape[3]
        given = np.ascontiguousarray(images)
        self._run("input", len(images), out.size // lanes, lanes, given, PIXEL_OFFSET + graph.zero, out)

    def forward(
        self, op: Op, layer: W16A8LayerInC | Add, reads: Sequence[np.ndarray], own: Own | None, out: np.ndarray
    ) -> None:
        """Write the output of a layer.

        Args:
            op: its operation.
            layer: as `layer_of` returns it.
            reads: what it reads.
            own: weights and biases, where it has some.
            out: the output.
        """
        size = out.size if op is Op.ADD else out.shape[3]
        self._run(FORWARD[op], byref(layer), size, *(own or ()), *reads, out)

    def losses(self, logits: np.ndarray, labels: np.ndarray, scale: float) -> np.ndarray:
        """Return the loss of each sample, float32 [B].

        Args:
            logits: [1, 1, classes, lanes].
            labels: integers [B].
            scale: of the logits.

        Raises:
            IndexError: a label that is no class.
        """
        classes, lanes = logits.shape[2:]
        own, losses = np.ascontiguousarray(labels, np.int64), np.empty(len(labels), np.float32)
        if own.min() < 0 or own.max() >= classes:
            raise IndexError(f"a label beyond the {classes} classes of the network.")
        self._run("losses", classes, len(own), lanes, scale, logits, own, losses)
        return losses
