"""Methods on `tflite8` with what there is of them in C: the same bits as NumPy's, in less time."""

from __future__ import annotations

from hil.training.graph.graph import Graph
from hil.training.methods.graph_settings import GraphSettings
from hil.training.reference.methods.back_propagation import BackPropagation
from hil.training.reference.methods.poor_mans import PoorMans
from hil.training.reference.methods.tinytrain import TinyTrainReference
from hil.training.reference.methods.trained_graph import TrainedGraph
from hil.training.reference.native import build
from hil.training.reference.native.tflite8.library import Tflite8Library, runs
from hil.training.reference.native.tflite8.methods import EvaluatedBackPropagation, EvaluatedTinyTrain, NativePoorMans

# By training loop, in NumPy and with C: Poor Man's Training as a whole, the others when they evaluate.
KINDS = {
    "poor-mans": (PoorMans, NativePoorMans),
    "bp": (BackPropagation, EvaluatedBackPropagation),
    "tinytrain": (TinyTrainReference, EvaluatedTinyTrain),
}


def fastest(graph: Graph, settings: GraphSettings) -> TrainedGraph:
    """Return a method, one of `KINDS`, with C where this computer can build it, else in NumPy, which says why."""
    plain, native = KINDS[settings.method]
    if not runs(graph):
        return _plain(plain(graph, settings), "the C has not all operations of this network")
    try:
        return native(graph, settings, Tflite8Library(build.library()))
    except build.NotBuilt as reason:
        return _plain(plain(graph, settings), str(reason))


def _plain(found: TrainedGraph, reason: str) -> TrainedGraph:
    found.arithmetic = f"{found.arithmetic} ({reason})"
    return found
