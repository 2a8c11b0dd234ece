"""The training methods by name."""

from __future__ import annotations

from pkgutil import resolve_name

from hil.errors import RigError, close_matches
from hil.methods.graph_method import GraphMethod
from hil.methods.method import Method

# Module and class of each method, in the order in which they are listed (docs/new-method.md).
CLASSES = (
    "elasticzo_int8:ElasticZoInt8",
    "poor_mans_training:PoorMansTraining",
    "poor_mans_training:Mezo",
    "deepzero:DeepZero",
    "poor_mans_training:LastLayer",
    "poor_mans_training:BiasOnly",
    "int8_bp:Int8Bp",
    "int8_bp:Mcutrain",
    "tinytrain:TinyTrain",
    "elasticzo_fp32:ElasticZoFp32",
    "qzo_ff:QzoFf",
    "fqt:Fqt",
)
METHODS: dict[str, type[Method]] = {
    kind.name: kind for kind in (resolve_name(f"{__name__}.{place}") for place in CLASSES)
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
