"""The memory plan of the second family (docs/memory-graph.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from hil.network.place import end_of, place
from hil.network.tflite.layers import Graph, GraphLayer
from hil.network.tflite.lives import Lives, Span, Spans
from hil.network.tflite.scratch import forward_scratch, gradient_sums, ring, up
from hil.network.tflite.settings import GraphSettings


@dataclass(frozen=True)
class LiveBuffer:
    """One buffer: `size` bytes at `offset` of the arena, alive in an interval of slots at each start of `spans`; the starts `kept` find it there."""

    name: str
    size: int
    spans: Mapping[int, Span] = field(default_factory=dict)
    offset: int = 0
    kept: frozenset[int] = frozenset()

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
        return max(0, min(span[0] for span in self.spans.values()))

    @property
    def last(self) -> int:
        """The last slot in which it lives at any start."""
        return max(span[1] for span in self.spans.values())


@dataclass(frozen=True)
class GraphPlan:
    """The placed buffers, and the bytes of arena that they need.

    Attributes:
        standing: what lives through all of training.
        placements: by start (lives.PREFIX: the clean prefix), what else lives there; kept values in the order of their numbers.
        total: bytes of arena.
    """

    standing: tuple[LiveBuffer, ...]
    placements: Mapping[int, tuple[LiveBuffer, ...]]
    total: int

    @property
    def buffers(self) -> tuple[LiveBuffer, ...]:
        """What always lives, and the placement of the start that needs the most memory."""
        return (*self.standing, *max(self.placements.values(), key=end_of))

    def offset(self, name: str) -> int:
        """Return where a buffer that always lives lies in the arena."""
        return next(buffer.offset for buffer in self.standing if buffer.name == name)


def plan_graph(graph: Graph, settings: GraphSettings, slots: int, file_size: int, in_flash: bool) -> GraphPlan:
    """Place the buffers of a training step.

    Args:
        graph: the network.
        settings: of the method.
        slots: samples that the board holds at a time, 1..batch.
        file_size: bytes of the network file.
        in_flash: whether the file stays in flash; else it lies at the start of the arena.
    """
    lives = Lives(graph, settings)
    consumed = bool(settings.consumed and slots == 1 and lives.layerwise)
    always: Spans = dict.fromkeys(lives.starts, (-1, lives.n + 1))
    standing: list[LiveBuffer] = []
    if not in_flash:
        standing.append(LiveBuffer("file", up(file_size, 8), always))
    for name, size in _standing(graph, settings, lives, slots, in_flash, consumed):
        standing.append(LiveBuffer(name, up(size, 8), always, end_of(standing)))
    passing = [
        LiveBuffer(name, up(size, 8), spans, kept=kept) for name, size, spans, kept in _passing(graph, settings, lives, consumed)
    ]
    placements = {start: _at_start(start, passing, end_of(standing)) for start in lives.starts}
    fullest = max(lives.starts, key=lambda start: end_of(placements[start]))
    return GraphPlan(tuple(standing), placements, max(end_of(standing), end_of(placements[fullest])))


def _at_start(start: int, passing: list[LiveBuffer], base: int) -> tuple[LiveBuffer, ...]:
    """Place what lives at a start: first the values that are kept, then the others by size."""
    living = [replace(b, spans={start: b.spans[start]}) for b in passing if b.size and start in b.spans]
    kept = [buffer for buffer in living if start in buffer.kept]
    for index, buffer in enumerate(kept):
        kept[index] = buffer.moved(end_of(kept[:index]))
    others = [buffer for buffer in living if start not in buffer.kept]
    return tuple(buffer.moved(base + buffer.offset) for buffer in place(others, kept))


def _standing(
    graph: Graph, settings: GraphSettings, lives: Lives, slots: int, in_flash: bool, consumed: bool
) -> Iterator[tuple[str, int]]:
    """Yield name and size of what lives through all of training, behind the file."""
    for index in lives.trained if in_flash else ():
        layer = graph.layers[index]
        if settings.trains_weights:
            yield f"theta[{index}]", up(layer.weights, 4) + 4 * layer.channels
        if settings.train_bias:
            yield f"beta[{index}]", 4 * layer.channels
    yield "labels", 2 * slots
    if settings.method != "deepzero":
        yield "queries", (16 if settings.fused else 8) * settings.queries
    if not consumed:
        height, width, channels = graph.in_shape
        yield "samples", slots * height * width * channels
    if settings.batch > 1:
        for index in lives.trained:
            yield f"grad[{index}]", 4 * _coordinates(graph.layers[index], settings)


def _passing(
    graph: Graph, settings: GraphSettings, lives: Lives, consumed: bool
) -> Iterator[tuple[str, int, Spans, frozenset[int]]]:
    """Yield name, size, intervals and starts that find it there, of what lives while layers run."""
    yield from _values(graph, lives, consumed)
    for name, size, spans in _workspace(graph, settings, lives):
        yield name, size, spans, frozenset()


def _values(graph: Graph, lives: Lives, consumed: bool) -> Iterator[tuple[str, int, Spans, frozenset[int]]]:
    if consumed:
        height, width, channels = graph.in_shape
        yield "value[0]", height * width * channels, lives.value(0), lives.kept(0)
    for index, layer in enumerate(graph.layers):
        if index + 1 not in lives.seconds:  # the value within a pair never exists whole
            yield f"value[{index + 1}]", layer.out_size, lives.value(index + 1), lives.kept(index + 1)


def _workspace(graph: Graph, settings: GraphSettings, lives: Lives) -> Iterator[tuple[str, int, Spans]]:
    layers = graph.layers
    weighted = [(index, layer) for index, layer in enumerate(layers) if layer.own is not None]
    for index, layer in weighted:
        yield f"folded[{index}]", 4 * layer.channels, lives.while_run(index)
    for index, layer in weighted:
        yield f"scratch[{index}]", forward_scratch(layer, index in lives.seconds), lives.while_run(index)
    for index in sorted(lives.seconds):
        yield f"ring[{index}]", ring(layers[index]), lives.while_run(index)
    for index in sorted(lives.by_nodes):
        yield f"node[{index}]", layers[index].out_size, lives.to_gradient(index)
    for index in sorted(lives.by_nodes):
        yield f"sums[{index}]", gradient_sums(layers[index], settings.trains_weights), lives.gradient(index)
    if settings.method == "deepzero":
        for index in lives.trained:
            yield f"coordinates[{index}]", 4 * _coordinates(layers[index], settings), lives.to_gradient(index)


def _coordinates(layer: GraphLayer, settings: GraphSettings) -> int:
    """Return how many numbers of a layer are trained."""
    return layer.weights * settings.trains_weights + layer.channels * settings.train_bias
