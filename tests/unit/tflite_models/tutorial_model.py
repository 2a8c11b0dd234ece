"""Write the pre-trained LeNet-5 as a .tflite, the model of docs/tflite.md; the same weights give the same bytes.

python -m tests.unit.tflite_models.tutorial_model fixtures/models/fashion.tflite
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Node
from hil.training.networks import build

from .made import Made

NETWORK = "lenet5-tflite"
OPERATORS = {Op.CONV2D: "CONV_2D", Op.MAX_POOL: "MAX_POOL_2D", Op.FULLY_CONNECTED: "FULLY_CONNECTED"}
RELU = 1


def written(graph: Graph) -> bytes:
    """Return a network that is a chain as a .tflite that ends with a softmax."""
    made = Made()
    x = made.input(graph.in_shape, graph.scale, graph.zero)
    for index, layer in enumerate(graph.layers):
        assert layer.reads == (index,), "the network is no chain"
        x = _layer(made, layer, x)
    made.softmax(x)
    return made.bytes()


def _layer(made: Made, layer: Node, x: int) -> int:
    """Add a layer that reads tensor x, and return the tensor of its output."""
    flat = layer.op is Op.FULLY_CONNECTED
    inputs, options = [x], {}
    if layer.own is not None:
        scale = layer.own.scale
        inputs.append(made.constant(layer.own.weights, scale))
        inputs.append(made.constant(layer.own.bias, scale * np.float32(made.scale(x))))
        options["fusedActivationFunction"] = RELU if layer.act_min == layer.zero else 0
    if not flat:
        options |= {"padding": 0 if any(layer.pad) else 1, "strideH": layer.stride[0], "strideW": layer.stride[1]}
    if layer.op is Op.MAX_POOL:
        options |= {"filterHeight": layer.kernel[0], "filterWidth": layer.kernel[1]}
    out = made.value(layer.out_shape[2:] if flat else layer.out_shape, layer.scale, layer.zero)
    return made.run(OPERATORS[layer.op], inputs, (out,), **options)


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(written(build(NETWORK, 1)))
