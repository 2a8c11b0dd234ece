"""Networks that MIT HAN Lab pre-trained on ImageNet, in `tflite8` with a new head, read where the user has them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hil.training.graph.graph import Graph
from hil.training.graph.node import Float32Parameters, Tflite8Node, WithBias
from hil.training.networks.drawing import calibration_images
from hil.training.networks.float32 import floats_of
from hil.training.networks.floating import FloatGraph
from hil.training.networks.heads import Head, drawn_head
from hil.training.networks.quantize import LARGEST_WEIGHT, grid_of, quantized_from, ranges
from hil.training.networks.tree import read_tree
from hil.training.tflite.blocks import by_map


@dataclass(frozen=True)
class PublishedTree:
    """A published network: the name of its tree, and its blocks (`by_map`); empty: those of the tree."""

    tree: str
    blocks: str = ""


NEW_HEADS = {
    "mcunet-in1-128": PublishedTree("mcunet-5fps", "conv1-pw9:1,pw10-pw17:2,pw18-pw19:3,pw20-fc1:4"),
    "mbv2-w0.35": PublishedTree("mbv2-w0.35"),
}


def with_new_head(name: str, seed: int, classes: int = 10, folder: Path | None = None) -> Graph:
    """Return one of `NEW_HEADS` with a head for other classes, drawn by the seed (Xavier).

    The logits have the range of drawn images. Weights of +-127 become +-126, the largest that training keeps
    (docs/arithmetic-zeroth-order.md, section 2).

    Args:
        name: of the network.
        seed: of the head and of the drawn images.
        classes: of the head.
        folder: where the files are; None: that of the environment variable.

    Raises:
        RigError: a file is missing, or is no such tree.
    """
    known = NEW_HEADS[name]
    graph = read_tree(known.tree, folder)
    head = drawn_head(classes, graph.layers[-1].in_size, seed)
    floats = _in_floats(graph, head)
    of_logits = ranges(floats, calibration_images(floats.in_shape, seed))[-1]
    grids = [
        (graph.scale, graph.zero),
        *((node.scale, node.zero) for node in graph.nodes(Tflite8Node)[:-1]),
        grid_of(*of_logits),
    ]
    nodes = [*graph.layers[:-1], *quantized_from(floats, len(graph.layers) - 1, grids)]
    nodes = by_map(nodes, known.blocks) if known.blocks else nodes
    return clipped(replace(graph, name=name, layers=tuple(nodes), classes=classes))


def clipped(graph: Graph) -> Graph:
    """Return a network whose weights are within what training keeps."""
    own = {
        index: (np.clip(own.weights, -LARGEST_WEIGHT, LARGEST_WEIGHT), own.bias)
        for index, own in graph.own_of(WithBias).items()
    }
    return graph.with_parameters(own)


def _in_floats(graph: Graph, head: Head) -> FloatGraph:
    """Return the network in floats, the last layer with other weights and biases."""
    floats = floats_of(graph)
    own = Float32Parameters(*(array.astype(np.float32) for array in head))
    last = replace(floats.layers[-1], own=own)
    return replace(floats, layers=(*floats.layers[:-1], last), classes=len(own.bias))
