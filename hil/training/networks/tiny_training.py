"""`mcunet-5fps`, which MIT HAN Lab pre-trained on ImageNet, for fully quantized training (docs/networks.md).

The blocks before the last two are in `tflite8`, the last two in `affine8`, with a head for new classes.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hil.errors import RigError
from hil.training.graph.formats import Format, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Tflite8Node
from hil.training.networks.convert_affine8 import from_parts
from hil.training.networks.drawing import calibration_images
from hil.training.networks.float32 import in_float32, in_real
from hil.training.networks.floating import FloatGraph
from hil.training.networks.published_heads import clipped
from hil.training.networks.quantize import grid_of, quantized_from, ranges
from hil.training.networks.shapes import mcunet
from hil.training.networks.tree import cure_of, is_folder_named, read_tree

NAME, SIDE = "mcunet-5fps", 128
BLACK = 128  # the byte that stands for 0
UNIT = 127.5  # a byte p stands for (p - 128) / 127.5
AFFINE8_BLOCKS = 2
MCUNET_DATA = f"fashion-mnist-1k@{SIDE}x{SIDE}x3"
MCUNET_ORIGIN = "pre-trained on ImageNet by MIT HAN Lab (MIT licence), read from your files; the head drawn by seed"
INT8 = "int8"  # all layers in tflite8, for methods that train those
CONFIGURATIONS = {
    INT8: (Format.TFLITE8,),
    "uint8": (Format.TFLITE8, Format.AFFINE8),
    "mixed": (Format.TFLITE8, Format.AFFINE8, Format.FLOAT32),
    "float32": (Format.FLOAT32,),
}


def there() -> dict[str, tuple[str, tuple[Format, ...]]]:
    """Return configuration and formats of the networks by name; none where the user has not named a folder."""
    if not is_folder_named():
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
    shape = replace(mcunet(name, seed, SIDE, classes), black=BLACK, unit=UNIT)
    graph = _backbone(folder, shape)
    backbone = len(graph.layers)
    layers = [in_real(graph, *pair) for pair in zip(shape.layers[:backbone], graph.nodes(Tflite8Node), strict=True)]
    floats = replace(shape, layers=(*layers, *shape.layers[backbone:]))
    if configuration == "float32":
        return in_float32(floats)
    of_values = [(node.scale * (-128 - node.zero), node.scale * (127 - node.zero)) for node in graph.nodes(Tflite8Node)]
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
    grids = [(backbone.scale, backbone.zero), *((node.scale, node.zero) for node in backbone.nodes(Tflite8Node))]
    grids += [grids[-1], grid_of(*of_logits)]  # a pool keeps those of its input
    nodes = [*backbone.layers, *quantized_from(floats, len(backbone.layers), grids)]
    last = [node.own is not None and index >= first for index, node in enumerate(nodes)]
    blocks = [4 if is_last else min(node.block, 3) for is_last, node in zip(last, nodes, strict=True)]
    layers = tuple(replace(node, block=block) for node, block in zip(nodes, blocks, strict=True))
    return clipped(replace(backbone, layers=layers))


def _backbone(folder: Path | None, shape: FloatGraph) -> Graph:
    """Return the layers before the mean in `tflite8`, with the blocks of `shape`, which has the same in floats."""
    graph = read_tree(NAME, folder)
    backbone = tuple(
        replace(node, block=layer.block) for node, layer in zip(graph.layers[:-2], shape.layers[:-2], strict=True)
    )
    if [node.out_shape for node in backbone] != shape.shapes()[1:-2]:
        raise RigError(f"{NAME}.json is not the tree of {NAME} (its shapes are others): {cure_of(NAME)}.")
    return replace(graph, name=shape.name, layers=backbone, classes=shape.classes)
