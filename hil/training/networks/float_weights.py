"""Pre-trained float weights of a shape and the ranges of its values: an .npz file that tools/pretrain_float.py makes.

`wN` and `bN` are weights and biases (float32) of the N-th layer with weights, from 0; `ranges` (float32, [layers, 2])
has the least and the largest value of the output of every layer over the images of the calibration.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from hil.bounded_npz import read_npz
from hil.errors import RigError
from hil.packaged import packaged_folder
from hil.training.graph.node import Float32Parameters
from hil.training.networks.floating import FloatGraph

WEIGHTS = packaged_folder("fixtures/weights", "fixtures/weights")
LARGEST = 4 << 20  # bytes of a file; the largest here has 150 KB
CURE = "install trainrig again"
Ranges = list[tuple[float, float]]


def write_weights(path: Path, graph: FloatGraph, ranges: Ranges) -> None:
    """Write weights, biases and ranges of a graph."""
    arrays = {"ranges": np.array(ranges, np.float32)}
    for number, own in enumerate(layer.own for layer in graph.layers if layer.own is not None):
        arrays |= {f"w{number}": own.weights, f"b{number}": own.bias}
    np.savez(path, **arrays)  # type: ignore[arg-type]


def read_weights(path: Path, shape: FloatGraph) -> tuple[FloatGraph, Ranges]:
    """Return the graph with the weights of a file, and the ranges of its values.

    Raises:
        RigError: the file is missing or damaged, or belongs to another shape.
    """
    arrays, layers = read_npz(path, CURE, LARGEST), list(shape.layers)
    owns = {index: layer.own for index, layer in enumerate(layers) if layer.own is not None}
    expected = {"ranges": (len(layers), 2)}
    for number, own in enumerate(owns.values()):
        expected |= {f"w{number}": own.weights.shape, f"b{number}": own.bias.shape}
    found = {name: array.shape for name, array in arrays.items()}
    if found != expected or any(array.dtype != np.float32 for array in arrays.values()):
        raise RigError(f"{path} does not hold the weights of {shape.name}: {CURE}.")
    for number, index in enumerate(owns):
        own = Float32Parameters(arrays[f"w{number}"], arrays[f"b{number}"])
        layers[index] = replace(layers[index], own=own)
    ranges = [(float(low), float(high)) for low, high in arrays["ranges"]]
    return replace(shape, layers=tuple(layers)), ranges
