"""Perturbed scales: zeroth order on the scales of output channels, the weights as they are.

docs/arithmetic-quzo.md, sections 7 to 10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from hil.training.graph.formats import Format
from hil.training.graph.graph import Graph
from hil.training.methods import perturbed_scales_refusals
from hil.training.methods.forward_figures import ForwardFigures, ForwardRequest
from hil.training.methods.method import Method
from hil.training.methods.perturbed_scales_plan import PerturbedScalesPlan
from hil.training.methods.perturbed_scales_settings import PerturbedScalesSettings


@dataclass(frozen=True)
class PerturbedScalesRequest(ForwardRequest):
    """The request: two passes."""

    plan: PerturbedScalesPlan

    def fault_of_weights(self, settings: PerturbedScalesSettings) -> str:
        """Name first gains that no pass can have."""
        return perturbed_scales_refusals.fault_of_gains(self.plan.network, settings.trained(self.plan.network))


@dataclass(frozen=True)
class PerturbedScalesFigures(ForwardFigures):
    """The figures."""

    EQUATION = "perturbed scales, inference and gains"

    plan: PerturbedScalesPlan

    def moved(self) -> int:
        """All gains."""
        return self.weights_by_zo()


@dataclass(frozen=True)
class PerturbedScales(Method):
    """The method on the last layers of a network."""

    name = "perturbed-scales"
    docs = "docs/arithmetic-quzo.md"
    loop = "perturbed-scales"
    reference = "hil.training.reference.methods.perturbed_scales:PerturbedScalesReference"
    format = Format.TFLITE8
    kind = PerturbedScalesSettings
    plan_of = PerturbedScalesPlan
    request_of = PerturbedScalesRequest
    figures_of = PerturbedScalesFigures
    default_variant = "full"
    variants: ClassVar[Mapping[str, Any]] = {
        "full": {},
        "linear-probe": {"last_layers": 1},
        "last-3": {"last_layers": 3},
    }
    in_flash_too = True
    smaller = "linear-probe or last-3, which train fewer layers, or a smaller network"
    cell: ClassVar[Mapping[str, Any]] = {"batch": 2, "steps": 2}

    settings: PerturbedScalesSettings

    @classmethod
    def on(cls, network: Graph, variant: str, **settings: Any) -> PerturbedScales:
        """Return the method in a variant on a network; arguments and errors as of `Method`."""
        cls.check_variant(variant)
        PerturbedScalesSettings.check_names(settings)
        chosen = PerturbedScalesSettings(**{**cls.variants[variant], **settings})
        perturbed_scales_refusals.check(network, chosen)
        return cls(network, chosen)
