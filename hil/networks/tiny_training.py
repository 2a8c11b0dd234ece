"""`mcunet-5fps`: the backbone that MIT HAN Lab pre-trained on ImageNet, read where the user has it.

The files are never part of this project. A folder holds `mcunet-5fps.json`, a tree of layers, and `mcunet-5fps.npz`,
its arrays (docs/networks.md). The blocks before the last two are in `tflite8`, the last two in `affine8`, with a head
for new classes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hil.bounded_npz import read_npz
from hil.bounded_read import read_file
from hil.errors import RigError
from hil.graph.graph import POOLS, Format, Graph, Node, Op, Parameters, named
from hil.networks.convert_affine8 import from_parts
from hil.networks.drawing import calibration_images
from hil.networks.float32 import in_float32, in_real
from hil.networks.floating import FloatGraph
from hil.networks.quantize import (
    LARGEST_BIAS,
    LARGEST_WEIGHT,
    SMALLEST_FACTOR,
    act_limits,
    add_factors,
    grid_of,
    multiplier_of,
    quantized_from,
    ranges,
)
from hil.networks.shapes import mcunet

FOLDER_VARIABLE = "TRAINRIG_TINY_TRAINING"
NAME, SIDE = "mcunet-5fps", 128
BLACK, UNIT = 128, 127.5  # a byte p stands for (p - 128) / 127.5
LARGEST_TREE = 1 << 20  # bytes of the tree of layers; it has 36 KB
AFFINE8_BLOCKS = 2
MCUNET_DATA = f"fashion-mnist-1k@{SIDE}x{SIDE}x3"
MCUNET_ORIGIN = (
    "pre-trained on ImageNet by MIT HAN Lab (MIT licence), read from your files; the head drawn by seed (He)"
)
CURE = f"set {FOLDER_VARIABLE} to a folder with {NAME}.json and {NAME}.npz (docs/networks.md)"
INT8 = "int8"  # all layers in tflite8, for methods that train those
CONFIGURATIONS = {
    INT8: (Format.TFLITE8,),
    "uint8": (Format.TFLITE8, Format.AFFINE8),
    "mixed": (Format.TFLITE8, Format.AFFINE8, Format.FLOAT32),
    "float32": (Format.FLOAT32,),
}


def there() -> dict[str, tuple[str, tuple[Format, ...]]]:
    """Return configuration and formats of the networks by name; none where the user has not named a folder."""
    if not os.environ.get(FOLDER_VARIABLE):
        return {}
    return {f"{NAME}-{configuration}": (configuration, formats) for configuration, formats in CONFIGURATIONS.items()}


def mcunet_5fps(name: str, seed: int, configuration: str, classes: int = 10, folder: Path | None = None) -> Graph:
    """Return the network in a configuration.

    Args:
        name: of the graph.
        seed: of the new head.
        configuration: one of `CONFIGURATIONS`.
        classes: of the new head.
        folder: where the files are; None: that of the environment variable.

    Raises:
        RigError: a file is missing, or is not that of this network.
    """
    chosen = folder or os.environ.get(FOLDER_VARIABLE)
    if not chosen:
        raise RigError(f"the files of {NAME} are nowhere: {CURE}.")
    shape = replace(mcunet(name, seed, SIDE, classes), black=BLACK, unit=UNIT)
    graph = _backbone(Path(chosen), shape)
    backbone = len(graph.layers)
    layers = [in_real(graph, *pair) for pair in zip(shape.layers[:backbone], graph.layers, strict=True)]
    floats = replace(shape, layers=(*layers, *shape.layers[backbone:]))
    if configuration == "float32":
        return in_float32(floats)
    of_values = [(node.scale * (-128 - node.zero), node.scale * (127 - node.zero)) for node in graph.layers]
    found = ranges(floats, calibration_images(floats.in_shape, seed))
    head = len(floats.layers) - 1
    first = [index for index, layer in enumerate(floats.layers) if layer.op is Op.DEPTHWISE][-AFFINE8_BLOCKS] - 1
    if configuration == INT8:
        return _in_tflite8(graph, floats, found[head], first)
    return from_parts(graph, floats, [*of_values, *found[backbone:]], first, head if configuration == "mixed" else None)


def _in_tflite8(backbone: Graph, floats: FloatGraph, of_logits: tuple[float, float], first: int) -> Graph:
    """Return backbone, mean and head in `tflite8`; block 4 is what the other configurations have in `affine8`.

    Weights of 127 become 126, which is the largest that training keeps (docs/arithmetic-zeroth-order.md, section 2).
    """
    grids = [(backbone.scale, backbone.zero), *((node.scale, node.zero) for node in backbone.layers)]
    grids += [grids[-1], grid_of(*of_logits)]  # a pool keeps those of its input
    nodes = [*backbone.layers, *quantized_from(floats, len(backbone.layers), grids)]
    last = [node.own is not None and index >= first for index, node in enumerate(nodes)]
    blocks = [4 if is_last else min(node.block, 3) for is_last, node in zip(last, nodes, strict=True)]
    layers = tuple(replace(node, block=block) for node, block in zip(nodes, blocks, strict=True))
    own = {
        index: (np.clip(node.own.weights, -LARGEST_WEIGHT, LARGEST_WEIGHT), node.own.bias)
        for index, node in enumerate(layers)
        if node.own is not None
    }
    return replace(backbone, layers=layers).with_parameters(own)


def _backbone(folder: Path, shape: FloatGraph) -> Graph:
    """Return the layers before the mean in `tflite8`; `shape` has the same in floats."""
    path = folder / f"{NAME}.json"
    try:
        tree = json.loads(read_file(path, LARGEST_TREE, CURE))
        arrays = read_npz(folder / f"{NAME}.npz", CURE)
        parts = _parts(tree, arrays)
        return _graph(shape, parts)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise RigError(f"{path} is not the tree of {NAME} ({error!r}): {CURE}.") from error


def _parts(tree: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """Return the parameters of every layer of the backbone in order, its arrays in their places."""
    found = [tree["first_conv"]["params"]]
    for block in tree["blocks"]:
        kinds = ("pointwise1", "depthwise", "pointwise2", "residual")
        found += [block[kind]["params"] for kind in kinds if block[kind] is not None]
    return [
        {key: arrays[value["array"]] if isinstance(value, dict) else value for key, value in part.items()}
        for part in found
    ]


def _graph(shape: FloatGraph, parts: list[dict[str, Any]]) -> Graph:
    shapes, first = shape.shapes(), parts[0]
    kept = [layer for layer in shape.layers if layer.op not in POOLS and layer.op is not Op.FULLY_CONNECTED]
    grids = [(_scale(first["x_scale"]), int(first["x_zero"]))]
    nodes = []
    for index, (layer, part) in enumerate(zip(kept, parts, strict=True)):
        grid = scale, zero = _scale(part["y_scale"]), int(part["y_zero"])
        of_reads = [grids[value][0] for value in layer.reads]
        own = None if layer.weights is None else _parameters(layer.op, layer.weights.shape, part, of_reads[0], scale)
        factors = add_factors(of_reads[0], of_reads[1], scale) if layer.op is Op.ADD else None
        nodes.append(
            Node(
                "", layer.op, layer.reads, shapes[layer.reads[0]], shapes[index + 1], layer.kernel, layer.stride,
                layer.pad, layer.block, *act_limits(layer.activation, scale, zero), scale, zero, own, factors,
            )
        )  # fmt: skip
        grids.append(grid)
    names = named([node.op for node in nodes])
    layers = tuple(replace(node, name=name) for node, name in zip(nodes, names, strict=True))
    return Graph(shape.name, layers, shape.in_shape, shape.classes, *grids[0])


def _scale(value: float) -> float:
    return float(np.float32(value))


def _parameters(op: Op, shape: tuple[int, ...], part: Mapping[str, Any], s_x: float, s_y: float) -> Parameters:
    """Return the parameters of a layer.

    A few channels are dead: their bias has more than 30 bits, or their factor is too small for a shift. They get a
    larger scale, at which their weights are 0.
    """
    stored, old = part["weight"].astype(np.float64), part["w_scales"].astype(np.float64)
    bias = part["bias"].astype(np.float64)
    fits = np.maximum(np.abs(bias) * old / LARGEST_BIAS, SMALLEST_FACTOR * s_y / s_x)
    scale = np.where(fits > old, fits, old).astype(np.float32)
    again = old / scale.astype(np.float64)
    weights = np.rint(stored * again[:, None, None, None]).astype(np.int8)
    order = (2, 3, 0, 1) if op is Op.DEPTHWISE else (0, 2, 3, 1)
    pairs = [multiplier_of(s_x * float(one) / s_y) for one in scale]
    return Parameters(
        np.ascontiguousarray(weights.transpose(order)).reshape(shape),
        np.rint(bias * again).astype(np.int32),
        np.array([multiplier for multiplier, _ in pairs], np.int32),
        np.array([shift for _, shift in pairs], np.int8),
        scale,
    )
