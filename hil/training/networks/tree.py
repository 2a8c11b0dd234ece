"""Networks in `tflite8` from the trees of layers that MIT HAN Lab publishes, where the user has them.

A folder holds `NAME.json`, the tree, and `NAME.npz`, its arrays (docs/networks.md); the files are never part of this
project. Layers read in the order of the
tree: a first convolution, bottlenecks (pointwise, depthwise, pointwise, and an add with the input of the first), the
mean over the image, and a classifier.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from hil.bounded_npz import read_npz
from hil.bounded_read import read_file
from hil.errors import RigError
from hil.training.graph.factors import act_limits, add_factors, multiplier_of
from hil.training.graph.file_checks import MOST_LAYERS
from hil.training.graph.formats import Op, Shape, named
from hil.training.graph.graph import Graph
from hil.training.graph.node import Tflite8Node, Tflite8Parameters
from hil.training.networks.quantize import LARGEST_BIAS, SMALLEST_FACTOR
from hil.training.tflite.blocks import by_share

FOLDER_VARIABLE = "TRAINRIG_TINY_TRAINING"
LARGEST_TREE = 1 << 20  # bytes of a tree of layers; the largest has 51 KB


def is_folder_named() -> bool:
    """Return whether the user has named a folder with trees."""
    return bool(os.environ.get(FOLDER_VARIABLE))


def cure_of(name: str) -> str:
    """Return what to do if the files of a tree are missing."""
    return f"set {FOLDER_VARIABLE} to a folder with {name}.json and {name}.npz (docs/networks.md)"


def read_tree(name: str, folder: Path | None = None) -> Graph:
    """Return the network of a tree, with the publisher's own classifier and blocks of equal shares of the work.

    Args:
        name: of its files.
        folder: where they are; None: that of the environment variable.

    Raises:
        RigError: a file is missing or is not such a tree, or the tree has more layers than a network file.
    """
    cure = cure_of(name)
    chosen = folder or os.environ.get(FOLDER_VARIABLE)
    if not chosen:
        raise RigError(f"the files of {name} are nowhere: {cure}.")
    path = Path(chosen) / f"{name}.json"
    try:
        tree = json.loads(read_file(path, LARGEST_TREE, cure))
        arrays = read_npz(path.with_name(f"{name}.npz"), cure)
        graph = _Walk(arrays).network(name, tree)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise RigError(f"{path} is not the tree of {name} ({error!r}): {cure}.") from error
    if len(graph.layers) > MOST_LAYERS:
        raise RigError(f"{name} has {len(graph.layers)} layers, and a network file at most {MOST_LAYERS}: use another.")
    return graph


@dataclass
class _Walk:
    """Layers under construction, and scale, zero point and shape of every value."""

    arrays: Mapping[str, np.ndarray]
    nodes: list[Tflite8Node] = field(default_factory=list)
    grids: list[tuple[float, int]] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)

    def network(self, name: str, tree: Mapping[str, Any]) -> Graph:
        """Return the network."""
        first, side = tree["first_conv"], tree["first_conv"]["in_shape"]
        self.grids.append((_scale(first["params"]["x_scale"]), int(first["params"]["x_zero"])))
        self.shapes.append((side, side, first["in_channel"]))
        self.weighted(Op.CONV2D, first, "relu6")
        for block in tree["blocks"]:
            begins = len(self.nodes)
            if block["pointwise1"] is not None:
                self.weighted(Op.POINTWISE, block["pointwise1"], "relu6")
            self.weighted(Op.DEPTHWISE, block["depthwise"], "relu6")
            self.weighted(Op.POINTWISE, block["pointwise2"], "none")
            if block["residual"] is not None:
                self.add(block["residual"]["params"], begins)
        self.mean()
        self.weighted(Op.FULLY_CONNECTED, tree["classifier"], "none")
        names = named([node.op for node in self.nodes])
        layers = tuple(replace(node, name=own) for node, own in zip(by_share(self.nodes), names, strict=True))
        return Graph(name, layers, self.shapes[0], layers[-1].out_shape[2], *self.grids[0])

    def weighted(self, op: Op, layer: Mapping[str, Any], activation: str) -> None:
        """Add a layer with weights that reads the last value; windows are padded by half their size."""
        part: dict[str, Any] = {
            key: self.arrays[value["array"]] if isinstance(value, dict) else value
            for key, value in layer["params"].items()
        }
        (height, width, depth), channels = self.shapes[-1], int(layer["out_channel"])
        kernel = stride = pad = (0, 0)
        out: Shape = (1, 1, channels)
        if op is not Op.FULLY_CONNECTED:
            side, step = int(layer["kernel_size"][0]), int(layer["stride"])
            kernel, stride, pad = (side, side), (step, step), (side // 2, side // 2)
            rows, columns = ((size + 2 * (side // 2) - side) // step + 1 for size in (height, width))
            out = (rows, columns, channels)
        shape = {
            Op.CONV2D: (channels, *kernel, depth), Op.DEPTHWISE: (*kernel, channels),
            Op.POINTWISE: (channels, 1, 1, depth), Op.FULLY_CONNECTED: (channels, depth),
        }[op]  # fmt: skip
        grid = scale, zero = _scale(part["y_scale"]), int(part["y_zero"])
        own = _parameters(op, shape, part, self.grids[-1][0], scale)
        limits = act_limits(activation, scale, zero)
        self._put(
            Tflite8Node("", op, (len(self.nodes),), self.shapes[-1], out, kernel, stride, pad, 0, *limits, *grid, own)
        )

    def add(self, part: Mapping[str, Any], begins: int) -> None:
        """Add the sum of the last value and value `begins`, the input of the bottleneck."""
        scale, zero = _scale(part["y_scale"]), int(part["y_zero"])
        reads = (len(self.nodes), begins)
        factors = add_factors(self.grids[-1][0], self.grids[begins][0], scale)
        shape, limits = self.shapes[-1], act_limits("none", scale, zero)
        none = (0, 0)
        self._put(
            Tflite8Node("", Op.ADD, reads, shape, shape, none, none, none, 0, *limits, scale, zero, None, factors)
        )

    def mean(self) -> None:
        """Add the mean of the last value over the image, on the same grid."""
        height, width, depth = shape = self.shapes[-1]
        window = (height, width)
        grid = scale, zero = self.grids[-1]
        limits = act_limits("none", scale, zero)
        reads = (len(self.nodes),)
        self._put(
            Tflite8Node("", Op.AVERAGE_POOL, reads, shape, (1, 1, depth), window, window, (0, 0), 0, *limits, *grid)
        )

    def _put(self, node: Tflite8Node) -> None:
        self.nodes.append(node)
        self.grids.append((node.scale, node.zero))
        self.shapes.append(node.out_shape)


def _scale(value: float) -> float:
    return float(np.float32(value))


def _parameters(op: Op, shape: tuple[int, ...], part: Mapping[str, Any], s_x: float, s_y: float) -> Tflite8Parameters:
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
    return Tflite8Parameters(
        np.ascontiguousarray(weights.transpose(order)).reshape(shape),
        np.rint(bias * again).astype(np.int32),
        np.array([multiplier for multiplier, _ in pairs], np.int32),
        np.array([shift for _, shift in pairs], np.int8),
        scale,
    )
