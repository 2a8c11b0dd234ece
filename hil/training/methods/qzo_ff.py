"""QZO-FF: forward gradients by the signs of loss differences, in integers (docs/arithmetic-qzo-ff.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from hil.training.graph.formats import Format
from hil.training.graph.graph import Graph
from hil.training.methods import qzo_ff_refusals
from hil.training.methods.forward_figures import ForwardFigures, ForwardRequest
from hil.training.methods.method import Method
from hil.training.methods.qzo_ff_plan import QzoFfPlan
from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.methods.qzo_ff_tensors import trained_tensors


@dataclass(frozen=True)
class QzoFfRequest(ForwardRequest):
    """The request: two passes for each direction."""

    plan: QzoFfPlan

    def fault_of_weights(self, settings: QzoFfSettings) -> str:
        """Name a threshold that selects no weight, or a normalised rate that rounds to nothing, with these weights."""
        return qzo_ff_refusals.fault_of_weights(self.plan.network, settings, self.plan.trained_tensors)

    def kept_state(self, settings: QzoFfSettings) -> tuple[str, str] | None:
        """Momentum, moments, or a mask that depends on the first weights."""
        if settings.guide:
            return "the momentum of guided sampling", "set guide to 0"
        if settings.optimizer == "adamw":
            return "what adamw keeps", "set optimizer to plain"
        if settings.sparse in ("top", "threshold"):
            return "the mask of the first weights", "set sparse to off or random"
        return None


@dataclass(frozen=True)
class QzoFfFigures(ForwardFigures):
    """The figures."""

    EQUATION = "QZO-FF, inference and trained weights"

    plan: QzoFfPlan

    @cached_property
    def still(self) -> dict[str, list[str]]:
        """The names of the tensors in which a setting rounds to nothing, by setting."""
        return qzo_ff_refusals.still(self.plan.network, self.plan.settings, self.plan.trained_tensors)

    def remarks(self) -> tuple[str, ...]:
        """Return a sentence for every setting that rounds to nothing in some tensors."""
        return tuple(
            f"setting {name} rounds to nothing in {', '.join(tensors)} (docs/arithmetic-qzo-ff.md, section 9)."
            for name, tensors in self.still.items()
        )

    def moved(self) -> int:
        """All elements, unless most of them are masked or still."""
        moves = self.plan.settings.sparse == "off" and "epsilon" not in self.still
        return self.weights_by_zo() if moves else 0


@dataclass(frozen=True)
class QzoFf(Method):
    """The method on the last layers of a network."""

    name = "qzo-ff"
    docs = "docs/arithmetic-qzo-ff.md"
    loop = "qzo-ff"
    reference = "hil.training.reference.methods.qzo_ff:QzoFfReference"
    format = Format.W16A8
    kind = QzoFfSettings
    plan_of = QzoFfPlan
    request_of = QzoFfRequest
    figures_of = QzoFfFigures
    default_variant = "full"
    variants: ClassVar[Mapping[str, Any]] = {
        "full": {},
        "linear-probe": {"last_layers": 1},
        "last-3": {"last_layers": 3},
        "adamw": {"optimizer": "adamw"},
        "binomial": {"distribution": "binomial"},
        "guided": {"guide": 128},
        "sharpness": {"rho": 0.001},
        "sparse": {"sparse": "top"},
        "normalised": {"normalise": 1},
        "enhanced": {"guide": 128, "rho": 0.001, "sparse": "top", "normalise": 1},
    }
    in_flash_too = True
    smaller = "linear-probe or last-3, which train fewer layers, no guide or adamw, or a smaller network"
    cell: ClassVar[Mapping[str, Any]] = {"batch": 2, "steps": 2}

    settings: QzoFfSettings

    @classmethod
    def on(cls, network: Graph, variant: str, **settings: Any) -> QzoFf:
        """Return the method in a variant on a network; arguments and errors as of `Method`."""
        cls.check_variant(variant)
        QzoFfSettings.check_names(settings)
        chosen = QzoFfSettings(**{**cls.variants[variant], **settings})
        qzo_ff_refusals.check(network, chosen, trained_tensors(network, chosen))
        return cls(network, chosen)
