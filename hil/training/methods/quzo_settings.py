"""The settings of QuZO (docs/arithmetic-quzo.md, section 5)."""

from __future__ import annotations

from dataclasses import dataclass

from hil.training.graph.graph import Graph
from hil.training.methods.settings_fields import QuzoFields


@dataclass(frozen=True)
class QuzoSettings(QuzoFields):
    """Settings of QuZO; methods.toml describes each."""

    def trained(self, graph: Graph) -> tuple[int, ...]:
        """Return the indices of the trained layers, input to output."""
        return tuple(graph.own)[-self.last_layers :]
