"""The training methods by name."""

from __future__ import annotations

from typing import Any

from hil.errors import RigError
from hil.plugins import Registry
from hil.training.methods.graph_method import GraphMethod
from hil.training.methods.method import Method

# Module and class of each method of this package, in the order in which they are listed (docs/new-method.md).
HOUSE = {
    "elasticzo-int8": "elasticzo_int8:ElasticZoInt8",
    "poor-mans-training": "poor_mans_training:PoorMansTraining",
    "mezo": "poor_mans_training:Mezo",
    "deepzero": "deepzero:DeepZero",
    "last-layer": "poor_mans_training:LastLayer",
    "bias-only": "poor_mans_training:BiasOnly",
    "int8-bp": "int8_bp:Int8Bp",
    "mcutrain": "int8_bp:Mcutrain",
    "tinytrain": "tinytrain:TinyTrain",
    "elasticzo-fp32": "elasticzo_fp32:ElasticZoFp32",
    "qzo-ff": "qzo_ff:QzoFf",
    "fqt": "fqt:Fqt",
    "quzo": "quzo:Quzo",
    "perturbed-scales": "perturbed_scales:PerturbedScales",
}


def _accept(name: str, kind: Any) -> type[Method]:
    if not (isinstance(kind, type) and issubclass(kind, Method)) or kind.name != name:
        raise RigError("a method is offered as a class of hil.training.methods.Method whose `name` is that name")
    return kind


def _house() -> dict[str, str]:
    return {name: f"{__name__}.{place}" for name, place in HOUSE.items()}


METHODS = Registry("methods", "there is no method", _house, _accept)

__all__ = ["METHODS", "GraphMethod", "Method", "find_method", "graph_method"]


def find_method(name: str) -> type[Method]:
    """Return a method by name.

    Raises:
        RigError: no such method.
        Blocked: its plugin is broken.
    """
    return METHODS.find(name)


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
