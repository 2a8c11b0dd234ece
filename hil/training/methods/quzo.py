"""QuZO: zeroth order with stochastic rounding on quantized weights (docs/arithmetic-quzo.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hil.training.graph.formats import Format
from hil.training.graph.graph import Graph
from hil.training.methods import quzo_refusals
from hil.training.methods.forward_figures import ForwardFigures, ForwardRequest
from hil.training.methods.method import Method
from hil.training.methods.quzo_plan import QuzoPlan
from hil.training.methods.quzo_settings import QuzoSettings
from hil.training.methods.quzo_tensors import trained_tensors


@dataclass(frozen=True)
class QuzoFigures(ForwardFigures):
    """The figures."""

    EQUATION = "QuZO, inference and trained weights"

    plan: QuzoPlan

    def moved(self) -> int:
        """The weights in whose steps epsilon is not 0."""
        return sum(
            int(np.broadcast_to(tensor.parts != 0, self.plan.network.own[tensor.layer].weights.shape).sum())
            for tensor in self.plan.trained_tensors
        )


@dataclass(frozen=True)
class Quzo(Method):
    """The method on the last layers of a network."""

    name = "quzo"
    docs = "docs/arithmetic-quzo.md"
    loop = "quzo"
    reference = "hil.training.reference.methods.quzo:QuzoReference"
    format = Format.W16A8
    kind = QuzoSettings
    plan_of = QuzoPlan
    request_of = ForwardRequest
    figures_of = QuzoFigures
    default_variant = "full"
    variants: ClassVar[Mapping[str, Any]] = {
        "full": {},
        "linear-probe": {"last_layers": 1},
        "last-3": {"last_layers": 3},
        "two-directions": {"directions": 2},
    }
    in_flash_too = True
    smaller = "linear-probe or last-3, which train fewer layers, or a smaller network"
    cell: ClassVar[Mapping[str, Any]] = {  # resnet-tiny has a channel with a step so small that epsilon is, too
        "batch": 2,
        "steps": 2,
        "settings": {"epsilon": 2e-4, "eta": 1e-5},
    }

    settings: QuzoSettings

    @classmethod
    def trains(cls, formats: Sequence[Format]) -> bool:
        """Return whether it trains networks whose layers have these formats: all `w16a8`, or all `tflite8`."""
        return len(formats) == 1 and formats[0] in quzo_refusals.TRAINED

    @classmethod
    def on(cls, network: Graph, variant: str, **settings: Any) -> Quzo:
        """Return the method in a variant on a network; arguments and errors as of `Method`."""
        cls.check_variant(variant)
        QuzoSettings.check_names(settings)
        chosen = QuzoSettings(**{**cls.variants[variant], **settings})
        quzo_refusals.check(network, chosen, trained_tensors(network, chosen))
        return cls(network, chosen)
