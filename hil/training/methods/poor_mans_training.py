"""Poor Man's Training: zeroth order layer by layer or all at once, by perturbed weights or nodes (PMT, algorithm 1).

MeZO, bias only and last layer only are settings of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from hil.training.methods.graph_figures import GraphFigures
from hil.training.methods.graph_method import GraphMethod
from hil.training.methods.graph_plan import GraphPlan


class PoorMansPlan(GraphPlan):
    """The plan: seeds and losses of all queries of a layer are kept."""

    @property
    def kept_queries(self) -> int:
        """Queries of a layer whose seeds and losses are kept: all."""
        return self.settings.queries


class PoorMansFigures(GraphFigures):
    """The figures: the number of passes is known."""

    def least_runs(self) -> Sequence[int]:
        """Return how often each layer runs in a step."""
        return self.step_work().runs


@dataclass(frozen=True)
class PoorMansTraining(GraphMethod):
    """The method."""

    name = "poor-mans-training"
    loop = "poor-mans"
    reference = "hil.training.reference.methods.poor_mans:PoorMans"
    plan_of = PoorMansPlan
    figures_of = PoorMansFigures
    cell: ClassVar[Mapping[str, Any]] = {"batch": 1, "steps": 2, "settings": {"queries": 2}}
    default_variant = "adaptive"
    variants: ClassVar[Mapping[str, Any]] = {
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
    }


@dataclass(frozen=True)
class Mezo(PoorMansTraining):
    """All weights at once, with central differences of one query."""

    name = "mezo"
    default_variant = "mezo"
    variants: ClassVar[Mapping[str, Any]] = {
        "mezo": {"perturb": "weight", "wise": "model", "difference": "central", "queries": 1, "gns": 0, "qas": 0}
    }
    cell: ClassVar[Mapping[str, Any]] = {"batch": 1, "steps": 2}


@dataclass(frozen=True)
class LastLayer(PoorMansTraining):
    """The last layer only."""

    name = "last-layer"
    default_variant = "adaptive"
    variants: ClassVar[Mapping[str, Any]] = {"adaptive": {"train": "last"}}


@dataclass(frozen=True)
class BiasOnly(PoorMansTraining):
    """The biases only."""

    name = "bias-only"
    default_variant = "adaptive"
    variants: ClassVar[Mapping[str, Any]] = {"adaptive": {"train": "bias"}}
