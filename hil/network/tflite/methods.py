"""The methods of the second family by name, with the settings that make them (docs/arithmetic-zeroth-order.md, section 8).

MCUTrain finds the layers that it trains beforehand, by search; here they are the pointwise layers of block 3, which Poor Man's Training
trains of MCUNet when it is compared with it (its table 11: the same trainable parameters).
"""

from __future__ import annotations

from typing import Any

from hil.errors import RigError, close_matches
from hil.network.checks import check_names
from hil.network.tflite.settings import GraphSettings

METHODS: dict[str, dict[str, dict[str, Any]]] = {
    "poor-mans-training": {
        "adaptive": {},
        "weight": {"perturb": "weight"},
        "node": {"perturb": "node"},
        "model-weight": {"perturb": "weight", "wise": "model"},
        "model-node": {"perturb": "node", "wise": "model"},
        "selected": {"train": "pointwise"},
        "block1": {"train": "pointwise", "blocks": 1},
        "block2": {"train": "pointwise", "blocks": 2},
        "block3": {"train": "pointwise", "blocks": 4},
        "block4": {"train": "pointwise", "blocks": 8},
    },
    "mezo": {"mezo": {"perturb": "weight", "wise": "model", "difference": "central", "queries": 1, "gns": 0, "qas": 0}},
    "deepzero": {
        "dense": {"method": "deepzero"},
        "sparse": {"method": "deepzero", "sparsity": 230},
        "last-sparse": {"method": "deepzero", "sparsity": 230, "train": "last"},
    },
    "last-layer": {"adaptive": {"train": "last"}},
    "bias-only": {"adaptive": {"train": "bias"}},
    "int8-bp": {"plain": {"method": "bp", "qas": 0}, "qas": {"method": "bp"}},
    "mcutrain": {"block3": {"method": "bp", "train": "pointwise", "blocks": 4, "momentum": 0.9}},
}
"""Variants of each method, the first of them its own: what differs from the defaults of GraphSettings."""


def graph_settings(method: str, variant: str, **others: Any) -> GraphSettings:
    """Return the settings of a variant of a method.

    Raises:
        RigError: an unknown variant or setting, or a value out of range.
    """
    variants = METHODS[method]
    if variant not in variants:
        raise RigError(f"the method {method} has no variant {variant!r}: {close_matches(variant, variants)}")
    check_names(others, GraphSettings.__dataclass_fields__)
    return GraphSettings(**(variants[variant] | others))
