"""Write the pre-trained LeNet-5 as a .tflite, the model of docs/tutorial.md.

python tools/make_model.py fixtures/models/fashion.tflite

It needs `pip install -e .[test]`. The same weights give the same bytes.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from hil.graph.graph import Graph, Node, Op
from hil.networks import build

NETWORK = "lenet5-tflite"
OPERATORS = {Op.CONV2D: "CONV_2D", Op.MAX_POOL: "MAX_POOL_2D", Op.FULLY_CONNECTED: "FULLY_CONNECTED"}
OPTIONS = {
    "CONV_2D": schema.Conv2DOptionsT,
    "MAX_POOL_2D": schema.Pool2DOptionsT,
    "FULLY_CONNECTED": schema.FullyConnectedOptionsT,
    "SOFTMAX": schema.SoftmaxOptionsT,
}
VERSIONS = {"CONV_2D": 3, "MAX_POOL_2D": 2, "FULLY_CONNECTED": 4, "SOFTMAX": 2}
RELU = 1
SOFTMAX_SCALE, SOFTMAX_ZERO = 1 / 256, -128  # what TFLite's softmax in int8 has


class Writer:
    """Tensors, buffers and operators of a model under construction."""

    def __init__(self) -> None:
        self.tensors: list[Any] = []
        self.buffers: list[Any] = [schema.BufferT()]
        self.operators: list[Any] = []
        self.codes: list[str] = []

    def tensor(self, name: str, shape: tuple[int, ...], scales: np.ndarray, zero: int, data: np.ndarray | None) -> int:
        """Add a tensor, int32 if its data are, else int8; one without data is computed. Return its index."""
        one, grid = schema.TensorT(), schema.QuantizationParametersT()
        grid.scale, grid.zeroPoint = np.float32(scales), np.full(len(scales), zero, np.int64)
        wide = data is not None and data.dtype == np.int32
        one.name, one.shape, one.quantization = name, np.array(shape, np.int32), grid
        one.type = schema.TensorType.INT32 if wide else schema.TensorType.INT8
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(data.tobytes(), np.uint8)
            self.buffers.append(buffer)
            one.buffer = len(self.buffers) - 1
        self.tensors.append(one)
        return len(self.tensors) - 1

    def run(self, name: str, inputs: list[int], output: int, **options: int | float) -> None:
        """Add an operator with its options."""
        if name not in self.codes:
            self.codes.append(name)
        one = schema.OperatorT()
        one.opcodeIndex = self.codes.index(name)
        one.inputs, one.outputs = np.array(inputs, np.int32), np.array([output], np.int32)
        one.builtinOptions = OPTIONS[name]()
        one.builtinOptionsType = getattr(schema.BuiltinOptions, OPTIONS[name].__name__[:-1])
        for key, value in options.items():
            setattr(one.builtinOptions, key, value)
        self.operators.append(one)

    def layer(self, layer: Node, x: int, x_scale: float) -> int:
        """Add a layer of the network that reads tensor x, and return the tensor of its output."""
        flat = layer.op is Op.FULLY_CONNECTED
        shape = (1, layer.out_shape[2]) if flat else (1, *layer.out_shape)
        out = self.tensor(layer.name, shape, np.array([layer.scale]), layer.zero, None)
        inputs = [x]
        if layer.own is not None:
            own = layer.own
            weights = self.tensor(f"{layer.name}/weights", own.weights.shape, own.scale, 0, own.weights)
            bias = self.tensor(f"{layer.name}/bias", own.bias.shape, own.scale * np.float32(x_scale), 0, own.bias)
            inputs += [weights, bias]
        options: dict[str, int | float] = {}
        if layer.op is not Op.MAX_POOL and layer.act_min == layer.zero:
            options["fusedActivationFunction"] = RELU
        if not flat:
            options |= {"padding": 0 if any(layer.pad) else 1, "strideH": layer.stride[0], "strideW": layer.stride[1]}
        if layer.op is Op.MAX_POOL:
            options |= {"filterHeight": layer.kernel[0], "filterWidth": layer.kernel[1]}
        self.run(OPERATORS[layer.op], inputs, out, **options)
        return out

    def bytes(self, first: int, last: int) -> bytes:
        """Return the file."""
        graph, model = schema.SubGraphT(), schema.ModelT()
        graph.tensors, graph.operators = self.tensors, self.operators
        graph.inputs, graph.outputs = np.array([first], np.int32), np.array([last], np.int32)
        model.version, model.subgraphs, model.buffers, model.operatorCodes = 3, [graph], self.buffers, []
        for name in self.codes:
            code = schema.OperatorCodeT()
            code.builtinCode = code.deprecatedBuiltinCode = getattr(schema.BuiltinOperator, name)
            code.version = VERSIONS[name]
            model.operatorCodes.append(code)
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def written(graph: Graph) -> bytes:
    """Return a network that is a chain as a .tflite that ends with a softmax."""
    writer = Writer()
    first = x = writer.tensor("image", (1, *graph.in_shape), np.array([graph.scale]), graph.zero, None)
    scale = graph.scale
    for index, layer in enumerate(graph.layers):
        assert layer.reads == (index,), "the network is no chain"
        x, scale = writer.layer(layer, x, scale), layer.scale
    out = writer.tensor("classes", (1, graph.classes), np.array([SOFTMAX_SCALE]), SOFTMAX_ZERO, None)
    writer.run("SOFTMAX", [x], out, beta=1.0)
    return writer.bytes(first, out)


def main() -> None:
    """Write the file that the command line names."""
    parser = argparse.ArgumentParser(description="write the model of the tutorial")
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    options.out.write_bytes(written(build(NETWORK, 1)))


if __name__ == "__main__":
    main()
