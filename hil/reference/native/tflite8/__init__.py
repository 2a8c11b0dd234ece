"""Poor Man's Training on `tflite8` in C: the same bits as NumPy's, in less time."""

from __future__ import annotations

from hil.graph.graph import Graph
from hil.methods.graph_settings import GraphSettings
from hil.reference.methods.poor_mans import PoorMans
from hil.reference.native import build
from hil.reference.native.tflite8.library import Native, runs
from hil.reference.native.tflite8.poor_mans import NativePoorMans


def fastest(graph: Graph, settings: GraphSettings) -> PoorMans:
    """Return Poor Man's Training in C where this computer can build it, else in NumPy, which says why."""
    if not runs(graph):
        return _plain(graph, settings, "the C has not all operations of this network")
    try:
        return NativePoorMans(graph, settings, Native(build.library()))
    except build.NotBuilt as reason:
        return _plain(graph, settings, str(reason))


def _plain(graph: Graph, settings: GraphSettings, reason: str) -> PoorMans:
    found = PoorMans(graph, settings)
    found.arithmetic = f"{found.arithmetic} ({reason})"
    return found
