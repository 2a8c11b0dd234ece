"""The settings of the methods that train graphs (docs/arithmetic-zeroth-order.md, section 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hil.errors import RigError, shown
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Node
from hil.training.methods.settings import only
from hil.training.methods.settings_fields import Tflite8Fields

TABLE = Tflite8Fields.table
LIMITS = {name: setting.limits for name, setting in TABLE.items() if setting.limits}
POINTWISE_LAST = "pointwise-last"
POINTWISE = ("pointwise", POINTWISE_LAST)  # values of `train` with the pointwise layers of the blocks
LARGEST_ETA: float = TABLE["eta"].most or 0.0


@dataclass(frozen=True)
class GraphSettings(Tflite8Fields):
    """Settings of a method that trains graphs; methods.toml describes each."""

    def check_together(self) -> None:
        """Raise RigError for settings that do not go together."""
        if self.train == "bias" and not self.train_bias:
            raise RigError("setting train_bias is 0 with train = 'bias': nothing would be trained, leave it at 1.")
        for name, (value, reason) in only(self.method).items():
            if getattr(self, name) != value:
                raise RigError(
                    f"setting {name} is {shown(getattr(self, name))} with {self.method}: {reason}, choose "
                    f"{shown(value)}."
                )
        if self.difference == "central" and self.perturb != "weight":
            raise RigError(
                f"setting difference is 'central' with perturb = {self.perturb!r}: it goes with perturb = 'weight' "
                "only."
            )

    @classmethod
    def of_loop(cls, loop: str, **others: Any) -> GraphSettings:
        """Return the settings of a training loop; what the loop takes one value of has this value unless given."""
        return cls(**{"method": loop, **{name: value for name, (value, _) in only(loop).items()}, **others})

    def trains(self, graph: Graph, index: int) -> bool:
        """Return whether a layer is trained (section 2)."""
        layer = graph.layers[index]
        if layer.own is None:
            return False
        if self.train in ("last", POINTWISE_LAST) and index == max(graph.own):
            return True
        if self.train == "last" or not self.blocks >> (layer.block - 1) & 1:
            return False
        return self.train not in POINTWISE or layer.op is Op.POINTWISE

    def trained(self, graph: Graph) -> tuple[int, ...]:
        """Return the indices of the trained layers, input to output."""
        return tuple(index for index in range(len(graph.layers)) if self.trains(graph, index))

    @property
    def sides(self) -> int:
        """Perturbed passes of a query."""
        return 2 if self.difference == "central" else 1

    @property
    def trains_weights(self) -> bool:
        """Whether weights are trained, not biases alone."""
        return self.train != "bias"

    def coordinates(self, layer: Node) -> int:
        """Return how many numbers of a trained layer are trained: weights and biases."""
        return layer.weight_count * self.trains_weights + layer.channels * self.train_bias

    def by_nodes(self, layer: Node) -> bool:
        """Return whether a trained layer has its nodes perturbed rather than its weights (section 2)."""
        if self.method != "poor-mans":
            return False
        d_w = layer.weight_count if self.trains_weights else layer.channels
        return self.perturb == "node" or (self.perturb == "adaptive" and d_w >= layer.out_size)
