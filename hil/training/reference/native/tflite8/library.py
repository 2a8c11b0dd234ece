"""The functions of the library in `tflite8`, on arrays (docs/arithmetic-tflite.md, docs/arithmetic-zeroth-order.md)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, byref, c_float, c_int8, c_int32, c_int64, c_uint32, cast
from dataclasses import dataclass
from typing import Any

import numpy as np

from hil.training.graph.formats import OPS, WEIGHTED, Format, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import AddFactors, Tflite8Node, Tflite8Parameters
from hil.training.methods.graph_settings import GraphSettings
from hil.training.reference.formats.tflite8.passes import PIXEL_OFFSET
from hil.training.reference.gradient import Gradient
from hil.training.reference.methods.trained import TrainedLayer
from hil.training.reference.native.functions import FormatLibrary, array

ROUNDINGS = ("double", "single")  # by number
RUN = frozenset(OPS[Format.TFLITE8]) - {Op.TABLE, Op.MEAN}  # the operations that the C has


WINDOW = (
    "height", "width", "channels", "out_height", "out_width", "outputs", "kernel_height", "kernel_width", "stride_y",
    "stride_x", "padding_y", "padding_x",
)  # fmt: skip


class Tflite8LayerInC(ctypes.Structure):
    """A layer, as tflite8.h has it."""

    _fields_ = (
        ("operation", c_int32),
        ("reads", c_int32 * 2),
        *((name, c_int32) for name in (*WINDOW, "rounding", "zero", "low", "high")),
        ("multipliers", c_int32 * 3),
        ("shifts", c_int32 * 3),
        ("weights", POINTER(c_int8)),
        ("bias", POINTER(c_int32)),
        ("multiplier", POINTER(c_int32)),
        ("shift", POINTER(c_int8)),
    )


class NetworkInC(ctypes.Structure):
    """A network, as tflite8.h has it."""

    _fields_ = (
        ("layers", c_int32),
        ("pixel_offset", c_int32),
        ("layer", POINTER(Tflite8LayerInC)),
        ("scale", c_float),
    )


class TrainedLayerInC(ctypes.Structure):
    """A trained layer, as tflite8.h has it."""

    _fields_ = (
        *((name, c_int32) for name in ("layer", "by_nodes", "trains_weights", "trains_bias", "begun", "exponent")),
        ("gradient", POINTER(c_int32)),
    )


class MethodInC(ctypes.Structure):
    """A method with its settings, as tflite8.h has it."""

    _fields_ = (
        ("trained", c_int32),
        ("part", POINTER(TrainedLayerInC)),
        *((name, c_int32) for name in ("model_wise", "central", "one_direction", "queries")),
        ("seed", c_uint32),
        ("step", c_uint32),
    )


BYTES, SHORTS, LONGS, FLOATS = array(np.uint8), array(np.int16), array(np.int64), array(np.float32)
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "outputs": (POINTER(NetworkInC), c_int64, BYTES, c_int32, SHORTS),
    "estimate": (POINTER(NetworkInC), POINTER(MethodInC), c_int64, c_int64, BYTES, LONGS, FLOATS, FLOATS),
}


class NativeTflite8Network:
    """A graph in the form of the library.

    Its layers have the weights of the graph until `set_own` gives them others.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._layers = (Tflite8LayerInC * len(graph.layers))(
            *(_layer_of(graph, node) for node in graph.nodes(Tflite8Node))
        )
        offset = PIXEL_OFFSET + graph.zero
        self.structure = NetworkInC(len(graph.layers), offset, self._layers, graph.scale_of(len(graph.layers)))
        self._kept: dict[int, list[np.ndarray]] = {}
        for index, own in graph.own_of(Tflite8Parameters).items():
            factors = np.ascontiguousarray(own.multiplier, np.int32), np.ascontiguousarray(own.shift, np.int8)
            self._layers[index].multiplier = _address(factors[0], c_int32)
            self._layers[index].shift = _address(factors[1], c_int8)
            self._kept[-1 - index] = list(factors)
            self.set_own(index, own.weights, own.bias)

    def set_own(self, index: int, weights: np.ndarray, bias: np.ndarray) -> None:
        """Give a layer int8 weights in the order of the network file, in any shape, and int32 biases."""
        own = np.ascontiguousarray(weights, np.int8), np.ascontiguousarray(bias, np.int32)
        self._layers[index].weights, self._layers[index].bias = _address(own[0], c_int8), _address(own[1], c_int32)
        self._kept[index] = list(own)  # the library has addresses only


