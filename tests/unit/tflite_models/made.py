"""Small .tflite models from drawn weights, made with the classes of the schema; the same bytes for a seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

TYPES = {
    np.dtype(np.int8): "INT8",
    np.dtype(np.int32): "INT32",
    np.dtype(np.uint8): "UINT8",
    np.dtype(np.float32): "FLOAT32",
}
OPTIONS = {
    "CONV_2D": "Conv2DOptions", "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions", "FULLY_CONNECTED": "FullyConnectedOptions",
    "ADD": "AddOptions", "AVERAGE_POOL_2D": "Pool2DOptions", "MAX_POOL_2D": "Pool2DOptions", "MEAN": "ReducerOptions",
    "SOFTMAX": "SoftmaxOptions", "RESHAPE": "ReshapeOptions",
}  # fmt: skip
NEWEST = {"CONV_2D": 3, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": 4, "ADD": 2, "AVERAGE_POOL_2D": 2, "MAX_POOL_2D": 2}
NEWEST |= {"MEAN": 2, "SOFTMAX": 2, "PAD": 2, "QUANTIZE": 2, "DEQUANTIZE": 2, "RELU": 2, "RELU6": 2, "LOGISTIC": 2}

CODED = 12  # inputs and outputs of `autoencoder`
DATA = "fashion-mnist-1k@8x8x1"  # with ten classes, of the size that `trainable` takes


@dataclass
class Made:
    """A model under construction; values and constants are named by the index of their tensor."""

    seed: int = 1
    tensors: list[Any] = field(default_factory=list)
    buffers: list[Any] = field(default_factory=lambda: [schema.BufferT()])
    operators: list[Any] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = np.random.Generator(np.random.PCG64(self.seed))

    def tensor(self, shape, type="INT8", scale=(), zero=(), axis=0, signature=None, buffer=0) -> int:
        """Add a tensor."""
        quantization = schema.QuantizationParametersT()
        quantization.scale = np.array(scale, np.float32)
        quantization.zeroPoint = np.array(zero, np.int64)
        quantization.quantizedDimension = axis
        one = schema.TensorT()
        one.shape, one.type, one.buffer = np.array(shape, np.int32), getattr(schema.TensorType, type), buffer
        one.name = f"t{len(self.tensors)}"
        one.shapeSignature = None if signature is None else np.array(signature, np.int32)
        one.quantization = quantization if len(scale) else None
        self.tensors.append(one)
        return len(self.tensors) - 1

    def value(self, shape, scale=0.05, zero=0, type="INT8") -> int:
        """Add a tensor that is computed; the first axis, the batch, is open."""
        return self.tensor((1, *shape), type, (scale,), (zero,), signature=(-1, *shape))

    def constant(self, array, scale=(), axis=0, buffer=None) -> int:
        """Add a constant."""
        array = np.ascontiguousarray(array)
        if buffer is None:
            one = schema.BufferT()
            one.data = np.frombuffer(array.tobytes(), np.uint8)
            self.buffers.append(one)
            buffer = len(self.buffers) - 1
        return self.tensor(array.shape, TYPES[array.dtype], scale, [0] * len(scale), axis, buffer=buffer)

    def input(self, shape, scale=0.05, zero=-3, type="INT8") -> int:
        """Add the input."""
        self.inputs.append(self.value(shape, scale, zero, type))
        return self.inputs[-1]

    def run(self, name, inputs, outputs, **options) -> int:
        """Add an operator, and return the tensor of its first output."""
        if name not in self.codes:
            self.codes.append(name)
        one = schema.OperatorT()
        one.opcodeIndex = self.codes.index(name)
        one.inputs, one.outputs = np.array(inputs, np.int32), np.array(outputs, np.int32)
        if name in OPTIONS:
            one.builtinOptionsType = getattr(schema.BuiltinOptions, OPTIONS[name])
            one.builtinOptions = getattr(schema, f"{OPTIONS[name]}T")()
            for key, value in options.items():
                setattr(one.builtinOptions, key, value)
        self.operators.append(one)
        return outputs[0]

    def shape(self, value) -> tuple[int, ...]:
        """The shape of a tensor without its batch."""
        return tuple(int(size) for size in self.tensors[value].shape[1:])

    def scale(self, value) -> float:
        """The scale of a tensor."""
        return float(self.tensors[value].quantization.scale[0])

    def weights(self, x, shape, channels, axis, per_channel=True, largest=127) -> tuple[int, int]:
        """Add drawn weights, and biases at their scale."""
        drawn = self.random.integers(-largest, largest + 1, shape).astype(np.int8)
        scales = self.random.uniform(0.002, 0.02, channels if per_channel else 1).astype(np.float32)
        bias = self.random.integers(-2000, 2000, channels).astype(np.int32)
        return self.constant(drawn, scales, axis), self.constant(bias, scales * np.float32(self.scale(x)))

    def convolution(self, x, channels, kernel=(3, 3), stride=(1, 1), same=True, activation=0, scale=0.3, zero=-5,
                    depthwise=False, multiplier=1, dilation=(1, 1), per_channel=True) -> int:  # fmt: skip
        """Add a convolution with drawn weights."""
        height, width, depth = self.shape(x)
        window = [(size - 1) * step + 1 for size, step in zip(kernel, dilation, strict=True)]
        sizes = zip((height, width), window, stride, strict=True)
        out = [-(-size // step) if same else (size - span) // step + 1 for size, span, step in sizes]
        channels = depth * multiplier if depthwise else channels
        shape = (1, *kernel, channels) if depthwise else (channels, *kernel, depth)
        own = self.weights(x, shape, channels, 3 if depthwise else 0, per_channel)
        options = {"depthMultiplier": multiplier} if depthwise else {}
        return self.run(
            "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D", (x, *own), (self.value((*out, channels), scale, zero),),
            padding=0 if same else 1, strideH=stride[0], strideW=stride[1], dilationHFactor=dilation[0],
            dilationWFactor=dilation[1], fusedActivationFunction=activation, **options,
        )  # fmt: skip

    def fully_connected(self, x, channels, activation=0, scale=0.5, zero=7, per_channel=False, bias=True) -> int:
        """Add a fully connected layer with drawn weights."""
        own = self.weights(x, (channels, int(np.prod(self.shape(x)))), channels, 0, per_channel)
        out = self.value((channels,), scale, zero)
        return self.run(
            "FULLY_CONNECTED", (x, own[0], own[1] if bias else -1), (out,), fusedActivationFunction=activation
        )

    def pool(self, x, kind="AVERAGE", kernel=(2, 2), stride=(2, 2), same=False, activation=0, out=None) -> int:
        """Add a pool on the grid of its input."""
        height, width, depth = self.shape(x)
        sizes = zip((height, width), kernel, stride, strict=True)
        found = [-(-size // step) if same else (size - span) // step + 1 for size, span, step in sizes]
        out = self.value((*found, depth), self.scale(x), self.zero(x)) if out is None else out
        return self.run(
            f"{kind}_POOL_2D", (x,), (out,), padding=0 if same else 1, strideH=stride[0], strideW=stride[1],
            filterHeight=kernel[0], filterWidth=kernel[1], fusedActivationFunction=activation,
        )  # fmt: skip

    def zero(self, value) -> int:
        """The zero point of a tensor."""
        return int(self.tensors[value].quantization.zeroPoint[0])

    def mean(self, x, scale=0.04, zero=11, keep=False, axes=(1, 2)) -> int:
        """Add a mean over height and width."""
        depth = self.shape(x)[2]
        out = self.value((1, 1, depth) if keep else (depth,), scale, zero)
        return self.run("MEAN", (x, self.constant(np.array(axes, np.int32))), (out,), keepDims=keep)

    def add(self, a, b, scale=0.4, zero=3, activation=0) -> int:
        """Add an addition."""
        return self.run("ADD", (a, b), (self.value(self.shape(a), scale, zero),), fusedActivationFunction=activation)

    def pad(self, x, rows=(1, 1), columns=(1, 1)) -> int:
        """Add zeros around the image."""
        height, width, depth = self.shape(x)
        sizes = self.constant(np.array([(0, 0), rows, columns, (0, 0)], np.int32))
        out = self.value((height + sum(rows), width + sum(columns), depth), self.scale(x), self.zero(x))
        return self.run("PAD", (x, sizes), (out,))

    def reshape(self, x, shape) -> int:
        """Add a reshape."""
        to = self.constant(np.array([-1, *shape], np.int32))
        return self.run("RESHAPE", (x, to), (self.value(shape, self.scale(x), self.zero(x)),))

    def by_element(self, name, x, scale=None, zero=None, type="INT8") -> int:
        """Add an operator that maps each element."""
        scale, zero = self.scale(x) if scale is None else scale, self.zero(x) if zero is None else zero
        return self.run(name, (x,), (self.value(self.shape(x), scale, zero, type),))

    def softmax(self, x) -> int:
        """Add a softmax."""
        return self.run("SOFTMAX", (x,), (self.value(self.shape(x), 1 / 256, -128),), beta=1.0)

    def bytes(self, output=None) -> bytes:
        """Return the file; the output is the last tensor that was computed, unless it is given."""
        graph, model = schema.SubGraphT(), schema.ModelT()
        graph.tensors, graph.operators = self.tensors, self.operators
        graph.inputs = np.array(self.inputs, np.int32)
        graph.outputs = np.array([self.operators[-1].outputs[0] if output is None else output], np.int32)
        model.version, model.subgraphs, model.buffers, model.operatorCodes = 3, [graph], self.buffers, []
        for name in self.codes:
            code = schema.OperatorCodeT()
            code.builtinCode = getattr(schema.BuiltinOperator, name)
            code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), NEWEST.get(name, 1)
            model.operatorCodes.append(code)
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def small(seed=1) -> Made:
    """Return a model with a convolution, a depthwise and a pointwise layer, an add, a pool, a classifier and softmax."""
    made = Made(seed)
    x = made.convolution(made.input((8, 6, 2)), 4, stride=(2, 1), activation=3)
    y = made.convolution(x, 4, depthwise=True, activation=1)
    y = made.convolution(y, 4, kernel=(1, 1), zero=2)
    pooled = made.pool(made.add(x, y), kernel=(4, 6), stride=(4, 6))
    made.softmax(made.fully_connected(made.reshape(pooled, (4,)), 3))
    return made


def trainable(seed: int = 1) -> Made:
    """Return a model of 8 x 8 images with ten classes: a convolution, a bottleneck with an add, a mean, a classifier."""
    made = Made(seed)
    x = made.convolution(made.input((8, 8, 1), 1 / 255, -128), 8, stride=(2, 2), activation=3, scale=0.02, zero=-128)
    y = made.convolution(x, 16, (1, 1), activation=3, scale=0.05, zero=-128)
    y = made.convolution(y, 16, depthwise=True, activation=3, scale=0.1, zero=-128)
    y = made.add(x, made.convolution(y, 8, (1, 1), scale=0.5, zero=4), 0.5, 3)
    pooled = made.reshape(made.pool(y, kernel=(4, 4), stride=(4, 4)), (8,))
    made.softmax(made.fully_connected(pooled, 10, scale=0.3, zero=9))
    return made


def autoencoder(scale: float = 0.4, zero: int = 89, outputs: int = CODED, seed: int = 3) -> Made:
    """Return a model of features with a narrow layer in the middle and as many outputs as inputs, unless told."""
    made = Made(seed)
    x = made.fully_connected(made.input((CODED,), scale, zero), 8, activation=1, scale=0.2, zero=-128)
    made.fully_connected(x, outputs, scale=0.3, zero=20)
    return made
