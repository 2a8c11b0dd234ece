"""`mcunet-5fps` from the user's files; skipped where they are not."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from hil.training.data import load
from hil.training.graph.file import decode, encode
from hil.training.graph.formats import Format, Op
from hil.training.graph.graph import Graph
from hil.training.networks.tiny_training import MCUNET_DATA, mcunet_5fps
from hil.training.networks.tree import FOLDER_VARIABLE
from network import affine8_forward, integer_forward

pytestmark = pytest.mark.skipif(
    not os.environ.get(FOLDER_VARIABLE), reason=f"{FOLDER_VARIABLE} names no folder with mcunet-5fps (docs/networks.md)"
)
FORMATS = {
    "int8": (Format.TFLITE8,),
    "uint8": (Format.TFLITE8, Format.AFFINE8),
    "mixed": (Format.TFLITE8, Format.AFFINE8, Format.FLOAT32),
    "float32": (Format.FLOAT32,),
}


def built(configuration: str, seed: int = 1, classes: int = 10) -> Graph:
    return mcunet_5fps("mine", seed, configuration, classes, Path(os.environ[FOLDER_VARIABLE]))


@pytest.mark.parametrize("configuration", FORMATS)
def test_the_last_two_blocks_are_in_affine8(configuration: str) -> None:
    graph = built(configuration)
    assert graph.formats == FORMATS[configuration]
    assert encode(decode(encode(graph), "mine")) == encode(graph)
    assert (graph.scale, graph.zero) == (float(np.float32(1 / 127.5)), 0)
    assert (sum(layer.weight_count for layer in graph.layers) - 1600, graph.macs - 1600) == (463_216, 22_453_504)
    affine8 = [layer.op for layer in graph.layers if layer.format is Format.AFFINE8]
    block = [Op.POINTWISE, Op.DEPTHWISE, Op.POINTWISE]
    expected = {"uint8": [*block, Op.ADD, *block, Op.AVERAGE_POOL, Op.FULLY_CONNECTED], "float32": [], "int8": []}
    assert affine8 == expected.get(configuration, expected["uint8"][:-1])


def test_int8_trains_the_same_layers_by_block_4() -> None:
    graph, other = built("int8"), built("uint8")
    own = [layer.own is not None and layer.block == 4 for layer in graph.layers]
    affine8 = [layer.own is not None and layer.format is Format.AFFINE8 for layer in other.layers]
    assert own == affine8 and sum(own) == 7
    for ours, theirs in zip(graph.layers, other.layers, strict=True):
        if theirs.format is Format.TFLITE8 and theirs.own is not None:
            assert np.abs(ours.own.weights.astype(int) - theirs.own.weights).max() <= 1


def test_the_head_is_the_users() -> None:
    graph, other = built("mixed", 2, 7), built("mixed", 3, 7)
    assert (graph.classes, graph.layers[-1].own.weights.shape) == (7, (7, 160))
    for one, two in zip(graph.layers[:-1], other.layers[:-1], strict=True):
        assert one.own is None or one.own.weights.tobytes() == two.own.weights.tobytes()
    assert graph.layers[-1].own.weights.tobytes() != other.layers[-1].own.weights.tobytes()


def test_three_configurations_are_one_network() -> None:
    image = load(MCUNET_DATA).test_images[:1]
    uint8, floats = built("uint8"), built("float32")
    real = affine8_forward.values(floats, image)
    held = [np.asarray(image[0], np.int64) - 128]
    for layer in uint8.layers:
        reads = [held[value] for value in layer.reads]
        if layer.format is Format.TFLITE8:
            held.append(integer_forward.run(uint8, layer, reads))
        else:
            out = affine8_forward._integer(uint8, layer, [read[None].astype(np.float64) for read in reads])
            held.append(out.reshape(layer.out_shape))
    for value in range(1, len(held)):
        ours = uint8.scale_of(value) * (held[value].astype(float) - uint8.zero_of(value))
        agree = np.corrcoef(ours.ravel(), real[value][0].ravel())[0, 1]
        assert agree > 0.9, (value, uint8.layers[value - 1].name, agree)
