"""The method on a graph by its settings, for tests that draw settings rather than name a method."""

from __future__ import annotations

from hil.graph.graph import Graph
from hil.methods import GraphMethod
from hil.methods.deepzero import DeepZero
from hil.methods.graph_settings import GraphSettings
from hil.methods.int8_bp import Int8Bp
from hil.methods.poor_mans_training import PoorMansTraining
from hil.methods.tinytrain import TinyTrain


def on_graph(graph: Graph, settings: GraphSettings, in_flash: bool = False) -> GraphMethod:
    """Return the method whose training loop the settings name."""
    kinds = {kind.loop: kind for kind in (PoorMansTraining, DeepZero, Int8Bp, TinyTrain)}
    return kinds[settings.method](graph, settings, in_flash)
