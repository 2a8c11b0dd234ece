"""The small network in `tflite8` of the test vectors of QuZO: a conv2d, a depthwise and a fully connected layer."""

from __future__ import annotations

import numpy as np

from hil.training.graph.formats import Op, Shape
from hil.training.graph.graph import Graph
from hil.training.graph.node import Tflite8Node, Tflite8Parameters
from reference.drawn_graphs import factor_parts

PIXELS = np.array(
    [[[200, 17, 90], [255, 3, 140], [60, 128, 30]], [[10, 240, 128], [77, 60, 201], [0, 150, 99]]], np.uint8
)
LABELS = np.array([0, 2])
IMAGE = float(np.float32(1 / 255))


def _own(weights: object, bias: list[int], scales: list[float], s_x: float, s_y: float) -> Tflite8Parameters:
    factors = factor_parts(np.array([s_x * scale / s_y for scale in scales]))
    return Tflite8Parameters(
        np.array(weights, np.int8), np.array(bias, np.int32), *factors, np.array(scales, np.float32)
    )


def _node(name: str, op: Op, shapes: tuple[Shape, Shape], kernel: tuple[int, int], **others: object) -> Tflite8Node:
    stride = (1, 1) if kernel[0] else (0, 0)
    place = int(str(others.pop("place")))
    return Tflite8Node(name, op, (place,), *shapes, kernel, stride, block=place + 1, rounding="single", **others)  # type: ignore[arg-type]


def text_graph() -> Graph:
    """Return the network: input 3 x 3 x 1, three classes."""
    conv = _own(
        [[[[100], [-60]], [[30], [127]]], [[[-90], [40]], [[75], [-20]]]], [900, -300], [2**-7, 2**-6], IMAGE, 2**-5
    )
    depthwise = _own([[[50, -120], [-30, 90]], [[127, 64], [11, -5]]], [-40, 250], [2**-6, 2**-8], 2**-5, 2**-5)
    dense = _own([[90, -70], [-127, 20], [33, 110]], [100, -50, 0], [2**-7, 2**-5, 2**-6], 2**-5, 2**-4)
    layers = (
        _node("conv1", Op.CONV2D, ((3, 3, 1), (2, 2, 2)), (2, 2), place=0, scale=2**-5, zero=-128, own=conv),
        _node("dw1", Op.DEPTHWISE, ((2, 2, 2), (1, 1, 2)), (2, 2), place=1, scale=2**-5, zero=-10, own=depthwise),
        _node("fc1", Op.FULLY_CONNECTED, ((1, 1, 2), (1, 1, 3)), (0, 0), place=2, scale=2**-4, zero=5, own=dense),
    )
    return Graph("text", layers, (3, 3, 1), 3, IMAGE, -128)
