"""What a step of the second family costs by count (PMT, section 4.3): layer runs, multiply-accumulates, bytes."""

from __future__ import annotations

from dataclasses import dataclass

from hil.network.tflite.layers import Graph
from hil.network.tflite.lives import Lives
from hil.network.tflite.settings import GraphSettings


@dataclass(frozen=True)
class Work:
    """Runs of each layer in the forward passes of a step, in the order of the layers, and what they come to."""

    runs: tuple[int, ...]
    macs: int

    @property
    def layer_runs(self) -> int:
        """All runs of all layers."""
        return sum(self.runs)


def step_work(graph: Graph, settings: GraphSettings) -> Work:
    """Count the forward work of a step of `settings.batch` samples (docs/arithmetic-zeroth-order.md, section 7).

    The sparse form of DeepZero draws its coordinates; all of them are counted here.
    """
    lives = Lives(graph, settings)
    runs = [1] * lives.n
    if lives.layerwise:
        starts = sorted({lives.first(index) for index in lives.trained})
        for start, following in zip(starts, [*starts[1:], 0], strict=True):
            _layerwise(graph, settings, lives, start, following, runs)
    else:
        sides = 2 if settings.difference == "central" else 1
        runs = [1 + sides * settings.queries] * lives.n
        for index in range(max(lives.by_nodes, default=-1) + 1):
            runs[index] += 1
    runs = [settings.batch * each for each in runs]
    return Work(tuple(runs), sum(each * layer.macs for each, layer in zip(runs, graph.layers, strict=True)))


def _layerwise(
    graph: Graph, settings: GraphSettings, lives: Lives, start: int, following: int, runs: list[int]
) -> None:
    """Add the runs of one start: the queries of its layers, and the way to the following start."""
    by_nodes = start in lives.by_nodes
    if by_nodes:
        runs[start] += 1
    for index in (index for index in lives.trained if lives.first(index) == start):
        sides = 2 if settings.difference == "central" else 1
        passes = settings.coordinates(graph.layers[index]) if settings.method == "deepzero" else sides * settings.queries
        for later in range(start + by_nodes, lives.n):
            runs[later] += passes
    for later in range(start + by_nodes, following):
        runs[later] += 1


def training_bytes(graph: Graph, settings: GraphSettings) -> int:
    """Return trained parameters (weights int8, biases int32), the peak of inference (input and output of a layer with what a residual holds),
    seeds and losses, and the gradient of the largest layer trained by nodes, in 8 bits as PMT's in-place swap has it."""
    trained = [graph.layers[index] for index in settings.trained(graph)]
    parameters = sum(layer.weights * settings.trains_weights + 4 * layer.channels * settings.train_bias for layer in trained)
    by_nodes = max((layer.weights for layer in trained if settings.by_nodes(layer)), default=0)
    return parameters + inference_peak(graph) + 8 * settings.queries + by_nodes


def inference_peak(graph: Graph) -> int:
    """Return the most bytes of values that live at once while the layers run one after the other."""
    sizes = [graph.in_shape[0] * graph.in_shape[1] * graph.in_shape[2], *(layer.out_size for layer in graph.layers)]
    last = [graph.last_use(value) for value in range(len(sizes))]
    return max(
        sum(size for value, size in enumerate(sizes) if value - 1 <= slot <= last[value]) for slot in range(len(graph.layers))
    )
