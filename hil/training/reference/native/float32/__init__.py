"""The arithmetic of `float32` in C: the same bits as NumPy's, in less time."""

from __future__ import annotations

from collections.abc import Sequence

from hil.training.graph.formats import OPS, Format
from hil.training.graph.graph import Graph
from hil.training.methods.qzo_ff_tensors import QzoFfTensor
from hil.training.reference.formats.float32.arithmetic import Float32Arithmetic
from hil.training.reference.formats.float32.network import Float32Network
from hil.training.reference.native import build
from hil.training.reference.native.float32.arithmetic import NativeFloat32
from hil.training.reference.native.float32.library import Float32Library
from hil.training.reference.native.float32.network import NativeFloat32Network

OPERATIONS = OPS[Format.W16A8]  # the library has the same


def fastest(graph: Graph) -> Float32Arithmetic:
    """Return the arithmetic in C where this computer can build it, else NumPy's with a name that says why."""
    try:
        _check(graph)
        return NativeFloat32(graph, Float32Library(build.library()))
    except build.NotBuilt as reason:
        found = Float32Arithmetic(graph)
        found.name = f"{found.name} ({reason})"
        return found


def fastest_network(graph: Graph, trained: Sequence[QzoFfTensor]) -> Float32Network:
    """Return a network of QZO-FF with its passes in C, as `fastest`."""
    try:
        _check(graph)
        return NativeFloat32Network(graph, trained, Float32Library(build.library()))
    except build.NotBuilt as reason:
        found = Float32Network(graph, trained)
        found.arithmetic = f"{found.arithmetic} ({reason})"
        return found


def _check(graph: Graph) -> None:
    """Raise NotBuilt for an operation that the library does not have."""
    for layer in graph.layers:
        if layer.op not in OPERATIONS:
            raise build.NotBuilt(f"no {layer.op.name.lower()} in C")
