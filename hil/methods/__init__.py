"""The training methods by name; each is a module of its own."""

from __future__ import annotations

from hil.errors import RigError, close_matches
from hil.methods.bias_only import BiasOnly
from hil.methods.deepzero import DeepZero
from hil.methods.elasticzo_int8 import ElasticZoInt8
from hil.methods.graph_method import GraphMethod
from hil.methods.int8_bp import Int8Bp
from hil.methods.last_layer import LastLayer
from hil.methods.mcutrain import Mcutrain
from hil.methods.method import Method
from hil.methods.mezo import Mezo
from hil.methods.poor_mans_training import PoorMansTraining

METHODS: dict[str, type[Method]] = {
    kind.name: kind for kind in (ElasticZoInt8, PoorMansTraining, Mezo, DeepZero, LastLayer, BiasOnly, Int8Bp, Mcutrain)
}

__all__ = ["METHODS", "GraphMethod", "Method", "find_method", "graph_method"]


def find_method(name: str) -> type[Method]:
    """Return a method by name.

    Raises:
        RigError: no such method.
    """
    if name not in METHODS:
        raise RigError(f"there is no method {name!r}: {close_matches(name, METHODS)}")
    return METHODS[name]


def graph_method(name: str) -> type[GraphMethod]:
    """Return a method that trains graphs by name.

    Raises:
        RigError: no such method, or one that does not train graphs.
    """
    kind = find_method(name)
    if not issubclass(kind, GraphMethod):
        graphs = [name for name, one in METHODS.items() if issubclass(one, GraphMethod)]
        raise RigError(f"the method {name} trains no graphs: choose {', '.join(graphs)}.")
    return kind
