"""Published networks with the publisher's classifier: the graph that is read gives LiteRT's logits, value by value.

LiteRT's reference kernels run a .tflite that is written from the tree alone. 10 images of each network are in the gate,
100 in the nightly tier.

LiteRT's sums wrap around in int32 where a bias is +-2^31; the graph's do not. So channels with such a bias differ, and
no others. What reads them multiplies them by almost nothing: no logit differs.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hil.errors import RigError
from hil.training.data import load
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.networks.drawing import calibration_images
from hil.training.networks.tree import FOLDER_VARIABLE, read_tree
from hil.training.tflite.importing import Imported, network_of
from hil.training.tflite.read import parse
from tests.unit.network.tree_as_tflite import Tree, Writer
from tests.unit.tflite_models.witness import forward, run, run_layer

pytestmark = pytest.mark.skipif(
    not os.environ.get(FOLDER_VARIABLE), reason=f"{FOLDER_VARIABLE} names no folder with the trees (docs/networks.md)"
)
NETWORKS = {"mcunet-5fps": (51, 57), "mbv2-w0.35": (63, 0)}  # layers, and channels with a bias beyond 2^30
CLASSES, SHAPE = 1000, (128, 128, 3)
CHUNK = 10  # images that are held with all their values


def folder() -> Path:
    return Path(os.environ[FOLDER_VARIABLE])


@lru_cache(maxsize=2)
def imported_of(name: str) -> tuple[bytes, Imported]:
    """Return the model written from the tree, and what the importer makes of it for LiteRT's reference kernels."""
    data = Writer(Tree(folder(), name)).bytes()
    return data, network_of(parse(data, name), name, "litert")


def as_litert_rounds(graph: Graph) -> Graph:
    """Return the graph whose last layer rounds once (docs/tflite.md, "Rounding by runtime")."""
    *before, last = graph.layers
    assert last.op is Op.FULLY_CONNECTED and last.rounding == "double"
    return replace(graph, layers=(*before, replace(last, rounding="single")))


@lru_cache(maxsize=2)
def read(name: str) -> Graph:
    return as_litert_rounds(read_tree(name, folder()))


def images(count: int) -> np.ndarray:
    """Return samples, int8 [count, 128, 128, 3]: half of them clothes, half drawn."""
    half = count // 2
    clothes = load("fashion-mnist-1k@128x128x3").test_images[:half]
    drawn = calibration_images(SHAPE, 1, count - half)
    return (np.concatenate([clothes, drawn]).astype(np.int16) - 128).astype(np.int8)


def logits_of(imported: Imported, tensors: list[dict[int, np.ndarray]]) -> np.ndarray:
    return np.stack([one[imported.tensors[-1]].reshape(-1) for one in tensors])


COUNTS = [10, pytest.param(100, marks=pytest.mark.tier("nightly"))]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", NETWORKS)
def test_every_logit_is_that_of_litert(name: str, count: int) -> None:
    data, imported = imported_of(name)
    graph, samples = read(name), images(count)
    assert (len(graph.layers), graph.classes) == (NETWORKS[name][0], CLASSES)
    assert [layer.op for layer in graph.layers] == [layer.op for layer in imported.graph.layers]
    differ, imported_differ, winners = 0, 0, []
    for first in range(0, count, CHUNK):
        some = samples[first : first + CHUNK]
        theirs = logits_of(imported, run(data, some))
        ours = forward(replace(imported, graph=graph), some)
        differ += int((ours != theirs).sum())
        imported_differ += int((forward(imported, some) != theirs).sum())
        assert np.array_equal(ours.argmax(axis=1), theirs.argmax(axis=1))
        winners += theirs.argmax(axis=1).tolist()
    assert (differ, imported_differ) == (0, 0), f"of {count * CLASSES} logits"
    assert len(set(winners)) > 3  # the images are not all the same to the network


@pytest.mark.parametrize("name", NETWORKS)
def test_only_channels_whose_sums_leave_int32_differ_inside(name: str) -> None:
    """Every layer gets LiteRT's input of that layer; where its output differs, LiteRT's sum wrapped around."""
    data, imported = imported_of(name)
    tree, graph = Tree(folder(), name), read(name)
    assert tree.extremes() == NETWORKS[name][1]
    samples = images(2)
    tensors = run(data, samples)
    with_weights, seen = iter(tree.with_weights()), 0
    for layer, place in zip(graph.layers, imported.tensors, strict=True):
        node = next(with_weights) if layer.own is not None else None
        inputs = [
            _stacked(graph, value, samples if value == 0 else [one[imported.tensors[value - 1]] for one in tensors])
            for value in layer.reads
        ]
        ours = run_layer(graph, layer, inputs)
        theirs = np.stack([one[place] for one in tensors]).reshape(ours.shape)
        apart = ours != theirs
        if apart.any():
            assert node is not None, layer.name
            assert not (apart & ~leaves_int32(tree, node, inputs[0])).any(), layer.name
        seen += int(apart.sum())
    assert (seen > 0) == (tree.extremes() > 0)


def test_the_comparison_sees_another_rounding() -> None:
    """Of two roundings in the last layer, as it is read, some logits are not LiteRT's."""
    name = "mbv2-w0.35"
    data, imported = imported_of(name)
    samples = images(4)
    twice = read_tree(name, folder())
    assert (forward(replace(imported, graph=twice), samples) != logits_of(imported, run(data, samples))).any()


def test_more_layers_than_a_network_file_has_are_refused_with_their_number() -> None:
    with pytest.raises(RigError, match=r"^proxyless-w0\.3 has 75 layers, and a network file at most 64: .*\.$"):
        read_tree("proxyless-w0.3", folder())


def _stacked(graph: Graph, value: int, each) -> np.ndarray:
    """Return a value less its zero point, float32 [n, 1, height, width, channels]."""
    shape = graph.layers[value - 1].out_shape if value else graph.in_shape
    return np.stack([np.float32(one).reshape(1, *shape) for one in each]) - np.float32(graph.zero_of(value))


def leaves_int32(tree: Tree, node: dict[str, Any], x: np.ndarray) -> np.ndarray:
    """Return where sums of the published weights and biases leave int32, by sample, 1, row, column and channel."""
    half, step = node["kernel_size"][0] // 2, node["stride"]
    padded = np.pad(x[:, 0].astype(np.int64), ((0, 0), (half, half), (half, half), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, node["kernel_size"], (1, 2))[:, ::step, ::step]
    weights = tree.array(node, "weight").astype(np.int64)
    if node["groups"] > 1:
        sums = np.einsum("nyxcij,cij->nyxc", windows, weights[:, 0])
    else:
        sums = np.einsum("nyxcij,ocij->nyxo", windows, weights)
    sums += tree.array(node, "bias").astype(np.int64)
    return ((sums < -(2**31)) | (sums > 2**31 - 1))[:, None]
