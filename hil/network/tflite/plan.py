"""The memory plan of the second family (docs/memory-graph.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from hil.graph.ir import Graph
from hil.network.place import end_of, place
from hil.network.tflite.lives import Lives, Start
from hil.network.tflite.scratch import gradient_sums, input_error, up, work
from hil.network.tflite.settings import GraphSettings
from hil.network.tflite.way_back import Span, WayBack

CHAIN = 3  # layers of the longest chain
DECIDE_LIVES = ("method", "train", "blocks", "train_bias", "perturb", "wise", "fused")  # settings


class LiveBuffer(NamedTuple):
    """One buffer: `size` bytes at `offset` of the arena, alive from slot `first` to slot `last`."""

    name: str
    size: int
    first: int
    last: int
    offset: int = 0

    def moved(self, offset: int) -> LiveBuffer:
        """Return the same buffer at another offset."""
        return LiveBuffer(self.name, self.size, self.first, self.last, offset)


class Layout:
    """What is placed for every start, with offsets from the end of what lives through all of training.

    Args:
        graph: the network.
        settings: of the method; of them only what decides lifetimes.
        consumed: whether the memory of a sample is used again.
    """

    def __init__(self, graph: Graph, settings: GraphSettings, consumed: bool) -> None:
        self._graph, self._settings, self._consumed = graph, settings, consumed
        self._lives = Lives(graph, settings)

    @cached_property
    def starts(self) -> tuple[tuple[Start, tuple[LiveBuffer, ...]], ...]:
        """Every start, the prefix first, with the buffers that are placed for it."""
        places = {0: 0} if self._consumed else {}
        starts = []
        for start in self._lives.starts:
            buffers = _place_start(self._graph, self._settings, self._lives, start, places)
            places = {int(b.name[6:-1]): b.offset for b in buffers if b.name.startswith("value[")}
            starts.append((start, buffers))
        return tuple(starts)

    @cached_property
    def size(self) -> int:
        """Bytes that the largest start needs."""
        return max(end_of(buffers) for _, buffers in self.starts)

    @cached_property
    def least(self) -> int:
        """Bytes that no placing can do with, known without one: what lives at one time in the first start that is not the prefix."""
        start = next(start for start in self._lives.starts if not start.prefix)
        changes: Counter[int] = Counter()
        for _, size, (first, last) in _passing(self._graph, self._settings, self._lives, start):
            changes[first] += up(size, 8)
            changes[last + 1] -= up(size, 8)
        return max(accumulate(changes[slot] for slot in sorted(changes)))


@dataclass(frozen=True)
class GraphPlan:
    """The placed buffers, and the bytes of arena that they need.

    Attributes:
        standing: what lives through all of training.
        layout: what is placed after it.
    """

    standing: tuple[LiveBuffer, ...]
    layout: Layout

    @property
    def total(self) -> int:
        """Bytes of arena."""
        return end_of(self.standing) + self.layout.size

    @cached_property
    def starts(self) -> tuple[tuple[Start, tuple[LiveBuffer, ...]], ...]:
        """Every start, the prefix first, with the buffers that are placed for it."""
        base = end_of(self.standing)
        return tuple(
            (start, tuple(each.moved(base + each.offset) for each in placed)) for start, placed in self.layout.starts
        )

    @property
    def buffers(self) -> tuple[LiveBuffer, ...]:
        """The buffers of the start that reaches highest, with what lives through all of training."""
        return (*self.standing, *max((buffers for _, buffers in self.starts), key=end_of))

    def fits(self, arena: int) -> bool:
        """Return whether an arena of so many bytes holds it."""
        return end_of(self.standing) + self.layout.least <= arena and self.total <= arena

    def offset(self, name: str) -> int:
        """Return where a buffer lies in the arena, of those that live through all of training."""
        return next(buffer.offset for buffer in self.standing if buffer.name == name)


@lru_cache(maxsize=16)  # the forms that are tried for one trial: a form is the same for every board
def plan_graph(graph: Graph, settings: GraphSettings, slots: int, file_size: int, in_flash: bool) -> GraphPlan:
    """Place the buffers of a training step.

    Args:
        graph: the network.
        settings: of the method.
        slots: samples that the board holds at a time, 1..batch.
        file_size: bytes of the network file.
        in_flash: whether the file stays in flash; else it lies at the start of the arena.

    Raises:
        RigError: back-propagation through a pool that it does not take.
    """
    lives = Lives(graph, settings)
    consumed = bool(settings.consumed and slots == 1 and lives.consumes)
    standing: list[LiveBuffer] = []
    for name, size in _standing(graph, settings, lives, slots, 0 if in_flash else file_size, consumed):
        standing.append(LiveBuffer(name, up(size, 8), 0, lives.end, end_of(standing)))
    of_lives = {name: getattr(settings, name) for name in DECIDE_LIVES}
    return GraphPlan(tuple(standing), _layout(graph, GraphSettings(**of_lives), consumed))


@lru_cache(
    maxsize=32
)  # shared by both places of the file, by all boards, and by variants that differ in other settings
def _layout(graph: Graph, settings: GraphSettings, consumed: bool) -> Layout:
    return Layout(graph, settings, consumed)


def _place_start(
    graph: Graph, settings: GraphSettings, lives: Lives, start: Start, places: dict[int, int]
) -> tuple[LiveBuffer, ...]:
    """Place what a start needs; `places` is where values were at the start before."""
    kept: list[LiveBuffer] = []
    for value in sorted((value for value in places if lives.keeps(start, value)), key=lambda value: places[value]):
        size = up(_elements(graph, value), 8)
        kept.append(LiveBuffer(f"value[{value}]", size, *lives.kept(start, value), end_of(kept)))
    wanted = (LiveBuffer(name, up(size, 8), *span) for name, size, span in _passing(graph, settings, lives, start))
    return place([buffer for buffer in wanted if buffer.size], kept)


def _standing(
    graph: Graph, settings: GraphSettings, lives: Lives, slots: int, in_ram: int, consumed: bool
) -> Iterator[tuple[str, int]]:
    """Yield name and size of what lives through all of training; `in_ram`: bytes of a file that lies there."""
    if in_ram:
        yield "file", in_ram
    for index in () if in_ram else lives.trained:
        layer = graph.layers[index]
        if settings.trains_weights:
            yield f"theta[{index}]", up(layer.weight_count, 4) + 4 * layer.channels
        if settings.train_bias:
            yield f"beta[{index}]", 4 * layer.channels
    yield "labels", 2 * slots
    if settings.method == "poor-mans":
        yield "queries", 8 * (CHAIN if settings.fused else 1) * settings.queries
    if not consumed:
        yield "samples", slots * _elements(graph, 0)
    if settings.batch > 1:
        for index in lives.trained:
            yield f"grad[{index}]", 4 * settings.coordinates(graph.layers[index])
    if settings.method == "bp" and np.float32(settings.momentum) > 0:
        for index in lives.trained:
            yield f"velocity[{index}]", 4 * settings.coordinates(graph.layers[index])


def _passing(graph: Graph, settings: GraphSettings, lives: Lives, start: Start) -> Iterator[tuple[str, int, Span]]:
    """Yield name, size and interval of what lives while layers run, in the order of the table."""
    back = () if lives.way_back is None else _way_back(graph, lives.way_back)
    for line in (
        _values(graph, lives, start),
        _works(graph, lives, start),
        _gradients(graph, settings, lives, start),
        back,
    ):
        for name, size, span in line:
            if span is not None:
                yield name, size, span


def _values(graph: Graph, lives: Lives, start: Start) -> Iterator[tuple[str, int, Span | None]]:
    for value in range(start.first + 1, start.end + 1):
        yield f"value[{value}]", _elements(graph, value), lives.value(start, value)


def _works(graph: Graph, lives: Lives, start: Start) -> Iterator[tuple[str, int, Span | None]]:
    for index in range(start.first, start.end):
        layer = graph.layers[index]
        if layer.own is not None:
            second = index in lives.joined and index - 1 not in lives.joined
            third = second and index + 1 in lives.joined
            yield f"work[{index}]", work(layer, second, third), lives.runs(start, index)


def _gradients(
    graph: Graph, settings: GraphSettings, lives: Lives, start: Start
) -> Iterator[tuple[str, int, Span | None]]:
    layers = graph.layers
    by_nodes = [index for index in lives.trained if index in lives.by_nodes]
    for index in by_nodes:
        yield f"node[{index}]", layers[index].out_size, lives.to_gradient(start, index)
    for index in by_nodes if lives.way_back is None else lives.trained:
        yield f"sums[{index}]", gradient_sums(layers[index], settings.trains_weights), lives.gradient(start, index)
    if settings.method == "deepzero":
        for index in lives.trained:
            yield f"coordinates[{index}]", 4 * settings.coordinates(layers[index]), lives.to_gradient(start, index)


def _way_back(graph: Graph, way_back: WayBack) -> Iterator[tuple[str, int, Span | None]]:
    for value in range(1, way_back.n + 1):
        yield f"error[{value}]", _elements(graph, value), way_back.error(value)
    for index, layer in enumerate(graph.layers):
        inputs = _elements(graph, layer.reads[0])
        yield f"back[{index}]", inputs if layer.own is None else input_error(layer, inputs), way_back.back(index)


def _elements(graph: Graph, value: int) -> int:
    height, width, channels = graph.layers[value - 1].out_shape if value else graph.in_shape
    return height * width * channels
