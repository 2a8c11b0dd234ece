"""When the buffers of the second family live (docs/memory-graph.md, groups and starts)."""

from __future__ import annotations

from hil.network.tflite.layers import Graph, GraphOp
from hil.network.tflite.settings import GraphSettings

PREFIX = -1  # stands for the start of the clean prefix
Span = tuple[int, int]
Spans = dict[int, Span]


class Lives:
    """Intervals of slots, at every start.

    Args:
        graph: the network.
        settings: of the method.

    Attributes:
        trained: indices of the trained layers.
        by_nodes: those whose nodes are perturbed.
        seconds: the second layer of every pair.
    """

    def __init__(self, graph: Graph, settings: GraphSettings) -> None:
        self.n = len(graph.layers)
        self.trained = settings.trained(graph)
        self.by_nodes = {index for index in self.trained if settings.by_nodes(graph.layers[index])}
        self.layerwise = settings.wise == "layer"
        self.seconds = pairs(graph, self.by_nodes) if settings.fused else set()
        starts = sorted({self.first(index) for index in self.trained}) if self.layerwise else [0]
        self._from = starts[0]
        self.starts = ([PREFIX] if self.layerwise and self._from > 0 else []) + starts
        self._last_use = [self._reader(graph, value) for value in range(self.n + 1)]

    def first(self, index: int) -> int:
        """Return the first layer of a layer's group."""
        return index - 1 if index in self.seconds else index

    def last(self, index: int) -> int:
        """Return the last layer of a layer's group."""
        return index + 1 if index + 1 in self.seconds else index

    def _reader(self, graph: Graph, value: int) -> int:
        last = graph.last_use(value)
        return last if last == self.n else self.last(last)

    def kept(self, value: int) -> frozenset[int]:
        """Return the starts at which a value is there before and stays through."""
        starts = (start for start in self.starts if self.layerwise and start != PREFIX)
        return frozenset(start for start in starts if value - 1 < start <= self._last_use[value])

    def while_run(self, index: int) -> Spans:
        """While a layer's group runs."""
        span = self.first(index), self.last(index)
        return {start: span for start in self.starts if self._runs(start, index)}

    def value(self, value: int) -> Spans:
        """From the group that makes a value to the last that reads it."""
        spans = {start: self._value(start, value) for start in self.starts}
        return {start: span for start, span in spans.items() if span is not None}

    def to_gradient(self, index: int) -> Spans:
        """From a layer's turn to its gradient."""
        return {self.first(index): (self.first(index), self.n + 1)} if self.layerwise else {0: (index, index)}

    def gradient(self, index: int) -> Spans:
        """While a layer's gradient is made."""
        return {index: (self.n + 1, self.n + 1)} if self.layerwise else {0: (index, index)}

    def _runs(self, start: int, index: int) -> bool:
        return index < self._from if start == PREFIX else index >= start

    def _value(self, start: int, value: int) -> Span | None:
        maker, last = value - 1, self._last_use[value]
        born = self.first(maker) if value else -1
        if start == PREFIX:
            return (born, min(last, self._from)) if born < self._from else None
        if maker >= start:
            kept = self.layerwise and maker == start and start in self.by_nodes
            return born, self.n + 1 if kept else last
        return (start, self.n + 1) if start <= last else None


def pairs(graph: Graph, by_nodes: set[int]) -> set[int]:
    """Return the second layers of all pairs that can be run row by row."""
    seconds: set[int] = set()
    for index in range(1, len(graph.layers)):
        before, layer = graph.layers[index - 1], graph.layers[index]
        readers = [other for other, reader in enumerate(graph.layers) if index in reader.reads]
        if (
            before.op in (GraphOp.CONV2D, GraphOp.POINTWISE)
            and index - 1 not in seconds
            and layer.op is GraphOp.DEPTHWISE
            and readers == [index]
            and not by_nodes & {index - 1, index}
        ):
            seconds.add(index)
    return seconds
