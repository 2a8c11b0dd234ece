"""What a step costs by count (PMT, section 4.3): layer runs and multiply-accumulates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hil.training.graph.graph import Graph


@dataclass(frozen=True)
class Work:
    """Runs of each layer in a step, forward and backward, and the multiply-accumulates of all."""

    runs: tuple[int, ...]
    macs: int

    @property
    def layer_runs(self) -> int:
        """All runs of all layers."""
        return sum(self.runs)

    @classmethod
    def of(cls, graph: Graph, runs: Sequence[int]) -> Work:
        """Return the work of forward runs."""
        return cls(tuple(runs), sum(each * layer.macs for each, layer in zip(runs, graph.layers, strict=True)))
