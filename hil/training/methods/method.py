"""The base of every training method: a network with settings, and what trial, report and matrix ask of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hil.training.graph.file import encode
from hil.training.graph.graph import Format, Graph
from hil.training.graph.plan import Plan
from hil.training.methods.least_cycles import LeastCycles
from hil.training.methods.settings import MethodSettings
from hil.training.methods.step_work import Work

Bookings = tuple[dict[str, int], tuple[list[int], list[int]]]  # a step's, by phase, and by layer forward and backward


@dataclass(frozen=True)
class Tensor:
    """A trained tensor: its name, and its type and number of elements."""

    name: str
    dtype: str
    elements: int

    @property
    def size(self) -> int:
        """Bytes."""
        return self.elements * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Method(ABC):
    """A training method on a network.

    Class attributes:
        name: in `TrialSpec.method`.
        docs: the page that defines it.
        loop: name of the training loop in the reference and in the firmware; several methods may share one.
        reference: class of the loop, a `hil.training.reference.methods.Reference`, as `module:Class`.
        format: of the networks that it trains (`trains` has those of a method of several).
        kind: class of its settings; its `table` describes each (methods.toml).
        variants: the settings of each variant in which it differs from the defaults.
        default_variant: where none is named.
        learning_variants: those whose accuracy must rise in a long trial.
        chosen: whether the settings choose what is trained; else every tensor of the network file is.
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
    variants: ClassVar[Mapping[str, Mapping[str, Any]]]
    default_variant: ClassVar[str]
    learning_variants: ClassVar[tuple[str, ...]] = ()
    chosen: ClassVar[bool]
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
    @abstractmethod
    def on(cls, network: Graph, variant: str, **settings: Any) -> Method:
        """Return the method in a variant on a network, with settings in which it differs from the variant.

        Raises:
            RigError: an unknown variant or setting, or a value out of range.
            Blocked: the variant cannot train this network.
        """

    @cached_property
    def layers(self) -> tuple[str, ...]:
        """Names of all layers."""
        return tuple(layer.name for layer in self.network.layers)

    @cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        """What is trained, input to output."""
        return tuple(Tensor(name, array.dtype.name, array.size) for name, array in self.arrays)

    @property
    @abstractmethod
    def arrays(self) -> tuple[tuple[str, np.ndarray], ...]:
        """Name and first values of every trained tensor, input to output."""

    @abstractmethod
    def with_arrays(self, arrays: Sequence[np.ndarray]) -> Graph:
        """Return the network with other trained tensors, in the order of `arrays`."""

    def given(self, arrays: Sequence[np.ndarray]) -> Method:
        """Return the method on the network with other first weights."""
        return replace(self, network=self.with_arrays(arrays))

    def fault_of_weights(self, settings: Any) -> str:
        """Return why the first weights cannot be trained with some settings, a sentence; empty if they can."""
        return ""

    def kept_state(self, settings: Any) -> tuple[str, str] | None:
        """Return what a step leaves for the next one besides the trained tensors, and how to turn it off."""
        return None

    def resident(self, arena: int, places: Sequence[bool]) -> Method:
        """Return the method in the plainest form that fits an arena of so many bytes; the last one if none does.

        `places` says whether the network file may lie in flash, in the order in which places are tried.
        """
        found = self
        for in_flash in places if self.in_flash_too else ():
            found = replace(self, in_flash=in_flash)
            if found.plan(1).fits(arena):
                break
        return found

    def file(self, arrays: Sequence[np.ndarray] | None = None) -> bytes:
        """Return the network file, with other trained tensors if some are given (docs/network.md)."""
        return encode(self.network if arrays is None else self.with_arrays(arrays))

    @abstractmethod
    def plan(self, slots: int) -> Plan:
        """Return the memory plan of a board that holds so many samples."""

    @abstractmethod
    def slots(self) -> tuple[str, ...]:
        """Return the names of the plan's time slots."""

    @abstractmethod
    def places(self, plan: Plan) -> tuple[int, ...]:
        """Return where each trained tensor lies, as an offset in the arena."""

    def configuration(self, settings: MethodSettings, slots: int, first_step: int) -> dict[str, Any]:
        """Return the fields of the request `configure` that sets the method."""
        return settings.request_fields(self.loop, slots, first_step)

    @abstractmethod
    def passes(self) -> int:
        """Return how often a batch that comes in parts goes through the board in a step."""

    @abstractmethod
    def streams(self) -> bool:
        """Return whether a batch may come in parts."""

    def shows(self, stage: int) -> bool:
        """Return whether the board can show a stage of a traced sample."""
        return True

    @abstractmethod
    def first_wrong(self, tensors: Sequence[int], losses_agree: bool) -> int:
        """Return which of the tensors that differ went wrong first."""

    @abstractmethod
    def analytic(self) -> dict[str, Any]:
        """Return what the paper's formulas give."""

    def remarks(self) -> tuple[str, ...]:
        """Return sentences for the warnings of a record."""
        return ()

    def bookings(self) -> Bookings | None:
        """Return how often a step books cycles (docs/performance.md); None where the board counts the bookings."""
        return None

    def work(self) -> Work | None:
        """Return the passes of a step; None where draws decide how many there are, or the board counts none."""
        return None

    @abstractmethod
    def least_cycles(self) -> LeastCycles:
        """Return the fewest cycles that a step takes on any core."""

    def last_layer(self, samples: int) -> Method | None:
        """Return the method on the last layer alone, with a batch of so many samples; None where it cannot be alone."""
        return None

    def integers_only(self) -> bool:
        """Return whether the sign of a step comes from integers alone (INT8*)."""
        return False

    @abstractmethod
    def step_macs(self) -> int:
        """Return the multiply-accumulates of a step."""

    def budget_scope(self) -> str:
        """Return the exponent scope whose budgets hold (the catalogue's `budget`); empty where there are none."""
        return ""
