"""The base of every training method: its name, variants and settings, and its plan, its request and its figures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hil.errors import RigError, close_matches
from hil.training.graph.formats import Format
from hil.training.graph.graph import Graph
from hil.training.methods.figures import MethodFigures
from hil.training.methods.plan import MethodPlan
from hil.training.methods.request import MethodRequest


@dataclass(frozen=True)
class Method(ABC):
    """A training method on a network.

    Class attributes:
        name: in `TrialSpec.method`.
        docs: the page that defines it.
        loop: name of the training loop in the reference and in the firmware; several methods may share one.
        reference: class of the loop, a `hil.training.reference.methods.MethodReference`, as `module:Class`.
        format: of the networks that it trains (`trains` has those of a method of several).
        kind: class of its settings; its `table` describes each (methods.toml).
        plan_of, request_of, figures_of: classes of its plan, its request and its figures.
        variants: the settings of each variant in which it differs from the defaults.
        default_variant: where none is named.
        numbered_variant: a variant with any number in its name, and what the number is; empty: there is none.
        learning_variants: those whose accuracy must rise in a long trial.
        in_flash_too: whether its networks may stay in flash.
        cell: batch, steps and settings of a cell of the matrix.
        smaller: advice on what needs less memory.

    Attributes:
        network: the graph with its first weights.
        settings: before the first change of the schedule.
        in_flash: whether the network file lies in the board's flash, and only what is trained in RAM.
    """

    name: ClassVar[str]
    docs: ClassVar[str]
    loop: ClassVar[str]
    reference: ClassVar[str]
    format: ClassVar[Format]
    kind: ClassVar[Any]
    plan_of: ClassVar[type[MethodPlan]]
    request_of: ClassVar[type[MethodRequest]] = MethodRequest
    figures_of: ClassVar[type[MethodFigures]]
    variants: ClassVar[Mapping[str, Mapping[str, Any]]]
    default_variant: ClassVar[str]
    numbered_variant: ClassVar[str] = ""
    learning_variants: ClassVar[tuple[str, ...]] = ()
    in_flash_too: ClassVar[bool]
    cell: ClassVar[Mapping[str, Any]]
    smaller: ClassVar[str]

    network: Graph
    settings: Any
    in_flash: bool = False

    @classmethod
    def trains(cls, formats: Sequence[Format]) -> bool:
        """Return whether it trains networks whose layers have these formats."""
        return tuple(formats) == (cls.format,)

    @classmethod
    def variants_on(cls, formats: Sequence[Format]) -> tuple[str, ...]:
        """Return the variants that train networks whose layers have these formats."""
        return tuple(cls.variants) if cls.trains(formats) else ()

    @classmethod
    def check_variant(cls, variant: str) -> None:
        """Raise RigError for an unknown variant."""
        if variant not in cls.variants:
            raise RigError(f"the method {cls.name} has no variant {variant!r}: {close_matches(variant, cls.variants)}")

    @classmethod
    @abstractmethod
    def on(cls, network: Graph, variant: str, **settings: Any) -> Method:
        """Return the method in a variant on a network, with settings in which it differs from the variant.

        Raises:
            RigError: an unknown variant or setting, or a value out of range.
            Blocked: the variant cannot train this network.
        """

    @cached_property
    def plan(self) -> MethodPlan:
        """What is trained, and where it lies."""
        return self.plan_of(self.network, self.settings, self.in_flash)

    @cached_property
    def request(self) -> MethodRequest:
        """What the agent is asked."""
        return self.request_of(self.plan, self.loop)

    @cached_property
    def figures(self) -> MethodFigures:
        """What is known of a step without a board."""
        return self.figures_of(self.plan, self.request)

    @property
    def facts(self) -> Mapping[str, Any]:
        """What network and settings decide together of where settings act; `[facts]` of methods.toml has the names."""
        return {}

    def given(self, arrays: Sequence[np.ndarray]) -> Method:
        """Return the method on the network with other first weights, in the order of `plan.arrays`."""
        return replace(self, network=self.plan.with_arrays(arrays))

    def resident(self, arena: int, places: Sequence[bool]) -> Method:
        """Return the method in the plainest form that fits an arena of so many bytes; the last one if none does.

        `places` says whether the network file may lie in flash, in the order in which places are tried.
        """
        found = self
        for in_flash in places if self.in_flash_too else ():
            found = replace(self, in_flash=in_flash)
            if found.plan.memory(1).fits(arena):
                break
        return found

    def last_layer(self, samples: int) -> Method | None:
        """Return the method on the last layer alone, with a batch of so many samples; None where it cannot be alone."""
        return None
