"""Published trees of layers (docs/networks.md, mcunet-5fps) as .tflite files, from the description of the trees alone.

The arrays go into the file as they were published: biases of +-2^31 and weights of +-127 too. A convolution is a PAD
by kernel // 2 on all sides and a VALID window behind it, since SAME pads unevenly where the stride is 2.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.unit.tflite_models.made import Made

NONE, RELU6 = 0, 3  # fused activations
VALID = 1
PARTS = {"pointwise1": RELU6, "depthwise": RELU6, "pointwise2": NONE}  # of a block, and the activation behind each


class Tree:
    """The layers and arrays of a published model.

    Attributes:
        root: the tree, of dictionaries and lists.
        arrays: its arrays by key.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.root: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        with np.load(folder / f"{name}.npz") as arrays:
            self.arrays = dict(arrays)

    def array(self, node: dict[str, Any], key: str) -> np.ndarray:
        """Return an array of a layer."""
        found: np.ndarray = self.arrays[node["params"][key]["array"]]
        return found

    def with_weights(self) -> list[dict[str, Any]]:
        """Return the layers with weights, from the input to the output."""
        parts = [block[part] for block in self.root["blocks"] for part in PARTS if block[part] is not None]
        return [self.root["first_conv"], *parts, self.root["classifier"]]

    def extremes(self) -> int:
        """Return the number of channels whose bias is beyond 2^30."""
        biases = [array for key, array in self.arrays.items() if key.endswith(".bias")]
        return sum(int((np.abs(bias.astype(np.int64)) > 2**30).sum()) for bias in biases)


class Writer:
    """A tree on its way into a file.

    Args:
        tree: the tree.
        pads: rows or columns before and behind an image, of half a kernel.
    """

    def __init__(self, tree: Tree, pads=lambda half: (half, half)) -> None:
        self.tree, self.made, self.pads = tree, Made(), pads

    def bytes(self) -> bytes:
        """Return the file; its output are the logits."""
        root = self.tree.root
        first = root["first_conv"]
        size = (first["in_shape"], first["in_shape"], first["in_channel"])
        x = self.convolution(self.made.input(size, *_grid(first, "x")), first, RELU6)
        for block in root["blocks"]:
            x = self.block(x, block)
        assert root["feature_mix"] is None
        height, width, _ = self.made.shape(x)
        self.classifier(self.made.pool(x, "AVERAGE", (height, width), (1, 1)), root["classifier"])
        return self.made.bytes()

    def block(self, x: int, block: dict[str, Any]) -> int:
        """Add an inverted bottleneck; the last pointwise layer is linear, and so is the add."""
        assert block["se"] is None
        y = x
        for part, activation in PARTS.items():
            if block[part] is not None:
                y = self.convolution(y, block[part], activation)
        if block["residual"] is None:
            return y
        self.read(x, block["residual"])
        return self.made.add(x, y, *_grid(block["residual"], "y"))

    def convolution(self, x: int, node: dict[str, Any], activation: int) -> int:
        """Add a convolution and the padding before it."""
        self.read(x, node)
        rows, columns = (self.pads(size // 2) for size in node["kernel_size"])
        if (rows, columns) != ((0, 0), (0, 0)):
            x = self.made.pad(x, rows, columns)
        weights = self.tree.array(node, "weight").transpose(0, 2, 3, 1)  # output, height, width, input
        by_channel = node["groups"] > 1
        if by_channel:
            weights = weights.transpose(3, 1, 2, 0)
        own = self.own(x, weights, node, 3 if by_channel else 0)
        out = self.made.value((node["out_shape"], node["out_shape"], node["out_channel"]), *_grid(node, "y"))
        return self.made.run(
            "DEPTHWISE_CONV_2D" if by_channel else "CONV_2D", (x, *own), (out,), padding=VALID,
            strideH=node["stride"], strideW=node["stride"], dilationHFactor=1, dilationWFactor=1,
            fusedActivationFunction=activation, **({"depthMultiplier": 1} if by_channel else {}),
        )  # fmt: skip

    def classifier(self, x: int, node: dict[str, Any]) -> int:
        """Add the fully connected layer."""
        self.read(x, node)
        weights = self.tree.array(node, "weight").reshape(node["out_channel"], node["in_channel"])
        out = self.made.value((node["out_channel"],), *_grid(node, "y"))
        return self.made.run("FULLY_CONNECTED", (x, *self.own(x, weights, node, 0)), (out,))

    def own(self, x: int, weights: np.ndarray, node: dict[str, Any], axis: int) -> tuple[int, int]:
        """Add weights and biases, each channel with its scale."""
        scales = self.tree.array(node, "w_scales")
        bias = self.made.constant(self.tree.array(node, "bias"), scales * np.float32(self.made.scale(x)))
        return self.made.constant(weights, scales, axis), bias

    def read(self, x: int, node: dict[str, Any]) -> None:
        """Check that a layer reads a value on the grid that it states."""
        scale, zero = _grid(node, "x")
        assert (self.made.scale(x), self.made.zero(x)) == (np.float32(scale), zero)


def _grid(node: dict[str, Any], value: str) -> tuple[float, int]:
    return node["params"][f"{value}_scale"], node["params"][f"{value}_zero"]
