"""The method on a graph by its settings, for tests that draw settings rather than name a method."""

from __future__ import annotations

from hil.training.graph.graph import Graph
from hil.training.methods import GraphMethod
from hil.training.methods.deepzero import DeepZero
from hil.training.methods.graph_settings import GraphSettings
from hil.training.methods.int8_bp import Int8Bp
from hil.training.methods.poor_mans_training import PoorMansTraining
from hil.training.methods.tinytrain import TinyTrain


def on_graph(graph: Graph, settings: GraphSettings, in_flash: bool = False) -> GraphMethod:
    """Return the method whose training loop the settings name."""
    kinds = {kind.loop: kind for kind in (PoorMansTraining, DeepZero, Int8Bp, TinyTrain)}
    return kinds[settings.method](graph, settings, in_flash)
