"""The memory plan of the second family, written from docs/memory-graph.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hil.network.place import end_of, place
from hil.network.tflite.layers import Graph, GraphLayer, GraphOp
from hil.network.tflite.scratch import forward_scratch, gradient_scratch
from hil.network.tflite.settings import GraphSettings

CHUNK = 8  # output channels whose gradient is made at a time
Span = tuple[int, int]


@dataclass(frozen=True)
class LiveBuffer:
    """One buffer: `size` bytes at `offset` of the arena, alive in an interval of slots at each start that it has in `spans`."""

    name: str
    size: int
    spans: Mapping[int, Span] = field(default_factory=dict)
    offset: int = 0

    def overlaps(self, other: LiveBuffer) -> bool:
        """Whether the intervals share a slot at any start."""
        for start, (first, last) in self.spans.items():
            theirs = other.spans.get(start)
            if theirs is not None and first <= theirs[1] and theirs[0] <= last:
                return True
        return False

    def moved(self, offset: int) -> LiveBuffer:
        """Return the same buffer at another offset."""
        return replace(self, offset=offset)

    @property
    def first(self) -> int:
        """The first slot in which it lives at any start."""
        return min((span[0] for span in self.spans.values()), default=0)

    @property
    def last(self) -> int:
        """The last slot in which it lives at any start."""
        return max((span[1] for span in self.spans.values()), default=0)


@dataclass(frozen=True)
class GraphPlan:
    """The placed buffers, and the bytes of arena that they need."""

    buffers: tuple[LiveBuffer, ...]
    total: int

    def offset(self, name: str) -> int:
        """Return where a buffer lies in the arena."""
        return next(buffer.offset for buffer in self.buffers if buffer.name == name)


def plan_graph(graph: Graph, settings: GraphSettings, slots: int, file_size: int, in_flash: bool) -> GraphPlan:
    """Place the buffers of a training step.

    Args:
        graph: the network.
        settings: of the method.
        slots: samples that the board holds at a time, 1..batch.
        file_size: bytes of the network file.
        in_flash: whether the file stays in flash; else it lies at the start of the arena.
    """
    lives = _Lives(graph, settings)
    wanted = _standing(graph, settings, lives, slots, in_flash) + _passing(graph, settings, lives)
    file = [] if in_flash else [_rounded("file", file_size, lives.always())]
    placed = place([buffer for buffer in wanted if buffer.size], file)
    return GraphPlan(placed, end_of(placed))


class _Lives:
    """When buffers live, at every start."""

    def __init__(self, graph: Graph, settings: GraphSettings) -> None:
        self.graph, self.settings, self.n = graph, settings, len(graph.layers)
        self.trained = settings.trained(graph)
        self.by_nodes = {index for index in self.trained if settings.by_nodes(graph.layers[index])}
        self.layerwise = settings.wise == "layer"
        self.prefix = self.layerwise and self.trained[0] > 0
        starts = self.trained if self.layerwise else (0,)
        self.starts = (-1, *starts) if self.prefix else starts  # -1 stands for the clean prefix
        self.last_use = [graph.last_use(value) for value in range(self.n + 1)]

    def always(self) -> dict[int, Span]:
        return dict.fromkeys(self.starts, (-1, self.n + 1))

    def runs(self, index: int) -> dict[int, Span]:
        """While a layer runs."""
        return {start: (index, index) for start in self.starts if self._runs(start, index)}

    def value(self, value: int) -> dict[int, Span]:
        spans = {start: self._value(start, value) for start in self.starts}
        return {start: span for start, span in spans.items() if span is not None}

    def behind(self, index: int) -> dict[int, Span]:
        """What the gradient of a layer needs."""
        return {index: (self.n + 1, self.n + 1)} if self.layerwise else {0: (index, index)}

    def through(self, index: int) -> dict[int, Span]:
        """From a layer's own turn to its gradient."""
        return {index: (index, self.n + 1)} if self.layerwise else {0: (index, index)}

    def _runs(self, start: int, index: int) -> bool:
        return index < self.trained[0] if start < 0 else index >= start

    def _value(self, start: int, value: int) -> Span | None:
        maker, last = value - 1, self.last_use[value]
        if start < 0:
            first = self.trained[0]
            return (maker, min(last, first)) if maker < first else None
        if not self.layerwise:
            return maker, last
        if maker < start <= last:
            return start, self.n + 1
        if maker < start:
            return None
        return maker, self.n + 1 if maker == start and start in self.by_nodes else last


def _standing(graph: Graph, settings: GraphSettings, lives: _Lives, slots: int, in_flash: bool) -> list[LiveBuffer]:
    """What lives through all of training."""
    always = lives.always()
    samples = lives.value(0) if settings.consumed and lives.layerwise else always
    height, width, channels = graph.in_shape
    wanted = [_rounded("labels", slots, always)]
    if settings.method != "deepzero":
        wanted.append(_rounded("queries", 8 * settings.queries, always))
    wanted.append(_rounded("samples", slots * height * width * channels, samples))
    for index in lives.trained:
        layer = graph.layers[index]
        if in_flash and settings.trains_weights:
            wanted.append(_rounded(f"theta[{index}]", _up(layer.weights, 4) + 4 * layer.channels, always))
        if in_flash and settings.train_bias:
            wanted.append(_rounded(f"beta[{index}]", 4 * layer.channels, always))
    if settings.batch > 1:
        wanted += [
            _rounded(f"grad[{index}]", 4 * _coordinates(graph.layers[index], settings), always)
            for index in lives.trained
        ]
    return wanted


def _passing(graph: Graph, settings: GraphSettings, lives: _Lives) -> list[LiveBuffer]:
    """What lives while layers run."""
    layers = graph.layers
    wanted = [_rounded(f"value[{index + 1}]", layer.out_size, lives.value(index + 1)) for index, layer in enumerate(layers)]
    wanted += [
        _rounded(f"folded[{index}]", 4 * layer.channels, lives.runs(index)) for index, layer in enumerate(layers) if layer.own
    ]
    wanted += [_rounded(f"scratch[{i}]", forward_scratch(layer), lives.runs(i)) for i, layer in enumerate(layers)]
    wanted += [_rounded(f"node[{i}]", layers[i].out_size, lives.through(i)) for i in sorted(lives.by_nodes)]
    wanted += [_rounded(f"sums[{i}]", _sums(layers[i]), lives.behind(i)) for i in sorted(lives.by_nodes)]
    if settings.method == "deepzero":
        wanted += [
            _rounded(f"coordinates[{i}]", 4 * _coordinates(layers[i], settings), lives.through(i)) for i in lives.trained
        ]
    return wanted


def _sums(layer: GraphLayer) -> int:
    """Return the bytes with which the gradient of a chunk of channels is made."""
    chunk = layer.channels if layer.op is GraphOp.DEPTHWISE else min(CHUNK, layer.channels)
    positions = layer.out_shape[0] * layer.out_shape[1]
    return _up(4 * layer.taps * chunk, 8) + _up(positions * chunk, 8) + _up(gradient_scratch(layer, chunk), 8)


def _coordinates(layer: GraphLayer, settings: GraphSettings) -> int:
    """Return how many numbers of a layer are trained."""
    return layer.weights * settings.trains_weights + layer.channels * settings.train_bias


def _rounded(name: str, size: int, spans: dict[int, Span]) -> LiveBuffer:
    return LiveBuffer(name, _up(size, 8), spans)


def _up(size: int, to: int) -> int:
    return -(-size // to) * to
