"""The base of the methods that train graphs (docs/arithmetic-zeroth-order.md, docs/arithmetic-tflite.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from hil.errors import Blocked
from hil.training.graph.formats import Format, Op
from hil.training.graph.graph import Graph
from hil.training.methods.graph_figures import GraphFigures
from hil.training.methods.graph_plan import GraphPlan
from hil.training.methods.graph_settings import GraphSettings
from hil.training.methods.method import Method
from hil.training.methods.request import MethodRequest

SAVINGS: tuple[dict[str, Any], ...] = ({}, {"consumed": 1}, {"fused": 1}, {"consumed": 1, "fused": 1})


@dataclass(frozen=True)
class GraphRequest(MethodRequest):
    """The request of a method on a graph: each sample goes through all its queries before the next."""

    plan: GraphPlan

    def kept_state(self, settings: GraphSettings) -> tuple[str, str] | None:
        """Momentum."""
        return ("momentum", "set momentum to 0") if settings.momentum else None

    def shows(self, stage: int) -> bool:
        """All but those within a chain, which never exist whole."""
        return self.plan.liveness.whole(stage + 1)


@dataclass(frozen=True)
class GraphMethod(Method):
    """A method on the layers that its settings choose."""

    docs = "docs/arithmetic-zeroth-order.md"
    format = Format.TFLITE8
    kind = GraphSettings
    plan_of: ClassVar[type[GraphPlan]] = GraphPlan
    request_of: ClassVar[type[MethodRequest]] = GraphRequest
    figures_of: ClassVar[type[GraphFigures]] = GraphFigures
    in_flash_too = True
    smaller = "a variant that trains fewer layers (block1 to block4, last-layer), a batch of 1, or a smaller network"
    cell: ClassVar[Mapping[str, Any]] = {"batch": 1, "steps": 2}

    settings: GraphSettings

    @classmethod
    def settings_of(cls, variant: str, **others: Any) -> GraphSettings:
        """Return the settings of a variant.

        Raises:
            RigError: an unknown variant or setting, or a value out of range.
        """
        cls.check_variant(variant)
        GraphSettings.check_names(others)
        return GraphSettings.of_loop(cls.loop, **{**cls.variants[variant], **others})

    @classmethod
    def on(cls, network: Graph, variant: str, **settings: Any) -> GraphMethod:
        """Return the method in a variant on a network; arguments and errors as of `Method`."""
        chosen = cls.settings_of(variant, **settings)
        if chosen.train == "pointwise" and all(layer.op is not Op.POINTWISE for layer in network.layers):
            chosen = replace(chosen, train="all")  # a block of a network without pointwise layers is all of its layers
        found = cls(network, chosen)
        if not found.plan.trained:
            raise Blocked(
                "plan", f"{variant} trains no layer of {network.name}: choose another variant, or another network."
            )
        found.check(variant)
        return found

    def check(self, variant: str) -> None:
        """Raise an error if the method cannot train what its settings choose; `variant` is for the message."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """How many layers are trained."""
        return {"trained_layers": len(self.plan.trained)}

    @cached_property
    def plan(self) -> GraphPlan:
        """What is trained, and where it lies."""
        return self.plan_of(self.network, self.settings, self.in_flash)

    @cached_property
    def figures(self) -> GraphFigures:
        """What is known of a step without a board."""
        return self.figures_of(self.plan, self.request)

    def resident(self, arena: int, places: Sequence[bool]) -> GraphMethod:
        """Return the plainest form that fits: the file in RAM if possible, else in flash; then what saves memory.

        Where nothing fits it is the smallest form, for its figures.
        """
        found = replace(self, in_flash=places[0])
        for in_flash in places:
            for saving in SAVINGS if self.settings.batch == 1 else SAVINGS[::2]:
                found = replace(self, settings=replace(self.settings, **saving), in_flash=in_flash)
                if found.plan.memory(1).fits(arena):
                    return found
        return found
