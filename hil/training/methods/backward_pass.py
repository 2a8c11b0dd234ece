"""The backward pass through a graph: which layers errors reach, and when (docs/memory.md, back-propagation)."""

from __future__ import annotations

from collections.abc import Sequence

from hil.errors import RigError
from hil.training.graph.formats import GATED, POOLS, SPREADING, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Node
from hil.training.graph.plan import Span

LOOKING = (Op.MAX_POOL, Op.HARD_SWISH, Op.MULTIPLY)  # they need what they read to pass an error on


class BackwardPass:
    """Layers that errors reach, and time slots of the backward pass; `weights_too`: not biases alone are trained.

    Attributes:
        first: the first trained layer.
        reached: the layers whose output has an error.

    Raises:
        RigError: a pool or a table that errors cannot be handed through.
    """

    def __init__(self, graph: Graph, trained: Sequence[int], weights_too: bool) -> None:
        self.graph, self.first = graph, min(trained)
        self.n = len(graph.layers)
        self._seen = set(trained) if weights_too else set()
        self.reached = {self.n - 1}
        for index in range(self.n - 1, self.first - 1, -1):
            if index in self.reached:
                self.reached |= {value - 1 for value in graph.layers[index].reads if self.has_error(value)}
        check_passable(graph.layers[self.first :])

    def has_error(self, value: int) -> bool:
        """Return whether errors are handed on to a value."""
        return value - 1 >= self.first

    def passes_on(self, index: int) -> bool:
        """Return whether a reached layer hands an error on."""
        return any(self.has_error(value) for value in self.graph.layers[index].reads)

    def slot(self, index: int) -> int:
        """Return when a layer is passed; the loss is what number n stands for."""
        return 2 * self.n - index

    def last_read(self, value: int) -> int | None:
        """Return the last slot in which a value is needed by the backward pass, None where it is not."""
        layers, maker = self.graph.layers, value - 1
        slots = [self.slot(maker)] if maker in self.reached and layers[maker].op in GATED else []
        slots += [self.slot(index) for index in self.reached if value in layers[index].reads and self._looks(index)]
        return max(slots, default=None)

    def _looks(self, index: int) -> bool:
        layer = self.graph.layers[index]
        return index in self._seen or (layer.op in LOOKING and self.passes_on(index))

    def error(self, value: int) -> Span | None:
        """While a value has an error."""
        if value - 1 not in self.reached:
            return None
        return self.slot(self.last_reader(value)), self.slot(value - 1)

    def last_reader(self, value: int) -> int:
        """Return the layer that hands the first error on to a value, which is its last reader; n for the logits."""
        readers = (index for index in self.reached if value in self.graph.layers[index].reads)
        return max(readers, default=self.n)

    def sums(self, index: int) -> Span | None:
        """While the gradient of a trained layer is made."""
        return (self.slot(index), self.slot(index)) if index in self.reached else None

    def back(self, index: int) -> Span | None:
        """While a layer works on its input's error in memory of its own."""
        layer = self.graph.layers[index]
        if index not in self.reached or layer.op is Op.ADD or not self.has_error(layer.reads[0]):
            return None
        if layer.op in SPREADING and self.last_reader(layer.reads[0]) == index:
            return None
        return self.slot(index), self.slot(index)


def check_passable(layers: Sequence[Node]) -> None:
    """Check that errors can be handed through the pools among some layers, and that there is no table among them.

    Raises:
        RigError: windows of a pool overlap or leave the image, or there is a table.
    """
    for layer in layers:
        if layer.op is Op.TABLE:
            raise RigError(
                f"layer {layer.name} is a table, which has no derivative for back-propagation: choose a method of "
                "zeroth order, or train layers behind it only (another variant, or blocks)."
            )
        axes = zip(layer.kernel, layer.stride, layer.pad, layer.in_shape[:2], layer.out_shape[:2], strict=True)
        apart = all(
            not pad and (out - 1) * stride + kernel <= size and (out == 1 or stride >= kernel)
            for kernel, stride, pad, size, out in axes
        )
        if layer.op in POOLS and not apart:
            raise RigError(
                f"layer {layer.name} has windows that overlap or leave the image, which back-propagation does not "
                "take: "
                "choose a method without it, or a network whose pools have neither."
            )