def _layer_of(graph: Graph, node: Tflite8Node) -> Tflite8LayerInC:
    first, *others = node.reads
    found = Tflite8LayerInC(operation=node.op, reads=(c_int32 * 2)(first, *(others or [first])))
    found.rounding, found.zero = ROUNDINGS.index(node.rounding), graph.zero_of(first)
    found.low, found.high = node.act_min - node.zero, node.act_max - node.zero
    if node.op is Op.FULLY_CONNECTED:
        shapes, kernel, stride, pad = (1, 1, node.in_size, 1, 1, node.out_size), (1, 1), (1, 1), (0, 0)
    else:
        shapes, kernel, stride, pad = (*node.in_shape, *node.out_shape), node.kernel, node.stride, node.pad
    for name, value in zip(WINDOW, (*shapes, *kernel, *stride, *pad), strict=True):
        setattr(found, name, value)
    if isinstance(node.factors, AddFactors):
        found.multipliers = (c_int32 * 3)(*node.factors.multipliers)
        found.shifts = (c_int32 * 3)(*node.factors.shifts)
    return found


def _address(values: np.ndarray, kind: Any) -> Any:
    return cast(values.ctypes.data, POINTER(kind))


@dataclass(frozen=True)
class Step:
    """What a step estimates: settings, its index, and what is trained with the sums of the gradients so far."""

    settings: GraphSettings
    index: int
    trained: Sequence[TrainedLayer]
    gradients: Sequence[Gradient]


class Tflite8Library(FormatLibrary):
    """The functions of `tflite8`."""

    FORMAT = "tflite8"
    ARGUMENTS = ARGUMENTS
    MAY_FAIL = ARGUMENTS
    NO_MEMORY = "tflite8_{}: there is no memory for its values."

    def outputs(self, network: NativeTflite8Network, images: np.ndarray, value: int) -> np.ndarray:
        """Return a value less its zero point, int16 [B, elements], of uint8 images [B, H, W] or [B, H, W, C]."""
        graph = network.graph
        size = graph.layers[value - 1].out_size if value else graph.layers[0].in_size
        given, found = np.ascontiguousarray(images, np.uint8), np.empty((len(images), size), np.int16)
        self._run("outputs", byref(network.structure), len(given), given, value, found)
        return found

    def estimate(
        self, network: NativeTflite8Network, step: Step, first: int, images: np.ndarray, labels: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Add the gradients of samples, whose first is sample `first` of the step.

        Args:
            network: with the weights of the step.
            step: its gradients are changed.
            first: place in the step.
            images: uint8 [N, H, W] or [N, H, W, C].
            labels: integers [N].

        Returns:
            Clean losses float32 [N], and those of all queries float32 [N, ...], as `TrainedGraph.estimate_samples`.

        Raises:
            IndexError: a label that is no class.
        """
        settings, count = step.settings, len(images)
        own = np.ascontiguousarray(labels, np.int64)
        if own.min() < 0 or own.max() >= network.graph.classes:
            raise IndexError(f"a label beyond the {network.graph.classes} classes of the network.")
        sums = [_sum_of(layer, its) for layer, its in zip(step.trained, step.gradients, strict=True)]
        parts = (TrainedLayerInC * len(sums))(*map(_part_of, step.trained, step.gradients, sums))
        model_wise, central = settings.wise == "model", settings.difference == "central"
        method = MethodInC(
            len(sums), parts, model_wise, central, settings.direction == "batch", settings.queries, settings.seed,
            step.index & 0xFFFFFFFF,
        )  # fmt: skip
        groups = 1 if model_wise else len(sums)
        clean = np.empty(count, np.float32)
        losses = np.empty((count, groups * settings.queries * (1 + central)), np.float32)
        given = np.ascontiguousarray(images, np.uint8)
        self._run("estimate", byref(network.structure), byref(method), count, first, given, own, clean, losses)
        for gradient, part, total in zip(step.gradients, parts, sums, strict=True):
            gradient.exponent, gradient.total = part.exponent, total.astype(np.int64)
        return clean, losses


def _sum_of(layer: TrainedLayer, gradient: Gradient) -> np.ndarray:
    """Return a sum as the library has it, int32 [coordinates]."""
    if not gradient.total.size:
        return np.zeros(layer.coordinates, np.int32)
    return gradient.total.astype(np.int32)


def _part_of(layer: TrainedLayer, gradient: Gradient, total: np.ndarray) -> TrainedLayerInC:
    return TrainedLayerInC(
        layer.index, layer.by_nodes, layer.trains_weights, layer.trains_bias, bool(gradient.total.size),
        gradient.exponent, _address(total, c_int32),
    )  # fmt: skip


def runs(graph: Graph) -> bool:
    """Return whether the library has all that a graph needs."""
    return all(
        node.format is Format.TFLITE8 and node.op in RUN and (node.own is not None) == (node.op in WEIGHTED)
        for node in graph.layers
    )
