"""LiteRT, which nobody here wrote, runs the same models: every layer is compared with the reference on LiteRT's inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from hil.training.reference.formats.tflite8.fast import FastLayer
from hil.training.tflite.importing import Imported

RESOLVERS = {"litert": OpResolverType.BUILTIN_REF, "xnnpack": OpResolverType.AUTO}


@dataclass(frozen=True)
class Compared:
    """A layer, what it was in the model, and how many of its values differ, at most by how much."""

    layer: str
    operator: str
    differ: int
    of: int
    most: int


def run(data: bytes, samples: np.ndarray, runtime: str = "litert") -> list[dict[int, np.ndarray]]:
    """Return all tensors that a runtime computes, by sample; samples are int8 [n, ...], or of the input's own type."""
    interpreter = Interpreter(
        model_content=data,
        experimental_op_resolver_type=RESOLVERS[runtime],
        experimental_preserve_all_tensors=True,
        num_threads=1,
    )
    interpreter.allocate_tensors()
    given = interpreter.get_input_details()[0]
    there = [one["index"] for one in interpreter.get_tensor_details()]
    found = []
    for sample in samples:
        interpreter.set_tensor(given["index"], sample.reshape(given["shape"]).astype(given["dtype"]))
        interpreter.invoke()
        found.append({index: _tensor(interpreter, index) for index in there})
    return found


def _tensor(interpreter: Interpreter, index: int) -> np.ndarray | None:
    try:
        return interpreter.get_tensor(index).copy()
    except ValueError:  # a scratch tensor
        return None


def layer_by_layer(imported: Imported, tensors: list[dict[int, np.ndarray]], first: np.ndarray) -> list[Compared]:
    """Compare each layer with what a runtime made of the same input of that layer; `first` is the network's, int8."""
    graph = imported.graph
    found = []
    for layer, tensor, operator in zip(graph.layers, imported.tensors, imported.operators, strict=True):
        inputs = [
            _stack(
                first if value == 0 else [one[imported.tensors[value - 1]] for one in tensors],
                graph.in_shape if value == 0 else graph.layers[value - 1].out_shape,
            )
            - np.float32(graph.zero_of(value))
            for value in layer.reads
        ]
        ours = run_layer(graph, layer, inputs)
        theirs = _stack([one[tensor] for one in tensors], layer.out_shape)
        apart = np.abs(ours - theirs)
        found.append(Compared(layer.name, operator, int((apart > 0).sum()), apart.size, int(apart.max())))
    return found


def run_layer(graph, layer, inputs) -> np.ndarray:
    """Return the int8 output of one layer of the reference, [n, 1, height, width, channels]."""
    fast = FastLayer(graph, layer)
    own = None
    if layer.own is not None:
        flat = layer.own.weights.reshape(-1)
        own = fast.own(flat, layer.own.bias, np.float64)
    return fast.run(inputs, own) + np.float32(layer.zero)


def forward(imported: Imported, samples: np.ndarray) -> np.ndarray:
    """Return the logits of the reference, int8 [n, classes], for int8 samples."""
    graph = imported.graph
    values = [_stack(samples, graph.in_shape) - np.float32(graph.zero)]
    for layer in graph.layers:
        out = run_layer(graph, layer, [values[value] for value in layer.reads])
        values.append(out - np.float32(layer.zero))
    return (values[-1] + np.float32(graph.layers[-1].zero)).reshape(len(samples), -1).astype(np.int8)


def _stack(each, shape) -> np.ndarray:
    return np.stack([np.asarray(one, np.float32).reshape(1, *shape) for one in each])
