"""The arithmetic of `bfp8` in C: the same bits as NumPy's, in less time."""

from __future__ import annotations

from hil.training.graph.graph import Graph
from hil.training.graph.node import Node, Parameters
from hil.training.reference.formats.bfp8.arithmetic import NumpyArithmetic
from hil.training.reference.native import build
from hil.training.reference.native.bfp8.arithmetic import NativeArithmetic
from hil.training.reference.native.bfp8.library import Bfp8Library

LARGEST_SUM = 2**31 - 1
LARGEST_PRODUCT = 127 * 127


def fastest(network: Graph) -> NumpyArithmetic:
    """Return the arithmetic in C where this computer can build it and the network fits it, else NumPy's and why."""
    if not all(fits(network.layers[index], own) for index, own in network.own.items()):
        return _plain(network, "weights of -128, or sums beyond 32 bits")
    try:
        return NativeArithmetic(network, Bfp8Library(build.library()))
    except build.NotBuilt as reason:
        return _plain(network, str(reason))


def _plain(network: Graph, reason: str) -> NumpyArithmetic:
    """Return NumPy's with a name that says why: it is not chosen for its speed."""
    found = NumpyArithmetic(network)
    found.name = f"{found.name} ({reason})"
    return found


def fits(layer: Node, own: Parameters) -> bool:
    """Return whether no sum of a layer, its input's error or its gradient can leave int32, with no weight of -128."""
    outputs, positions = layer.out_shape[2], layer.out_shape[0] * layer.out_shape[1]
    forward = own.weights.size // outputs
    backward = own.weights.size // layer.in_shape[2] if layer.kernel[0] else outputs
    return int(own.weights.min()) >= -127 and max(forward, backward, positions) * LARGEST_PRODUCT <= LARGEST_SUM
