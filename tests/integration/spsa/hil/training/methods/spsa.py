"""SPSA: one two-sided query a step, with one direction for all samples (docs/arithmetic-spsa.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from hil.training.methods.graph_method import GraphMethod
from hil.training.methods.step_work import Work

SIDES = 2


@dataclass(frozen=True)
class Spsa(GraphMethod):
    """The method."""

    name = "spsa"
    docs = "docs/arithmetic-spsa.md"
    loop = "spsa"
    reference = "hil.training.reference.methods.spsa:Spsa"
    default_variant = "all"
    variants: ClassVar[Mapping[str, Any]] = {"all": {}, "last": {"train": "last"}}
    cell: ClassVar[Mapping[str, Any]] = {"batch": 1, "steps": 2, "settings": {}}

    @property
    def sums_gradients(self) -> bool:
        """No: the gradient follows from the sums of the losses."""
        return False

    def passes(self) -> int:
        """One for each side of the query."""
        return SIDES

    def least_runs(self) -> Sequence[int]:
        """Return how often each layer runs in a step: once a sample and side."""
        return (SIDES * self.settings.batch,) * len(self.layers)

    def step_work(self) -> Work:
        """Count the work of a step of `settings.batch` samples."""
        return Work.of(self.network, self.least_runs())
