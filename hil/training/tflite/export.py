"""A model with the weights that a trial trained (docs/tflite.md)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hil.errors import RigError
from hil.record import TRAINED
from hil.training.graph.graph import Graph
from hil.training.graph.node import Node, Tflite8Node, Tflite8Parameters
from hil.training.tflite.buffers import with_constants
from hil.training.tflite.importing import Imported
from hil.training.tflite.model import ABSENT, Model
from hil.training.tflite.values import array_of
from hil.training.tflite.weights import tensors_of


@dataclass(frozen=True, eq=False)
class Exported:
    """A model with trained weights.

    Attributes:
        data: the bytes of the .tflite.
        arrays: weights and biases of every layer, `conv1` and `conv1.bias`, in the types and shapes of the model.
        changed: how many weights and biases training changed in each layer that it changed.
    """

    data: bytes
    arrays: dict[str, np.ndarray]
    changed: dict[str, int]


def with_weights_of(data: bytes, model: Model, imported: Imported, trained: Graph) -> Exported:
    """Return a model with the weights and biases of a network that was trained from it.

    Args:
        data: the file of the model.
        model: what was read from it.
        imported: its network before training, with any rounding and blocks.
        trained: the network after training.

    Raises:
        RigError: the network is not one of this model, has biases where the model has none, or was trained in its
            scales.
    """
    constants: dict[int, bytes] = {}
    arrays: dict[str, np.ndarray] = {}
    changed: dict[str, int] = {}
    if [_kind(layer) for layer in imported.graph.layers] != [_kind(layer) for layer in trained.layers]:
        raise RigError("the trained network has other layers than the model: give the model that it was imported from.")
    known, new = (graph.own_of(Tflite8Parameters) for graph in (imported.graph, trained))
    for index, source in imported.sources.items():
        before = imported.graph.layers[index]
        _check_factors(before.name, known[index], new[index])
        weights = array_of(model.tensors[source.weights], "i1", imported.operators[index])
        bias = None
        if source.bias != ABSENT:
            bias = array_of(model.tensors[source.bias], "<i4", imported.operators[index])
        try:
            new_weights, new_bias = tensors_of(before.op, source, known[index], new[index], weights, bias)
        except RigError as error:
            raise RigError(f"{before.name}, {imported.operators[index]}, cannot be exported: {error}.") from error
        count = int((new_weights != weights).sum())
        constants[source.weights], arrays[before.name] = new_weights.tobytes(), new_weights
        if bias is not None and new_bias is not None:
            count += int((new_bias != bias).sum())
            constants[source.bias] = new_bias.astype("<i4").tobytes()
            arrays[f"{before.name}.bias"] = new_bias
        if count:
            changed[before.name] = count
    return Exported(with_constants(data, model, constants), arrays, changed)


def _check_factors(name: str, known: Tflite8Parameters, new: Tflite8Parameters) -> None:
    """Raise RigError if training changed the factors of a layer, 31 bits that TFLite makes from scales of 24 bits."""
    if not (np.array_equal(known.multiplier, new.multiplier) and np.array_equal(known.shift, new.shift)):
        raise RigError(
            f"{name} was trained in its scales, to factors that no binary32 scale of a .tflite gives exactly: use the "
            f"trained network file ({TRAINED}) instead."
        )


def _kind(layer: Node) -> tuple[object, ...]:
    """Return what training does not change."""
    grid = (layer.scale, layer.zero) if isinstance(layer, Tflite8Node) else ()
    return layer.op, layer.reads, layer.in_shape, layer.out_shape, layer.kernel, grid
