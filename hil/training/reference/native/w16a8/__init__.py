"""The arithmetic of `w16a8` in C: the same bits as NumPy's, in less time."""

from __future__ import annotations

from collections.abc import Sequence

from hil.training.graph.graph import Graph
from hil.training.methods.qzo_ff_tensors import QzoFfTensor
from hil.training.reference.formats.w16a8.network import W16A8Network
from hil.training.reference.native import build
from hil.training.reference.native.w16a8.library import W16A8Library
from hil.training.reference.native.w16a8.network import NativeW16A8Network


def fastest_network(graph: Graph, trained: Sequence[QzoFfTensor]) -> W16A8Network:
    """Return a network of QZO-FF with passes in C where this computer can build it, else one in NumPy that says why."""
    try:
        return NativeW16A8Network(graph, trained, W16A8Library(build.library()))
    except build.NotBuilt as reason:
        found = W16A8Network(graph, trained)
        found.arithmetic = f"{found.arithmetic} ({reason})"
        return found
