"""When the buffers of a step on a graph live (docs/memory.md, groups and starts)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from hil.training.formats.tflite8 import ring_width
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.plan import Span
from hil.training.methods.backward_pass import BackwardPass
from hil.training.methods.graph_settings import GraphSettings

LONGEST_ROW = 65535  # positions of a ring


@dataclass(frozen=True)
class RunPart:
    """What is run at a time: the layers first..end - 1; only the clean prefix does not run to the last layer."""

    first: int
    end: int
    prefix: bool = False


class Liveness:
    """Groups, starts and intervals of slots; `backward` is None without back-propagation.

    Attributes:
        n: layers.
        trained: indices of the trained layers.
        by_nodes: those whose nodes are perturbed.
        joined: layers that run in the group of the layer before.
        starts: input to output, the prefix first.
        layerwise: whether each group with a trained layer has a start.
        consumes: whether samples may be consumed.
        end: the last slot of a step.
    """

    def __init__(self, graph: Graph, settings: GraphSettings, backward: BackwardPass | None = None) -> None:
        self.backward = backward
        self.n = len(graph.layers)
        self.trained = settings.trained(graph)
        self.by_nodes = {index for index in self.trained if settings.by_nodes(graph.layers[index])}
        self.end = backward.slot(backward.first) if backward else self.n + 1
        self.layerwise = settings.wise == "layer" and not backward
        self.consumes = self.layerwise or backward is not None
        self.joined = chained(graph, self.by_nodes) if settings.fused else set()
        if backward:
            self.joined = {index for index in self.joined if index < self.trained[0]}
        firsts = sorted({self.first(index) for index in self.trained}) if self.layerwise else [0]
        prefix = [RunPart(0, firsts[0], prefix=True)] if firsts[0] else []
        self.starts = (*prefix, *(RunPart(first, self.n) for first in firsts))
        readers = (graph.last_use(value) for value in range(self.n + 1))
        self._last_use = [last if last == self.n else self.last(last) for last in readers]

    def first(self, index: int) -> int:
        """Return the first layer of a layer's group."""
        while index in self.joined:
            index -= 1
        return index

    def last(self, index: int) -> int:
        """Return the last layer of a layer's group."""
        while index + 1 in self.joined:
            index += 1
        return index

    def whole(self, value: int) -> bool:
        """Return whether a value ever exists whole."""
        return value not in self.joined

    def keeps(self, start: RunPart, value: int) -> bool:
        """Return whether a start keeps a value that was made before it."""
        return value - 1 < start.first <= self._last_use[value] and self.whole(value)

    def kept(self, start: RunPart, value: int) -> Span:
        """While a value that is kept has to stay."""
        if self.backward:
            return -1, self._last_slot(value)
        return -1, min(self._last_use[value], start.end) if start.prefix else self.n + 1

    def value(self, start: RunPart, value: int) -> Span | None:
        """From the group that makes a value to the last that reads it."""
        maker = value - 1
        if not start.first <= maker < start.end or not self.whole(value):
            return None
        if start.prefix:
            return self.first(maker), min(self._last_use[value], start.end)
        gates = self.layerwise and maker == start.first and maker in self.by_nodes
        return self.first(maker), self.n + 1 if gates else self._last_slot(value)

    def _last_slot(self, value: int) -> int:
        back = self.backward.last_read(value) if self.backward else None
        return self._last_use[value] if back is None else back

    def runs(self, start: RunPart, index: int) -> Span | None:
        """While a layer's group runs."""
        return (self.first(index), self.last(index)) if start.first <= index < start.end else None

    def to_gradient(self, start: RunPart, index: int) -> Span | None:
        """From a trained layer's turn to its gradient."""
        if not self.layerwise:
            return index, index
        return (start.first, self.n + 1) if self._has_turn(start, index) else None

    def gradient(self, start: RunPart, index: int) -> Span | None:
        """While a trained layer's gradient is made."""
        if self.backward:
            return self.backward.sums(index)
        if not self.layerwise:
            return index, index
        return (self.n + 1, self.n + 1) if self._has_turn(start, index) else None

    def _has_turn(self, start: RunPart, index: int) -> bool:
        return not start.prefix and self.first(index) == start.first


def chained(graph: Graph, by_nodes: set[int]) -> set[int]:
    """Return the layers in the group of the layer before, in chains of convolution, depthwise and pointwise layer."""
    joined: set[int] = set()
    readers = Counter(value for layer in graph.layers for value in set(layer.reads))
    for index in range(1, len(graph.layers)):
        if (
            readers[index] == 1
            and index in graph.layers[index].reads
            and not by_nodes & {index - 1, index}
            and _joins(graph, index, joined)
        ):
            joined.add(index)
    return joined


def _joins(graph: Graph, index: int, joined: set[int]) -> bool:
    before, layer = graph.layers[index - 1], graph.layers[index]
    if index - 1 in joined:
        return before.op is Op.DEPTHWISE and layer.op is Op.POINTWISE
    convolves = before.op in (Op.CONV2D, Op.POINTWISE)
    return convolves and layer.op is Op.DEPTHWISE and ring_width(layer) <= LONGEST_ROW
